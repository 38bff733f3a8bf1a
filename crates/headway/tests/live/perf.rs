//! `headway perf`: both ways at once, latency under load, and what the ends tell each other.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use headway_test_fixture::process::free_addresses;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::namespace::HEADWAY;

/// A program that runs until it is dropped.
pub(crate) struct Running(pub(crate) Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn start(words: &[&str]) -> Running {
    let mut command = Command::new(HEADWAY);
    command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Running(command.spawn().unwrap())
}

/// A server of the kernel's TCP, which ends after one test, and its port.
pub(crate) fn kernel_server() -> (Running, String) {
    let mut server = start(&["perf", "server", "--kernel", "--listen", "127.0.0.1:0", "--one-off"]);
    let mut says = BufReader::new(server.0.stderr.take().unwrap());
    let mut line = String::new();
    says.read_line(&mut line).unwrap();
    let port = line.trim().rsplit_once(':').unwrap().1.to_owned();
    std::thread::spawn(move || std::io::copy(&mut says, &mut std::io::sink()));
    (server, port)
}

pub(crate) fn client(words: &[&str]) -> String {
    let output = Command::new(HEADWAY).args(["perf", "client", "127.0.0.1"]).args(words).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn object(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// The sum over all intervals.
fn counted(report: &Value, sum: &str) -> u64 {
    let intervals = report["intervals"].as_array().unwrap();
    intervals.iter().filter_map(|interval| interval[sum]["bytes"].as_u64()).sum()
}

#[test]
fn both_ends_send_at_once() {
    let [a, b] = free_addresses().map(|address| address.to_string());
    let _server = start(&["perf", "server", "--udp", &b, "any"]);
    let options = ["--udp", &a, &b, "--bidir", "-P", "2", "-n", "1MB", "--json", "--get-server-output"];
    let report = object(&client(&options));
    for (sums, suffix) in [("sum", ""), ("sum_bidir_reverse", "_bidir_reverse")] {
        for end in ["sum_sent", "sum_received"] {
            assert_eq!(report["end"][format!("{end}{suffix}")]["bytes"], 2_000_000, "{report}");
        }
        assert_eq!(counted(&report, sums), 2_000_000, "{report}");
    }
    assert_eq!(report["end"]["sum_sent"]["sender"], true, "{report}");
    assert_eq!(report["end"]["sum_sent_bidir_reverse"]["sender"], false, "{report}");
    assert_eq!(report["start"]["test_start"]["bidir"], 1, "{report}");
    assert_eq!(report["start"]["connected"].as_array().unwrap().len(), 4, "{report}");
    assert_eq!(report["end"]["streams"].as_array().unwrap().len(), 4, "{report}");
    // Both programs used some time for four megabytes.
    let cpu = &report["end"]["cpu_utilization_percent"];
    for end in ["host", "remote"] {
        let of = |what: &str| cpu[format!("{end}_{what}")].as_f64().unwrap();
        assert!(of("total") > 0.0 && (of("user") + of("system") - of("total")).abs() < 1e-6, "{cpu}");
    }
    let output = report["server_output_text"].as_str().unwrap();
    for part in ["[RX-S]", "[TX-S]", "  receiver\n", "  sender\n", "Retr"] {
        assert!(output.contains(part), "{output}");
    }
}

#[test]
fn the_server_prints_what_the_client_is_told() {
    let (mut server, port) = kernel_server();
    let words = ["--kernel", "--port", &port, "--bidir", "-n", "300K", "--get-server-output"];
    let text = client(&words);
    for part in ["[TX-C]", "[RX-C]", "CPU: local ", "Server output:\n", "[RX-S]", "[TX-S]"] {
        assert!(text.contains(part), "{text}");
    }
    let mut printed = String::new();
    server.0.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
    assert_eq!(server.0.wait().unwrap().code(), Some(0));
    let (_, told) = text.split_once("Server output:\n").unwrap();
    assert!(printed.starts_with("Client 127.0.0.1:"), "{printed}");
    assert_eq!(printed.split_once('\n').unwrap().1, told);
    // Without the option nothing is told.
    let (_server, port) = kernel_server();
    assert!(!client(&["--kernel", "--port", &port, "-n", "1K"]).contains("Server output"));
}

/// Retransmissions, window and round-trip time are read from the kernel too.
#[test]
fn the_kernels_tcp_has_all_columns() {
    let (_server, port) = kernel_server();
    let text = client(&["--kernel", "--port", &port, "-t", "0.5", "-i", "0.2"]);
    let lines: Vec<&str> = text.lines().collect();
    assert!(["Retr", "Cwnd", "RTT"].iter().all(|column| lines[0].contains(column)), "{text}");
    assert!(lines[1].contains(" KiB") && lines[1].ends_with(" ms"), "{text}");
    let (_server, port) = kernel_server();
    let report = object(&client(&["--kernel", "--port", &port, "-n", "10M", "--json"]));
    assert!(report["end"]["sum_sent"]["retransmits"].is_u64(), "{report}");
}

/// The client writes into a buffer: only the server knows what has arrived.
#[test]
fn intervals_count_what_the_server_has_received() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let serving = std::thread::spawn(move || {
        let line = |stream: &TcpStream| {
            let mut line = String::new();
            BufReader::with_capacity(1, stream).read_line(&mut line).unwrap();
            object(&line)
        };
        let (mut control, _) = listener.accept().unwrap();
        assert_eq!(line(&control)["test"]["kind"], "upload");
        let mut say = |what: Value| writeln!(control, "{what}").unwrap();
        say(json!({ "session": 7 }));
        let (mut data, from) = listener.accept().unwrap();
        assert_eq!(line(&data), json!({ "data": { "session": 7, "flow": "upload" } }));
        let report = |seconds: u64, bytes: u64| json!({ "nanos": seconds * 1_000_000_000, "totals": [[from.port(), bytes]] });
        for (seconds, bytes) in [(1, 1000), (2, 1000), (3, 4000)] {
            say(json!({ "interval": report(seconds, bytes) }));
        }
        assert_eq!(data.read_to_end(&mut Vec::new()).unwrap(), 1 << 20);
        drop(data);
        let result = json!({ "client_port": from.port(), "bytes": 1 << 20, "nanos": 1, "differing": 0 });
        let cpu = json!({ "user": 1.5, "system": 2.0 });
        say(
            json!({ "outcome": { "streams": [result], "received": report(4, 1 << 20), "cpu": cpu, "output": null } }),
        );
    });
    let report = object(&client(&["--kernel", "--port", &port, "-n", "1M", "--json"]));
    serving.join().unwrap();
    let intervals = report["intervals"].as_array().unwrap();
    let bytes: Vec<u64> = intervals.iter().map(|one| one["sum"]["bytes"].as_u64().unwrap()).collect();
    assert_eq!(bytes, [1000, 0, 3000, (1 << 20) - 4000], "{report}");
    assert_eq!(report["end"]["cpu_utilization_percent"]["remote_total"], 3.5, "{report}");
}

/// Passes bytes on; one bit of the one at this place is another.
fn damage(mut from: TcpStream, mut to: TcpStream, place: usize) {
    let mut buffer = [0; 4096];
    let mut at = 0;
    while let Ok(n @ 1..) = from.read(&mut buffer) {
        if let Some(byte) = place.checked_sub(at).and_then(|index| buffer[..n].get_mut(index)) {
            *byte ^= 0x10;
        }
        at += n;
        if to.write_all(&buffer[..n]).is_err() {
            return;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Write);
}

/// A network that changes the byte at this place in each direction of each connection; its port.
fn damaging_network(server: String, place: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    std::thread::spawn(move || {
        for near in listener.incoming().map_while(Result::ok) {
            let Ok(far) = TcpStream::connect(format!("127.0.0.1:{server}")) else { return };
            let (from, to) = (near.try_clone().unwrap(), far.try_clone().unwrap());
            std::thread::spawn(move || damage(from, to, place));
            std::thread::spawn(move || damage(far, near, place));
        }
    });
    port
}

/// At both ends, whoever sends.
#[test]
fn bytes_that_arrive_changed_are_an_error() {
    for (options, differing, received) in [
        (&["-n", "300K"][..], 1, None),
        (&["-n", "300K", "--reverse"], 1, Some("sum_received")),
        (&["-n", "300K", "--bidir"], 2, Some("sum_received_bidir_reverse")),
        // The request is changed, and its answer.
        (&["--latency", "-l", "200000", "-t", "0.3"], 2, None),
    ] {
        let (_server, port) = kernel_server();
        let port = damaging_network(port, 100_000);
        let words = ["perf", "client", "127.0.0.1", "--kernel", "--port", &port, "--json"];
        let output = Command::new(HEADWAY).args(words).args(options).output().unwrap();
        let (says, report) =
            (String::from_utf8(output.stderr).unwrap(), String::from_utf8(output.stdout).unwrap());
        let error = format!("bytes that differ from what was sent: {differing}");
        assert_eq!(output.status.code(), Some(1), "{options:?}: {says}");
        assert_eq!(says, format!("headway: {error}\n"), "{options:?}");
        let report = object(&report);
        assert_eq!(report["error"], error, "{options:?}");
        if let Some(sum) = received {
            assert_eq!(report["end"][sum]["differing"], 1, "{options:?}: {report}");
        }
    }
    let (_server, port) = kernel_server();
    let port = damaging_network(port, 100_000);
    let words =
        ["perf", "client", "127.0.0.1", "--kernel", "--port", &port, "-n", "300K", "--get-server-output"];
    let output = Command::new(HEADWAY).args(words).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.matches("  receiver, bytes that differ: 1\n").count(), 1, "{text}");
}

/// It ends as it was asked to; who measures is told why there is no result.
#[test]
fn a_server_that_a_signal_stops_ends_the_tests_of_its_clients() {
    for kind in ["--bidir", "--latency", "--reverse"] {
        let (mut server, port) = kernel_server();
        let words =
            ["perf", "client", "127.0.0.1", "--kernel", "--port", &port, "-t", "60", "-i", "0.1", kind];
        let mut client = start(&words);
        let mut lines = BufReader::new(client.0.stdout.take().unwrap()).lines();
        assert!(lines.next().is_some(), "it measures");
        kill_process(Pid::from_child(&server.0), Signal::INT).unwrap();
        assert_eq!(server.0.wait().unwrap().code(), Some(0), "{kind}");
        lines.for_each(drop);
        let mut says = String::new();
        client.0.stderr.take().unwrap().read_to_string(&mut says).unwrap();
        let expected = "headway: the connection: the server disconnected during the test";
        assert!(says.starts_with(expected) && says.lines().count() == 1, "{kind}: {says}");
        assert_eq!(client.0.wait().unwrap().code(), Some(1), "{kind}");
    }
}

#[test]
fn every_number_of_a_latency_has_a_unit() {
    let (_server, port) = kernel_server();
    let text = client(&["--kernel", "--port", &port, "--latency", "-t", "0.3"]);
    let (answers, numbers) = text.lines().last().unwrap().split_once(" answers: ").unwrap();
    assert!(answers.parse::<u64>().unwrap() > 0, "{text}");
    let numbers: Vec<(&str, f64)> = numbers
        .split(", ")
        .map(|number| {
            let [name @ .., value, unit] = &number.split(' ').collect::<Vec<_>>()[..] else {
                panic!("{text}")
            };
            assert!(["us", "ms"].contains(unit), "{text}");
            (name[0], value.parse().unwrap())
        })
        .collect();
    let names: Vec<&str> = numbers.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["mean", "min", "median", "90", "99", "max"], "{text}");
    assert!(numbers.iter().all(|(_, value)| *value > 0.0), "{text}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "no answer takes longer than the test")]
fn latency_is_measured_without_load_and_under_load() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rrul.html");
    for carrier in ["udp", "kernel"] {
        let [a, b] = free_addresses().map(|address| address.to_string());
        let (_server, network) = if carrier == "udp" {
            (start(&["perf", "server", "--udp", &b, "any"]), vec!["--udp".to_owned(), a, b])
        } else {
            let (server, port) = kernel_server();
            (server, vec!["--kernel".into(), "--port".into(), port])
        };
        let network: Vec<&str> = network.iter().map(String::as_str).collect();
        let words = ["--rrul", "--idle", "0.4", "-t", "0.6", "-i", "0.2", "-P", "2", "--json", "--report"];
        let began = Instant::now();
        let report = object(&client(&[&network[..], &words, &[path.to_str().unwrap()]].concat()));
        let micros = began.elapsed().as_secs_f64() * 1e6;
        assert_eq!(report["start"]["connected"].as_array().unwrap().len(), 5, "{report}");
        let end = &report["end"];
        for latency in ["latency_idle", "latency_loaded"] {
            let of = |key: &str| end[latency][key].as_f64().unwrap();
            // No packet crosses two programs in less than a microsecond.
            assert!(of("min_us") >= 1.0, "{report}");
            assert!(of("transactions") >= 1.0 && of("max_us") <= micros, "{micros} us: {report}");
            assert!(of("min_us") <= of("p50_us") && of("p50_us") <= of("p99_us"), "{report}");
        }
        assert!(end["load"]["start"].as_f64().unwrap() >= 0.4, "{report}");
        for (sum, suffix) in [("sum", ""), ("sum_bidir_reverse", "_bidir_reverse")] {
            let received = end[format!("sum_received{suffix}")]["bytes"].as_u64().unwrap();
            assert!(received > 0, "{report}");
            assert_eq!(received, end[format!("sum_sent{suffix}")]["bytes"].as_u64().unwrap(), "{report}");
            assert_eq!(counted(&report, sum), received, "{report}");
        }
        check_page(&path);
    }
}

fn check_page(path: &Path) {
    let page = std::fs::read_to_string(path).unwrap();
    for part in
        ["Goodput up over time", "Goodput down over time", "Latency over time", "Latency under load, median"]
    {
        assert!(page.contains(part), "{part}");
    }
    assert!(page.contains("--rrul --idle 0.4") && !page.contains("--report"), "the command");
}

#[test]
fn a_test_under_load_is_summed_up_in_lines() {
    let (_server, port) = kernel_server();
    let words =
        ["--kernel", "--port", &port, "--rrul", "--idle", "300ms", "-t", "300ms", "-i", "100ms", "-P", "1"];
    let text = client(&words);
    for part in ["[RTT]", "[TX-C]", "[RX-C]", "Latency idle", "Latency loaded", "Goodput up", "Goodput down"]
    {
        assert!(text.contains(part), "{text}");
    }
}
