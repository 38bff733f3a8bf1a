//! Races over links that were recorded.

use std::fs::{self, File};
use std::path::Path;

use headway_trace::{PathDirection, read_fates};
use tempfile::tempdir;

use crate::HEADWAY;

const SIZE: [&str; 7] = ["race", "--variant", "sack", "--runs", "1", "--size", "300KB"];

fn race(root: &Path, words: &[&str]) -> serde_json::Value {
    let out = HEADWAY.succeed(root, &[&SIZE[..], words, &["--json"]].concat());
    serde_json::from_str(&out).expect("one JSON object")
}

/// A run over the recording of a run hits the same packets, both ways, whatever the seed: it takes the
/// same course.
#[test]
fn a_capture_is_replayed() {
    let directory = tempdir().expect("a directory");
    let root = directory.path();
    let first = race(root, &["--seed", "3", "--reverse-damage", "random:3%", "--pcap", "one"]);
    let trace = "trace:one/sack-3.pcapng";
    let words = ["--seed", "77", "--damage", trace, "--reverse-damage", trace, "--pcap", "two"];
    let again = race(root, &words);
    for key in ["seconds", "retransmissions", "timeouts", "slow_starts"] {
        assert_eq!(first["runs"][0][key], again["runs"][0][key], "{key}");
    }
    assert_eq!(again["scenario"]["forward"]["damage"], trace);
    for direction in [PathDirection::Forward, PathDirection::Reverse] {
        let fates = |file: &str| {
            read_fates("", direction, File::open(root.join(file)).expect("a file")).expect("fates")
        };
        let (one, two) = (fates("one/sack-3.pcapng"), fates("two/sack-77.pcapng"));
        assert_eq!(one, two, "{direction:?}");
        assert!((0.01..0.5).contains(&one.share_hit()), "{direction:?}: {}", one.share_hit());
    }
    // Another trace, another course.
    let other = race(root, &["--seed", "77", "--damage", trace]);
    assert_ne!(first["runs"][0]["seconds"], other["runs"][0]["seconds"]);
}

#[test]
fn a_text_is_replayed_and_named() {
    let directory = tempdir().expect("a directory");
    let root = directory.path();
    fs::write(root.join("clean"), "# nothing happens\nok 1000\n").expect("written");
    fs::write(root.join("bad"), "ok 3\nhit payload 3 # a spark\nlost\n").expect("written");
    let clean = race(root, &["--damage", "trace:clean"]);
    assert_eq!(clean["runs"][0]["retransmissions"], 0);
    let none = race(root, &["--damage", "none"]);
    assert_eq!(clean["runs"][0]["seconds"], none["runs"][0]["seconds"]);
    let bad = race(root, &["--damage", "trace:bad"]);
    assert!(bad["runs"][0]["retransmissions"].as_u64().expect("a number") > 50);
    let table = HEADWAY.succeed(root, &[&SIZE[..], &["--damage", "trace:bad"]].concat());
    assert!(table.contains("damage trace:bad: 20.0 % of the packets hit; reverse path"), "{table}");
    // A quarter is lost, and a quarter has one of 47 blocks hit.
    fs::write(root.join("modem"), "ok 2\nbits 700\nlost\n").expect("written");
    let table =
        HEADWAY.succeed(root, &[&SIZE[..], &["--damage", "trace:modem", "--rate", "10mbit"]].concat());
    assert!(table.contains("; bound 4.83 Mbit/s, of intact blocks of 32 bytes 7.45 Mbit/s"), "{table}");
}

#[test]
fn what_is_no_trace_is_refused_in_one_line() {
    let directory = tempdir().expect("a directory");
    let root = directory.path();
    fs::write(root.join("wrong"), "ok\nhit 0\n").expect("written");
    fs::write(root.join("half.pcapng"), [0x0a, 0x0d, 0x0d, 0x0a]).expect("written");
    for (damage, parts) in [
        ("trace:missing", &["missing: cannot be read"][..]),
        ("trace:", &["trace:FILE"]),
        ("trace:wrong", &["wrong: line 2", "\"hit 0\"", "expected hit N"]),
        ("trace:half.pcapng", &["half.pcapng: expected"]),
        ("noise", &["expected none", "trace:FILE"]),
    ] {
        let output = HEADWAY.run(root, &["race", "--damage", damage]);
        let complaint = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(output.status.code(), Some(2), "{damage}: {complaint}");
        assert_eq!(complaint.lines().count(), 1, "{complaint}");
        for part in parts {
            assert!(complaint.contains(part), "{damage}: no {part:?} in {complaint}");
        }
    }
}
