//! Wrong and odd inputs of every command: how it ends, and what it says. Nothing panics, nothing hangs.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use headway_test_fixture::program::Program;

const HEADWAY: Program = Program(env!("CARGO_BIN_EXE_headway"));

/// After this long a command counts as hanging.
const PATIENCE: Duration = Duration::from_secs(10);

/// How a command ended.
struct End {
    code: Option<i32>,
    out: String,
    says: String,
}

/// Runs it with what its standard streams are connected to here; a stream that is piped is read.
fn end(mut command: Command, what: &str) -> End {
    let mut child = command.spawn().expect("the program starts");
    let read = |stream: Option<Box<dyn std::io::Read + Send>>| {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            stream.map(|mut stream| stream.read_to_end(&mut bytes));
            String::from_utf8_lossy(&bytes).into_owned()
        })
    };
    let out = read(child.stdout.take().map(|stream| Box::new(stream) as _));
    let says = read(child.stderr.take().map(|stream| Box::new(stream) as _));
    let id = child.id().to_string();
    let (ended, end) = mpsc::channel();
    let waiting = thread::spawn(move || {
        let status = child.wait().expect("the program ends");
        let _ = ended.send(());
        status
    });
    let hangs = end.recv_timeout(PATIENCE).is_err();
    if hangs {
        Command::new("kill").args(["-KILL", &id]).status().expect("kill");
    }
    let code = waiting.join().expect("a status").code();
    let says = says.join().expect("what it says");
    assert!(!hangs, "{what}: hangs; so far: {says}");
    assert!(!says.contains("panicked"), "{what}: {says}");
    assert_ne!(code, Some(101), "{what}: a panic: {says}");
    End { code, out: out.join().expect("what it prints"), says }
}

fn command(directory: &Path, line: &str) -> Command {
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut command = HEADWAY.command(directory, &words);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A folder with an experiment, a capture and files that are neither.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("a file");
    file("empty", "");
    file("text", "this is no capture\n");
    file("fine.toml", FINE);
    file("real.toml", &FINE.replace("['sack']", "['sack', 'linux:cubic']"));
    file("broken.toml", "title = \n");
    file("line.toml", &FINE.replace("'table'", "'line'"));
    file("misspelt.toml", "rnus = 1\n[scenario]\nsize = '1KB'\n");
    file("plain.toml", FINE.split_once("[figure]").expect("a figure").0);
    let capture = |name: &str, records: &[&[u8]]| {
        // Little endian, microseconds, version 2.4, Ethernet.
        let mut bytes =
            vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0];
        bytes.extend(records.concat());
        fs::write(folder.path().join(name), bytes).expect("a capture");
    };
    let record = |second: u8, frame: &[u8]| {
        let len = [frame.len() as u8, 0, 0, 0];
        [&[second, 0, 0, 0, 0, 0, 0, 0], &len[..], &len, frame].concat()
    };
    let frame = |kind: [u8; 2], packet: &[u8]| [&[0; 12], &kind[..], packet].concat();
    let arp = frame([8, 6], &[0; 28]);
    capture("arp.pcap", &[&record(1, &arp), &record(2, &arp)]);
    let ip = frame([8, 0], &[0x45, 0, 0, 20, 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2]);
    capture("once.pcap", &[&record(1, &ip), &record(1, &ip)]);
    capture("long.pcap", &[&[0; 8], &[255; 8]]);
    let race = "race --size 1KB --runs 1 --variant sack --damage none --pcap out";
    assert_eq!(end(command(folder.path(), race), race).code, Some(0));
    folder
}

const FINE: &str = "title = 'Fine'\nruns = 1\n[sweep]\nvariant = ['sack']\n\
                    [scenario]\nsize = '1KB'\n[figure]\nkind = 'table'\nx = 'variant'\nmeasure = 'time'\n";

