//! Text, JSON and CSV.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::Stdio;

use serde_json::Value;
use tempfile::tempdir;

use super::{capture, trace};
use crate::HEADWAY;

fn json(name: &str, words: &[&str]) -> Value {
    let directory = tempdir().expect("a directory");
    let text = trace(directory.path(), name, &[&["--json"], words].concat());
    serde_json::from_str(&text).expect("JSON")
}

/// The rows of comma-separated values by the names of their columns.
fn rows(text: &str) -> Vec<BTreeMap<&str, &str>> {
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().expect("a header").split(',').collect();
    lines
        .map(|line| {
            let values: Vec<&str> = line.split(',').collect();
            assert_eq!(values.len(), names.len(), "{line}");
            names.iter().copied().zip(values).collect()
        })
        .collect()
}

/// Both formats, from a pipe, which can be read only once.
#[test]
fn a_pipe_gives_what_a_file_gives() {
    let directory = tempdir().expect("a directory");
    for name in ["sim-sack.pcapng", "linux-reno-loss.pcap"] {
        let bytes = std::fs::read(capture(name)).expect("a capture");
        let mut command = HEADWAY.command(directory.path(), &["trace", "-", "--csv"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        child.stdin.take().expect("a pipe").write_all(&bytes).expect("it reads all");
        let output = child.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{name}");
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        assert_eq!(text, trace(directory.path(), name, &["--csv"]), "{name}");
        assert!(text.lines().count() > 2, "{text}");
    }
}

#[test]
fn the_numbers_are_tcptraces() {
    let document = json("linux-reno-loss.pcap", &[]);
    let connection = &document["connections"][0];
    let [sender, receiver] = [&connection["directions"][0], &connection["directions"][1]];
    let table = std::fs::read_to_string(capture("linux-reno-loss.tcptrace")).expect("tcptrace's numbers");
    for (label, value) in [
        ("rexmt data pkts", &sender["retransmitted_packets"]),
        ("rexmt data bytes", &sender["retransmitted_bytes"]),
        ("unique bytes sent", &sender["unique_bytes"]),
        ("outoforder pkts", &sender["out_of_order_packets"]),
        ("RTT samples", &sender["rtt_samples"]),
        ("triple dupacks", &sender["triple_duplicate_acks"]),
    ] {
        let line = table.lines().find(|line| line.trim_start().starts_with(label)).expect("a row");
        let their = line.split_whitespace().nth(label.split(' ').count()).expect("a number");
        assert_eq!(value.to_string(), their, "{label}");
    }
    assert_eq!(connection["ending"], "complete");
    assert_eq!((sender["offers_sack"].as_bool(), sender["offers_hack"].as_bool()), (Some(true), Some(false)));
    assert!(receiver["sack_packets"].as_u64() > Some(0));
}

#[test]
fn text_json_and_csv_say_the_same() {
    let directory = tempdir().expect("a directory");
    let name = "sim-hack+sack.pcapng";
    let document = json(name, &[]);
    let table = trace(directory.path(), name, &["--csv"]);
    let rows = rows(&table);
    assert_eq!(rows.len(), 2);
    for (row, direction) in rows.iter().zip(document["connections"][0]["directions"].as_array().expect("two"))
    {
        let object = direction.as_object().expect("an object");
        for (key, value) in object.iter().filter(|(_, value)| !value.is_array() && !value.is_object()) {
            let field = row.get(key.as_str()).unwrap_or_else(|| panic!("no column {key}"));
            let expected = match value {
                Value::Null => String::new(),
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            assert_eq!(*field, expected, "{key}");
        }
    }
    let text = trace(directory.path(), name, &[]);
    for (label, key) in
        [("retransmitted", "retransmitted_packets"), ("special ACKs of one (kind 15)", "special_acks_one")]
    {
        let line = text.lines().find(|line| line.trim_start().starts_with(label)).expect("a row");
        let values = [0, 1].map(|side| document["connections"][0]["directions"][side][key].to_string());
        let said: Vec<&str> = line.trim_start()[label.len()..].split_whitespace().collect();
        assert_eq!(said, values, "{label}");
    }
    // The path of the capture in the first line may be of any length.
    assert!(
        text.lines().skip(1).all(|line| line.chars().count() <= 100 && line.trim_end() == line),
        "{text}"
    );
}

#[test]
fn throughput_over_time_adds_up() {
    let directory = tempdir().expect("a directory");
    let name = "linux-cubic-reorder.pcap";
    let direction = &json(name, &[])["connections"][0]["directions"][0];
    let table = trace(directory.path(), name, &["--csv=throughput"]);
    let rows = rows(&table);
    let from = direction["from"].as_str().expect("an end");
    let sum = |column| -> u64 {
        let own = rows.iter().filter(|row| row["from"] == from);
        own.map(|row| row[column].parse::<u64>().expect("a number")).sum()
    };
    assert_eq!(Some(sum("bytes")), direction["data_bytes"].as_u64());
    assert_eq!(Some(sum("new_bytes")), direction["unique_bytes"].as_u64());
    let listed = direction["throughput"]["new_bytes"].as_array().expect("a list");
    assert_eq!(listed.iter().filter_map(Value::as_u64).sum::<u64>(), sum("new_bytes"));
}

#[test]
fn damage_shows_where_it_arrived_and_special_acks_where_they_were_sent() {
    let at_sender = json("sim-xhack+sack.pcapng", &[]);
    let at_receiver = json("sim-xhack+sack.pcapng", &["--interface", "receiver"]);
    let [sender, receiver] = [&at_sender, &at_receiver].map(|document| &document["connections"][0]);
    assert_eq!((&sender["interface"], &receiver["interface"]), (&"sender".into(), &"receiver".into()));
    for connection in [sender, receiver] {
        let data = &connection["directions"][0];
        assert!(data["corrupted_segments"].as_u64() > Some(0));
        assert_eq!(data["damage"][0]["interface"], "receiver");
        assert!(connection["directions"][1]["special_acks_list"].as_u64() > Some(0));
    }
    // Some that were sent arrived damaged.
    let special = |connection: &Value| connection["directions"][1]["special_acks_list"].as_u64();
    assert!(special(receiver) >= special(sender));
    // What arrived damaged was sent once more; the receiver saw neither copy twice.
    assert!(
        sender["directions"][0]["retransmitted_packets"].as_u64()
            > receiver["directions"][0]["retransmitted_packets"].as_u64()
    );
}

/// The copies at the other end are no packets that were left out.
#[test]
fn the_other_end_is_not_ignored() {
    let directory = tempdir().expect("a directory");
    let text = trace(directory.path(), "sim-xhack+sack.pcapng", &[]);
    let document = json("sim-xhack+sack.pcapng", &[]);
    let count = format!("{} packets", document["left_out"]["elsewhere"]);
    assert!(text.contains(&format!("Captured elsewhere too: {count};")), "{count}:\n{text}");
    assert!(!text.contains(&format!("Ignored: {count}")), "{count}:\n{text}");
}

#[test]
fn connections_can_be_chosen() {
    let document = json("linux-cubic-reuse.pcap", &["--connection", "3,1"]);
    let numbers: Vec<_> =
        document["connections"].as_array().expect("a list").iter().map(|c| &c["number"]).collect();
    assert_eq!(numbers, [1, 3]);
}

#[test]
fn a_half_written_packet_and_offloaded_checksums_are_told() {
    let directory = tempdir().expect("a directory");
    let whole = std::fs::read(capture("linux-cubic-veth-offload.pcap")).expect("a capture");
    let path = directory.path().join("cut.pcap");
    std::fs::write(&path, &whole[..whole.len() - 11]).expect("written");
    let text = HEADWAY.succeed(directory.path(), &["trace", "cut.pcap"]);
    assert!(text.contains("incomplete") && text.contains("11 bytes missing"), "{text}");
    assert!(text.contains("Checksums are offloaded") && !text.contains("damaged"), "{text}");
}
