//! Packets whose IP header is corrupted, over a carrier that has exactly one peer.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use headway_tcp::{OnlyPeer, Path, Profile, Variant};
use headway_test_fixture::rng::Rng;
use headway_test_fixture::two_hosts::{CLIENT, SERVER, TwoHosts, address};
use headway_units::Duration;
use headway_wire::{ChecksumTrust, Received, Segment, V2};

/// A connection over which a segment has come, and what the server's carrier knows.
fn connected() -> (TwoHosts, OnlyPeer) {
    let mut pair = TwoHosts::connected(Variant::Headway.apply(Profile::modern()));
    pair.write(CLIENT, 3000);
    pair.wait(Duration::from_secs(1));
    (pair, OnlyPeer::new(address(SERVER), address(CLIENT)))
}

/// Hands a packet to the server. Gives what it answers.
fn hand_in(pair: &mut TwoHosts, peer: &mut OnlyPeer, packet: &[u8]) -> Vec<Vec<u8>> {
    let received = Received::parse(packet, ChecksumTrust::None);
    pair.hosts[SERVER].receive_from_only_peer(pair.now, peer, packet, &received);
    pair.sent(SERVER)
}

/// A segment with data, whose source address is damaged.
fn damaged(pair: &mut TwoHosts) -> Vec<u8> {
    pair.write(CLIENT, 1000);
    let mut packet = pair.sent(CLIENT).remove(0);
    packet[13] ^= 0x10;
    packet
}

fn path(pair: &TwoHosts) -> &Path {
    pair.hosts[SERVER].path(address(SERVER), address(CLIENT)).expect("a path")
}

/// The count in a segment of the server's.
fn count_in(packet: &[u8]) -> u16 {
    let segment = Segment::parse(packet).expect("a segment");
    segment.options.v2.as_ref().and_then(V2::as_ack).expect("an ACK").damaged
}

#[test]
fn a_corrupted_ip_header_is_counted_and_reported_at_once() {
    let (mut pair, mut peer) = connected();
    let packet = damaged(&mut pair);
    for n in 1..=3 {
        let answers = hand_in(&mut pair, &mut peer, &packet);
        assert_eq!(answers.len(), 1, "one ACK for each");
        assert!(answers[0].len() <= packet.len());
        assert_eq!(count_in(&answers[0]), n);
        assert_eq!((path(&pair).unreadable, path(&pair).damaged_data), (n.into(), n.into()));
    }
    assert_eq!(pair.readable(SERVER), 3000, "it delivers nothing");
    // A host whose carrier has several peers does not see it.
    let before = path(&pair).clone();
    pair.deliver(SERVER, &[packet]);
    assert!(pair.sent(SERVER).is_empty());
    assert_eq!(path(&pair), &before);
}

/// An ACK has at most 60 bytes behind an IP header of at most 60.
#[test]
fn what_may_be_an_acknowledgement_is_not_answered() {
    let (mut pair, mut peer) = connected();
    let packet = damaged(&mut pair);
    for (len, answers, data) in [(0, 0, 0), (19, 0, 0), (40, 0, 0), (120, 0, 0), (121, 1, 1)] {
        assert_eq!(hand_in(&mut pair, &mut peer, &packet[..len]).len(), answers, "{len} bytes");
        assert_eq!(path(&pair).damaged_data, data, "{len} bytes");
    }
}

#[test]
fn every_other_packet_goes_the_ordinary_way() {
    let (mut pair, mut peer) = connected();
    pair.write(CLIENT, 1000);
    let intact = pair.sent(CLIENT).remove(0);
    let mut corrupted = intact.clone();
    *corrupted.last_mut().expect("data") ^= 1;
    hand_in(&mut pair, &mut peer, &corrupted);
    assert_eq!((path(&pair).corrupted, path(&pair).unreadable, pair.readable(SERVER)), (1, 0, 3000));
    hand_in(&mut pair, &mut peer, &intact);
    assert_eq!((pair.readable(SERVER), path(&pair).damaged_data), (4000, 1));
    // A fragment was sent like that.
    let mut fragment = intact;
    fragment[6] |= 0x20;
    fragment[10..12].fill(0);
    let sum = headway_wire::checksum::sum(&fragment[..20]).complement();
    fragment[10..12].copy_from_slice(&sum.to_be_bytes());
    assert!(hand_in(&mut pair, &mut peer, &fragment).is_empty());
    assert_eq!(path(&pair).damaged_data, 1);
}

/// Two flips that the checksum of the IP header does not see: the addresses are those of no connection.
#[test]
fn addresses_that_the_checksum_does_not_protect_are_not_believed() {
    let (mut pair, mut peer) = connected();
    pair.write(CLIENT, 1000);
    let mut packet = pair.sent(CLIENT).remove(0);
    // The lowest bit of both addresses, which end in 1 and 2.
    packet[15] ^= 1;
    packet[19] ^= 1;
    assert!(matches!(Received::parse(&packet, ChecksumTrust::None), Received::Unreadable(Some(_))));
    assert_eq!(hand_in(&mut pair, &mut peer, &packet).len(), 1);
    assert_eq!(path(&pair).damaged_data, 1);
}

/// Nothing follows from a declaration that is wrong.
#[test]
fn a_second_sender_ends_it() {
    let (mut pair, mut peer) = connected();
    let packet = damaged(&mut pair);
    assert_eq!(hand_in(&mut pair, &mut peer, &packet).len(), 1);
    let profile = Arc::new(Profile::standard());
    let other: IpAddr = Ipv4Addr::new(192, 0, 2, 77).into();
    let mut stranger = headway_tcp::Host::new(headway_tcp::HostConfig::new(other, [1; 16]));
    stranger
        .connect(pair.now, SocketAddr::new(other, 0), SocketAddr::new(address(SERVER), 80), profile)
        .expect("a port");
    let syn = headway_test_fixture::two_hosts::drain(&mut stranger, pair.now).remove(0);
    assert_eq!(hand_in(&mut pair, &mut peer, &syn).len(), 1, "it is answered as ever");
    assert!(peer.is_refuted());
    let before = path(&pair).clone();
    assert!(hand_in(&mut pair, &mut peer, &packet).is_empty());
    assert_eq!(path(&pair), &before);
}

/// The peer is another host than those with a connection.
#[test]
fn no_other_path_is_affected() {
    let (mut pair, _) = connected();
    let mut peer = OnlyPeer::new(address(SERVER), Ipv4Addr::new(192, 0, 2, 77).into());
    let packet = damaged(&mut pair);
    let before = path(&pair).clone();
    assert!(hand_in(&mut pair, &mut peer, &packet).is_empty());
    assert_eq!(path(&pair), &before);
}

#[test]
fn no_bytes_do_more_than_count() {
    let (mut pair, mut peer) = connected();
    let packet = damaged(&mut pair);
    let mut rng = Rng::new(7);
    for _ in 0..20_000 {
        let mut bytes = packet.clone();
        bytes.truncate(rng.between(0, bytes.len()));
        for _ in 0..rng.below(40_u32) {
            let place = rng.below(bytes.len().min(80));
            if let Some(byte) = bytes.get_mut(place) {
                *byte = rng.next() as u8;
            }
        }
        let before = path(&pair).damaged_data;
        let answers = hand_in(&mut pair, &mut peer, &bytes).len() as u64;
        let counted = path(&pair).damaged_data - before;
        assert!(counted <= 1 && answers <= 1, "{counted} counted, {answers} answers");
    }
    assert_eq!(pair.readable(SERVER), 3000);
}
