//! `headway perf` in the formats of other programs: iperf3's stream of JSON, and flent's data files.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

use flate2::read::GzDecoder;
use headway_test_fixture::process::{free_addresses, say_skipped, wait_until};
use serde_json::{Value, json};

use crate::namespace::HEADWAY;
use crate::perf::{Running, client, kernel_server, start};

/// The events of a test with the kernel's TCP.
fn events(options: &[&str]) -> Vec<(String, Value)> {
    let (_server, port) = kernel_server();
    let words = [&["--kernel", "--port", &port, "--json-stream"], options].concat();
    let lines = client(&words);
    let event = |line: &str| {
        // The name is in front.
        assert!(line.starts_with(r#"{"event":""#), "{line}");
        let mut event: Value = serde_json::from_str(line).unwrap();
        assert_eq!(event.as_object().unwrap().len(), 2, "{line}");
        (event["event"].as_str().unwrap().to_owned(), event["data"].take())
    };
    lines.lines().map(event).collect()
}

fn sum(events: &[(String, Value)], name: &str) -> u64 {
    let intervals = events.iter().filter(|(event, _)| event == "interval");
    intervals.filter_map(|(_, data)| data[name]["bytes"].as_u64()).sum()
}

#[test]
fn a_stream_has_the_start_each_interval_and_the_end() {
    for options in
        [&["-n", "3M", "-i", "0.02"][..], &["-n", "2M", "-P", "3", "--bidir", "--get-server-output"]]
    {
        let events = events(options);
        let names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
        let (first, last) = (names[0], names[names.len() - 1]);
        assert_eq!((first, last), ("start", "end"), "{names:?}");
        let between = &names[1..names.len() - 1];
        let output = usize::from(options.contains(&"--get-server-output"));
        assert!(between.len() > output, "{names:?}");
        assert!(between[..between.len() - output].iter().all(|name| *name == "interval"), "{names:?}");
        assert!(
            between[between.len() - output..].iter().all(|name| *name == "server_output_text"),
            "{names:?}"
        );
        let end = &events[events.len() - 1].1;
        let streams = events[0].1["connected"].as_array().unwrap().len();
        assert_eq!(end["streams"].as_array().unwrap().len(), streams);
        for (interval, whole) in
            [("sum", "sum_received"), ("sum_bidir_reverse", "sum_received_bidir_reverse")]
        {
            assert_eq!(sum(&events, interval), end[whole]["bytes"].as_u64().unwrap_or(0), "{events:?}");
        }
        assert!(end["sum_received"]["bytes"].as_u64().unwrap() > 1_000_000, "{end}");
    }
}

/// Latencies are there at once, not when there is data to go with them.
#[test]
fn a_stream_of_latency_under_load_has_each_flow_for_itself() {
    let events = events(&["--rrul", "--idle", "0.3", "-t", "0.4", "-i", "0.1", "-P", "2"]);
    let keys =
        |key: &str| events.iter().filter(|(name, data)| name == "interval" && data[key].is_object()).count();
    for key in ["latency", "sum", "sum_bidir_reverse"] {
        assert!(keys(key) > 0, "no {key} in {events:?}");
    }
    let (_, end) = events.last().unwrap();
    assert!(end["latency_idle"]["transactions"].as_u64().unwrap() > 0, "{end}");
}

#[test]
fn a_stream_ends_with_the_error() {
    let words = ["perf", "client", "127.0.0.1", "--kernel", "--port", "1", "--json-stream"];
    let output = Command::new(HEADWAY).args(words).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let event: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(event["event"], "error");
    assert!(event["data"].as_str().unwrap().starts_with("127.0.0.1:1: "), "{event}");
}

/// The paths of all values, with what kind of value each is; all elements of an array have the same path.
fn paths(value: &Value, path: &str, found: &mut BTreeMap<String, &'static str>) {
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(key, value)| paths(value, &format!("{path}.{key}"), found));
        }
        Value::Array(values) => values.iter().for_each(|value| paths(value, &format!("{path}[]"), found)),
        Value::Null => {}
        Value::Bool(_) => _ = found.insert(path.to_owned(), "bool"),
        Value::Number(_) => _ = found.insert(path.to_owned(), "number"),
        Value::String(_) => _ = found.insert(path.to_owned(), "string"),
    }
}

