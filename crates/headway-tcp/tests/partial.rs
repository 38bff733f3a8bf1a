//! Partial recovery between two hosts, and with a peer that lies.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use headway_tcp::{ConnectionId, Host, HostConfig, Profile, Statistics, Variant};
use headway_units::{Duration, Instant};
use headway_wire::blocks::block_sums;
use headway_wire::{
    ChecksumTrust, Received, Segment, SeqNumber, TcpFlags, TcpHeader, TcpOptions, Timestamps, V2, V2Request,
    emit,
};
use proptest::prelude::*;

const CLIENT: usize = 0;
const SERVER: usize = 1;
/// Payload of a full segment.
const SEGMENT: usize = 1436;

struct Pair {
    now: Instant,
    hosts: [Host; 2],
    ids: [ConnectionId; 2],
}

fn address(host: usize) -> IpAddr {
    Ipv4Addr::new(192, 0, 2, 1 + host as u8).into()
}

fn content(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 131 % 251) as u8).collect()
}

fn blocks(packet: &[u8]) -> Option<(u32, [u16; 7])> {
    let v2 = Segment::parse(packet).unwrap().options.v2?;
    match v2.as_ack()?.request {
        V2Request::Blocks { offset, sums } => Some((offset, sums)),
        V2Request::Segments(_) => None,
    }
}

impl Pair {
    fn new(partial: [bool; 2]) -> Self {
        let profiles = partial.map(|partial| {
            let mut profile = Variant::Headway.apply(Profile::modern());
            profile.modern.partial = partial;
            profile.modern.pacing = false;
            profile.modern.tlp = false;
            Arc::new(profile)
        });
        let mut hosts = [CLIENT, SERVER].map(|n| Host::new(HostConfig::new(address(n), [n as u8; 16])));
        let end = SocketAddr::new(address(SERVER), 80);
        let listener = hosts[SERVER].listen(end, 4, profiles[SERVER].clone()).unwrap();
        let now = Instant::from_nanos(1_000_000_000_000);
        let client = SocketAddr::new(address(CLIENT), 5000);
        let client = hosts[CLIENT].connect(now, client, end, profiles[CLIENT].clone()).unwrap();
        let mut pair = Self { now, hosts, ids: [client, client] };
        pair.settle();
        pair.ids[SERVER] = pair.hosts[SERVER].accept(listener).unwrap();
        pair
    }

    fn deliver(&mut self, host: usize, packet: &[u8]) {
        self.hosts[host].receive(self.now, &Received::parse(packet, ChecksumTrust::None));
    }

    fn sent(&mut self, host: usize) -> Vec<Vec<u8>> {
        let mut buffer = vec![0; 1500];
        let mut sent = Vec::new();
        while let Some(len) = self.hosts[host].poll_transmit(self.now, &mut buffer) {
            sent.push(buffer[..len].to_vec());
            assert!(sent.len() < 10_000);
        }
        sent
    }

    /// Some milliseconds pass, then all timers that are due.
    fn pass(&mut self, milliseconds: u64) {
        self.now += Duration::from_millis(milliseconds);
        self.hosts.iter_mut().for_each(|host| host.handle_timeout(self.now));
    }

    fn settle(&mut self) {
        for _ in 0..200 {
            self.pass(10);
            for host in [CLIENT, SERVER] {
                for packet in self.sent(host) {
                    self.deliver(1 - host, &packet);
                }
            }
        }
    }

    fn write(&mut self, octets: usize) {
        let written = self.hosts[CLIENT].write(self.ids[CLIENT], &content(octets)).unwrap();
        assert_eq!(written, octets);
    }

    fn received(&self) -> Vec<u8> {
        let (first, second) = self.hosts[SERVER].peek(self.ids[SERVER]);
        [first, second].concat()
    }

    fn statistics(&self, host: usize) -> Statistics {
        self.hosts[host].statistics(self.ids[host]).unwrap()
    }
}

/// Flips a bit of the payload.
fn damage(packet: &mut [u8], octet: usize) {
    packet[64 + octet] ^= 0x10;
}

