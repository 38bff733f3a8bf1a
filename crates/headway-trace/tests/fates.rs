//! Fates read from captures and texts.

use std::net::Ipv4Addr;

use headway_link::{Damage, EnqueueResult, Headers, Link, LinkConfig};
use headway_trace::{Capture, Direction, FatesError, PathDirection, read_fates};
use headway_units::{Duration, Instant};
use headway_wire::checksum;

const HEADERS: Headers = Headers { ip_header_len: 20, header_len: 40 };
const SENDER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const RECEIVER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);

/// A valid TCP segment.
fn segment(from: Ipv4Addr, to: Ipv4Addr, payload: usize) -> Vec<u8> {
    let len = 40 + payload;
    let mut packet = vec![0; len];
    packet[0] = 0x45;
    packet[2..4].copy_from_slice(&(len as u16).to_be_bytes());
    packet[8] = 64;
    packet[9] = 6;
    packet[12..16].copy_from_slice(&from.octets());
    packet[16..20].copy_from_slice(&to.octets());
    let sum = checksum::sum(&packet[..20]).complement();
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet[20..24].copy_from_slice(&[0x9c, 0x40, 0x13, 0x89]);
    packet[32] = 0x50;
    packet[33] = 0x10;
    let mut pseudo = [from.octets(), to.octets(), [0, 6, 0, 0]].concat();
    pseudo[10..].copy_from_slice(&((len - 20) as u16).to_be_bytes());
    let sum = checksum::sum(&[&pseudo[..], &packet[20..]].concat()).complement();
    packet[36..38].copy_from_slice(&sum.to_be_bytes());
    packet
}

fn text(trace: &headway_link::Trace) -> String {
    trace.to_string().lines().collect::<Vec<_>>().join(", ")
}

/// A link's fates, recorded by its capture and replayed, hit the same packets in the same places.
#[test]
fn a_replay_of_a_capture_hits_the_same_packets() {
    let config = LinkConfig {
        damage: "burst-hit:20%:5".parse().unwrap(),
        header_hit: Some("40%".parse().unwrap()),
        ..LinkConfig::default()
    };
    let pass = |config: LinkConfig, seed| {
        let mut link: Link<Vec<u8>> = Link::new(config, seed);
        let mut capture = Capture::new(Vec::new(), &["receiver"]).unwrap();
        let mut fates = Vec::new();
        for number in 0..2_000_u64 {
            let at = Instant::ZERO + Duration::from_millis(number);
            let packet = segment(SENDER, RECEIVER, 1_000);
            let len = packet.len();
            assert_eq!(link.enqueue(at, packet, len, HEADERS, true), EnqueueResult::Queued);
            let delivery = link.poll(at).unwrap();
            let comment = delivery.damage.map(|hit| {
                let place = if hit.header { ", header hit" } else { "" };
                format!("damaged: {} bits flipped{place}", hit.flips)
            });
            let inbound = Direction::Inbound;
            capture.packet(0, at, &delivery.packet, inbound, comment.as_deref()).unwrap();
            fates.push(delivery.damage);
        }
        (fates, capture.finish().unwrap())
    };
    let (recorded, file) = pass(config, 1);
    let trace = read_fates("one.pcapng", PathDirection::Forward, &file[..]).unwrap();
    assert_eq!((trace.name(), trace.packets()), ("one.pcapng", 2_000));
    let replaying = LinkConfig { damage: Damage::Trace(trace.clone()), ..LinkConfig::default() };
    let (replayed, again) = pass(replaying, 99);
    assert_eq!(replayed, recorded);
    assert!(recorded.iter().flatten().filter(|hit| hit.header).count() > 50);
    assert_eq!(read_fates("one.pcapng", PathDirection::Forward, &again[..]).unwrap(), trace);
}