/// What iperf3 says and headway does not: its cookie and buffers, rates that were asked for, and of the kernel's TCP
/// the window of the peer, the variation of the round-trip time, the path MTU and the congestion controllers.
const THEIRS_ALONE: &[&str] = &[
    ".start.cookie",
    ".start.fq_rate",
    ".start.rcvbuf_actual",
    ".start.sndbuf_actual",
    ".start.sock_bufsize",
    ".start.target_bitrate",
    ".start.tcp_mss_default",
    ".start.test_start.fqrate",
    ".start.test_start.interval",
    ".start.test_start.gso",
    ".start.test_start.gro",
    ".start.test_start.target_bitrate",
    ".intervals[].streams[].pmtu",
    ".intervals[].streams[].reorder",
    ".intervals[].streams[].rttvar",
    ".intervals[].streams[].snd_wnd",
    ".end.streams[].sender.max_snd_wnd",
    ".end.streams[].sender.reorder",
    ".end.receiver_tcp_congestion",
    ".end.sender_tcp_congestion",
];

/// The real program's keys, with `-J`: its stream has the same objects, and older versions have no stream.
#[test]
fn the_events_have_the_keys_of_iperf3() {
    let [address, _] = free_addresses();
    let port = address.port().to_string();
    let iperf3 = |words: &[&str]| {
        let mut command = Command::new("iperf3");
        command.args(words).args(["-p", &port]).stdin(Stdio::null()).stderr(Stdio::null());
        command
    };
    let Ok(mut server) = iperf3(&["-s", "-1"]).stdout(Stdio::null()).spawn() else {
        return say_skipped("iperf3", "");
    };
    let mut theirs = Value::Null;
    wait_until("a result of iperf3, whose server does not say that it listens", || {
        let output = iperf3(&["-c", "127.0.0.1", "-J", "-t", "1", "-i", "0.5"]).output().unwrap();
        theirs = serde_json::from_slice(&output.stdout).unwrap();
        theirs["error"].is_null()
    });
    let _ = server.kill();
    let _ = server.wait();
    let mut ours = json!({ "intervals": [] });
    for (name, data) in events(&["-t", "1", "-i", "0.5"]) {
        match name.as_str() {
            "interval" => ours["intervals"].as_array_mut().unwrap().push(data),
            other => ours[other] = data,
        }
    }
    let (mut in_theirs, mut in_ours) = (BTreeMap::new(), BTreeMap::new());
    paths(&theirs, "", &mut in_theirs);
    paths(&ours, "", &mut in_ours);
    let missing: Vec<_> = in_theirs
        .iter()
        .filter(|(path, kind)| in_ours.get(*path) != Some(kind) && !THEIRS_ALONE.contains(&path.as_str()))
        .collect();
    assert!(missing.is_empty(), "{missing:?} are not in {in_ours:?}");
}

