//! Damaged headers that a host repairs, and what it makes of them.

use headway_tcp::{Profile, Variant};
use headway_test_fixture::two_hosts::{CLIENT, SERVER, TwoHosts, address};
use headway_units::Duration;
use headway_wire::{Segment, V2};

/// A connection over which a segment has come.
fn connected(repair: bool) -> TwoHosts {
    let mut profile = Variant::Headway.apply(Profile::modern());
    profile.features.repair = repair;
    let mut pair = TwoHosts::connected(profile);
    pair.write(CLIENT, 3000);
    pair.wait(Duration::from_secs(1));
    pair
}

/// The client sends two segments; the first arrives with those bits of its TCP header flipped. Gives what
/// the server answers to it.
fn damage(pair: &mut TwoHosts, bits: &[usize]) -> Vec<Vec<u8>> {
    pair.write(CLIENT, 2000);
    let mut first = pair.sent(CLIENT).remove(0);
    bits.iter().for_each(|bit| first[20 + bit / 8] ^= 0x80 >> (bit % 8));
    pair.deliver(SERVER, &[first]);
    pair.sent(SERVER)
}

/// Headers that were repaired, payloads alone that were damaged, and headers that were given up.
fn path(pair: &TwoHosts) -> (u64, u64, u64) {
    let path = pair.hosts[SERVER].path(address(SERVER), address(CLIENT)).unwrap();
    (path.repaired, path.corrupted, path.unreadable)
}

/// A repaired header does what a corrupted segment's does, and is not counted twice.
#[test]
fn a_repaired_header_requests_a_retransmission() {
    // A port, sequence number, data offset, flags, a timestamp, the kind of the option, its CRC.
    for bits in [&[5][..], &[40], &[97], &[111], &[200], &[256], &[300], &[5, 40, 97, 200, 300]] {
        let mut pair = connected(true);
        let answers = damage(&mut pair, bits);
        assert_eq!(answers.len(), 1, "{bits:?}");
        let answer = Segment::parse(&answers[0]).unwrap();
        let v2 = answer.options.v2.as_ref().and_then(V2::as_ack).unwrap();
        assert_eq!(v2.reported.as_slice(), [0], "{bits:?}: the first byte that is missing");
        assert_eq!(v2.damaged, 1, "counted once, among all that arrived damaged");
        assert_eq!(path(&pair), (1, 0, 0), "{bits:?}");
        let statistics = pair.statistics(SERVER);
        assert_eq!((statistics.repaired, statistics.damaged_received), (1, 1));
        assert_eq!(pair.readable(SERVER), 3000, "nothing is delivered by it");
        // No earlier than a report can be back.
        pair.now += Duration::from_millis(10);
        pair.deliver(CLIENT, &answers[..1]);
        pair.wait(Duration::from_secs(1));
        assert_eq!(pair.readable(SERVER), 5000);
        let statistics = pair.statistics(CLIENT);
        assert_eq!(statistics.damage_retransmissions, 1);
    }
}

#[test]
fn without_repair_it_is_counted() {
    let mut pair = connected(false);
    let answers = damage(&mut pair, &[40]);
    let answer = Segment::parse(&answers[0]).unwrap();
    let v2 = answer.options.v2.as_ref().and_then(V2::as_ack).unwrap();
    assert_eq!((v2.reported.as_slice(), v2.damaged), (&[][..], 1));
    assert_eq!(path(&pair), (0, 0, 1));
}

/// What cannot be repaired is counted.
#[test]
fn what_cannot_be_repaired_is_counted() {
    let mut pair = connected(true);
    let bits: Vec<usize> = (0..352).step_by(3).collect();
    damage(&mut pair, &bits);
    assert_eq!(path(&pair), (0, 0, 1));
}

/// Damage to a segment that is held already moves nothing and asks for nothing.
#[test]
fn a_repaired_repeat_is_answered_plainly() {
    let mut pair = connected(true);
    pair.write(CLIENT, 1000);
    let mut flight = pair.sent(CLIENT);
    pair.deliver(SERVER, &flight[..1]);
    flight[0][20] ^= 1;
    pair.deliver(SERVER, &flight[..1]);
    let special = pair.sent(SERVER).iter().any(|packet| {
        let segment = Segment::parse(packet).unwrap();
        segment.options.v2.as_ref().and_then(V2::as_ack).is_some_and(headway_wire::V2Ack::is_special)
    });
    assert!(!special);
}