/// What the comment does not place counts as one bit.
#[test]
fn frames_with_another_length_are_hit() {
    let mut capture = Capture::new(Vec::new(), &["receiver"]).unwrap();
    let data = segment(SENDER, RECEIVER, 500);
    for comment in [
        "damaged: 0 bits flipped, 800 slipped",
        "damaged: 3 bits flipped, 1 slipped, header hit",
        "damaged: 0 bits flipped, end missing",
        "damaged: 0 bits flipped, 9 slipped, end missing, header hit",
        "damaged: 0 bits flipped",
    ] {
        capture.packet(0, Instant::ZERO, &data, Direction::Inbound, Some(comment)).unwrap();
    }
    let trace = read_fates("", PathDirection::Forward, &capture.finish().unwrap()[..]).unwrap();
    assert_eq!(text(&trace), "hit payload 1, hit both 3, hit payload 1, hit both 1, ok");
}

/// Without comments the checksums decide; packets captured before the link are ignored.
#[test]
fn wrong_checksums_are_damage() {
    let mut capture = Capture::new(Vec::new(), &["sender", "receiver"]).unwrap();
    let data = segment(SENDER, RECEIVER, 500);
    let ack = segment(RECEIVER, SENDER, 0);
    let mut broken = data.clone();
    broken[300] ^= 1;
    let mut headless = data.clone();
    headless[32] = 0;
    let mut record = |interface, packet: &[u8], direction| {
        capture.packet(interface, Instant::ZERO, packet, direction, None).unwrap();
    };
    for packet in [&data, &broken, &data, &headless, &data] {
        record(0, &data, Direction::Outbound);
        record(1, packet, Direction::Inbound);
        record(1, &ack, Direction::Outbound);
    }
    record(0, &ack, Direction::Inbound);
    record(0, &ack, Direction::Inbound);
    let file = capture.finish().unwrap();
    let data = read_fates("", PathDirection::Forward, &file[..]).unwrap();
    assert_eq!(text(&data), "ok, hit 1, ok, hit header 1, ok");
    assert_eq!(text(&read_fates("", PathDirection::Reverse, &file[..]).unwrap()), "ok 2");
}

/// A pcap file does not mark outbound packets: each sender's packets are a direction.
#[test]
fn without_directions_each_sender_is_one() {
    let data = segment(SENDER, RECEIVER, 500);
    let ack = segment(RECEIVER, SENDER, 0);
    let mut broken = data.clone();
    broken[300] ^= 1;
    let mut file = [0xa1b2_c3d4_u32, 0x0002_0004, 0, 0, 65_535, 101].map(u32::to_be_bytes).concat();
    for packet in [&data, &ack, &broken, &ack, &data, &data] {
        file.extend([0, 0, packet.len() as u32, packet.len() as u32].map(u32::to_be_bytes).concat());
        file.extend(packet);
    }
    assert_eq!(text(&read_fates("", PathDirection::Forward, &file[..]).unwrap()), "ok, hit 1, ok 2");
    assert_eq!(text(&read_fates("", PathDirection::Reverse, &file[..]).unwrap()), "ok 2");
}

#[test]
fn other_files_are_refused() {
    let error = |bytes: &[u8], direction| read_fates("x", direction, bytes).unwrap_err();
    assert_eq!(
        error(b"ok\nbroken", PathDirection::Forward).to_string().split(": expected").next(),
        Some("line 2: \"broken\"")
    );
    assert!(matches!(error(&[0xff; 100], PathDirection::Forward), FatesError::NotText));
    assert!(matches!(error(b"", PathDirection::Forward), FatesError::Text(_)));
    assert!(matches!(
        error(&[0x0a, 0x0d, 0x0d, 0x0a, 1], PathDirection::Forward),
        FatesError::NoPackets { .. } | FatesError::Capture(_)
    ));
    let mut capture = Capture::new(Vec::new(), &["receiver"]).unwrap();
    capture.packet(0, Instant::ZERO, &segment(SENDER, RECEIVER, 5), Direction::Inbound, None).unwrap();
    let file = capture.finish().unwrap();
    assert_eq!(
        error(&file, PathDirection::Reverse).to_string(),
        "expected a capture of TCP in which packets arrive from both sides"
    );
    assert_eq!(text(&read_fates("", PathDirection::Reverse, &b"lost 2\nok"[..]).unwrap()), "lost 2, ok");
}
