//! Commands over UDP on the loopback, without privilege.

use std::io::Write as _;
use std::process::{Child, Command, Output, Stdio};

use headway_test_fixture::pattern::Pattern;
use headway_test_fixture::process::free_addresses;

use crate::namespace::HEADWAY;

pub(crate) fn start(words: &[&str]) -> Child {
    Command::new(HEADWAY)
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

pub(crate) fn succeed(output: Output) -> Vec<u8> {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Writes to a program and reads its output at the same time.
pub(crate) fn talk(mut child: Child, input: Vec<u8>) -> Output {
    let mut stdin = child.stdin.take().unwrap();
    let writing = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    writing.join().unwrap().unwrap();
    output
}

/// A file of `len` bytes through `serve` at end 0 and `fetch` at end 1, which have the options of `network`.
pub(crate) fn fetch_a_file(len: usize, network: impl Fn(usize) -> Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let bytes = Pattern(51).bytes(0, len);
    std::fs::write(folder.path().join("file"), &bytes).unwrap();
    let end = |own, words: &[&str]| {
        let network = network(own);
        start(&words.iter().copied().chain(network.iter().map(String::as_str)).collect::<Vec<_>>())
    };
    let mut server = end(0, &["serve", folder.path().to_str().unwrap()]);
    let client = end(1, &["fetch", "http://10.77.2.1/file", "--output", "-", "--timeout", "2min"]);
    let fetched = succeed(talk(client, Vec::new()));
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(fetched == bytes);
}

#[test]
fn nc_copies_in_both_directions() {
    let [a, b] = free_addresses().map(|address| address.to_string());
    let (up, down) = (Pattern(3).bytes(0, 5_000_000), Pattern(4).bytes(0, 5_000_000));
    let server = start(&["nc", "--udp", &b, &a, "--listen", "7"]);
    let client = start(&["nc", "--udp", &a, &b, "127.0.0.1", "7"]);
    let serving = std::thread::spawn({
        let down = down.clone();
        move || talk(server, down)
    });
    let at_client = succeed(talk(client, up.clone()));
    let at_server = succeed(serving.join().unwrap());
    assert!(at_client == down);
    assert!(at_server == up);
}

#[test]
fn fetch_from_serve_with_a_capture() {
    let [a, b] = free_addresses().map(|address| address.to_string());
    let folder = tempfile::tempdir().unwrap();
    let bytes = Pattern(5).bytes(0, 5_000_000);
    std::fs::write(folder.path().join("a file"), &bytes).unwrap();
    let path = folder.path().to_str().unwrap();
    let mut server = start(&["serve", "--udp", &b, "any", path]);
    let [got, pcap, events, qlog] = ["got", "pcapng", "events", "qlog"].map(|name| folder.path().join(name));
    let words = [
        "fetch",
        "http://127.0.0.1/a%20file",
        "--udp",
        &a,
        &b,
        "--json",
        "--output",
        got.to_str().unwrap(),
        "--pcap",
        pcap.to_str().unwrap(),
        "--events",
        events.to_str().unwrap(),
        "--qlog",
        qlog.to_str().unwrap(),
    ];
    let printed = succeed(talk(start(&words), Vec::new()));
    let report: serde_json::Value = serde_json::from_slice(&printed).unwrap();
    assert_eq!(report["bytes"], 5_000_000);
    assert!(std::fs::read(&got).unwrap() == bytes);
    let events = std::fs::read_to_string(events).unwrap();
    assert!(events.lines().any(|line| line.contains("state_changed")), "{events}");
    // The same as qlog: each segment that arrived, and how long the request took to be acknowledged.
    let arrived = |log: &str, name: &str| log.matches(name).count();
    let qlog = std::fs::read_to_string(qlog).unwrap();
    assert_eq!(
        arrived(&qlog, r#""name":"quic:packet_received""#),
        arrived(&events, r#""event":"received""#),
        "each segment that arrived"
    );
    assert!(qlog.contains("smoothed_rtt") && qlog.contains("pacing_rate"), "{qlog}");
    // The capture can be analysed, and has no damaged packets.
    let trace = Command::new(HEADWAY).args(["trace", "--json", pcap.to_str().unwrap()]).output().unwrap();
    let trace: serde_json::Value = serde_json::from_slice(&succeed(trace)).unwrap();
    assert!(trace.to_string().contains("\"packets\""), "{trace}");
    assert!(Command::new("kill").args(["-INT", &server.id().to_string()]).status().unwrap().success());
    assert_eq!(server.wait().unwrap().code(), Some(0));
}

#[test]
fn perf_has_the_keys_of_iperf3() {
    let [a, b] = free_addresses().map(|address| address.to_string());
    let mut server = start(&["perf", "server", "--udp", &b, "any"]);
    for extra in [&["--bytes", "1MB"][..], &["--reverse", "--parallel", "3", "--bytes", "1MB"]] {
        let words = [&["perf", "client", "127.0.0.1", "--json", "--udp", &a, &b], extra].concat();
        let printed = succeed(talk(start(&words), Vec::new()));
        let report: serde_json::Value = serde_json::from_slice(&printed).unwrap();
        let streams = report["start"]["connected"].as_array().unwrap().len() as u64;
        assert_eq!(report["start"]["test_start"]["num_streams"], streams);
        for sum in ["sum_sent", "sum_received"] {
            let sum = &report["end"][sum];
            assert_eq!(sum["bytes"], streams * 1_000_000, "{report}");
            assert!(sum["bits_per_second"].as_f64().unwrap() > 0.0);
        }
        assert!(report["end"]["sum_sent"]["retransmits"].is_u64(), "{report}");
        let counted: u64 = report["intervals"]
            .as_array()
            .unwrap()
            .iter()
            .map(|interval| interval["sum"]["bytes"].as_u64().unwrap())
            .sum();
        assert_eq!(counted, streams * 1_000_000, "{report}");
    }
    let words = ["perf", "client", "127.0.0.1", "--json", "--latency", "--time", "200ms", "--udp", &a, &b];
    let printed = succeed(talk(start(&words), Vec::new()));
    let report: serde_json::Value = serde_json::from_slice(&printed).unwrap();
    assert!(report["end"]["latency"]["transactions"].as_u64().unwrap() > 0, "{report}");
    assert!(Command::new("kill").args(["-TERM", &server.id().to_string()]).status().unwrap().success());
    assert_eq!(server.wait().unwrap().code(), Some(0));
}

/// Of the packets in a capture between addresses of the loopback: the DSCP of those that were sent, and of those that
/// arrived, and the time to live of the sent ones.
fn marks(capture: &[u8], local: u16) -> (Vec<(u8, u8)>, Vec<u8>) {
    let is_packet = |bytes: &&[u8]| {
        bytes[0] == 0x45 && bytes[6] == 0x40 && bytes[9] == 6 && bytes[12..20] == [127, 0, 0, 1, 127, 0, 0, 1]
    };
    let (mut sent, mut arrived) = (Vec::new(), Vec::new());
    for packet in capture.windows(22).filter(is_packet) {
        let dscp = packet[1] >> 2;
        if u16::from_be_bytes([packet[20], packet[21]]) == local {
            arrived.push(dscp);
        } else {
            sent.push((dscp, packet[8]));
        }
    }
    (sent, arrived)
}

#[test]
fn packets_have_the_dscp_and_the_time_to_live_of_the_options() {
    let [a, b] = free_addresses().map(|address| address.to_string());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("capture");
    let server = start(&["nc", "--udp", &b, &a, "--listen", "7", "--dscp", "10"]);
    let pcap = file.to_str().unwrap();
    let words = ["nc", "--udp", &a, &b, "127.0.0.1", "7", "--dscp", "ef", "--ttl", "9", "--pcap", pcap];
    let client = start(&words);
    let serving = std::thread::spawn(move || talk(server, Vec::from("down")));
    assert_eq!(succeed(talk(client, Vec::from("up"))), b"down");
    assert_eq!(succeed(serving.join().unwrap()), b"up");
    // Packets that arrive are from the port of the service.
    let (sent, arrived) = marks(&std::fs::read(file).unwrap(), 7);
    assert!(sent.len() >= 3 && sent.iter().all(|marks| *marks == (46, 9)), "{sent:?}");
    assert!(arrived.len() >= 3 && arrived.iter().all(|dscp| *dscp == 10), "{arrived:?}");
}
