//! Forged reports.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use super::hosts::{Hosts, LEFT, Process, RIGHT};
use crate::programs::folder_with_file;

const FORGER: &str = include_str!("forger.py");

/// Someone who sees no packet of a connection, but knows addresses and ports, changes nothing.
#[test]
fn a_blind_forger_has_no_effect() {
    for encoding in ["classic", "v2"] {
        let Some(hosts) = Hosts::new() else { return };
        let _box = hosts.start_box(&["--rate", "100mbit", "--delay", "1ms", "--damage", "none"]);
        let [left, right] = hosts.attach(&["--encoding", encoding]);
        // The left end sends whenever it is asked to, so that bytes are outstanding now and then.
        let server = "import socket\nc = socket.create_server(('', 9000)).accept()[0]\n\
                      while (m := c.recv(1)): c.sendall(b'a' * 30000)";
        let _server = hosts.left.start("python3", &["-c", server]);
        hosts.left.namespace.wait_for_listener(9000);
        let client = "import socket, subprocess, sys\n\
            s = socket.create_connection((sys.argv[1], 9000), source_address=('', 9001))\n\
            f = subprocess.Popen(['python3', '-c', sys.argv[2], 'blind', sys.argv[3], '9001', sys.argv[1], '9000', '4000'])\n\
            while f.poll() is None:\n\
            \x20   s.sendall(b'x'); n = 0\n\
            \x20   while n < 30000:\n\
            \x20       m = s.recv(30000 - n); assert m == b'a' * len(m) and m; n += len(m)\n\
            sys.exit(f.returncode)";
        hosts.right.run("python3", &["-c", client, LEFT[0], FORGER, RIGHT[0]]);
        assert_eq!(left.count(&format!("agreed_{encoding}")), 1);
        for what in [
            "reports_accepted",
            "losses_damage",
            "losses_counted",
            "counted",
            "special_acks_sent",
            "replayed",
        ] {
            assert_eq!(left.count(what), 0, "{encoding}: {what}: {}", left.status());
        }
        // Each is counted.
        let refused = match encoding {
            "classic" => left.count("reports_refused") + left.count("implausible"),
            _ => left.count("unreadable") + left.count("without_option"),
        };
        assert!(refused > 100, "{encoding}: {}", left.status());
        assert_eq!(right.count("agreed_v2") + right.count("agreed_classic"), 1);
    }
}

/// A receiver that reports whatever is outstanding: its sender attributes no more than the ledger permits.
#[test]
fn a_lying_receiver_is_bounded() {
    let Some(hosts) = Hosts::new() else { return };
    let _box =
        hosts.start_box(&["--rate", "20mbit", "--delay", "20ms", "--queue", "1bdp", "--damage", "none"]);
    let [left, _right] = hosts.attach(&[]);
    let (folder, bytes) = folder_with_file(26, 4_000_000);
    let _server = hosts.left.serve(folder.path());
    // On a busy machine most of the lies come too late to be taken.
    let mut transfers = 0;
    while transfers == 0 || transfers < 5 && left.count("reports_unbounded") == 0 {
        let mut liar =
            hosts.right.namespace.command("python3", &["-c", FORGER, "lying", RIGHT[0], LEFT[0], "8000"]);
        let mut liar = Process(liar.stdout(Stdio::piped()).spawn().unwrap());
        let mut line = String::new();
        BufReader::new(liar.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        let got = hosts.right.run("curl", &["-sSf", &format!("http://{}:8000/file", LEFT[0])]).stdout;
        assert!(got == bytes);
        transfers += 1;
    }
    let accepted = left.count("reports_accepted");
    // Segments that arrived: those with the file, its headers, SYN and FIN; some arrive twice.
    let arrived =
        transfers * (bytes.len() as u64 / 1448 + 100) + left.count("replayed") + left.count("losses_damage");
    assert!(accepted > 100, "{}", left.status());
    assert!(accepted <= 7 * arrived + 64, "{}", left.status());
    assert!(left.count("reports_unbounded") > 0, "{}", left.status());
}

/// A report on blocks follows the header of a special ACK like data. No peer sends one that was not asked for, and the kernel's TCP
/// must not deliver it.
#[test]
fn a_report_on_blocks_is_not_data() {
    let Some(hosts) = Hosts::new() else { return };
    for (from, to) in LEFT.into_iter().zip(RIGHT) {
        let _box = hosts.start_box(&["--rate", "50mbit", "--delay", "2ms", "--damage", "random:2%"]);
        let [left, _right] = hosts.attach(&["--encoding", "v2"]);
        // The left end sends whenever it is asked to, and in the end what it has received.
        let server = "import socket, sys\n\
            s = socket.socket(socket.AF_INET6); s.setsockopt(1, 2, 1); s.bind(('::', 9000)); s.listen()\n\
            c = s.accept()[0]; got = b''\n\
            while (m := c.recv(1)):\n\
            \x20   got += m; c.sendall(b'a' * 50000)\n\
            c.sendall(got)";
        let _server = hosts.left.start("python3", &["-c", server]);
        hosts.left.namespace.wait_for_listener(9000);
        let mut forger = hosts.right.namespace.command("python3", &["-c", FORGER, "reporting", "9000"]);
        let mut forger = Process(forger.stdout(Stdio::piped()).spawn().unwrap());
        let mut line = String::new();
        BufReader::new(forger.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        let client = "import socket, sys\n\
            s = socket.create_connection((sys.argv[1], 9000)); got = b''\n\
            for _ in range(30):\n\
            \x20   s.sendall(b'x'); n = 0\n\
            \x20   while n < 50000:\n\
            \x20       m = s.recv(50000 - n); assert m == b'a' * len(m) and m; n += len(m)\n\
            s.shutdown(1)\n\
            while (m := s.recv(1000)): got += m\n\
            assert got == b'x' * 30, got";
        hosts.right.run("python3", &["-c", client, from]);
        assert!(left.count("reports_cut") > 30, "{from}, {to}: {}", left.status());
        assert_eq!(left.count("without_option"), 0, "{from}, {to}: {}", left.status());
    }
}