#[test]
fn only_the_blocks_that_were_hit_come_again() {
    let mut pair = Pair::new([true; 2]);
    pair.write(3 * SEGMENT);
    let mut flight = pair.sent(CLIENT);
    pair.pass(20);
    // Blocks 2, 3 and 6 of the second segment.
    [450, 700, 1430].iter().for_each(|&octet| damage(&mut flight[1], octet));
    flight.iter().for_each(|packet| pair.deliver(SERVER, packet));
    let answers = pair.sent(SERVER);
    let asked: Vec<_> = answers.iter().filter_map(|packet| blocks(packet)).collect();
    assert_eq!(asked.len(), 1);
    pair.pass(20);
    answers.iter().for_each(|packet| pair.deliver(CLIENT, packet));
    let resent = pair.sent(CLIENT);
    let lengths: Vec<usize> = resent.iter().map(|packet| packet.len() - 64).collect();
    assert_eq!(lengths, [412, 200]);
    for packet in &resent {
        assert_eq!(pair.received().len(), SEGMENT);
        pair.deliver(SERVER, packet);
    }
    assert!(pair.received() == content(3 * SEGMENT));
    assert_eq!(pair.statistics(SERVER).completed, 1);
    pair.settle();
    let sender = pair.statistics(CLIENT);
    assert_eq!((sender.cut, sender.bytes_spared), (1, 824));
    assert_eq!((sender.unacknowledged, sender.pipe, sender.timeouts), (0, 0, 0));
}

#[test]
fn a_block_that_is_hit_again_is_asked_for_again() {
    let mut pair = Pair::new([true; 2]);
    pair.write(3 * SEGMENT);
    let mut flight = pair.sent(CLIENT);
    pair.pass(20);
    damage(&mut flight[0], 3);
    flight.iter().for_each(|packet| pair.deliver(SERVER, packet));
    for round in 0..4 {
        let answers = pair.sent(SERVER);
        pair.pass(20);
        answers.iter().for_each(|packet| pair.deliver(CLIENT, packet));
        let mut resent = pair.sent(CLIENT);
        let lengths: Vec<usize> = resent.iter().map(|packet| packet.len() - 64).collect();
        assert_eq!(lengths, [206], "round {round}");
        if round < 3 {
            damage(&mut resent[0], 100 + round);
        }
        pair.pass(20);
        pair.deliver(SERVER, &resent[0]);
    }
    assert!(pair.received() == content(3 * SEGMENT));
}

/// A flip in the header alone: the payload is there, and one octet tells that it is the right one.
#[test]
fn a_repaired_header_has_its_payload_kept() {
    let mut pair = Pair::new([true; 2]);
    pair.write(2 * SEGMENT);
    pair.settle();
    pair.hosts[CLIENT].write(pair.ids[CLIENT], &content(4 * SEGMENT)[2 * SEGMENT..]).unwrap();
    let mut flight = pair.sent(CLIENT);
    pair.pass(20);
    flight[0][20 + 5] ^= 4;
    flight.iter().for_each(|packet| pair.deliver(SERVER, packet));
    assert_eq!(pair.received().len(), 2 * SEGMENT, "it delivers nothing by itself");
    let answers = pair.sent(SERVER);
    pair.pass(20);
    answers.iter().for_each(|packet| pair.deliver(CLIENT, packet));
    let resent = pair.sent(CLIENT);
    assert_eq!((resent.len(), resent[0].len()), (1, 65));
    pair.deliver(SERVER, &resent[0]);
    assert!(pair.received() == content(4 * SEGMENT));
}

#[test]
fn both_ends_must_want_it() {
    for partial in [[true, false], [false, true], [false, false]] {
        let mut pair = Pair::new(partial);
        pair.write(3 * SEGMENT);
        let mut flight = pair.sent(CLIENT);
        pair.pass(20);
        damage(&mut flight[1], 0);
        flight.iter().for_each(|packet| pair.deliver(SERVER, packet));
        let answers = pair.sent(SERVER);
        assert!(answers.iter().all(|packet| blocks(packet).is_none()));
        pair.pass(20);
        answers.iter().for_each(|packet| pair.deliver(CLIENT, packet));
        pair.settle();
        assert!(pair.received() == content(3 * SEGMENT));
        assert_eq!(pair.statistics(CLIENT).cut, 0);
    }
}

/// A receiver that says what it likes. `from` is a packet that it answers.
fn lie(from: &Segment<'_>, ack: SeqNumber, request: V2Request, sack: &[(SeqNumber, SeqNumber)]) -> Vec<u8> {
    let ip = headway_wire::IpHeader { src: from.ip.dst, dst: from.ip.src, ..from.ip };
    let tcp = TcpHeader {
        src_port: from.tcp.dst_port,
        dst_port: from.tcp.src_port,
        seq: from.tcp.ack,
        ack,
        flags: TcpFlags::ACK,
        window: 8000,
        urgent: 0,
    };
    let stamps = from.options.timestamps.unwrap();
    let mut options = TcpOptions {
        timestamps: Some(Timestamps { value: stamps.echo.wrapping_add(50), echo: stamps.value }),
        v2: Some(V2::ack(0, request)),
        ..TcpOptions::default()
    };
    sack.iter().for_each(|&block| {
        options.sack.push(block);
    });
    let mut packet = vec![0; 200];
    let len = emit(&mut packet, &ip, &tcp, &options, (&[], &[])).unwrap();
    packet.truncate(len);
    packet
}

