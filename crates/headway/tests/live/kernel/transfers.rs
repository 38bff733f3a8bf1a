//! Unmodified programs, whose bytes are compared.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use headway_test_fixture::process::wait_until;

use super::hosts::{Hosts, LEFT, Process, RIGHT};
use crate::namespace::say_skipped;
use crate::programs::folder_with_file;
use crate::ssh;

const DAMAGING: [&str; 8] =
    ["--rate", "50mbit", "--delay", "5ms", "--damage", "random:5%", "--header-hit", "40%"];

fn url(address: &str) -> String {
    if address.contains(':') {
        format!("http://[{address}]:8000/file")
    } else {
        format!("http://{address}:8000/file")
    }
}

/// A file crosses a damaging link over both versions of IP; what was counted at both ends.
fn transfer(encoding: &str, congestion: &str) -> Option<()> {
    let hosts = Hosts::new()?;
    let _box = hosts.start_box(&DAMAGING);
    let [left, right] = hosts.attach(&["--encoding", encoding]);
    let (folder, bytes) = folder_with_file(21, 3_000_000);
    let _server = hosts.left.serve_with(folder.path(), congestion);
    for address in LEFT {
        let got = hosts.right.run("curl", &["-sSf", &url(address)]).stdout;
        assert!(got == bytes, "{encoding}, {congestion}, {address}");
    }
    let agreed = format!("agreed_{encoding}");
    assert_eq!((left.count(&agreed), right.count(&agreed)), (2, 2));
    // Of 4000 packets 3 % arrive with a valid header.
    assert!(right.count("special_acks_sent") > 50, "{}", right.status());
    assert!(left.count("reports_accepted") > 50, "{}", left.status());
    assert!(left.count("reports_accepted") <= right.count("special_acks_sent"), "{}", left.status());
    assert!(left.count("losses_damage") > 50, "{}", left.status());
    assert!(left.count("reductions_skipped") > 0, "{}", left.status());
    assert!(right.count("unreadable") > 20, "{}", right.status());
    for (one, what) in [(&left, "reports_refused"), (&left, "reports_unbounded"), (&right, "implausible")] {
        assert_eq!(one.count(what), 0, "{what}");
    }
    match encoding {
        "v2" => {
            // Headers resemble the connection's. Packets without data are not counted.
            let [unreadable, counted] = ["unreadable", "counted"].map(|name| right.count(name));
            assert!(counted <= unreadable && unreadable <= counted + 3, "{}", right.status());
            assert!(left.count("losses_counted") > 20, "{}", left.status());
        }
        _ => assert_eq!(right.count("counted"), 0),
    }
    Some(())
}

#[test]
fn damaged_packets_are_reported_in_the_classic_encoding() {
    let _ = transfer("classic", "cubic");
}

#[test]
fn damaged_packets_are_reported_and_counted_in_version_2() {
    let _ = transfer("v2", "cubic");
}

#[test]
fn bbr_is_wrapped_too() {
    let _ = transfer("v2", "bbr");
}

/// Unmodified ssh and sshd over a path that damages packets, and loses some without a word.
#[test]
fn ssh_copies_a_file_there_and_back() {
    if !ssh::are_installed(&[]) {
        return;
    }
    let Some(hosts) = Hosts::new() else { return };
    let damage = ["--damage", "random:5%", "--reverse-damage", "random:5%", "--loss", "0.5%"];
    let _box = hosts.start_box(&[&["--rate", "20mbit", "--delay", "10ms"], &damage[..]].concat());
    let [left, right] = hosts.attach(&["--encoding", "v2"]);
    let (folder, bytes) = folder_with_file(30, 1_000_000);
    let script = ssh::write_settings(folder.path(), RIGHT[0], "");
    let _sshd = hosts.right.start("sh", &["-c", &script]);
    hosts.right.namespace.wait_for_listener(ssh::PORT);
    let client = folder.path().join("client").display().to_string();
    let copy = format!("ssh -F {client} peer cat <{}", folder.path().join("file").display());
    assert!(hosts.left.run("sh", &["-c", &copy]).stdout == bytes);
    for one in [&left, &right] {
        assert_eq!(one.count("agreed_v2"), 1, "{}", one.status());
        assert!(one.count("reports_accepted") > 5, "{}", one.status());
    }
}

