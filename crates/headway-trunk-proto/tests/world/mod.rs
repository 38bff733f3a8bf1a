//! Two gateways in virtual time, and what is between them.

use std::collections::VecDeque;
use std::net::SocketAddr;

use headway_trunk_proto::{
    Event, HEADROOM, PayloadSeal, PeerConfig, PeerId, PresharedKey, PublicKey, Random, SecretKey,
    SegmentIntegrity, Tunnel, TunnelConfig,
};
use headway_units::{Duration, Instant};
use headway_wire::integrity::header_crc;
use headway_wire::ip::Datagram;
use headway_wire::{Ecn, IpHeader, SeqNumber, TcpFlags, TcpHeader, TcpOptions, Timestamps, V2, emit};

pub(crate) const NEAR: &str = "192.0.2.1:1000";
pub(crate) const FAR: &str = "192.0.2.2:4433";

const TIMES: Option<Timestamps> = Some(Timestamps { tsval: 7, tsecr: 8 });

pub(crate) fn at(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

pub(crate) fn secret(byte: u8) -> SecretKey {
    SecretKey::from_bytes([byte; 32])
}

/// A sequence of bytes that is another for each `seed`.
pub(crate) fn random(mut seed: u64) -> Random {
    Box::new(move |bytes| {
        for byte in bytes {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            *byte = (seed >> 56) as u8;
        }
    })
}

/// A datagram on its way.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) from: SocketAddr,
    pub(crate) to: SocketAddr,
    pub(crate) bytes: Vec<u8>,
    pub(crate) checksum: bool,
}

pub(crate) struct World {
    pub(crate) now: Instant,
    pub(crate) near: Tunnel,
    pub(crate) far: Tunnel,
    pub(crate) near_at: SocketAddr,
    pub(crate) far_at: SocketAddr,
    /// Datagrams without checksum are dropped on the way.
    pub(crate) drops_unchecked: bool,
    /// Datagrams of more bytes are dropped.
    pub(crate) longest: usize,
    /// Everything is.
    pub(crate) is_down: bool,
    /// How long what the ends send of their own is under way.
    pub(crate) delay: Duration,
    /// Someone sees what the near end sends, or the far one, and repeats it ahead of that, from this address.
    pub(crate) repeats: Option<(bool, SocketAddr)>,
    /// What is sent there reaches the near end too.
    pub(crate) near_also_at: Option<SocketAddr>,
    /// What is lost beside.
    pub(crate) loses: Option<fn(&Sent) -> bool>,
    /// What was sent to an address at which no end is.
    pub(crate) astray: Vec<Sent>,
    under_way: VecDeque<(Instant, Sent)>,
    /// All that the ends have sent, of their own and of what was sealed, and when.
    pub(crate) log: Vec<(Instant, Sent)>,
    pub(crate) events: Vec<(bool, Event)>,
}

pub(crate) fn tunnel(own: u8, peer: PublicKey, endpoint: Option<SocketAddr>, seed: u64) -> Tunnel {
    let peer =
        PeerConfig { endpoint, preshared: Some(PresharedKey::from_bytes([5; 32])), ..PeerConfig::new(peer) };
    Tunnel::new(TunnelConfig { peers: vec![peer], ..TunnelConfig::new(secret(own), random(seed)) })
}

impl World {
    pub(crate) fn new() -> Self {
        Self {
            now: Instant::ZERO,
            near: tunnel(1, secret(2).public(), Some(at(FAR)), 1),
            far: tunnel(2, secret(1).public(), None, 2),
            near_at: at(NEAR),
            far_at: at(FAR),
            drops_unchecked: false,
            longest: 1472,
            is_down: false,
            delay: Duration::ZERO,
            repeats: None,
            near_also_at: None,
            loses: None,
            astray: Vec::new(),
            under_way: VecDeque::new(),
            log: Vec::new(),
            events: Vec::new(),
        }
    }

    pub(crate) fn connected() -> Self {
        let mut world = Self::new();
        world.run(Duration::from_millis(100));
        world
    }

    /// What the ends send of their own, delivered after `delay`, for a time.
    pub(crate) fn run(&mut self, time: Duration) {
        let end = self.now + time;
        let mut overdue = 0;
        loop {
            for _ in 0..100 {
                if !self.exchange_own() {
                    break;
                }
            }
            let events = [(true, &mut self.near), (false, &mut self.far)].map(|(near, tunnel)| {
                std::iter::from_fn(|| tunnel.poll_event()).map(|event| (near, event)).collect::<Vec<_>>()
            });
            self.events.extend(events.into_iter().flatten());
            if self.now == end {
                return;
            }
            let arrival = self.under_way.front().map(|(due, _)| *due);
            let next = [self.near.next_deadline(), self.far.next_deadline(), arrival];
            let next = next.into_iter().flatten().min();
            overdue = if next.is_some_and(|next| next <= self.now) { overdue + 1 } else { 0 };
            assert!(overdue < 100, "something is due for ever");
            self.now = next.unwrap_or(end).clamp(self.now + Duration::from_millis(1), end);
        }
    }

    /// What is due now. Says whether anything was sent or delivered.
    fn exchange_own(&mut self) -> bool {
        let mut has_any = false;
        for from_near in [true, false] {
            let from = if from_near { self.near_at } else { self.far_at };
            let tunnel = if from_near { &mut self.near } else { &mut self.far };
            tunnel.handle_timeout(self.now);
            let sent: Vec<_> = std::iter::from_fn(|| tunnel.poll_transmit()).collect();
            has_any |= !sent.is_empty();
            for sent in sent {
                let sent = Sent { from, to: sent.to, bytes: sent.datagram, checksum: sent.checksum };
                self.log.push((self.now, sent.clone()));
                // What is lost is lost on its first metre.
                if !self.is_down {
                    self.under_way.push_back((self.now + self.delay, sent));
                }
            }
            while self.under_way.front().is_some_and(|(due, _)| *due <= self.now) {
                has_any = true;
                let sent = self.under_way.pop_front().map(|(_, sent)| sent);
                sent.and_then(|sent| self.deliver(sent));
            }
        }
        has_any
    }

