//! Packets with a name, and a link run to its end.
#![allow(unreachable_pub)]

use headway_link::{Delivery, EnqueueResult, Headers, Link, LinkConfig, PacketBuffer};
use headway_units::{Duration, Instant, Share};

/// IPv4 and TCP with timestamps.
pub const HEADERS: Headers = Headers { ip_header_len: 20, header_len: 52 };

/// A packet that can be distinguished from others however damaged it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tagged {
    pub id: usize,
    pub bytes: Vec<u8>,
}

impl AsMut<[u8]> for Tagged {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

impl PacketBuffer for Tagged {
    fn set_len(&mut self, len: usize) {
        self.bytes.resize(len, 0);
    }
}

pub fn packet(id: usize, len: usize) -> Tagged {
    Tagged { id, bytes: vec![0; len] }
}

pub fn ms(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

pub fn us(micros: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(micros)
}

pub fn share(value: f64) -> Share {
    Share::new(value).unwrap()
}

pub fn damaged_by(damage: &str) -> LinkConfig {
    LinkConfig { damage: damage.parse().unwrap(), ..LinkConfig::default() }
}

/// Offers a packet that must be taken.
pub fn enqueue(link: &mut Link<Tagged>, now: Instant, id: usize, len: usize) {
    assert_eq!(link.enqueue(now, packet(id, len), len, HEADERS, true), EnqueueResult::Queued);
}

/// Polls at each next event until the link is empty.
pub fn drain(link: &mut Link<Tagged>) -> Vec<Delivery<Tagged>> {
    let mut all = Vec::new();
    let mut last = None;
    while let Some(now) = link.next_event() {
        assert!(last < Some(now), "the next event must lie ahead");
        last = Some(now);
        while let Some(delivery) = link.poll(now) {
            assert!(delivery.at <= now);
            all.push(delivery);
        }
    }
    assert_eq!(link.in_link(), 0);
    all
}

/// Passes `n` packets of `len` bytes through a link, all offered at the start.
pub fn run(config: LinkConfig, seed: u64, n: usize, len: usize) -> (Link<Tagged>, Vec<Delivery<Tagged>>) {
    let mut link = Link::new(config, seed);
    for id in 0..n {
        enqueue(&mut link, Instant::ZERO, id, len);
    }
    let deliveries = drain(&mut link);
    (link, deliveries)
}

/// The places of the bits that are set, counted from the start: those flipped in a packet of zeros.
pub fn flipped(bytes: &[u8]) -> Vec<usize> {
    (0..bytes.len() * 8).filter(|bit| bytes[bit / 8] & (0x80 >> (bit % 8)) != 0).collect()
}

/// `id@microseconds` of each delivery.
pub fn timetable(deliveries: &[Delivery<Tagged>]) -> String {
    let entry = |d: &Delivery<Tagged>| format!("{}@{}", d.packet.id, d.at.as_nanos() / 1_000);
    deliveries.iter().map(entry).collect::<Vec<_>>().join(" ")
}
