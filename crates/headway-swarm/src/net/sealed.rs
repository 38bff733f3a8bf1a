//! A gateway's end of its tunnels, and what is checked of it: each number of a session is used once, each datagram is taken
//! once, and nothing is taken for what it is not.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use headway_tcp::hack::PayloadTag;
use headway_tcp::{Host, Profile};
use headway_test_fixture::rng::Rng;
use headway_trunk_proto::{
    Event, HEADROOM, PayloadSeal, PeerConfig, PeerId, PresharedKey, SecretKey, SegmentIntegrity, Tunnel,
    TunnelConfig,
};
use headway_units::Instant;
use headway_wire::{ChecksumTrust, Ecn, Received, Segment, ip};

use super::plan::Plan;
use super::wire::{Outer, Sent, Wire};
use crate::side::recorder::Recorder;

/// The type of sealed segments, in the upper half of a datagram's first byte, and of those with a compact header.
const SEALED: [u8; 2] = [4, 5];
/// Where the receiver's index and the number are.
const INDEX_AT: usize = 1;
const NUMBER_AT: usize = 5;
/// How much of the keystream of a payload is compared.
const COMPARED: usize = 8;

/// A gateway's end of its tunnels.
pub(super) struct Gateway {
    tunnel: Tunnel,
    number: usize,
    /// How long packets to a peer may be, where that is known.
    mtus: BTreeMap<IpAddr, (IpAddr, u16)>,
    used: Used,
    taken: Taken,
    pub(super) events: Vec<Event>,
}

/// What was used to seal.
#[derive(Default)]
struct Used {
    /// The next number of each session, by the receiver's index.
    numbers: BTreeMap<[u8; 4], u32>,
    /// The beginnings of the keystreams of payloads.
    keystreams: BTreeSet<[u8; COMPARED]>,
}

/// What was opened.
#[derive(Default)]
struct Taken {
    /// The datagrams that were taken as intact.
    datagrams: BTreeSet<u64>,
    /// The newest one of each session, by our index.
    newest: BTreeMap<[u8; 4], u64>,
}

/// What a datagram turned out to be.
pub(super) struct Opened {
    pub(super) verdict: SegmentIntegrity,
    pub(super) packet: Vec<u8>,
    seal: Option<PayloadSeal>,
}

fn secret(number: usize) -> SecretKey {
    SecretKey::from_bytes([number as u8 + 1; 32])
}

/// A source of bytes that follow from a seed.
fn random(seed: u64) -> headway_trunk_proto::Random {
    let mut rng = Rng::new(seed);
    Box::new(move |bytes| rng.fill(bytes))
}

#[derive(Debug)]
struct Tag(PayloadSeal);

impl PayloadTag for Tag {
    fn has_authentic_header(&self) -> bool {
        self.0.has_authentic_header()
    }

    fn holds(&self, payload: &[u8]) -> bool {
        self.0.holds(payload)
    }
}

impl Gateway {
    /// Peers are all other gateways, in their order.
    pub(super) fn new(plan: &Plan, number: usize, outers: &[SocketAddr], seed: u64) -> Self {
        let others = (0..plan.hosts.len()).filter(|&other| other != number);
        let peers = others.map(|other| {
            // One of two at least knows where the other is; that is where it was at first, or is now.
            let knows = plan.hosts[number].knows || number < other && !plan.hosts[other].knows;
            PeerConfig {
                endpoint: knows.then(|| outers[other]),
                preshared: Some(PresharedKey::from_bytes([5; 32])),
                keep_alive: plan.hosts[number].keep_alive,
                ..PeerConfig::new(secret(other).public())
            }
        });
        let config =
            TunnelConfig { peers: peers.collect(), ..TunnelConfig::new(secret(number), random(seed)) };
        Self {
            tunnel: Tunnel::new(config),
            number,
            mtus: BTreeMap::new(),
            used: Used::default(),
            taken: Taken::default(),
            events: Vec::new(),
        }
    }

    /// The addresses of its host: one for each peer.
    pub(super) fn addresses(&self) -> Vec<IpAddr> {
        self.tunnel.peers().map(|peer| peer.inner.0.into()).collect()
    }

