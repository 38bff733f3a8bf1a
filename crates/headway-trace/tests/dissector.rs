//! Wireshark's dissector compared with the analysis.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use headway_test_fixture::packet;
use headway_test_fixture::process::say_skipped;
use headway_trace::analysis::{Analyser, Options};
use headway_trace::reader::Reader;
use headway_trace::{Capture, Direction};
use headway_units::Instant;
use headway_wire::{SeqNumber, TcpFlags, TcpHeader, TcpOptions, Timestamps, V2, V2Ack, V2Offsets};

fn data(capture: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(capture)
}

/// Whether tshark is installed with Lua.
fn can_run() -> bool {
    let version = Command::new("tshark").arg("--version").output();
    let knows_lua = version.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("with Lua"));
    if !knows_lua {
        say_skipped("tshark", "with Lua");
    }
    knows_lua
}

/// The fields of the packets of a recorded capture that match `filter`, one line each.
fn fields(capture: &str, filter: &str, fields: &[&str]) -> Vec<Vec<String>> {
    fields_of(&data(capture), &[], filter, fields)
}

/// The fields of the packets that match `filter`, one line each; `more` are further arguments.
fn fields_of(capture: &Path, more: &[&str], filter: &str, fields: &[&str]) -> Vec<Vec<String>> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("wireshark/headway.lua");
    let mut command = Command::new("tshark");
    command.arg("-X").arg(format!("lua_script:{}", script.display())).arg("-r").arg(capture).args(more);
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
    (special.reporting_one, special.listing, special.listed, sender.special.header_sums)
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
        // Relative like the acknowledgement number.
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

/// Version 2 as simulated: verified checksums, damage, segments reported by special ACKs.
#[test]
fn version_2() {
    if !can_run() {
        return;
    }
    let capture = "sim-headway.pcapng";
    let wanted = ["headway.v2.partial", "headway.v2.path_verified", "tcp.checksum.status"];
    let syns = fields(capture, "tcp.flags.syn == 1 && frame.interface_id == 0", &wanted);
    assert_eq!(syns.len(), 2);
    assert!(syns.iter().all(|words| words[1..] == ["1", "1"]), "{syns:?}");

    let wanted = [
        "headway.v2.header_verified",
        "headway.v2.payload_verified",
        "frame.comment",
        "tcp.len",
        "headway.v2.damaged",
    ];
    let mut seen = [0; 3];
    for words in fields(capture, "headway.v2.header_crc", &wanted) {
        let [header, payload] = [0, 1].map(|place| words[place] == "1");
        // A count is on segments without data: behind their headers are reports.
        let has_data = words[3] != "0" && words[4].is_empty();
        match words[2].as_str() {
            "" => {
                assert!(header && payload == has_data, "{words:?}");
                seen[0] += 1;
            }
            comment if comment.contains("header hit") => {
                assert!(!header, "{words:?}");
                seen[1] += 1;
            }
            _ => {
                assert!(header && !payload, "{words:?}");
                seen[2] += 1;
            }
        }
    }
    assert!(seen.iter().all(|&count| count > 0), "{seen:?}");

    // Special ACKs as the analysis counts them at the sender.
    let filter = "headway.v2.seq && frame.interface_id == 0 && headway.v2.header_verified == 1";
    let wanted = [
        "headway.v2.count",
        "headway.v2.seq",
        "headway.v2.offset",
        "tcp.ack",
        "_ws.col.Info",
        "headway.v2.damaged",
    ];
    let found = fields(capture, filter, &wanted);
    let mut analyser = Analyser::new(Options { interface: Some(0), ..Options::default() });
    let mut reader = Reader::new(File::open(data(capture)).expect("a capture")).expect("a capture");
    while let Some(packet) = reader.next_packet().expect("a sound capture") {
        analyser.packet(&packet);
    }
    let analysis = analyser.finish();
    let [sender, receiver] = &analysis.connections[0].directions;
    assert!(sender.offers.v2 && receiver.offers.v2);
    assert_eq!(found.len() as u64, receiver.special.version_2);
    let numbers =
        |words: &str| -> Vec<u64> { words.split(',').map(|word| word.parse().expect("a number")).collect() };
    let mut named = 0;
    for words in &found {
        let (seqs, offsets, ack) = (numbers(&words[1]), numbers(&words[2]), numbers(&words[3])[0]);
        assert_eq!(seqs.len().to_string(), words[0]);
        assert!(seqs.iter().zip(&offsets).all(|(seq, offset)| *seq == ack + offset), "{words:?}");
        assert!(words[4].contains(&format!("[HACK {}", words[1].replace(',', ", "))), "{}", words[4]);
        named += seqs.len() as u64;
    }
    assert_eq!(named, receiver.special.version_2_numbers);
    let sound = "frame.interface_id == 0 && headway.v2.header_verified == 1 && ip.src == 10.0.2.1";
    let counts = fields(capture, sound, &["headway.v2.damaged"]);
    let last = counts.iter().rfind(|words| !words[0].is_empty()).expect("a count");
    assert_eq!(last[0].parse().ok(), receiver.special.damaged);
}