/// Command, exit code, and what standard error has to contain.
const INPUTS: &[(&str, i32, &str)] = &[
    ("bogus", 2, "unrecognized subcommand 'bogus'"),
    ("rase", 2, "did you mean 'race'"),
    ("--bogus", 2, "unexpected argument '--bogus'"),
    ("race --runs 0", 2, "--runs 0: expected between 1 and 1000000"),
    ("race --runs", 2, "a value is required for '--runs <N>'"),
    ("race --size 0", 2, "--size"),
    ("race --size 1KB --rate 0", 2, "--rate"),
    ("race --size -1KB", 2, "-1"),
    ("race --rate -5mbit", 2, "--rate -5mbit: expected a rate such as 10mbit"),
    ("race --seed abc", 2, "invalid value 'abc' for '--seed <SEED>': expected a whole number"),
    (
        "race --variant foo",
        2,
        "headway, perhaps with a congestion controller: modern:bbr (or newreno, cubic); or oracle",
    ),
    ("race --bogus", 2, "expected what `headway race --help` lists"),
    ("fetch --bogus", 2, "expected what `headway fetch --help` lists"),
    ("perf client --bogus", 2, "expected what `headway perf client --help` lists"),
    ("lab bogus", 2, "expected what `headway lab --help` lists"),
    ("race --rate=-5mbit", 2, "--rate -5mbit: expected a rate such as 10mbit"),
    ("race --rate unlimited", 2, "--rate unlimited: expected a rate such as 10mbit"),
    ("race --delay 5", 2, "--delay 5: expected"),
    ("race --delay 1e9h", 2, "--delay"),
    ("race --damage foo", 2, "--damage foo: expected none, random:P"),
    ("race --damage random:200%", 2, "--damage"),
    ("race --damage trace:text", 2, "text"),
    ("race --damage trace:missing", 2, "missing"),
    ("race --damage trace:empty", 2, "empty"),
    ("race --header-hit 200%", 2, "--header-hit 200%: expected a share"),
    ("race --loss 101%", 2, "--loss"),
    ("race --cc foo", 2, "--cc foo: expected a congestion controller"),
    ("race --queue foo", 2, "--queue foo: expected a queue limit"),
    ("race --with foo", 2, "\"foo\": expected a feature of the modern sender"),
    ("race --with tlp --without tlp", 2, "--without"),
    ("race --mtu 20", 2, "--mtu"),
    ("race --mtu 70000", 2, "--mtu"),
    ("race --duration 1s --size 1MB", 2, "--size"),
    ("race missing", 2, "missing: No such file or directory (os error 2); expected a file to send"),
    ("race empty", 2, "empty: the file is empty; expected at least one byte to send"),
    ("race .", 2, ".: expected a regular file"),
    ("race --size 1KB --runs 1 --pcap text", 1, "text: cannot be written"),
    ("race --size 1KB --runs 1 --qlog text", 1, "text: cannot be written"),
    ("race --size 1KB --runs 1 --variant sack --qlog /dev/full", 1, "/dev/full: cannot be written"),
    ("race --qlog", 2, "a value is required for '--qlog <DIR>'"),
    ("race --size 1KB --runs 1 --report .", 1, ".: cannot be written"),
    ("race --size 1KB --runs 1 --report missing/page.html", 1, "missing/page.html: cannot be written"),
    ("trace", 2, "required arguments were not provided"),
    ("trace missing", 2, "missing: cannot be read"),
    ("trace .", 2, ".: "),
    ("trace text", 2, "text: "),
    ("trace empty", 2, "empty: "),
    ("trace out/sack-1.pcapng missing", 2, "missing: cannot be read"),
    ("trace out/sack-1.pcapng text", 2, "text: at byte 0"),
    ("trace out/sack-1.pcapng .", 2, ".: expected a regular file"),
    ("trace out/sack-1.pcapng -", 2, "expected standard input alone, or files only"),
    ("trace", 2, "<FILE>"),
    ("race --pcap-split", 2, "--pcap <DIR>"),
    ("box lo lo2 --pcap-split", 2, "--pcap <FILE>"),
    ("shell --pcap-split -- true", 2, "--pcap <FILE>"),
    ("shell --pcap missing/x -- true", 1, "missing/x: cannot be written"),
    ("shell --pcap missing/x.pcapng --pcap-split -- true", 1, "missing/x-"),
    ("lab live real.toml --pcap-split", 2, "--pcap <DIR>"),
    ("trace -", 2, "standard input: at byte 0: expected a pcap or pcapng file, got 0 bytes"),
    ("lab", 2, ""),
    ("lab run", 2, "<FILE>..."),
    ("lab run missing.toml", 2, "missing.toml: No such file"),
    ("lab run broken.toml", 2, "broken.toml:1: "),
    ("lab check text", 2, "text:1: "),
    ("lab check empty", 2, "empty:1: missing keys `title`, `runs`, `scenario`"),
    ("lab run fine.toml --set bogus=1", 2, "--set bogus=1: \"bogus\" is neither an axis nor a key"),
    ("lab run fine.toml --set delay", 2, "expected KEY=VALUE"),
    ("lab run fine.toml --set delay=abc", 2, "delay"),
    ("lab run fine.toml --set variant=foo", 2, "variant"),
    ("lab run fine.toml --set variant=linux:cubic", 2, "variant"),
    ("lab run fine.toml --runs 0", 2, "expected at least one run"),
    ("lab run fine.toml --runs 4000000000", 2, "expected at most"),
    ("lab run fine.toml fine.toml", 2, "expected another name"),
    ("lab run fine.toml --out text", 1, "text"),
    ("lab live fine.toml --jobs 0", 2, "expected 1 to 1000"),
    ("lab report missing", 2, "missing: No such file"),
    ("lab report .", 2, "there are none in it"),
    ("lab report text", 2, "text: "),
    ("paper run", 2, "<NAMES>..."),
    ("paper run foo", 2, "\"foo\": expected `all` or a name"),
    ("paper report .", 2, "there are none in it"),
    ("perf", 2, ""),
    ("perf client", 2, "<HOST>"),
    ("perf client localhost", 2, "no network: expected --tun"),
    ("perf client localhost --kernel --time 0s", 2, "--time 0s: expected some time"),
    ("perf client localhost --kernel --time abc", 2, "expected seconds, or a time such as 10s"),
    ("perf client localhost --kernel -t -1", 2, "-1"),
    ("perf client localhost --kernel --interval 1ms", 2, "--interval"),
    ("perf client localhost --kernel --length 1GiB", 2, "--length"),
    ("perf client localhost --kernel --parallel 0", 2, "0 is not in 1..=1000"),
    ("perf client localhost --kernel --port 70000", 2, "70000"),
    ("perf client localhost --kernel -n abc", 2, "expected a size"),
    ("perf client localhost --kernel -n 10X", 2, "expected a size"),
    ("perf client localhost --kernel --latency --reverse", 2, "cannot be used with"),
    ("perf client no.such.name.invalid --kernel", 1, "no.such.name.invalid"),
    ("perf client 127.0.0.1 --kernel --port 1", 1, "127.0.0.1:1: "),
    ("perf server --kernel --listen abc", 2, "abc"),
    ("nc", 2, ""),
    ("nc 127.0.0.1 1 --kernel", 1, "127.0.0.1:1: "),
    ("fetch", 2, "<URL>"),
    ("fetch abc --kernel", 2, "abc"),
    ("fetch ftp://127.0.0.1/ --kernel", 2, "ftp"),
    ("fetch http://127.0.0.1:1/x --kernel", 1, "127.0.0.1:1"),
    (
        "serve missing --kernel",
        2,
        "missing: No such file or directory (os error 2); expected a folder to serve",
    ),
    ("serve text --kernel", 2, "text: not a directory; expected a folder to serve"),
    ("serve . ", 2, "no network: expected --tun"),
    ("box", 2, "<IFACE_A>, <IFACE_B>"),
    ("shell --bogus", 2, "unexpected argument '--bogus'"),
    ("shell --rate 0 -- true", 2, "--rate"),
    ("shell --rate -5mbit", 2, "--rate -5mbit: expected a rate such as 10mbit"),
    ("shell --damage foo -- true", 2, "--damage foo: expected none, random:P"),
    ("shell --damage trace:missing -- true", 2, "missing"),
    ("shell --config missing.toml -- true", 2, "missing.toml: No such file"),
    ("shell --config broken.toml --rate 1mbit -- true", 2, "cannot be used with"),
    ("shell --mtu 70000 -- true", 2, "70000"),
    ("shell --variant foo -- true", 2, "foo"),
    ("shell --json --quiet -- true", 2, "cannot be used with"),
    ("shell --pcap . -- true", 1, ".: cannot be written"),
    ("trunk run", 2, "<CONFIG>"),
    ("trunk run missing.toml", 2, "missing.toml: No such file"),
    ("trunk run .", 2, ".: Is a directory"),
    ("trunk check broken.toml", 2, "broken.toml: line 1"),
    ("trunk check fine.toml", 2, "fine.toml: line 1: unknown field `title`"),
    ("trunk check text", 2, "text: line 1"),
    ("trunk status fine.toml", 2, "unknown field"),
    ("trunk reload fine.toml", 2, "unknown field"),
    ("trunk run --log-format xml fine.toml", 2, "xml"),
    ("trunk rules fine.toml", 2, "unknown field"),
    ("trunk record fine.toml", 2, "<FILE>"),
    ("trunk record fine.toml out.fates", 2, "unknown field"),
    ("trunk top fine.toml", 2, "unknown field"),
    ("trunk top", 2, "<CONFIG>"),
    ("trunk keygen fine.toml", 2, "fine.toml: File exists"),
    ("trunk keygen missing/key", 2, "missing/key: No such file"),
    ("trunk pubkey missing", 2, "missing: No such file"),
    ("trunk pubkey text", 2, "text: a text of 18 characters: expected 32 bytes in base64"),
    ("trunk pubkey -", 2, "-: a text of 0 characters"),
    ("trunk nonsense", 2, "nonsense"),
    ("doctor --connect", 2, "--connect"),
    ("doctor --connect 127.0.0.1:1 --kernel --listen 1", 2, "cannot be used with"),
    ("doctor --connect abc --kernel", 2, "--connect abc: expected HOST:PORT"),
    ("race --delay -1ms", 2, "--delay -1ms: expected a time with a unit"),
    ("race --jitter abc", 2, "--jitter abc: expected a time with a unit"),
    (
        "race --jitter 1ms --jitter-distribution gauss",
        2,
        "gauss: no such file, and no gauss.dist in /usr/lib/tc",
    ),
    ("race --jitter 1ms --jitter-distribution text", 2, "text: line 1: \"this\": expected a whole number"),
    ("race --jitter 1ms --jitter-distribution empty", 2, "empty: line 1: no numbers"),
    ("race --jitter 1ms --jitter-distribution .", 2, ".: cannot be read: Is a directory"),
    (
        "race --jitter 1ms --jitter-distribution uniform:200%",
        2,
        "expected none or TABLE[:CORRELATION][:ordered]",
    ),
    ("race --jitter-distribution uniform", 2, "expected some jitter, such as 10ms, beside it"),
    (
        "race --jitter 1ms --jitter-distribution uniform --variant oracle",
        2,
        "expected no jitter-distribution: it takes packets to arrive in the order",
    ),
    ("box lo lo2 --jitter 1ms --jitter-distribution gauss", 2, "gauss: no such file"),
    ("race --reorder 200%", 2, "--reorder 200%: expected a share from 0 to 1"),
    ("race --duplicate 1e9", 2, "--duplicate 1e9: expected a share from 0 to 1"),
    ("race --window 0", 2, "--window 0: expected between 1B and 1GiB"),
    ("race --flips 0", 2, "--flips 0: expected at least one bit"),
    ("race --aqm foo", 2, "--aqm foo: expected none, codel"),
    ("race --rate-steps foo", 2, "--rate-steps foo: expected RATE@TIME"),
    ("race --rate-trace missing", 2, "missing: cannot be read: No such file"),
    ("race --cross pcap:missing", 2, "missing: cannot be read: No such file"),
    ("race --cross pcap:.", 2, ".: cannot be read: Is a directory"),
    ("race --cross pcap:", 2, "expected pcap:FILE, pcap:FILE:to=ADDRESS or pcap:FILE:from=ADDRESS"),
    ("race --cross pcap:out/sack-1.pcapng:to=host", 2, "expected pcap:FILE, pcap:FILE:to=ADDRESS"),
    ("race --cross pcap:empty", 2, "empty: at byte 0: expected a pcap or pcapng file, got 0 bytes"),
    ("race --cross pcap:text", 2, "text: at byte 0: expected"),
    ("race --cross pcap:arp.pcap", 2, "arp.pcap: expected IP packets, found none among 2 packets"),
    (
        "race --cross pcap:once.pcap",
        2,
        "once.pcap: expected packets at different times, which can be repeated",
    ),
    ("race --cross pcap:long.pcap", 2, "long.pcap: at byte 32: expected a packet of at most 262144 bytes"),
    (
        "race --cross pcap:out/sack-1.pcapng:from=192.0.2.9",
        2,
        "out/sack-1.pcapng: expected IP packets from 192.0.2.9, found none among",
    ),
    (
        "race --cross pcap:out/sack-1.pcapng --mtu 600",
        2,
        "bytes: expected packets of at most 600 bytes, the MTU",
    ),
    (
        "race --cross pcap:out/sack-1.pcapng --cross-packet 500",
        2,
        "--cross-packet 500: expected none: the packets of a capture have their own lengths",
    ),
    (
        "race --cross pcap:out/sack-1.pcapng --trunk headway --trunk-mode split",
        2,
        "expected no cross traffic, or mode packets",
    ),
    ("box lo lo2 --cross pcap:out/sack-1.pcapng", 2, "unexpected argument '--cross'"),
    (
        "lab live fine.toml --set cross=pcap:out/sack-1.pcapng",
        2,
        "cross: one transfer at a time runs in real time: expected none",
    ),
    (
        "lab run fine.toml --set cross=pcap:missing",
        2,
        "cross: missing: cannot be read: there is no such file in",
    ),
    ("race --mute foo", 2, "--mute foo: expected LENGTH@START"),
    ("race --policer foo", 2, "--policer foo: expected RATE:BUCKET"),
    ("race --rivals foo", 2, "--rivals foo: expected one of newreno"),
    ("race --hit-zone foo", 2, "--hit-zone foo: expected a hit zone: tcp or ip+tcp"),
    ("race --frame-check foo", 2, "--frame-check foo: expected a frame check: keep, drop"),
    ("race --profile foo", 2, "--profile foo: expected a profile: linux22, standard or modern"),
    ("race --rules foo", 2, "--rules foo: expected literal or default"),
    ("race --retries -1", 2, "--retries -1: expected a whole number"),
    ("race --overhead -1", 2, "--overhead -1: expected a whole number"),
    ("race --mtu abc", 2, "--mtu abc: expected a whole number"),
    ("race --damage burst:5%", 2, "--damage burst:5%: expected burst:P:L"),
    ("race --damage ber:2", 2, "--damage ber:2: expected ber:RATE with a bit error rate from 0 to 1"),
    ("race --damage gilbert:1", 2, "--damage gilbert:1: expected gilbert:P:R:GOOD:BAD"),
    ("race --loss burst:50%:0", 2, "--loss burst:50%:0: expected a share such as 1%"),
    ("race --runs -1", 2, "invalid value '-1' for '--runs <N>': -1 is not in 0..=4294967295"),
    ("race --seed -1", 2, "invalid value '-1' for '--seed <SEED>': expected a whole number"),
    ("race --seed 99999999999999999999", 2, "expected a smaller whole number"),
    ("race --size 99999999999999999999KB", 2, "expected a size below 2^64 bytes"),
    ("race --size 1e400", 2, "--size 1e400: expected a size"),
    ("race --variant sack,,hack", 2, "invalid value '' for '--variant <NAME,...>'"),
    ("race --variant modern:foo", 2, "\"foo\": expected a congestion controller: newreno, cubic or bbr\n"),
    ("race --json=maybe", 2, "unexpected value 'maybe' for '--json'"),
    ("race text text", 2, "unexpected argument 'text' found; expected what `headway race --help` lists"),
    ("trace out/sack-1.pcapng --connection 9", 2, "--connection 9: expected a number from 1 to 1"),
    ("trace out/sack-1.pcapng --connection x", 2, "'--connection <N,...>': expected a whole number"),
    ("trace out/sack-1.pcapng --xplot text", 1, "text: cannot be written: File exists"),
    ("lab check line.toml", 2, "line.toml:8: unknown variant `line`, expected one of `lines`, `bars`"),
    ("lab check .", 2, ".: Is a directory"),
    ("lab check fine.toml missing.toml", 2, "missing.toml: No such file"),
    (
        "lab check misspelt.toml",
        2,
        "misspelt.toml:1: rnus: unknown key (did you mean runs?): expected one of",
    ),
    ("lab check misspelt.toml", 2, "missing keys `title`, `runs`"),
    ("lab run fine.toml --seed x", 2, "for '--seed <SEED>': expected a whole number"),
    ("lab run fine.toml --runs -1", 2, "invalid value '-1' for '--runs <N>'"),
    ("lab run fine.toml --set runs=3", 2, "\"runs\" is neither an axis nor a key of [scenario]"),
    ("lab run fine.toml --set variant=", 2, "fine.toml:4: variant: \"\": expected one of newreno"),
    ("lab schema x", 2, "unexpected argument 'x' found; expected what `headway lab schema --help` lists"),
    ("lab live missing.toml", 2, "missing.toml: No such file"),
    ("lab new", 2, "<NAME>"),
    ("lab new a/b", 2, "a/b' for '<NAME>': expected a name of letters, digits, - and _"),
    ("paper", 2, ""),
    ("paper show foo", 2, "\"foo\": expected `all` or a name that `headway paper list` shows"),
    ("paper run 000-fig13 --set damage=foo", 2, "damage: \"foo\": expected none, random:P"),
    ("paper run 000-fig13 --runs x", 2, "for '--runs <N>': expected a whole number"),
    ("paper report missing", 2, "missing: No such file"),
    ("perf client localhost --kernel --udp a b", 2, "'--kernel' cannot be used with '--udp <LOCAL> <PEER>'"),
    ("perf client localhost --udp 127.0.0.1:0", 2, "2 values required for '--udp <LOCAL> <PEER>'"),
    ("perf client localhost --udp abc 127.0.0.1:1", 2, "--udp abc: expected an address with a port"),
    ("perf client localhost --udp 127.0.0.1:0 abc", 2, "such as 192.0.2.1:4000, or any"),
    ("perf client localhost --tun hw0", 2, "--address <ADDRESS/LEN>"),
    ("perf client localhost --tun hw0 --address 10.0.0.0/24", 2, "this is the network's own"),
    ("perf client localhost --tun hw0 --address 10.0.0.1/99", 2, "expected an address and its prefix length"),
    (
        "perf client localhost --kernel --only-peer 10.0.0.1",
        2,
        "--only-peer 10.0.0.1: expected --tun or --packet",
    ),
    ("perf client localhost --kernel --timeout 0s", 2, "--timeout 0s: expected at least 100ms"),
    ("perf client localhost --udp 127.0.0.1:0 127.0.0.1:9 --mtu 20", 2, "--mtu 20: expected at least 128"),
    (
        "perf client localhost --udp 127.0.0.1:0 127.0.0.1:9 --pcap missing/x",
        1,
        "missing/x: cannot be written",
    ),
    (
        "perf client localhost --udp 127.0.0.1:0 127.0.0.1:9 --qlog missing/x.sqlog",
        1,
        "missing/x.sqlog: cannot be written",
    ),
    ("perf client localhost --udp 127.0.0.1:0 127.0.0.1:9 --cc foo", 2, "expected a congestion controller"),
    ("perf client 10.9.9.9 --udp 127.0.0.1:0 127.0.0.1:9", 2, "over UDP only the peer can be reached"),
    ("perf client 127.0.0.1 --udp 127.0.0.1:0 any", 2, "with `any` others connect to this end"),
    (
        "perf client 127.0.0.1 --udp 192.0.2.1:9 127.0.0.1:9",
        1,
        "UDP 192.0.2.1:9: Cannot assign requested address",
    ),
    ("perf client 127.0.0.1 --kernel --bidir --reverse", 2, "cannot be used with"),
    ("perf client 127.0.0.1 --kernel --bidir --latency", 2, "cannot be used with"),
    ("perf client 127.0.0.1 --kernel --rrul --latency", 2, "cannot be used with"),
    ("perf client 127.0.0.1 --kernel --rrul --bytes 1M", 2, "cannot be used with"),
    ("perf client 127.0.0.1 --kernel --rrul --bidir", 2, "cannot be used with"),
    ("perf client 127.0.0.1 --kernel --idle 5s", 2, "--rrul"),
    ("perf client 127.0.0.1 --kernel --rrul --idle 0s", 2, "--idle 0s: expected some time, such as 5s"),
    ("perf client 127.0.0.1 --kernel --rrul --idle -5s", 2, "-5s"),
    ("perf client 127.0.0.1 --kernel --parallel 1001", 2, "1001 is not in 1..=1000"),
    ("perf client 127.0.0.1 --kernel --length 17M", 2, "--length 17825792: expected between 1B and 16MiB"),
    ("perf client 127.0.0.1 --kernel --interval 9ms", 2, "--interval 9ms: expected at least 10ms"),
    ("perf client 127.0.0.1 --kernel --report missing/x.html", 1, "missing/x.html: cannot be written"),
    ("perf client 127.0.0.1 --kernel --flent missing/x.flent.gz", 1, "missing/x.flent.gz: cannot be written"),
    ("perf client 127.0.0.1 --kernel --flent .", 1, ".: cannot be written"),
    ("perf client 127.0.0.1 --kernel --flent", 2, "a value is required for '--flent <FILE.flent.gz>'"),
    ("perf client 127.0.0.1 --kernel --json --json-stream", 2, "cannot be used with"),
    ("perf client 127.0.0.1 --kernel --report .", 1, ".: cannot be written"),
    ("perf server --kernel --listen 192.0.2.1:99", 1, "192.0.2.1:99: cannot be listened at"),
    ("nc 127.0.0.1", 2, "<PORT>"),
    ("nc 127.0.0.1 70000 --kernel", 2, "70000 is not in 0..=65535"),
    ("nc 127.0.0.1 abc --kernel", 2, "for '[PORT]': expected a whole number"),
    ("nc --listen x --kernel", 2, "expected a port, or an address with a port"),
    ("nc 127.0.0.1 1 --udp 127.0.0.1:0 127.0.0.1:1 --timeout 300ms", 1, "127.0.0.1:1: no answer in 0.3 s"),
    ("fetch http:// --kernel", 2, "'http://' for '<URL>': expected http://HOST[:PORT]/PATH"),
    ("fetch http://127.0.0.1:99999/x --kernel", 2, "expected a port from 1 to 65535"),
    ("fetch http://127.0.0.1:1/x --kernel --progress foo", 2, "expected one of auto, always, never"),
    ("fetch http://127.0.0.1:1/x --kernel --upload missing", 1, "missing: cannot be read"),
    ("fetch http://127.0.0.1:1/x --kernel --upload .", 1, ".: cannot be read: expected a regular file"),
    (
        "fetch http://127.0.0.1:1/x --kernel --upload text --output x",
        2,
        "cannot be used with '--output <FILE>'",
    ),
    ("fetch http://127.0.0.1:1/x --kernel --continue --upload text", 2, "cannot be used with"),
    (
        "fetch http://127.0.0.1:1/x --kernel --continue --output -",
        2,
        "--continue with --output -: expected a file",
    ),
    (
        "fetch http://127.0.0.1:1/x --kernel --continue --output .",
        1,
        ".: cannot be written: expected a regular file with --continue",
    ),
    (
        "fetch http://127.0.0.1:1/x --kernel --continue --output missing/x",
        1,
        "missing/x.part: cannot be written",
    ),
    ("fetch http://no.such.name.invalid/x --kernel", 1, "no.such.name.invalid: "),
    ("serve", 2, "<DIR>"),
    ("serve . --kernel --listen 127.0.0.1", 2, "expected a port, or an address with a port"),
    ("serve . --kernel --listen 192.0.2.1:99", 1, "192.0.2.1:99: cannot be listened at"),
    ("box lo", 2, "<IFACE_B>"),
    ("box lo lo", 2, "interface lo twice: expected two different interfaces"),
    ("box lo nosuch1 --rate -5mbit", 2, "--rate -5mbit: expected a rate"),
    ("doctor x", 2, "unexpected argument 'x' found; expected what `headway doctor --help` lists"),
    ("doctor --connect 127.0.0.1:1", 2, "--tun <DEVICE>"),
    ("doctor --connect :1 --kernel", 2, "--connect :1: expected HOST:PORT"),
    ("doctor --connect 127.0.0.1:70000 --kernel", 2, "expected HOST:PORT"),
    ("doctor --listen 7 --kernel", 2, "--listen 0.0.0.0:7: expected --tun, --udp or --packet"),
    ("completions", 2, "<SHELL>"),
    ("completions csh", 2, "invalid value 'csh' for '<SHELL>': expected one of bash, elvish"),
    ("man", 2, "<DIR>"),
    ("man text", 1, "text: cannot be written: File exists"),
];

