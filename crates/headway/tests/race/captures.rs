//! Captures that other tools read.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::tempdir;

use crate::{HEADWAY, VARIANTS};

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
        eprintln!("skipped: tshark is not installed");
        return;
    }
    let directory = tempdir().expect("a directory");
    capture(directory.path(), "out");
    for variant in VARIANTS {
        let path = directory.path().join(format!("out/{variant}-3.pcapng"));
        let output = Command::new("tshark")
            .arg("-r")
            .arg(&path)
            .args(["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE", "-T", "fields"])
            .args(["-e", "frame.comment", "-e", "tcp.checksum.status", "-e", "ip.checksum.status"])
            .args(["-e", "_ws.malformed", "-e", "_ws.expert.severity", "-e", "tcp.option_kind"])
            .output()
            .expect("tshark starts");
        assert!(output.status.success(), "{variant}: {}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).expect("UTF-8");
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
