//! What proves to a carrier that a peer is at another place now: only who sees the connection may move it.

use headway_tcp::{Profile, Variant};
use headway_test_fixture::packet;
use headway_test_fixture::two_hosts::{CLIENT, SERVER, TwoHosts};
use headway_units::Duration;
use headway_wire::{ChecksumTrust, Received, Segment, SeqNumber, TcpHeader, Timestamps};

fn accepts(pair: &TwoHosts, packet: &[u8]) -> bool {
    pair.hosts[SERVER].accepts(pair.now, &Received::parse(packet, ChecksumTrust::None))
}

/// A connection, and segments of the client's that have been sent and not arrived.
fn under_way(profile: Profile) -> (TwoHosts, Vec<Vec<u8>>) {
    let mut pair = TwoHosts::connected(profile);
    pair.write(CLIENT, 1000);
    pair.wait(Duration::from_secs(1));
    pair.write(CLIENT, 6000);
    let mut packets = Vec::new();
    while packets.len() < 4 {
        packets.extend(pair.sent(CLIENT));
        pair.advance(Duration::from_micros(100));
    }
    (pair, packets)
}

fn headway() -> Profile {
    Variant::Headway.apply(Profile::modern())
}

#[test]
fn the_next_segment_moves_a_peer_without_timestamps_too() {
    for timestamps in [true, false] {
        let (pair, packets) = under_way(Profile { timestamps, ..headway() });
        assert!(accepts(&pair, &packets[0]));
        assert_eq!(accepts(&pair, &packets[2]), timestamps, "one ahead of it");
    }
}

/// The peer moved, and its answers went where it was: it repeats what has arrived, and nothing else.
#[test]
fn a_repeated_segment_moves_a_peer() {
    let (mut pair, packets) = under_way(headway());
    pair.deliver(SERVER, &packets);
    drop(pair.sent(SERVER));
    let mut repeated = Vec::new();
    while repeated.is_empty() {
        pair.advance(Duration::from_millis(100));
        repeated = pair.sent(CLIENT);
    }
    assert!(accepts(&pair, &repeated[0]));
}

#[test]
fn guessed_numbers_move_no_one() {
    let (pair, packets) = under_way(Profile::modern());
    let segment = Segment::parse(&packets[2]).expect("a segment");
    let stamps = segment.options.timestamps.expect("timestamps");
    let with = |tcp: TcpHeader, stamps: Option<Timestamps>| {
        let options = headway_wire::TcpOptions { timestamps: stamps, ..segment.options };
        accepts(&pair, &packet::segment(&segment.ip, &tcp, &options, segment.payload))
    };
    assert!(with(segment.tcp, Some(stamps)));
    assert!(!with(segment.tcp, None));
    let away = [1 << 18, 1 << 31, u32::MAX - (1 << 18)];
    for by in away {
        let stamps = |tsval: u32, tsecr: u32| {
            Some(Timestamps {
                tsval: stamps.tsval.wrapping_add(tsval),
                tsecr: stamps.tsecr.wrapping_add(tsecr),
            })
        };
        assert!(!with(segment.tcp, stamps(by, 0)), "TSval {by}");
        assert!(!with(segment.tcp, stamps(0, by)), "TSecr {by}");
    }
    for by in [1 << 27, 1 << 31, u32::MAX - (1 << 27)] {
        let seq = SeqNumber(segment.tcp.seq.0.wrapping_add(by));
        assert!(!with(TcpHeader { seq, ..segment.tcp }, Some(stamps)), "SEQ {by}");
        let ack = SeqNumber(segment.tcp.ack.0.wrapping_add(by));
        assert!(!with(TcpHeader { ack, ..segment.tcp }, Some(stamps)), "ACK {by}");
    }
}