#[test]
fn wrong_inputs_end_with_a_line_that_says_what_was_expected() {
    let folder = folder();
    let mut wrong = Vec::new();
    for (line, code, part) in INPUTS {
        let end = end(command(folder.path(), line), line);
        let is_help = part.is_empty();
        let short = end.says.lines().count() == 1 || is_help;
        if end.code != Some(*code) || !end.says.contains(part) || !short || !end.out.is_empty() {
            wrong.push(format!("{line}: {:?} {}{}", end.code, end.says, end.out));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Odd, and right.
const ODD: &[(&str, &str)] = &[
    ("--help", "Usage: headway <COMMAND>"),
    ("--version", "headway "),
    ("help --help", "Usage: headway <COMMAND>"),
    ("help race", "--damage"),
    (
        "race --size 1KB --runs 1 --variant sack --loss 5% --jitter 3ms --duplicate 2% --reorder 1%",
        "bound 7.26 Mbit/s\nloss 5%, jitter 3ms, duplicate 2%, reorder 1% by ",
    ),
    (
        "race --size 1KB --runs 1 --variant sack --jitter 3ms --jitter-distribution uniform:25%:ordered",
        "jitter 3ms uniform:25%:ordered",
    ),
    ("race --size 1KB --runs 1 --variant headway --loss 5% --damage none", "see docs/ledger.md"),
    ("lab check real.toml", "real.toml: 2 cells, 2 runs, in real time only"),
    ("race --size 1 --runs 1 --variant sack", "sack"),
    ("race text --runs 1 --variant sack,sack", "sack"),
    ("trace out/sack-1.pcapng", "connection"),
    ("trace out/sack-1.pcapng --json", "{"),
    ("trace out/sack-1.pcapng out/sack-1.pcapng", "out/sack-1.pcapng and out/sack-1.pcapng"),
    ("race --size 1KB --runs 1 --variant sack --pcap ends --pcap-split", "sack"),
    ("lab check fine.toml", "fine.toml: 1 cell, 1 run\n"),
    ("lab run fine.toml --runs 1", "results: "),
    ("lab schema", "{"),
    ("lab columns", "# Columns"),
    ("paper list", "000-fig13"),
    ("race --size 1KB --runs 1 --variant sack --loss 100% --time-limit 1s", "bound 0"),
    ("race --size 1KB --runs 1 --variant sack --queue 0 --time-limit 1s", "sack"),
    ("race --size 1KB --runs 1 --variant sack --json", "{"),
    ("lab check plain.toml", "plain.toml: 1 cell, 1 run\n"),
    ("lab run plain.toml", "goodput Mbit/s"),
    ("lab new my", "title = \"my: "),
    ("lab new my.toml", "headway lab run my.toml"),
    ("paper show 000-fig13", "[scenario]"),
    ("completions bash", "_headway"),
    ("help lab new", "headway lab new"),
    ("race -h", "--damage"),
    ("doctor", "use --"),
    ("doctor", "because"),
    ("doctor -v", "udp4"),
    ("doctor --json", "\"advice\""),
];

#[test]
fn odd_inputs_work() {
    let folder = folder();
    for (line, part) in ODD {
        let end = end(command(folder.path(), line), line);
        assert_eq!(end.code, Some(0), "{line}: {}", end.says);
        assert!(end.out.contains(part), "{line}: {}", end.out);
    }
}

/// The standard output of commands is full, or closed at its other end.
fn refuses_bad_outputs(directory: &Path, line: &str) {
    let mut full = command(directory, line);
    full.stdout(File::options().write(true).open("/dev/full").expect("a full device"));
    let ended = end(full, line);
    let reason = "standard output cannot be written: No space left on device";
    assert_eq!(ended.code, Some(1), "{line} > /dev/full: {}", ended.says);
    assert!(ended.says.contains(reason), "{line} > /dev/full: {}", ended.says);

    let mut closed = command(directory, line);
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    closed.stdout(writer);
    let ended = end(closed, line);
    assert_eq!(ended.code, Some(1), "{line} | : {}", ended.says);
    assert!(ended.says.contains("Broken pipe"), "{line} | : {}", ended.says);
}

#[test]
fn outputs_that_are_full_or_closed_are_complained_about() {
    let folder = folder();
    for (line, _) in ODD {
        refuses_bad_outputs(folder.path(), line);
    }
}

/// Only the exit code shows the complaint then.
#[test]
fn complaints_that_cannot_be_written_change_nothing() {
    let folder = folder();
    for (line, code) in [
        ("bogus", 2),
        ("race --runs 0", 2),
        ("trace missing", 2),
        ("lab run fine.toml", 0),
        ("race --size 1KB --runs 1 --variant sack --report page.html", 0),
        ("fetch http://127.0.0.1:1/x --kernel", 1),
        ("serve missing --kernel", 2),
    ] {
        let mut full = command(folder.path(), line);
        full.stderr(File::options().write(true).open("/dev/full").expect("a full device"));
        assert_eq!(end(full, line).code, Some(code), "{line}");
    }
}

/// As iperf3's, an error is in the object that a program reads.
#[test]
fn errors_of_a_measurement_are_in_its_json() {
    let folder = folder();
    for (line, code, part) in [
        ("perf client 127.0.0.1 --kernel --port 1 --json", 1, "127.0.0.1:1: "),
        ("perf client 127.0.0.1 --kernel --json --time 0s", 2, "--time 0s: expected some time"),
    ] {
        let ended = end(command(folder.path(), line), line);
        assert_eq!(ended.code, Some(code), "{line}: {}", ended.says);
        let object: serde_json::Value = serde_json::from_str(&ended.out).expect("an object");
        assert!(object["error"].as_str().expect("an error").starts_with(part), "{line}: {object}");
        assert!(object["start"].is_object() && object["intervals"].is_array() && object["end"].is_object());
    }
}

/// iperf3's units and columns.
#[test]
fn a_measurement_reads_as_iperf3s() {
    let folder = folder();
    let mut server =
        command(folder.path(), "perf server --kernel --listen 127.0.0.1:0").spawn().expect("it runs");
    let says = server.stderr.take().expect("a stream");
    let _running = Running(server);
    let mut lines = BufReader::new(says).lines();
    let line = lines.next().expect("a line").expect("text");
    thread::spawn(move || lines.for_each(drop));
    let port = line.rsplit_once(':').expect("a port").1;
    let client = |options: &str| {
        let line = format!("perf client 127.0.0.1 --port {port} --kernel {options}");
        let ended = end(command(folder.path(), &line), &line);
        assert_eq!(ended.code, Some(0), "{line}: {}", ended.says);
        ended.out
    };
    let object: serde_json::Value = serde_json::from_str(&client("-n 2M -l 64K --json")).expect("an object");
    assert_eq!(object["end"]["sum_received"]["bytes"], 2 << 20, "{object}");
    assert_eq!(object["start"]["test_start"]["blksize"], 64 << 10, "{object}");
    let text = client("-t 0.5 -i 0.2");
    let lines: Vec<&str> = text.lines().collect();
    for column in ["Interval", "Transfer", "Bitrate", "Retr", "Cwnd", "RTT"] {
        assert!(lines[0].contains(column), "{text}");
    }
    assert!(lines[1].ends_with(" ms"), "{text}");
    assert!(text.contains("  sender\n") && text.ends_with("  receiver\n"), "{text}");
    assert!(text.contains("\nCPU: local "), "{text}");
    assert!(!client("-t 0.2 --reverse").contains("Cwnd"), "the other end sends");
}

/// A program that runs until it is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_measurement_ends_where_its_results_cannot_be_written() {
    let folder = folder();
    let mut server =
        command(folder.path(), "perf server --kernel --listen 127.0.0.1:0").spawn().expect("it runs");
    let says = server.stderr.take().expect("a stream");
    let _running = Running(server);
    let mut lines = BufReader::new(says).lines();
    let line = lines.next().expect("a line").expect("text");
    thread::spawn(move || lines.for_each(drop));
    let port = line.rsplit_once(':').expect("a port").1;
    for options in ["", "--json", "--json-stream", "--latency", "--reverse", "--bidir", "--rrul --idle 100ms"]
    {
        let line =
            format!("perf client 127.0.0.1 --port {port} --kernel --time 200ms --interval 50ms {options}");
        refuses_bad_outputs(folder.path(), &line);
    }
}

#[test]
fn what_arrives_needs_a_place() {
    let folder = folder();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a client");
            // A request, or nothing.
            let _ = stream.read(&mut [0; 4096]);
            let _ =
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello");
            let _ = stream.shutdown(std::net::Shutdown::Write);
            let _ = stream.read_to_end(&mut Vec::new());
        }
    });
    for line in [
        format!("fetch http://127.0.0.1:{port}/x --kernel --output -"),
        format!("fetch http://127.0.0.1:{port}/x --kernel --output x --json"),
        format!("nc 127.0.0.1 {port} --kernel"),
    ] {
        refuses_bad_outputs(folder.path(), &line);
    }
}

