//! What Wireshark's dissector says, beside our own analysis.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use headway_trace::analysis::{Analyser, Options};
use headway_trace::reader::Reader;

fn data(capture: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(capture)
}

/// Whether tshark is there and knows Lua.
fn can_run() -> bool {
    let version = Command::new("tshark").arg("--version").output();
    let knows_lua = version.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("with Lua"));
    if !knows_lua {
        // Not through `eprintln!`, which the test harness swallows.
        let _ = io::stderr().write_all(b"SKIPPED: tshark with Lua is not installed\n");
    }
    knows_lua
}

/// The fields of the packets that match `filter`, a line each.
fn fields(capture: &str, filter: &str, fields: &[&str]) -> Vec<Vec<String>> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("wireshark/headway.lua");
    let mut command = Command::new("tshark");
    command.arg("-X").arg(format!("lua_script:{}", script.display())).arg("-r").arg(data(capture));
    command.args(["-o", "tcp.check_checksum:TRUE", "-Y", filter, "-T", "fields"]);
    for field in fields {
        command.args(["-e", field]);
    }
    let output = command.output().expect("tshark runs");
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !complaints.contains("Lua"), "{complaints}");
    let text = String::from_utf8(output.stdout).expect("plain text");
    text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

/// `(special ACKs of one, of several, numbers listed, segments with a sum)` at an interface.
fn analysed(capture: &str, interface: usize) -> (u64, u64, u64, u64) {
    let mut analyser = Analyser::new(Options { interface: Some(interface), ..Options::default() });
    let mut reader = Reader::new(File::open(data(capture)).expect("a capture")).expect("a capture");
    while let Some(packet) = reader.next_packet().expect("a sound capture") {
        analyser.packet(&packet);
    }
    let analysis = analyser.finish();
    let [sender, receiver] = &analysis.connections[0].directions;
    let special = &receiver.special;
    (special.naming_one, special.listing, special.listed, sender.special.header_sums)
}

#[test]
fn special_acks_of_one() {
    if !can_run() {
        return;
    }
    let capture = "sim-hack+sack.pcapng";
    // Those that arrived whole at the sender.
    let filter = "headway.hackack.seq && frame.interface_id == 0 && tcp.checksum.status == 1";
    let found = fields(
        capture,
        filter,
        &["headway.hackack.seq", "headway.hackack.seq_raw", "tcp.ack", "tcp.ack_raw"],
    );
    assert_eq!(found.len() as u64, analysed(capture, 0).0);
    for words in &found {
        let [seq, raw, ack, ack_raw] =
            [0, 1, 2, 3].map(|place| words[place].parse::<u32>().expect("a number"));
        // Relative where the acknowledgement number is: as far from it.
        assert_eq!(seq.wrapping_sub(ack), raw.wrapping_sub(ack_raw));
        assert_ne!(seq, raw);
    }
}

#[test]
fn special_acks_of_several() {
    if !can_run() {
        return;
    }
    let capture = "sim-xhack+sack.pcapng";
    let filter = "headway.xhackack.seq && frame.interface_id == 0 && tcp.checksum.status == 1";
    let found = fields(capture, filter, &["headway.xhackack.count", "headway.xhackack.seq", "_ws.col.Info"]);
    let (_, lists, listed, _) = analysed(capture, 0);
    assert_eq!(found.len() as u64, lists);
    let counts: u64 = found.iter().map(|words| words[0].parse::<u64>().expect("a count")).sum();
    assert_eq!(counts, listed);
    for words in &found {
        let numbers: Vec<&str> = words[1].split(',').collect();
        assert_eq!(numbers.len().to_string(), words[0]);
        assert!(words[2].contains(&format!("[HACK {}]", numbers.join(", "))), "{}", words[2]);
    }
}

#[test]
fn header_sums_are_verified() {
    if !can_run() {
        return;
    }
    let capture = "sim-hack+sack.pcapng";
    let found = fields(
        capture,
        "headway.hack.sum",
        &["headway.hack.verified", "tcp.checksum.status", "frame.comment"],
    );
    let mut seen = [0; 3];
    for words in &found {
        let verified = words[0] == "1";
        match words[2].as_str() {
            "" => {
                assert!(verified && words[1] == "1", "{words:?}");
                seen[0] += 1;
            }
            comment if comment.contains("header hit") => {
                assert!(!verified, "{words:?}");
                seen[1] += 1;
            }
            _ => {
                assert!(verified && words[1] == "0", "{words:?}");
                seen[2] += 1;
            }
        }
    }
    assert!(seen.iter().all(|&count| count > 0), "{seen:?}");
    let sound = fields(capture, "headway.hack.sum && frame.interface_id == 0", &["frame.number"]);
    assert_eq!(sound.len() as u64, analysed(capture, 0).3);
}

#[test]
fn syns_permit() {
    if !can_run() {
        return;
    }
    let wanted = ["headway.hack.permitted", "headway.hack.xhack", "headway.hack.sum"];
    for (capture, xhack) in [("sim-hack+sack.pcapng", "0"), ("sim-xhack+sack.pcapng", "1")] {
        let found = fields(capture, "tcp.flags.syn == 1 && frame.interface_id == 0", &wanted);
        assert_eq!(found, vec![vec!["1".to_owned(), xhack.into(), String::new()]; 2]);
    }
    assert!(fields("sim-sack.pcapng", "headway", &["frame.number"]).is_empty());
}
