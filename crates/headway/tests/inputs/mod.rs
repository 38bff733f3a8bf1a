//! Wrong and odd inputs of every command: how it ends, and what it says. Nothing panics, nothing hangs.

mod wrong;

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::HEADWAY;

use wrong::INPUTS;

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

#[cfg(not(feature = "kernel"))]
#[test]
fn kernel_commands_say_how_they_are_built() {
    let folder = folder();
    for line in ["kernel status", "kernel detach", "kernel attach --cgroup / --interface lo"] {
        let end = end(command(folder.path(), line), line);
        assert_eq!(end.code, Some(1), "{line}: {}", end.says);
        assert!(end.says.contains("cargo build --release --features kernel"), "{line}: {}", end.says);
        assert_eq!(end.says.lines().count(), 1, "{line}: {}", end.says);
    }
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
    ("race --size 1KB --runs 1 --variant sack --queue 0p --time-limit 1s", "sack"),
    ("race --size 1KB --runs 1 --variant sack --json", "{"),
    ("lab check plain.toml", "plain.toml: 1 cell, 1 run\n"),
    ("lab run plain.toml", "goodput Mbit/s"),
    (
        "lab run plain.toml",
        "results: results; a table of all claims: headway lab report results; a page: headway lab explore results\n",
    ),
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
    // As of a shell for a program that SIGPIPE ended, in silence.
    assert_eq!(ended.code, Some(141), "{line} | : {}", ended.says);
    assert!(!ended.says.contains("standard output"), "{line} | : {}", ended.says);
}

#[test]
fn a_full_output_is_complained_about_and_a_closed_one_is_not() {
    let folder = folder();
    for (line, _) in ODD {
        refuses_bad_outputs(folder.path(), line);
    }
    refuses_bad_outputs(folder.path(), "trunk schema");
    let (mut server, _, at) = serve(command(folder.path(), "serve . --kernel --listen 127.0.0.1:0"));
    refuses_bad_outputs(folder.path(), &format!("fetch http://{at}/text --kernel --output -"));
    server.kill().expect("the end of the server");
    server.wait().expect("the end of the server");
}

/// Starts a server: the process, what else it says, and where it is.
fn serve(mut command: Command) -> (Child, BufReader<ChildStderr>, String) {
    let mut server = command.spawn().expect("the program starts");
    let mut says = BufReader::new(server.stderr.take().expect("standard error"));
    let mut line = String::new();
    says.read_line(&mut line).expect("a line");
    let at = line.trim().rsplit_once(" at http://").expect("an address").1.trim_end_matches('/').to_owned();
    (server, says, at)
}

#[test]
fn a_server_whose_output_is_closed_ends_in_silence() {
    let folder = folder();
    let line = "serve . --kernel --listen 127.0.0.1:0 --json";
    let mut command = command(folder.path(), line);
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    command.stdout(writer);
    let (mut server, mut says, at) = serve(command);
    let mut stream = TcpStream::connect(at).expect("a connection");
    stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").expect("a request");
    // It ends although the connection stays open.
    assert_eq!(server.wait().expect("an end").code(), Some(141));
    let mut rest = String::new();
    says.read_to_string(&mut rest).expect("text");
    assert_eq!(rest, "");
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

/// What a test measured before a signal is a result.
#[test]
fn a_measurement_that_is_stopped_has_results() {
    let folder = folder();
    let mut server =
        command(folder.path(), "perf server --kernel --listen 127.0.0.1:0").spawn().expect("it runs");
    let mut said = BufReader::new(server.stderr.take().expect("standard error"));
    let mut line = String::new();
    said.read_line(&mut line).expect("a line");
    let port = line.trim().rsplit(':').next().expect("a port").to_owned();
    let clients = ["", "--reverse", "--bidir"].map(|direction| {
        let line = format!(
            "perf client 127.0.0.1 --kernel --port {port} --interval 0.1 --time 60 --json {direction}"
        );
        let client = command(folder.path(), &line).spawn().expect("it runs");
        (direction, line, client)
    });
    // With `--json` nothing is said before the end.
    thread::sleep(Duration::from_millis(1500));
    for (direction, line, client) in clients {
        Command::new("kill").args(["-INT", &client.id().to_string()]).status().expect("kill");
        let output = client.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(130), "{line}");
        let object: serde_json::Value = serde_json::from_slice(&output.stdout).expect("an object");
        assert_eq!(object["error"], "stopped by SIGINT", "{line}");
        assert!(
            object["intervals"].as_array().is_some_and(|intervals| intervals.len() > 3),
            "{line}: {object}"
        );
        let sum = if direction == "--reverse" { "sum_received" } else { "sum_sent" };
        assert!(object["end"][sum]["bytes"].as_u64().is_some_and(|bytes| bytes > 0), "{line}: {object}");
    }
    server.kill().expect("it ends");
    server.wait().expect("it ended");
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

#[test]
fn every_file_is_checked_whatever_another_is() {
    let folder = folder();
    let line = "lab check broken.toml fine.toml missing.toml";
    let ended = end(command(folder.path(), line), line);
    assert_eq!((ended.code, ended.out.as_str()), (Some(2), "fine.toml: 1 cell, 1 run\n"));
    let named: Vec<&str> = ended.says.lines().filter_map(|line| line.split(':').nth(1)).collect();
    assert_eq!(named, [" broken.toml", " missing.toml"], "{}", ended.says);
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