/// Data in both directions at once: sums beside SACK blocks.
#[test]
fn both_directions_carry_data() {
    for encoding in ["classic", "v2"] {
        let Some(hosts) = Hosts::new() else { return };
        let _box = hosts.start_box(&[&DAMAGING[..], &["--reverse-damage", "random:5%"]].concat());
        let [left, right] = hosts.attach(&["--encoding", encoding]);
        // Each end sends what it draws from its own seed, and the other end draws the same.
        let script = "import random, socket, sys, threading\n\
            mine, other, peer = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]\n\
            s = socket.create_server(('', 9000)).accept()[0] if peer == '' else socket.create_connection((peer, 9000))\n\
            def send():\n\
            \x20   s.sendall(random.Random(mine).randbytes(1500000)); s.shutdown(1)\n\
            t = threading.Thread(target=send); t.start(); got = b''\n\
            while len(got) < 1500000:\n\
            \x20   more = s.recv(65536)\n\
            \x20   if not more: break\n\
            \x20   got += more\n\
            t.join(); sys.exit(got != random.Random(other).randbytes(1500000))";
        let mut server = hosts.right.start("python3", &["-c", script, "1", "2", ""]);
        hosts.right.namespace.wait_for_listener(9000);
        hosts.left.run("python3", &["-c", script, "2", "1", RIGHT[0]]);
        assert!(server.0.wait().unwrap().success(), "{encoding}: the bytes differ");
        for one in [&left, &right] {
            assert!(
                one.count("reports_accepted") > 0 && one.count("special_acks_sent") > 0,
                "{}",
                one.status()
            );
            assert_eq!(one.count("without_option"), 0, "{}", one.status());
        }
    }
}

/// A peer without the programs sees plain TCP, and so does one whose connections are in no cgroup of theirs.
#[test]
fn others_see_plain_tcp() {
    let Some(hosts) = Hosts::new() else { return };
    let _box = hosts.start_box(&["--rate", "50mbit", "--delay", "1ms", "--damage", "random:1%"]);
    let left = hosts.left.attach(&["--encoding", "both"]);
    let (folder, bytes) = folder_with_file(22, 500_000);
    let _server = hosts.left.serve(folder.path());
    assert!(hosts.right.run("curl", &["-sSf", &url(LEFT[0])]).stdout == bytes);
    let right = hosts.right.attach(&["--encoding", "both"]);
    assert!(hosts.right.namespace.run("curl", &["-sSf", &url(LEFT[0])]).stdout == bytes);
    for one in [&left, &right] {
        assert_eq!(one.count("agreed_v2") + one.count("agreed_classic") + one.count("sums_written"), 0);
    }
}

/// Servers that listened before the programs were attached, the best encoding of both, and classic without version 2.
#[test]
fn the_best_encoding_of_both_is_used() {
    let Some(hosts) = Hosts::new() else { return };
    let _box = hosts.start_box(&["--rate", "50mbit", "--delay", "1ms", "--damage", "random:1%"]);
    let (folder, bytes) = folder_with_file(23, 500_000);
    let _server = hosts.left.serve(folder.path());
    let left = hosts.left.attach(&["--encoding", "both"]);
    for (encoding, agreed) in [("both", "agreed_v2"), ("classic", "agreed_classic")] {
        let right = hosts.right.attach(&["--encoding", encoding]);
        let before = left.count(agreed);
        assert!(hosts.right.run("curl", &["-sSf", &url(LEFT[0])]).stdout == bytes);
        assert_eq!((left.count(agreed), right.count(agreed)), (before + 1, 1), "{encoding}");
    }
}