    pub(crate) fn deliver(&mut self, sent: Sent) -> Option<(SegmentIntegrity, Vec<u8>)> {
        self.deliver_sealed(sent).map(|(verdict, packet, _)| (verdict, packet))
    }

    /// The seal too, of a corrupted payload.
    pub(crate) fn deliver_sealed(
        &mut self,
        sent: Sent,
    ) -> Option<(SegmentIntegrity, Vec<u8>, Option<PayloadSeal>)> {
        let end = |near: bool| if near { self.near_at } else { self.far_at };
        let repeated = self.repeats.filter(|(near, _)| sent.from == end(*near));
        let copy = repeated.and_then(|(_, from)| self.arrive(Sent { from, ..sent.clone() }));
        let own = self.arrive(sent);
        copy.or(own)
    }

    fn arrive(&mut self, sent: Sent) -> Option<(SegmentIntegrity, Vec<u8>, Option<PayloadSeal>)> {
        let is_lost = self.loses.is_some_and(|loses| loses(&sent));
        if self.is_down
            || is_lost
            || self.drops_unchecked && !sent.checksum
            || sent.bytes.len() > self.longest
        {
            return None;
        }
        let tunnel = match sent.to {
            to if to == self.near_at || Some(to) == self.near_also_at => &mut self.near,
            to if to == self.far_at => &mut self.far,
            _ => {
                self.astray.push(sent);
                return None;
            }
        };
        let mut room = vec![0; HEADROOM];
        room.extend_from_slice(&sent.bytes);
        let arrival = tunnel.receive(self.now, sent.from, &mut room, HEADROOM, Ecn::Ce)?;
        assert_eq!(arrival.peer, PeerId(0));
        Some((arrival.verdict, room[arrival.packet].to_vec(), arrival.seal))
    }

    /// A segment without HACK of either end's, sealed, and the packet that it was made from.
    pub(crate) fn seal(&mut self, from_near: bool, seq: u32, payload: &[u8]) -> Option<(Sent, Vec<u8>)> {
        self.seal_with(from_near, seq, payload, &TcpOptions { timestamps: TIMES, ..TcpOptions::default() })
    }

    /// A data segment with HACK v2, and perhaps a SACK block: it has a compact header. The packet is what it was made from,
    /// with a checksum of 0, which does not arrive.
    pub(crate) fn seal_data(
        &mut self,
        from_near: bool,
        seq: u32,
        payload: &[u8],
        has_sack: bool,
    ) -> Option<(Sent, Vec<u8>)> {
        let mut options = TcpOptions { timestamps: TIMES, v2: Some(V2::data()), ..TcpOptions::default() };
        if has_sack {
            options.sack.push((SeqNumber(seq.wrapping_add(5)), SeqNumber(seq.wrapping_add(9))));
        }
        let (sent, mut packet) = self.seal_with(from_near, seq, payload, &options)?;
        assert_eq!(sent.bytes[0], if has_sack { 0x5a } else { 0x57 });
        // As it is opened: without sums of the payload.
        packet[56..58].fill(0);
        packet[80..84].fill(0);
        let Datagram { header, body, .. } = Datagram::parse(&packet).expect("a packet");
        let (fixed, rest) = body.split_first_chunk().expect("a TCP header");
        let options = &rest[..rest.len() - payload.len()];
        let crc = header_crc(&header, body.len(), fixed, options, 16);
        packet[76..80].copy_from_slice(&crc.to_be_bytes());
        Some((sent, packet))
    }

    /// A segment with these options.
    pub(crate) fn seal_with(
        &mut self,
        from_near: bool,
        seq: u32,
        payload: &[u8],
        options: &TcpOptions,
    ) -> Option<(Sent, Vec<u8>)> {
        let tunnel = if from_near { &mut self.near } else { &mut self.far };
        let inner = tunnel.peers().next().expect("a peer").inner;
        let ip = IpHeader { ecn: Ecn::Ce, ..IpHeader::new(inner.0.into(), inner.1.into()) };
        let tcp = TcpHeader {
            src_port: 1,
            dst_port: 2,
            seq: SeqNumber(seq),
            flags: TcpFlags::ACK,
            ..TcpHeader::default()
        };
        let mut room = vec![0; 2048];
        let len = emit(&mut room[HEADROOM..], &ip, &tcp, options, (payload, &[])).expect("a packet");
        let packet = room[HEADROOM..HEADROOM + len].to_vec();
        let sealed = tunnel.seal(self.now, &mut room, HEADROOM..HEADROOM + len).ok()?;
        let from = if from_near { self.near_at } else { self.far_at };
        let bytes = room[sealed.datagram].to_vec();
        let sent = Sent { from, to: sealed.to, bytes, checksum: sealed.checksum };
        self.log.push((self.now, sent.clone()));
        Some((sent, packet))
    }

    pub(crate) fn exchange(&mut self, from_near: bool) -> bool {
        let Some((sent, packet)) = self.seal(from_near, 1, b"hello") else { return false };
        self.deliver(sent) == Some((SegmentIntegrity::Intact, packet))
    }

    pub(crate) fn saw(&self, near: bool, event: Event) -> usize {
        self.events.iter().filter(|&&seen| seen == (near, event)).count()
    }
}
