//! qlog files of a race.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::tempdir;

use crate::HEADWAY;

const RACE: [&str; 14] = [
    "race",
    "--runs",
    "2",
    "--size",
    "300KB",
    "--delay",
    "50ms",
    "--damage",
    "burst:5%:3",
    "--seed",
    "3",
    "--variant",
    "hack+sack,headway",
    "--json",
];

fn records(path: &Path) -> Vec<Value> {
    let file = fs::read(path).expect("a file");
    let texts = file.split(|byte| *byte == 0x1e).filter(|text| !text.is_empty());
    texts.map(|text| serde_json::from_slice(text).expect("JSON")).collect()
}

fn race(root: &Path, name: &str) {
    let output = HEADWAY.run(root, &[&RACE[..], &["--qlog", name]].concat());
    let notice = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(output.status.success(), "{notice}");
    assert!(notice.contains(&format!("{name}/headway-3-sender.sqlog")), "{notice}");
    let plain = HEADWAY.run(root, &RACE);
    assert_eq!(output.stdout, plain.stdout, "the results stay what they are");
}

#[test]
fn each_end_of_the_first_run_has_a_file() {
    let directory = tempdir().expect("a directory");
    let root = directory.path();
    race(root, "one");
    race(root, "two");
    assert_eq!(fs::read_dir(root.join("one")).expect("a directory").count(), 4);
    for sender in ["hack+sack", "headway"] {
        for (end, kind) in [("sender", "client"), ("receiver", "server")] {
            let path = |name: &str| root.join(format!("{name}/{sender}-3-{end}.sqlog"));
            let records = records(&path("one"));
            assert_eq!(records[0]["trace"]["vantage_point"]["type"], kind, "{sender}");
            let events: Vec<&Value> = records[1..].iter().collect();
            let of = |name: &str| events.iter().filter(|event| event["name"] == name).count();
            // The SYN that opens the connection is the sender's, its answer the receiver's.
            let opens = |event: &&&Value| event["data"]["header"]["packet_type"] == "initial";
            let first = events.iter().find(opens).expect("a SYN");
            assert_eq!(first["name"], "quic:packet_sent", "{sender}");
            let flags = first["data"]["tcp"]["flags"].as_str().expect("flags");
            assert_eq!(flags.contains("ACK"), end == "receiver", "{sender}: {flags}");
            // Damage is seen by the receiver, and told to the sender.
            // The receiver sends no data.
            assert!(end == "receiver" || of("quic:recovery_metrics_updated") > 50, "{sender}");
            let (sees, hears) = (of("headway:segment_corrupted"), of("headway:special_ack_received"));
            assert_eq!((sees > 0, hears > 0), (end == "receiver", end == "sender"), "{sender}, {end}");
            assert_eq!(fs::read(path("one")).expect("a file"), fs::read(path("two")).expect("a file"));
        }
    }
}