/// Forms and headers that the simulations do not have: block checksums, IPv6, invalid
/// lengths, rewritten SYNs.
#[test]
fn version_2_made_by_hand() {
    if !can_run() {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("made.pcapng");
    let reported = V2Ack::offsets_from(SeqNumber(2_000), [SeqNumber(3_448)]);
    let mut rewritten = packet(true, TcpFlags::SYN, V2::syn(true), &[]);
    // The source port, without correcting the checksums.
    rewritten[41] ^= 1;
    let mut short = packet(false, TcpFlags::ACK, V2::ack(9, V2Offsets::default()), &[]);
    // A length of 11, which eats the first NOP of the padding.
    short[20 + 20 + 12 + 1] = 11;
    let packets = [
        packet(true, TcpFlags::SYN, V2::syn(true), &[]),
        rewritten,
        packet(true, TcpFlags::ACK, V2::data(), b"data"),
        packet(true, TcpFlags::ACK, V2::ack(9, reported), &[0, 1, 0, 2, 0, 3]),
        short,
        packet(false, TcpFlags::ACK, V2::patch(), &[1, 2, 0xab]),
    ];
    let file = File::create(&path).expect("a file");
    let mut capture = Capture::new(file, &["made"]).expect("a capture");
    for bytes in &packets {
        capture.packet(0, Instant::ZERO, bytes, Direction::Inbound, None).expect("a packet");
    }
    capture.finish().expect("a capture");

    let wanted = [
        "frame.number",
        "headway.v2.partial",
        "headway.v2.path_verified",
        "headway.v2.header_verified",
        "headway.v2.payload_verified",
        "headway.v2.damaged",
        "headway.v2.offset",
        "headway.v2.block",
        "headway.v2.patch",
    ];
    let found: Vec<String> =
        fields_of(&path, &[], "headway", &wanted).iter().map(|words| words.join("|")).collect();
    let expected = [
        "1|1|1||||||",
        "2|1|0||||||",
        "3|||1|1||||",
        "4|||1||9|1448|0x0001,0x0002,0x0003|",
        "5||||||||",
        "6|||1|1||||0102ab",
    ];
    assert_eq!(found, expected);
    let complaints = fields_of(&path, &[], "headway.bad_crc || headway.bad_length", &wanted[..1]);
    assert_eq!(complaints, [["2"], ["5"]]);
}

fn packet(v6: bool, flags: TcpFlags, v2: V2, payload: &[u8]) -> Vec<u8> {
    let ends = if v6 {
        ["[2001:db8::1]:40000", "[2001:db8::2]:5001"]
    } else {
        ["192.0.2.1:40000", "192.0.2.2:5001"]
    };
    let [src, dst] = ends.map(|end| end.parse().expect("an address and a port"));
    let (ip, tcp) = packet::headers(src, dst, flags);
    let tcp = TcpHeader { seq: SeqNumber(1_000), ack: SeqNumber(2_000), window: 100, ..tcp };
    let timestamps = (!flags.contains(TcpFlags::SYN)).then_some(Timestamps { tsval: 1, tsecr: 2 });
    let options = TcpOptions { timestamps, v2: Some(v2), ..TcpOptions::default() };
    packet::segment(&ip, &tcp, &options, payload)
}
