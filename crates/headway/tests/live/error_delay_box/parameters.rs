//! Parameters change while packets pass.

use std::io::Write as _;
use std::process::Stdio;

use headway_test_fixture::pattern::Pattern;

use super::testbed::{KERNEL_LEFT, Testbed};
use crate::programs::sha256;

const FILE: &str = "rate = \"20mbit\"\ndelay = \"2ms\"\n";

/// During a transfer at 20 Mbit/s the parameters change, and invalid changes are refused.
#[test]
fn sighup_reads_the_file_again() {
    let Some(testbed) = Testbed::new() else { return };
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("link.toml");
    let write = |text: &str| std::fs::write(&config, text).unwrap();
    write(FILE);
    let mut running = testbed.start(&["--config", config.to_str().unwrap(), "--interval", "50ms"]);
    let bytes = Pattern(10).bytes(0, 5_000_000);
    let mut receiving = testbed
        .left
        .command(
            "python3",
            &[
                "-c",
                "import socket, hashlib\n\
                 s = socket.create_server(('', 9000)); c, _ = s.accept(); h = hashlib.sha256()\n\
                 while b := c.recv(1 << 16): h.update(b)\n\
                 print(h.hexdigest())",
            ],
        )
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    testbed.left.wait_for_listener(9000);
    let mut sending = testbed
        .right
        .command(
            "python3",
            &[
                "-c",
                &format!(
                    "import socket, sys\n\
                     c = socket.create_connection(('{KERNEL_LEFT}', 9000))\n\
                     c.sendall(sys.stdin.buffer.read()); c.close()"
                ),
            ],
        )
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    sending.stdin.take().unwrap().write_all(&bytes).unwrap();
    wait_for_packets(&mut running, 100);

    // Invalid files change nothing.
    for (text, expected) in [
        ("rate = \n", ":1: "),
        ("delay = \"2ms\"\nspeed = \"1mbit\"", ":2: speed: unknown key: expected one of rate,"),
        ("rate = \"fast\"", ":1: rate: \"fast\": expected"),
    ] {
        write(text);
        running.signal("-HUP");
        let line = running.line_with("reloaded");
        assert_eq!(line["reloaded"], false);
        let error = line["error"].as_str().unwrap();
        assert!(error.contains("link.toml") && error.contains(expected), "{error}");
    }
    let before = running.line_with("reverse")["reverse"]["offered"].as_u64().unwrap();
    wait_for_packets(&mut running, before + 100);

    // A valid file changes the link.
    write("rate = \"200mbit\"\ndelay = \"1ms\"\nreverse-damage = \"random:5%\"\n");
    running.signal("-HUP");
    let line = running.line_with("reloaded");
    assert_eq!(line["reloaded"], true);
    assert_eq!(line["forward"]["rate_bps"], 200_000_000);
    assert_eq!(line["reverse"]["damage"], "random:5%");
    assert!(sending.wait().unwrap().success());
    let hash = String::from_utf8(receiving.stdout.take().map(read).unwrap()).unwrap();
    assert!(receiving.wait().unwrap().success());
    assert_eq!(hash.trim(), sha256(&bytes));
    let summary = running.stop();
    let reverse = &summary["reverse"];
    assert!(reverse["hit"].as_u64().unwrap() > 0, "{reverse}");
    assert!(
        reverse["offered"].as_u64().unwrap() > before,
        "counters include the time before the change: {reverse}"
    );
}

fn read(mut from: impl std::io::Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    from.read_to_end(&mut bytes).unwrap();
    bytes
}

/// Waits until `count` packets arrived from the right.
fn wait_for_packets(running: &mut super::testbed::RunningBox, count: u64) {
    while running.line_with("reverse")["reverse"]["offered"].as_u64().unwrap_or(0) < count {}
}

#[test]
fn without_a_file_sighup_changes_nothing() {
    let Some(testbed) = Testbed::new() else { return };
    let mut running = testbed.start(&["--damage", "none"]);
    running.signal("-HUP");
    let line = running.line_with("reloaded");
    assert_eq!(line["reloaded"], false);
    assert!(line["error"].as_str().unwrap().contains("--config"), "{line}");
    running.stop();
}
