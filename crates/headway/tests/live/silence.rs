//! Peers that do not answer over UDP: one clear line, in time, and a code that is not zero.

use std::process::{Child, Command, Stdio};

use headway_test_fixture::pattern::Pattern;
use headway_test_fixture::process::{free_addresses, wait_until};

use crate::namespace::HEADWAY;

fn start(words: &[&str]) -> Child {
    let mut command = Command::new(HEADWAY);
    command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits for the end, at most a minute; returns the exit code and the last line of standard error.
fn end(mut child: Child) -> (Option<i32>, String) {
    wait_until("its end", || child.try_wait().unwrap().is_some());
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    (output.status.code(), text.lines().last().unwrap_or_default().to_owned())
}

#[test]
fn nothing_listens_at_the_peer() {
    let [_, nowhere] = free_addresses().map(|address| address.to_string());
    let udp = ["--udp", "127.0.0.1:0", &nowhere, "--timeout", "1500ms"];
    let started = [&["fetch", "http://127.0.0.1/file", "-o", "-"][..], &["nc", "127.0.0.1", "80"]]
        .map(|words| (words, start(&[words, &udp].concat())));
    for (words, child) in started {
        let (code, line) = end(child);
        assert_eq!(code, Some(1), "{words:?}: {line}");
        let expected = format!("nothing listens at UDP {nowhere}");
        assert!(line.contains("no answer in") && line.contains(&expected), "{words:?}: {line}");
    }
}

/// Something else has the port, and says nothing.
#[test]
fn the_peer_is_mute() {
    let mute = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let at = mute.local_addr().unwrap().to_string();
    let words = ["fetch", "http://127.0.0.1/file", "--udp", "127.0.0.1:0", &at, "--timeout", "1s"];
    let (code, line) = end(start(&words));
    assert_eq!((code, line.as_str()), (Some(1), "headway: 127.0.0.1:80: no answer in 1 s"));
}

#[test]
fn other_hosts_cannot_be_reached() {
    let [a] = free_addresses().map(|address| address.to_string());
    let (code, line) = end(start(&["fetch", "http://192.0.2.1/x", "--udp", "127.0.0.1:0", &a]));
    assert_eq!(code, Some(2), "{line}");
    assert!(line.contains("192.0.2.1:80: expected 127.0.0.1"), "{line}");
    let (code, line) = end(start(&["fetch", "http://192.0.2.1/x", "--udp", &a, "any"]));
    assert_eq!(code, Some(2), "{line}");
    assert!(line.contains("--udp LOCAL PEER"), "{line}");
}

#[test]
fn a_server_that_is_killed() {
    let [b] = free_addresses().map(|address| address.to_string());
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), Pattern(1).bytes(0, 50_000_000)).unwrap();
    let mut server = start(&["serve", "--udp", &b, "any", folder.path().to_str().unwrap()]);
    // No one reads standard output: the transfer stands still when it has begun.
    let words = ["fetch", "http://127.0.0.1/file", "-o", "-", "--udp", "127.0.0.1:0", &b, "--timeout", "3s"];
    let mut client = start(&words);
    let mut first = [0; 1];
    let mut output = client.stdout.take().unwrap();
    std::io::Read::read_exact(&mut output, &mut first).unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    let reading = std::thread::spawn(move || std::io::copy(&mut output, &mut std::io::sink()));
    let (code, line) = end(client);
    assert_eq!(code, Some(1), "{line}");
    assert!(line.contains("timed out") && line.contains("nothing listens at UDP"), "{line}");
    reading.join().unwrap().unwrap();
}

/// Two at once, from ports that the system chooses, with the right bytes.
#[test]
fn two_fetches_at_once() {
    let [b] = free_addresses().map(|address| address.to_string());
    let folder = tempfile::tempdir().unwrap();
    let bytes = Pattern(2).bytes(0, 20_000_000);
    std::fs::write(folder.path().join("file"), &bytes).unwrap();
    let mut server = start(&["serve", "--udp", &b, "any", folder.path().to_str().unwrap()]);
    let outputs = ["one", "two"].map(|name| folder.path().join(name));
    let clients = outputs.each_ref().map(|output| {
        let output = output.to_str().unwrap();
        start(&["fetch", "http://127.0.0.1/file", "-o", output, "--udp", "0.0.0.0:0", &b])
    });
    for (client, output) in clients.into_iter().zip(&outputs) {
        let (code, line) = end(client);
        assert_eq!(code, Some(0), "{line}");
        assert!(std::fs::read(output).unwrap() == bytes);
    }
    server.kill().unwrap();
    server.wait().unwrap();
}