    /// Our address in the tunnel to another gateway, and its.
    pub(super) fn inner(&self, other: usize) -> (IpAddr, IpAddr) {
        let place = if other > self.number { other - 1 } else { other };
        let peer = self.tunnel.peers().nth(place).expect("every other gateway is a peer");
        (peer.inner.0.into(), peer.inner.1.into())
    }

    /// The gateway at an inner address.
    pub(super) fn number_of(&self, inner: IpAddr) -> Option<usize> {
        let place = self.tunnel.peers().position(|peer| IpAddr::V6(peer.inner.1) == inner)?;
        Some(self.peer_number(place))
    }

    /// Which gateway a peer is, by its place in the configuration.
    pub(super) fn peer_number(&self, place: usize) -> usize {
        if place >= self.number { place + 1 } else { place }
    }

    /// The profile of connections: packets are as long as the tunnel carries.
    pub(super) fn profile(&self, profile: &Profile) -> Profile {
        let longest = self.tunnel.peers().map(|peer| peer.inner_mtu).max().unwrap_or(1280);
        Profile { mtu: profile.mtu.min(longest.max(headway_trunk_proto::inner_mtu(1472))), ..profile.clone() }
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.tunnel.next_deadline()
    }

    pub(super) fn handle_timeout(&mut self, clock: Instant) {
        self.tunnel.handle_timeout(clock);
    }

    /// Whether a datagram is older than one of the same session that was taken.
    pub(super) fn has_passed(&self, sent: &Sent) -> bool {
        let session = index_and_number(&sent.bytes).map(|(index, _)| index);
        let newest = session.and_then(|index| self.taken.newest.get(&index));
        newest.is_some_and(|&newest| sent.number < newest)
    }

    pub(super) fn handshakes(&self) -> u64 {
        self.tunnel.counters().handshakes
    }

    /// The next datagram of its own.
    pub(super) fn poll_own(&mut self, from: SocketAddr) -> Option<(Outer, Vec<u8>)> {
        let own = self.tunnel.poll_transmit()?;
        Some((Outer { from, to: own.to, has_checksum: own.checksum }, own.datagram))
    }

    /// Seals a packet of the host; `None` if it is as good as lost.
    pub(super) fn seal(
        &mut self,
        clock: Instant,
        from: SocketAddr,
        packet: &[u8],
    ) -> Result<Option<(Outer, Vec<u8>)>, String> {
        let mut room = vec![0; HEADROOM];
        room.extend_from_slice(packet);
        let Ok(sealed) = self.tunnel.seal(clock, &mut room, HEADROOM..HEADROOM + packet.len()) else {
            return Ok(None);
        };
        let datagram = room[sealed.datagram].to_vec();
        self.used.check(&datagram, packet)?;
        Ok(Some((Outer { from, to: sealed.to, has_checksum: sealed.checksum }, datagram)))
    }

    /// What has happened since, as its host has to know it.
    pub(super) fn tell(&mut self, clock: Instant, host: &mut Host<Recorder>) {
        let events: Vec<Event> = std::iter::from_fn(|| self.tunnel.poll_event()).collect();
        let peers: Vec<_> = self.tunnel.peers().collect();
        for &event in &events {
            match event {
                Event::Restarted(PeerId(peer)) => host.abort_peer(clock, peers[peer].inner.1.into()),
                Event::Returned(PeerId(peer)) | Event::Connected(PeerId(peer)) => {
                    host.retransmit_to(clock, peers[peer].inner.1.into());
                }
                Event::Mtu(PeerId(peer), _) | Event::LongHeaders(PeerId(peer)) => {
                    let (ours, theirs) = peers[peer].inner;
                    self.mtus.insert(theirs.into(), (ours.into(), peers[peer].inner_mtu));
                }
                _ => {}
            }
        }
        self.events.extend(events);
        for (&theirs, &(ours, mtu)) in &self.mtus {
            if host.path(ours, theirs).is_some_and(|path| path.mtu != Some(mtu)) {
                host.set_path_mtu(clock, ours, theirs, mtu);
            }
        }
    }