#[test]
fn a_device_is_written_to_and_not_replaced() {
    use std::os::unix::fs::{FileTypeExt as _, symlink};
    let folder = folder();
    let line = "race --size 1KB --runs 1 --variant sack --report pipe";
    let path = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&path).status().expect("mkfifo").success());
    let reader = {
        let path = path.clone();
        thread::spawn(move || fs::read_to_string(path).expect("a page"))
    };
    let ended = end(command(folder.path(), line), line);
    assert_eq!(ended.code, Some(0), "{}", ended.says);
    assert!(reader.join().expect("a page").contains("</html>"));
    assert!(fs::metadata(&path).expect("a pipe").file_type().is_fifo());

    symlink("page.html", folder.path().join("link")).expect("a link");
    let line = "race --size 1KB --runs 1 --variant sack --report link";
    assert_eq!(end(command(folder.path(), line), line).code, Some(0));
    assert!(fs::symlink_metadata(folder.path().join("link")).expect("a link").is_symlink());
    assert!(fs::read_to_string(folder.path().join("page.html")).expect("a page").contains("</html>"));
}

#[test]
fn the_note_on_losses_is_for_a_sender_that_cannot_know() {
    let folder = folder();
    for options in [
        "--variant modern:bbr --damage none --loss 5%",
        "--variant headway --damage none",
        "--variant headway --damage random:1% --loss 5%",
        "--variant headway --damage none --loss 5% --with own-path",
    ] {
        let line = format!("race --size 1KB --runs 1 {options}");
        let ended = end(command(folder.path(), &line), &line);
        assert_eq!(ended.code, Some(0), "{line}: {}", ended.says);
        assert!(!ended.out.contains("docs/ledger.md"), "{line}: {}", ended.out);
    }
}

