//! Captures that other tools read.

use std::fs;
use std::path::Path;
use std::process::Command;

use headway_test_fixture::process::say_skipped;
use tempfile::tempdir;

use super::VARIANTS;
use crate::HEADWAY;

/// Damage in both directions, in headers and in data.
const DAMAGED: [&str; 13] = [
    "race",
    "--runs",
    "1",
    "--size",
    "300KB",
    "--delay",
    "50ms",
    "--reverse-damage",
    "burst:3%:3",
    "--header-hit",
    "40%",
    "--seed",
    "3",
];

fn capture(directory: &Path, name: &str) {
    let output = HEADWAY.run(directory, &[&DAMAGED[..], &["--json", "--pcap", name]].concat());
    let notice = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(output.status.success(), "{notice}");
    assert_eq!(notice.lines().count(), 1, "{notice}");
    // The results stay what they are, whatever else is written.
    serde_json::from_slice::<serde_json::Value>(&output.stdout).expect("one JSON object");
    for variant in VARIANTS {
        assert!(notice.contains(&format!("{name}/{variant}-3.pcapng")), "{notice}");
    }
}

#[test]
fn the_same_seed_gives_the_same_captures() {
    let directory = tempdir().expect("a directory");
    let root = directory.path();
    capture(root, "one");
    capture(root, "two");
    for variant in VARIANTS {
        let read = |name: &str| fs::read(root.join(format!("{name}/{variant}-3.pcapng"))).expect("a capture");
        assert!(read("one").len() > 300_000, "{variant}");
        assert!(read("one") == read("two"), "{variant}");
    }
    assert_eq!(fs::read_dir(root.join("one")).expect("a directory").count(), VARIANTS.len());
}

/// A packet as Wireshark sees it.
struct Packet<'a> {
    comment: &'a str,
    /// 0: bad, 1: good; nothing where the header is too broken to tell.
    tcp_checksum: &'a str,
    ip_checksum: &'a str,
    malformed: &'a str,
    /// The gravest of its expert remarks.
    severity: u32,
    kinds: Vec<&'a str>,
}

impl<'a> Packet<'a> {
    fn parse(line: &'a str) -> Self {
        let fields: Vec<&str> = line.split('\t').collect();
        let [comment, tcp_checksum, ip_checksum, malformed, severities, kinds] = fields[..] else {
            panic!("six fields: {line}");
        };
        let severity = severities.split(',').filter_map(|value| value.parse().ok()).max().unwrap_or(0);
        Self { comment, tcp_checksum, ip_checksum, malformed, severity, kinds: kinds.split(',').collect() }
    }
}

/// `PI_ERROR` in Wireshark's `epan/proto.h`: "The packet is malformed" or its checksum is bad.
const ERROR: u32 = 0x0080_0000;

#[test]
fn wireshark_finds_fault_with_damaged_packets_only() {
    if Command::new("tshark").arg("--version").output().is_err() {
        return say_skipped("tshark", "");
    }
    let directory = tempdir().expect("a directory");
    // Of a packet that is there twice Wireshark takes the second copy for data that overlaps.
    HEADWAY.succeed(directory.path(), &[&DAMAGED[..], &["--pcap", "out", "--pcap-split"]].concat());
    for variant in VARIANTS {
        let mut text = String::new();
        for end in ["sender", "receiver"] {
            let path = directory.path().join(format!("out/{variant}-3-{end}.pcapng"));
            let output = Command::new("tshark")
                .arg("-r")
                .arg(&path)
                .args(["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE", "-T", "fields"])
                .args(["-e", "frame.comment", "-e", "tcp.checksum.status", "-e", "ip.checksum.status"])
                .args(["-e", "_ws.malformed", "-e", "_ws.expert.severity", "-e", "tcp.option_kind"])
                .output()
                .expect("tshark starts");
            assert!(output.status.success(), "{variant}: {}", String::from_utf8_lossy(&output.stderr));
            text.push_str(&String::from_utf8(output.stdout).expect("UTF-8"));
        }
        let packets: Vec<Packet<'_>> = text.lines().map(Packet::parse).collect();
        let (damaged, sound): (Vec<_>, Vec<_>) =
            packets.iter().partition(|packet| packet.comment.starts_with("damaged: "));
        assert!(sound.len() > 500, "{variant}: {} sound packets", sound.len());
        for packet in &sound {
            assert!(packet.comment.is_empty(), "{variant}: {}", packet.comment);
            assert_eq!((packet.tcp_checksum, packet.ip_checksum), ("1", "1"), "{variant}");
            assert_eq!(packet.malformed, "", "{variant}");
            assert!(packet.severity < ERROR, "{variant}: severity {:#x}", packet.severity);
        }
        // Of 64 flipped bits a 16-bit sum misses one packet in 65,536.
        let unseen = damaged.iter().filter(|packet| packet.tcp_checksum == "1").count();
        assert!(damaged.len() > 20 && unseen <= 1, "{variant}: {unseen} of {} unseen", damaged.len());

        // HACK's options are there where they should be, and nowhere else.
        let has = |kind: &str| sound.iter().any(|packet| packet.kinds.contains(&kind));
        if variant == "headway" {
            // Its options are others (HACK v2).
            continue;
        }
        let hack = variant.contains("hack");
        let extended = variant.contains("xhack") || variant == "modern+hack";
        assert_eq!(has("14"), hack, "{variant}: Header Checksum");
        assert_eq!(has("15") || has("16"), hack, "{variant}: special ACKs");
        assert_eq!(has("16"), extended, "{variant}: Extended Header Checksum ACK");
        let selective = variant.contains("sack") || variant.starts_with("modern");
        assert_eq!(has("5"), selective, "{variant}: SACK");
    }
}