    /// A datagram has arrived.
    pub(super) fn open(
        &mut self,
        clock: Instant,
        wire: &Wire,
        outer: Outer,
    ) -> Result<Option<Opened>, String> {
        let mut room = vec![0; HEADROOM];
        room.extend_from_slice(&wire.bytes);
        let arrival = self.tunnel.receive(clock, outer.from, &mut room, HEADROOM, Ecn::NotEct);
        let Some(arrival) = arrival else {
            return Ok(None);
        };
        let packet = room[arrival.packet].to_vec();
        self.taken.check(wire, arrival.verdict, &packet)?;
        Ok(Some(Opened { verdict: arrival.verdict, packet, seal: arrival.seal }))
    }
}

impl Opened {
    /// Hands the packet to the host.
    pub(super) fn hand_in(self, clock: Instant, host: &mut Host<Recorder>) {
        let packet = &self.packet;
        let received = match self.verdict {
            SegmentIntegrity::Intact => Received::parse(packet, ChecksumTrust::Tcp),
            SegmentIntegrity::Corrupted => match Segment::parse(packet) {
                Ok(segment) => Received::Corrupted(segment),
                Err(error) => Received::Malformed(error),
            },
            SegmentIntegrity::Unreadable => Received::Unreadable(ip::Datagram::parse(packet).ok()),
        };
        match (self.seal, received) {
            (Some(seal), Received::Corrupted(segment)) => {
                let tag: Arc<dyn PayloadTag> = Arc::new(Tag(seal));
                host.receive_tagged(clock, &segment, &tag);
            }
            (_, received) => host.receive(clock, &received),
        }
    }
}

/// The receiver's index and the number of a sealed segment.
pub(super) fn index_and_number(datagram: &[u8]) -> Option<([u8; 4], u32)> {
    if !SEALED.contains(&(datagram.first()? >> 4)) {
        return None;
    }
    let index = *datagram.get(INDEX_AT..)?.first_chunk::<4>()?;
    let number = u32::from_be_bytes(*datagram.get(NUMBER_AT..)?.first_chunk::<4>()?);
    Some((index, number))
}

impl Used {
    /// `datagram`, in which `packet` is sealed, leaves.
    fn check(&mut self, datagram: &[u8], packet: &[u8]) -> Result<(), String> {
        let Some((index, number)) = index_and_number(datagram) else {
            return Err("a segment was sealed as something else".into());
        };
        let next = self.numbers.entry(index).or_default();
        if number < *next {
            return Err(format!("number {number} of a session was used again; {next} was the next"));
        }
        *next = number + 1;
        let Ok(segment) = Segment::parse(packet) else { return Ok(()) };
        let plain = segment.payload;
        if plain.len() < COMPARED || datagram.len() < plain.len() {
            return Ok(());
        }
        let sealed = &datagram[datagram.len() - plain.len()..];
        let keystream: [u8; COMPARED] = std::array::from_fn(|at| sealed[at] ^ plain[at]);
        if !self.keystreams.insert(keystream) {
            return Err("two payloads were encrypted with the same keystream".into());
        }
        Ok(())
    }
}

impl Taken {
    /// A datagram was taken for a segment.
    fn check(&mut self, wire: &Wire, verdict: SegmentIntegrity, packet: &[u8]) -> Result<(), String> {
        let sent = &wire.sent;
        if verdict == SegmentIntegrity::Unreadable {
            return Ok(());
        }
        if self.datagrams.contains(&sent.number) {
            return Err(format!("datagram {} was taken again, as {verdict:?}", sent.number));
        }
        // What is corrupted may come again undamaged.
        if verdict == SegmentIntegrity::Intact {
            self.datagrams.insert(sent.number);
            if let Some((index, _)) = index_and_number(&sent.bytes) {
                let newest = self.newest.entry(index).or_default();
                *newest = sent.number.max(*newest);
            }
        }
        let (Ok(then), Ok(now)) = (Segment::parse(&sent.inner), Segment::parse(packet)) else {
            return Err(format!("a segment was taken from a datagram that has none: {verdict:?}"));
        };
        if verdict == SegmentIntegrity::Intact && now.payload != then.payload {
            return Err("a payload was taken as intact that is another than was sealed".into());
        }
        if now.tcp != then.tcp || now.payload.len() != then.payload.len() {
            return Err(format!("a header was believed that is another than was sealed: {:?}", now.tcp));
        }
        Ok(())
    }
}
