//! Captures as read by Wireshark.

use std::path::Path;
use std::process::Command;

use headway_tcp::{Profile, Variant};
use headway_test_fixture::process::say_skipped;
use headway_test_fixture::two_hosts::{CLIENT, Fate, TwoHosts};
use headway_trace::{Capture, Direction};
use headway_units::{Duration, Instant};
use serde_json::Value;

/// A packet as tshark should report it.
struct Expected {
    interface: &'static str,
    at: Instant,
    bytes: Vec<u8>,
    inbound: bool,
    comment: Option<&'static str>,
}

/// A connection with damage and loss, captured at both ends in the order of time.
fn transfer() -> Vec<Expected> {
    let profile = Variant::HackSack.apply(Profile::linux22());
    let mut pair = TwoHosts::observed(profile, (), Duration::from_millis(50));
    pair.write(CLIENT, 20_000);
    pair.hosts[CLIENT].close(pair.now, pair.id(CLIENT)).unwrap();
    pair.run(Duration::from_secs(60), |packet| match packet.data {
        Some(2) => Fate::Corrupted,
        Some(9) => Fate::Lost,
        _ => Fate::Arrives,
    });
    let mut expected = Vec::new();
    for passed in pair.passed {
        if passed.fate == Fate::Lost {
            continue;
        }
        let bytes = passed.packet;
        let (from, to) = if passed.from == CLIENT { ("client", "server") } else { ("server", "client") };
        // One nanosecond, so that the last digit counts.
        let arrival = Instant::from_nanos((passed.sent + pair.delay).as_nanos() + 1);
        let comment = (passed.fate == Fate::Corrupted).then_some("damaged: 1 bit flipped, data hit");
        let sent = Expected {
            interface: from,
            at: passed.sent,
            bytes: bytes.clone(),
            inbound: false,
            comment: None,
        };
        expected.extend([sent, Expected { interface: to, at: arrival, bytes, inbound: true, comment }]);
    }
    expected.sort_by_key(|packet| packet.at);
    expected
}

/// The output of tshark for the capture with these arguments.
fn tshark(capture: &Path, how: &[&str]) -> Vec<u8> {
    let output = Command::new("tshark").arg("-r").arg(capture).args(how).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

#[test]
fn tshark_reads_times_directions_comments_and_bytes() {
    if Command::new("tshark").arg("--version").output().is_err() {
        return say_skipped("tshark", "");
    }
    let expected = transfer();
    let mut capture = Capture::new(Vec::new(), &["client", "server"]).unwrap();
    for packet in &expected {
        let interface = usize::from(packet.interface == "server");
        let direction = if packet.inbound { Direction::Inbound } else { Direction::Outbound };
        capture.packet(interface, packet.at, &packet.bytes, direction, packet.comment).unwrap();
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("transfer.pcapng");
    std::fs::write(&path, capture.finish().unwrap()).unwrap();

    #[rustfmt::skip]
    let fields = [
        "-T", "fields", "-e", "frame.time_epoch", "-e", "frame.interface_name",
        "-e", "frame.packet_flags_direction", "-e", "frame.comment",
    ];
    let lines = String::from_utf8(tshark(&path, &fields)).unwrap();
    let packets: Vec<Value> = serde_json::from_slice(&tshark(&path, &["-T", "json", "-x"])).unwrap();
    assert_eq!((lines.lines().count(), packets.len()), (expected.len(), expected.len()));
    for ((line, packet), expected) in lines.lines().zip(&packets).zip(&expected) {
        let nanos = expected.at.as_nanos();
        let (secs, nanos) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
        let [time, interface, direction, comment] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("four fields in {line:?}");
        };
        assert_eq!(time, format!("{secs}.{nanos:09}"));
        assert_eq!(interface, expected.interface);
        let direction = u32::from_str_radix(direction.trim_start_matches("0x"), 16);
        assert_eq!(direction, Ok(if expected.inbound { 1 } else { 2 }));
        assert_eq!(comment, expected.comment.unwrap_or_default());
        let hex: String = expected.bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(packet["_source"]["layers"]["frame_raw"][0].as_str(), Some(&hex[..]));
    }
    assert_eq!(expected.iter().filter(|packet| packet.comment.is_some()).count(), 1);
}