/// A peer that says it holds what it does not have gets it: no later than one round trip after it
/// acknowledged what it asked for.
#[test]
fn what_was_never_held_is_sent() {
    let mut pair = Pair::new([true; 2]);
    pair.write(3 * SEGMENT);
    let flight = pair.sent(CLIENT);
    pair.pass(20);
    let second = Segment::parse(&flight[1]).unwrap();
    let una = second.tcp.seq;
    let sums = block_sums((second.payload, &[]));
    pair.deliver(CLIENT, &lie(&second, una, V2Request::Blocks { offset: 0, sums }, &[]));
    let resent = pair.sent(CLIENT);
    let mut probe = resent.iter().map(|packet| Segment::parse(packet).unwrap());
    let probe = probe.find(|segment| segment.payload.len() == 1).unwrap();
    pair.pass(20);
    let got = (second.tcp.seq, second.tcp.seq + 1);
    pair.deliver(CLIENT, &lie(&probe, una, V2Request::default(), &[got]));
    let resent = pair.sent(CLIENT);
    let mut whole = resent.iter().map(|packet| Segment::parse(packet).unwrap());
    let rest = whole.find(|segment| segment.tcp.seq == second.tcp.seq + 1).unwrap();
    assert_eq!(rest.payload.len(), SEGMENT - 1);
    // It is not cut again, whatever is asked.
    pair.pass(20);
    let sums = block_sums((rest.payload, &[]));
    let offset = (rest.tcp.seq - una) as u32;
    pair.deliver(CLIENT, &lie(&rest, una, V2Request::Blocks { offset, sums }, &[]));
    assert_eq!(pair.statistics(CLIENT).cut, 1);
    assert_eq!(pair.statistics(CLIENT).bytes_spared, 0);
}

/// A flood of requests: each copy of a segment is asked for once, and a segment is cut once.
#[test]
fn requests_without_end_cost_no_more_than_damage_would() {
    let mut pair = Pair::new([true; 2]);
    pair.write(10 * SEGMENT);
    let flight = pair.sent(CLIENT);
    let una = Segment::parse(&flight[0]).unwrap().tcp.seq;
    let before = pair.statistics(CLIENT);
    let mut resent = 0;
    for round in 0..2000_u32 {
        if round % 100 == 0 {
            pair.pass(1);
        }
        let segment = Segment::parse(&flight[round as usize % flight.len()]).unwrap();
        let mut sums = block_sums((segment.payload, &[]));
        sums[round as usize % 7] ^= (round % 3) as u16;
        let offset = (segment.tcp.seq - una) as u32 + round % 2 * 300;
        pair.deliver(CLIENT, &lie(&segment, una, V2Request::Blocks { offset, sums }, &[]));
        resent += pair.sent(CLIENT).iter().map(|packet| packet.len() - 64).sum::<usize>();
    }
    let after = pair.statistics(CLIENT);
    assert!(after.cut <= 10, "{}", after.cut);
    assert!(resent <= 10 * SEGMENT * 2, "{resent} octets resent");
    assert!(after.memory < before.memory + 64 * 1024, "{} octets", after.memory);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Any damage to any packet in any round trip, header and payload alike: what is delivered is what
    /// was sent, and all of it is in the end.
    #[test]
    fn what_is_delivered_is_what_was_sent(
        rounds in prop::collection::vec(
            prop::collection::vec((0..16_usize, 160..12_000_usize, 0..4_usize), 0..24), 1..12,
        ),
    ) {
        let mut pair = Pair::new([true; 2]);
        let all = 12 * SEGMENT + 333;
        pair.write(all);
        for hits in rounds {
            pair.pass(15);
            let mut flight = pair.sent(CLIENT);
            for (place, bit, more) in hits {
                let Some(packet) = flight.get_mut(place) else { continue };
                let bits = packet.len() * 8;
                for step in 0..=more {
                    // Behind the IP header, which has a sum of its own.
                    let bit = 160 + (bit + step * 1741) % (bits - 160);
                    packet[bit / 8] ^= 0x80 >> (bit % 8);
                }
            }
            flight.iter().for_each(|packet| pair.deliver(SERVER, packet));
            prop_assert!(content(all).starts_with(&pair.received()));
            pair.pass(15);
            for packet in pair.sent(SERVER) {
                pair.deliver(CLIENT, &packet);
            }
        }
        for _ in 0..4 {
            pair.settle();
        }
        prop_assert!(pair.received() == content(all), "{} of {all}", pair.received().len());
        prop_assert_eq!(pair.statistics(CLIENT).pipe, 0);
    }
}