/// What tshark counts as retransmissions, of the interface's whole capture.
fn retransmissions_by_tshark(path: &Path) -> usize {
    let output = Command::new("tshark")
        .arg("-r")
        .arg(path)
        // Damaged packets that arrive are no segments of the connection. A special ACK with a report seems a retransmission too.
        .args(["-o", "tcp.check_checksum:TRUE", "-Y", "tcp.analysis.retransmission && tcp.dstport == 5001"])
        .args(["-T", "fields", "-e", "frame.number"])
        .output()
        .expect("tshark starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8").lines().count()
}

/// A tool that expects one end finds in the sender's capture no more retransmissions than the sender made, and no false
/// one where nothing was lost.
#[test]
fn a_capture_of_each_end_has_each_packet_once() {
    if Command::new("tshark").arg("--version").output().is_err() {
        return say_skipped("tshark", "");
    }
    let directory = tempdir().expect("a directory");
    let root = directory.path();
    for damage in ["none", "random:2%"] {
        let words = ["race", "--runs", "1", "--size", "300KB", "--variant", "sack,modern,headway", "--json"];
        let more = ["--damage", damage, "--pcap", "out", "--pcap-split"];
        let output = HEADWAY.run(root, &[&words[..], &more].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let notice = String::from_utf8(output.stderr).expect("UTF-8");
        let results: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        for run in results["runs"].as_array().expect("runs") {
            let sender = run["variant"].as_str().expect("a name");
            let made = run["retransmissions"].as_u64().expect("a number") as usize;
            let [at_sender, at_receiver] =
                ["sender", "receiver"].map(|end| format!("out/{sender}-1-{end}.pcapng"));
            for path in [&at_sender, &at_receiver] {
                assert!(notice.contains(path.as_str()), "{notice}");
            }
            let counted = retransmissions_by_tshark(&root.join(&at_sender));
            assert!(counted <= made, "{sender}, damage {damage}: {counted} of {made}");
            assert_eq!(counted > 0, damage != "none" && made > 0, "{sender}, damage {damage}");
            if damage == "none" {
                assert_eq!(retransmissions_by_tshark(&root.join(&at_receiver)), 0, "{sender}");
            }
        }
    }
    assert!(!root.join("out/sack-1.pcapng").exists());
}

/// Both files together are what the file of both ends is.
#[test]
fn the_captures_of_both_ends_are_analysed_together() {
    let directory = tempdir().expect("a directory");
    let root = directory.path();
    let words = [&DAMAGED[..], &["--variant", "xhack+sack", "--json"]].concat();
    HEADWAY.succeed(root, &[&words[..], &["--pcap", "one"]].concat());
    HEADWAY.succeed(root, &[&words[..], &["--pcap", "two", "--pcap-split"]].concat());
    let both = "one/xhack+sack-3.pcapng";
    let [sender, receiver] = ["sender", "receiver"].map(|end| format!("two/xhack+sack-3-{end}.pcapng"));
    let analysed = |words: &[&str]| {
        let output = HEADWAY.run(root, &[&["trace", "--json"], words].concat());
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        let mut object: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        object["file"] = serde_json::Value::Null;
        object
    };
    let whole = analysed(&[both]);
    assert_eq!(whole["interfaces"].as_array().expect("interfaces").len(), 2);
    assert_eq!(analysed(&[&sender, &receiver]), whole);
    for end in ["sender", "receiver"] {
        let both = analysed(&[both, "--interface", end]);
        assert_eq!(analysed(&[&sender, &receiver, "--interface", end]), both, "{end}");
    }
    // The sender's alone knows what the sender did.
    let of =
        |analysis: &serde_json::Value, key: &str| analysis["connections"][0]["directions"][0][key].clone();
    let alone = analysed(&[&sender]);
    for key in ["packets", "retransmitted_packets", "data_bytes", "unique_bytes", "rtt_mean_seconds"] {
        assert_eq!(of(&alone, key), of(&whole, key), "{key}");
    }
}