fn flent_data(path: &Path) -> Value {
    let mut text = String::new();
    GzDecoder::new(File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// A test with a file for flent: its data.
fn flent_file(path: &Path, options: &[&str]) -> Value {
    let (_server, port): (Running, String) = kernel_server();
    let path = path.to_str().unwrap();
    client(&[&["--kernel", "--port", &port, "--flent", path, "-i", "0.1"], options].concat());
    flent_data(Path::new(path))
}

/// flent's name of each test, and the data sets that its plots of that test show.
#[test]
fn flent_reads_each_kind_of_test() {
    let folder = tempfile::tempdir().unwrap();
    let has_flent =
        Command::new("flent").arg("--version").output().is_ok_and(|output| output.status.success());
    let tests: [(&[&str], &str, &[&str]); 6] = [
        (&["-t", "0.5"], "tcp_upload", &["TCP upload"]),
        (&["-t", "0.5", "-R"], "tcp_download", &["TCP download"]),
        (
            &["-t", "0.5", "-P", "2"],
            "tcp_nup",
            &["TCP upload sum", "TCP upload avg", "TCP upload::1", "TCP upload::2"],
        ),
        (&["-t", "0.5", "--bidir"], "tcp_bidirectional", &["TCP upload", "TCP download"]),
        (&["-t", "0.5", "--latency"], "ping", &["Ping (ms) ICMP"]),
        (
            &["-t", "0.5", "--rrul", "--idle", "0.3", "-P", "2"],
            "rrul_be_nflows",
            &[
                "TCP upload BE::1",
                "TCP upload BE::2",
                "TCP upload sum",
                "TCP upload avg",
                "TCP download BE::1",
                "TCP download BE::2",
                "TCP download sum",
                "TCP download avg",
                "TCP totals",
                "Ping (ms) ICMP",
                "Ping (ms) avg",
            ],
        ),
    ];
    for (options, name, sets) in tests {
        let path = folder.path().join(format!("{name}.flent.gz"));
        let data = flent_file(&path, options);
        assert_eq!((&data["version"], &data["metadata"]["NAME"]), (&json!(4), &json!(name)));
        let results = data["results"].as_object().unwrap();
        let mut names: Vec<&str> = results.keys().map(String::as_str).collect();
        let mut sets = sets.to_vec();
        names.sort_unstable();
        sets.sort_unstable();
        assert_eq!(names, sets);
        let steps = data["x_values"].as_array().unwrap().len();
        for (set, values) in results {
            let values = values.as_array().unwrap();
            assert_eq!(values.len(), steps, "{set}");
            assert!(values.iter().any(|value| value.as_f64() > Some(0.0)), "{set}: {values:?}");
        }
        if !has_flent {
            continue;
        }
        // flent itself: a table of all data sets, whose values are those of the file.
        let output = Command::new("flent")
            .args(["-f", "csv", "-i", path.to_str().unwrap()])
            .current_dir(folder.path())
            .output()
            .unwrap();
        let table = String::from_utf8(output.stdout).unwrap();
        let says = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{says}");
        let mut lines = table.lines().skip_while(|line| !line.starts_with(name));
        let heading: Vec<&str> = lines.next().unwrap_or_else(|| panic!("{table}{says}")).split(',').collect();
        let mut rows = 0;
        for (place, line) in lines.enumerate() {
            for (set, text) in heading.iter().zip(line.split(',')).skip(1) {
                let value = &results[*set][place];
                assert_eq!(text.parse::<f64>().ok(), value.as_f64(), "{set}, row {place}");
            }
            rows += 1;
        }
        assert_eq!((heading.len() - 1, rows), (sets.len(), steps), "{table}");
        let output = Command::new("flent").args(["-f", "summary", "-i", path.to_str().unwrap()]).output();
        let summary = String::from_utf8(output.unwrap().stdout).unwrap();
        assert!(summary.contains(&format!("Summary of {name} test run")), "{summary}");
        assert!(sets.iter().all(|set| summary.contains(set)), "{summary}");
    }
    if !has_flent {
        say_skipped("flent", "only the files' own content was checked");
    }
}

/// What cannot be measured leaves no file, and keeps the one that was there.
#[test]
fn a_test_that_fails_leaves_the_file_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.flent.gz");
    std::fs::write(&path, "before").unwrap();
    let no_one = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let words =
        ["perf", "client", "127.0.0.1", "--kernel", "--port", &no_one, "--flent", path.to_str().unwrap()];
    let mut client = start(&words);
    assert_eq!(client.0.wait().unwrap().code(), Some(1));
    assert_eq!(std::fs::read(&path).unwrap(), b"before");
}