/// Requests of one segment, one after the other: a damaged one is retransmitted from its copy.
#[test]
fn tails_are_retransmitted_from_copies() {
    let Some(hosts) = Hosts::new() else { return };
    let damage = ["--damage", "random:20%", "--header-hit", "0%"];
    let _box = hosts.start_box(&[&["--rate", "50mbit", "--delay", "10ms"], &damage[..]].concat());
    for encoding in ["classic", "v2"] {
        let [left, right] = hosts.attach(&["--encoding", encoding]);
        let server = "import socket\nc = socket.create_server(('', 9000)).accept()[0]\n\
                      while (m := c.recv(1000)): c.sendall(m)";
        let _server = hosts.right.start("python3", &["-c", server]);
        hosts.right.namespace.wait_for_listener(9000);
        let client = "import socket, sys\ns = socket.create_connection((sys.argv[1], 9000))\n\
                      s.setsockopt(6, 1, 1)\n\
                      for n in range(100):\n\
                      \x20   m = bytes([n]) * 1000; s.sendall(m); got = b''\n\
                      \x20   while len(got) < 1000: got += s.recv(1000)\n\
                      \x20   assert got == m";
        hosts.left.run("python3", &["-c", client, RIGHT[0]]);
        assert!(left.count("replayed") > 5, "{encoding}: {}", left.status());
        // Headers are not hit, and classic counts no packets without data: the sums of the copies are right.
        if encoding == "classic" {
            assert_eq!(right.count("unreadable"), 0, "{}", right.status());
        }
    }
}

/// Each segment of a burst is reported, however many, and none is left to the count of version 2.
#[test]
fn bursts_are_reported() {
    let Some(hosts) = Hosts::new() else { return };
    let damage = ["--damage", "burst:5%:8", "--header-hit", "0%"];
    let _box = hosts.start_box(&[&["--rate", "50mbit", "--delay", "5ms"], &damage[..]].concat());
    for encoding in ["classic", "v2"] {
        let [left, right] = hosts.attach(&["--encoding", encoding]);
        // One flight after the other: without a hole there is room for four numbers.
        let server = "import socket\nc = socket.create_server(('', 9000)).accept()[0]\n\
                      while (m := c.recv(1)): c.sendall(b'a' * 14000)";
        let _server = hosts.left.start("python3", &["-c", server]);
        hosts.left.namespace.wait_for_listener(9000);
        let client = "import socket, sys\ns = socket.create_connection((sys.argv[1], 9000))\n\
                      for _ in range(60):\n\
                      \x20   s.sendall(b'x'); n = 0\n\
                      \x20   while n < 14000: n += len(s.recv(14000 - n))";
        hosts.right.run("python3", &["-c", client, LEFT[0]]);
        let corrupted = right.count("corrupted");
        assert!(corrupted > 100, "{encoding}: {}", right.status());
        assert!(left.count("losses_counted") * 20 < corrupted, "{encoding}: {}", left.status());
    }
}

/// Sends to a listener that reads, and prints the socket's buffer, threshold and window, in bytes and segments.
const SENDER: &str = "import socket, struct, sys\n\
    s = socket.socket(); s.setsockopt(6, socket.TCP_CONGESTION, b'cubic')\n\
    s.connect((sys.argv[1], 9000))\n\
    for _ in range(int(sys.argv[2])): s.sendall(b'a' * 100000)\n\
    info = s.getsockopt(6, socket.TCP_INFO, 104)\n\
    print(s.getsockopt(1, socket.SO_SNDBUF), *struct.unpack_from('II', info, 76))";
const READER: &str = "import socket\nc = socket.create_server(('', 9000)).accept()[0]\n\
    while c.recv(65536): pass";

fn numbers(output: &[u8]) -> [u64; 3] {
    let words = String::from_utf8_lossy(output);
    let numbers: Vec<u64> = words.split_whitespace().map(|word| word.parse().unwrap()).collect();
    numbers.try_into().unwrap()
}

/// What waits behind a segment that is damaged twice needs a larger buffer than two windows.
#[test]
fn the_buffer_holds_what_waits_for_damage() {
    let Some(hosts) = Hosts::new() else { return };
    let _box = hosts.start_box(&[
        "--rate",
        "20mbit",
        "--delay",
        "20ms",
        "--damage",
        "random:5%",
        "--header-hit",
        "0%",
    ]);
    let [left, _right] = hosts.attach(&[]);
    let _reader = hosts.right.start("python3", &["-c", READER]);
    hosts.right.namespace.wait_for_listener(9000);
    let output = hosts.left.run("python3", &["-c", SENDER, RIGHT[0], "60"]).stdout;
    let [buffer, _, window] = numbers(&output);
    assert!(left.count("reports_accepted") > 50, "{}", left.status());
    // A segment takes up to 2304 bytes of the buffer; the window may have been reduced to 0.7 of what it was.
    assert!(
        buffer > window * 2304 * 10 / 7 * 2,
        "{buffer} bytes for a window of {window}: {}",
        left.status()
    );
}