#[test]
fn one_run_has_no_interval() {
    let folder = folder();
    let line = "lab run fine.toml";
    let ended = end(command(folder.path(), line), line);
    assert!(!ended.out.contains(" .. "), "{}", ended.out);
}

/// What the paper claims is not about other conditions than its own; part of them are its own.
#[test]
fn changed_experiments_are_marked_and_not_judged() {
    let folder = folder();
    let claim = "\n[[claim]]\nsays = 'slow'\npaper = 1000.0\nwhy = 'as in the file'\n";
    fs::write(folder.path().join("claim.toml"), format!("{FINE}{claim}")).expect("a file");
    for (set, judged) in [("variant=sack", true), ("delay=150ms", false), ("variant=hack", false)] {
        let line = format!("lab run claim.toml --set {set} --out {set}");
        let ended = end(command(folder.path(), &line), &line);
        assert_eq!(!ended.out.contains("not judged"), judged, "{line}: {}", ended.out);
        let line = format!("lab report {set}");
        assert_eq!(end(command(folder.path(), &line), &line).code, Some(0), "{line}");
        let page = fs::read_to_string(folder.path().join(set).join("report.html")).expect("a page");
        assert_eq!(page.contains("as in the file"), judged, "{line}");
        assert_eq!(page.contains(&format!("--set {set}")), !judged, "{line}");
    }
}

/// The file and the reason, and no name of a file that the user did not ask for.
#[test]
fn files_without_room_are_named() {
    let folder = folder();
    for output in ["--pcap full", "--report full.html"] {
        let script = format!(
            "trap '' XFSZ; ulimit -f 8; exec {} race --size 300KB --runs 1 --variant sack {output}",
            HEADWAY.0
        );
        let mut limited = Command::new("sh");
        limited
            .args(["-c", &script])
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let ended = end(limited, output);
        assert_eq!(ended.code, Some(1), "{output}: {}", ended.says);
        assert!(ended.says.contains("full"), "{output}: {}", ended.says);
        assert!(ended.says.contains("cannot be written: File too large"), "{output}: {}", ended.says);
        assert!(!ended.says.contains(".tmp"), "{output}: {}", ended.says);
    }
}
