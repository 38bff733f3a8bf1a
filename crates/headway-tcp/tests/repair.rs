//! Damaged headers that a host repairs, and what it makes of them.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use headway_tcp::{ConnectionId, Host, HostConfig, Profile, Variant};
use headway_units::{Duration, Instant};
use headway_wire::{ChecksumTrust, Received, Segment, V2};

const CLIENT: usize = 0;
const SERVER: usize = 1;

struct Pair {
    now: Instant,
    hosts: [Host; 2],
    ids: [ConnectionId; 2],
}

fn address(host: usize) -> IpAddr {
    Ipv4Addr::new(192, 0, 2, 1 + host as u8).into()
}

fn deliver(host: &mut Host, now: Instant, packet: &[u8]) {
    host.receive(now, &Received::parse(packet, ChecksumTrust::None));
}

impl Pair {
    /// A connection over which a segment has come.
    fn new(repair: bool) -> Self {
        let mut profile = Variant::Headway.apply(Profile::modern());
        profile.modern.repair = repair;
        let profile = Arc::new(profile);
        let mut hosts = [CLIENT, SERVER].map(|n| Host::new(HostConfig::new(address(n), [n as u8; 16])));
        let end = SocketAddr::new(address(SERVER), 80);
        let listener = hosts[SERVER].listen(end, 4, profile.clone()).unwrap();
        let now = Instant::from_nanos(1_000_000_000_000);
        let client = SocketAddr::new(address(CLIENT), 5000);
        let client = hosts[CLIENT].connect(now, client, end, profile).unwrap();
        let mut pair = Self { now, hosts, ids: [client, client] };
        pair.settle();
        pair.ids[SERVER] = pair.hosts[SERVER].accept(listener).unwrap();
        pair.hosts[CLIENT].write(client, &[1; 3000]).unwrap();
        pair.settle();
        pair
    }

    fn sent(&mut self, host: usize) -> Vec<Vec<u8>> {
        let mut buffer = vec![0; 1500];
        let mut sent = Vec::new();
        while let Some(len) = self.hosts[host].poll_transmit(self.now, &mut buffer) {
            sent.push(buffer[..len].to_vec());
        }
        sent
    }

    fn settle(&mut self) {
        for _ in 0..100 {
            self.now += Duration::from_millis(10);
            for host in [CLIENT, SERVER] {
                self.hosts[host].handle_timeout(self.now);
                for packet in self.sent(host) {
                    deliver(&mut self.hosts[1 - host], self.now, &packet);
                }
            }
        }
    }

    /// The client sends two segments; the first arrives with those bits of its TCP header flipped.
    /// Gives what the server answers to it.
    fn damage(&mut self, bits: &[usize]) -> Vec<Vec<u8>> {
        let id = self.ids[CLIENT];
        self.hosts[CLIENT].write(id, &[2; 2000]).unwrap();
        let mut flight = self.sent(CLIENT);
        let first = &mut flight[0];
        bits.iter().for_each(|bit| first[20 + bit / 8] ^= 0x80 >> (bit % 8));
        let first = first.clone();
        deliver(&mut self.hosts[SERVER], self.now, &first);
        self.sent(SERVER)
    }

    fn path(&self) -> (u64, u64, u64) {
        let path = self.hosts[SERVER].path(address(SERVER), address(CLIENT)).unwrap();
        (path.repaired, path.corrupted, path.unreadable)
    }
}

/// A repaired header does what a corrupted segment's does, and is not counted twice.
#[test]
fn a_repaired_header_asks_for_a_resend() {
    // A port, sequence number, data offset, flags, a timestamp, the kind of the option, its CRC.
    for bits in [&[5][..], &[40], &[97], &[111], &[200], &[256], &[300], &[5, 40, 97, 200, 300]] {
        let mut pair = Pair::new(true);
        let answers = pair.damage(bits);
        assert_eq!(answers.len(), 1, "{bits:?}");
        let answer = Segment::parse(&answers[0]).unwrap();
        let v2 = answer.options.v2.as_ref().and_then(V2::as_ack).unwrap();
        assert_eq!(v2.offsets(), [0], "{bits:?}: the first octet that is missing");
        assert_eq!(v2.damaged, 1, "counted once, among all that arrived damaged");
        assert_eq!(pair.path(), (1, 0, 0), "{bits:?}");
        let statistics = pair.hosts[SERVER].statistics(pair.ids[SERVER]).unwrap();
        assert_eq!((statistics.repaired, statistics.damaged_received), (1, 1));
        assert_eq!(pair.hosts[SERVER].readable(pair.ids[SERVER]), 3000, "nothing is delivered by it");
        // No earlier than a report can be back.
        pair.now += Duration::from_millis(10);
        deliver(&mut pair.hosts[CLIENT], pair.now, &answers[0]);
        pair.settle();
        assert_eq!(pair.hosts[SERVER].readable(pair.ids[SERVER]), 5000);
        let statistics = pair.hosts[CLIENT].statistics(pair.ids[CLIENT]).unwrap();
        assert_eq!(statistics.damage_retransmissions, 1);
    }
}

#[test]
fn without_repair_it_is_counted() {
    let mut pair = Pair::new(false);
    let answers = pair.damage(&[40]);
    let answer = Segment::parse(&answers[0]).unwrap();
    let v2 = answer.options.v2.as_ref().and_then(V2::as_ack).unwrap();
    assert_eq!((v2.offsets(), v2.damaged), (&[][..], 1));
    assert_eq!(pair.path(), (0, 0, 1));
}

/// What nobody can repair is counted.
#[test]
fn what_cannot_be_repaired_is_counted() {
    let mut pair = Pair::new(true);
    let bits: Vec<usize> = (0..352).step_by(3).collect();
    pair.damage(&bits);
    assert_eq!(pair.path(), (0, 0, 1));
}

/// Damage to a segment that is held already moves nothing and asks for nothing.
#[test]
fn a_repaired_repeat_is_answered_plainly() {
    let mut pair = Pair::new(true);
    let id = pair.ids[CLIENT];
    pair.hosts[CLIENT].write(id, &[2; 1000]).unwrap();
    let mut flight = pair.sent(CLIENT);
    let now = pair.now;
    deliver(&mut pair.hosts[SERVER], now, &flight[0]);
    flight[0][20] ^= 1;
    deliver(&mut pair.hosts[SERVER], now, &flight[0]);
    let special = pair.sent(SERVER).iter().any(|packet| {
        let segment = Segment::parse(packet).unwrap();
        segment.options.v2.as_ref().and_then(V2::as_ack).is_some_and(headway_wire::V2Ack::is_special)
    });
    assert!(!special);
}