/// A first flight that is lost ends slow start before it begins; the first report undoes that.
#[test]
fn a_report_undoes_what_early_timeouts_reduced() {
    let Some(hosts) = Hosts::new() else { return };
    let [left, _right] = hosts.attach(&[]);
    let _reader = hosts.right.start("python3", &["-c", READER]);
    hosts.right.namespace.wait_for_listener(9000);
    let link = ["--rate", "50mbit", "--delay", "10ms"];
    let box_without_damage = hosts.start_box(&link);
    let script = SENDER.replace("for _ in", "print('connected', flush=True); sys.stdin.readline()\nfor _ in");
    let mut sender = hosts.left.command("python3", &["-c", &script, RIGHT[0], "1"]);
    let mut sender = Process(sender.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap());
    let mut output = BufReader::new(sender.0.stdout.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert_eq!(line, "connected\n");
    drop(box_without_damage);
    sender.0.stdin.take().unwrap().write_all(b"\n").unwrap();
    wait_until("the flight is lost", || {
        let counts = hosts.left.namespace.run("nstat", &["-asz", "TcpExtTCPTimeouts"]).stdout;
        let counts = String::from_utf8_lossy(&counts);
        let mut words = counts.split_whitespace().skip_while(|word| *word != "TcpExtTCPTimeouts");
        words.nth(1).is_some_and(|count| count != "0")
    });
    let damage = ["--damage", "random:20%", "--header-hit", "0%"];
    let _box = hosts.start_box(&[&link[..], &damage[..]].concat());
    line.clear();
    output.read_line(&mut line).unwrap();
    let [_, threshold, _] = numbers(line.as_bytes());
    assert!(left.count("reports_accepted") > 5, "{}", left.status());
    assert!(threshold >= 10, "{threshold}: {}", left.status());
}

/// A program that chooses a congestion control after it has connected gets ours, which contains it; without HACK it gets
/// what it chose.
#[test]
fn a_congestion_control_that_is_chosen_later_is_wrapped() {
    let Some(hosts) = Hosts::new() else { return };
    let _box = hosts.start_box(&["--rate", "50mbit", "--delay", "1ms", "--damage", "none"]);
    let (folder, _) = folder_with_file(27, 1000);
    let _server = hosts.right.serve(folder.path());
    let script = "import socket, sys\n\
        s = socket.create_connection((sys.argv[1], 8000))\n\
        for name in sys.argv[2:]:\n\
        \x20   s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())\n\
        \x20   print(s.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).split(b'\\0')[0].decode())";
    let chosen = || {
        let words = ["-c", script, RIGHT[0], "cubic", "reno", "bbr"];
        String::from_utf8(hosts.left.run("python3", &words).stdout).unwrap()
    };
    let [left, right] = hosts.attach(&[]);
    let ours = |place: usize| left.status()["congestion"][place].as_str().unwrap().to_owned();
    assert_eq!(chosen(), format!("{}\nreno\n{}\n", ours(0), ours(1)));
    drop((left, right));
    assert_eq!(chosen(), "cubic\nreno\nbbr\n");
}

/// Beside AccECN, whose option competes for the 40 bytes.
#[test]
fn accurate_ecn_gives_way() {
    let Some(hosts) = Hosts::new() else { return };
    for host in [&hosts.left, &hosts.right] {
        // Request AccECN, and accept it.
        if !host.command("sysctl", &["-qw", "net.ipv4.tcp_ecn=3"]).output().unwrap().status.success() {
            return say_skipped("accecn", "the kernel refuses tcp_ecn=3");
        }
    }
    let _box = hosts.start_box(&[&DAMAGING[..], &["--reverse-damage", "random:2%"]].concat());
    let (folder, bytes) = folder_with_file(28, 2_000_000);
    for encoding in ["classic", "v2"] {
        let [left, right] = hosts.attach(&["--encoding", encoding]);
        let _server = hosts.left.serve(folder.path());
        assert!(hosts.right.run("curl", &["-sSf", &url(LEFT[0])]).stdout == bytes, "{encoding}");
        assert_eq!(right.count(&format!("agreed_{encoding}")), 1);
        assert!(left.count("reports_accepted") > 20, "{encoding}: {}", left.status());
        for one in [&left, &right] {
            assert_eq!(one.count("without_option"), 0, "{encoding}: {}", one.status());
        }
    }
}
