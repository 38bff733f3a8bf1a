//! One host in virtual time, driven by the steps of a script.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use headway_tcp::{Host, HostConfig, ListenerId, Profile, Transmit};
use headway_test_fixture::two_hosts::{START, hand_in};
use headway_units::{Duration, Instant};
use headway_wire::{Integrity, Segment, TcpFlags, judge};

use super::line::{Action, Line};
use super::packet::Packet;
use super::peer::{HOST_WRITES, Peer};

/// The host's port that peers connect to, and the one it connects from.
pub(crate) const SERVER_PORT: u16 = 80;
pub(crate) const CLIENT_PORT: u16 = 5_000;

/// More than any script needs; beyond that the host talks to itself.
const MAX_PACKETS: usize = 10_000;

pub(crate) struct Runner {
    pub(crate) host: Host,
    pub(crate) profile: Profile,
    pub(crate) now: Instant,
    pub(crate) listener: Option<ListenerId>,
    peers: Vec<Peer>,
    family: Family,
    /// Sent by the host and not yet expected: to which peer, when, and what.
    sent: VecDeque<(usize, Instant, Packet)>,
    packets: usize,
    transcript: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    V4,
    V6,
}

impl Family {
    fn host(self) -> IpAddr {
        match self {
            Self::V4 => Ipv4Addr::new(192, 0, 2, 1).into(),
            Self::V6 => Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into(),
        }
    }

    fn peer(self) -> IpAddr {
        match self {
            Self::V4 => Ipv4Addr::new(198, 51, 100, 2).into(),
            Self::V6 => Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2).into(),
        }
    }
}

impl Runner {
    pub(crate) fn new() -> Self {
        let mut config = HostConfig::new(Family::V4.host(), *b"secret of tests.");
        config.addresses.push(Family::V6.host());
        Self {
            host: Host::new(config),
            profile: Profile::standard(),
            now: START,
            listener: None,
            peers: Vec::new(),
            family: Family::V4,
            sent: VecDeque::new(),
            packets: 0,
            transcript: Vec::new(),
        }
    }

    pub(crate) fn into_transcript(self) -> Vec<String> {
        self.transcript
    }

    /// From here on the ends have IPv6 addresses.
    pub(crate) fn use_ipv6(&mut self) {
        self.family = Family::V6;
    }

    /// The peer of that number, counted from 1.
    pub(crate) fn peer(&mut self, index: usize) -> &mut Peer {
        let (address, host) = (self.family.peer(), SocketAddr::new(self.family.host(), SERVER_PORT));
        for next in self.peers.len()..=index {
            self.peers.push(Peer::new(next, address, host));
        }
        &mut self.peers[index]
    }

    /// The peer that `remote` belongs to.
    pub(crate) fn peer_at(&self, remote: SocketAddr) -> Option<usize> {
        self.peers.iter().position(|peer| peer.local == remote)
    }

    /// Does what the line says, at its time.
    pub(crate) fn step(&mut self, line: &Line) -> Result<(), String> {
        self.advance(line.after)?;
        match &line.action {
            Action::Inject(packet) => {
                self.nothing_unexpected()?;
                self.inject(line.peer, packet)
            }
            Action::Expect(packet) => self.expect(line.peer, packet),
            Action::Command(text) => {
                // Looking at the state does not disturb the packets that are yet to be expected.
                if !text.starts_with("expect") || text.starts_with("expect no packet") {
                    self.nothing_unexpected()?;
                }
                self.command(line.peer, text)
            }
        }?;
        self.collect_notifications();
        Ok(())
    }

    /// Lets time pass, and lets the host do what it wants to do meanwhile.
    pub(crate) fn advance(&mut self, span: Duration) -> Result<(), String> {
        let until = self.now + span;
        self.drain()?;
        while let Some(at) = self.host.next_deadline().filter(|&at| at <= until) {
            self.now = self.now.max(at);
            self.host.handle_timeout(self.now);
            self.drain()?;
        }
        self.now = until;
        Ok(())
    }

    /// Takes what the host has to send now.
    pub(crate) fn drain(&mut self) -> Result<(), String> {
        let mut buffer = vec![0; usize::from(u16::MAX)];
        while let Some(Transmit { len, .. }) = self.host.poll_transmit(self.now, &mut buffer) {
            self.packets += 1;
            if self.packets > MAX_PACKETS {
                return Err("the host never stops sending".into());
            }
            self.take(&buffer[..len])?;
        }
        Ok(())
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), String> {
        if judge(bytes) != Ok(Integrity::Intact) {
            return Err("the host sent a packet with a wrong checksum".into());
        }
        let segment =
            Segment::parse(bytes).map_err(|error| format!("the host sent an unreadable packet: {error}"))?;
        let remote = SocketAddr::new(segment.ip.dst, segment.tcp.dst_port);
        let index = self.peer_at(remote).ok_or_else(|| format!("the host sent a packet to {remote}"))?;
        let ticks = self.ticks();
        let packet = self.peers[index].translate(&segment, ticks);
        self.note('>', index, &packet);
        if !packet.flags.intersects(TcpFlags::SYN | TcpFlags::RST)
            && let Some(at) = HOST_WRITES.difference(packet.seq.wrapping_sub(1) as usize, segment.payload)
        {
            return Err(format!("{}: byte {at} of the stream is not what was written", packet.show()));
        }
        if bytes.len() > usize::from(self.profile.mtu) {
            return Err(format!("{}: {} bytes exceed the MTU", packet.show(), bytes.len()));
        }
        self.sent.push_back((index, self.now, packet));
        Ok(())
    }

    /// The host's timestamp clock since the script began.
    fn ticks(&self) -> u32 {
        let tick = self.profile.clock.as_nanos().max(1);
        (self.now.as_nanos() / tick - START.as_nanos() / tick) as u32
    }

    pub(crate) fn inject(&mut self, index: usize, packet: &Packet) -> Result<(), String> {
        let bytes = self.peer(index).build(packet)?;
        let peer = self.peer(index);
        let shown = Packet { window: packet.window.or(Some(peer.window())), ..packet.clone() };
        self.note('<', index, &shown);
        hand_in(&mut self.host, self.now, &bytes);
        self.drain()
    }

    /// The next packet that the host sent, which must have been sent now, to that peer.
    pub(crate) fn next_sent(&mut self, index: usize, wanted: &str) -> Result<Packet, String> {
        let Some((to, at, packet)) = self.sent.pop_front() else {
            return Err(format!("expected {wanted}\n  but nothing was sent"));
        };
        if at != self.now {
            let (early, time) = (self.now.saturating_since(at), self.time_of(at));
            return Err(format!(
                "expected {wanted}\n  but {} was sent at {time}, {early} before",
                packet.show()
            ));
        }
        if to != index {
            return Err(format!("expected {wanted} to peer {index}\n  found {} to peer {to}", packet.show()));
        }
        Ok(packet)
    }

    fn expect(&mut self, index: usize, wanted: &Packet) -> Result<(), String> {
        let actual = self.next_sent(index, &wanted.show())?;
        match wanted.mismatch(&actual) {
            None => Ok(()),
            Some(why) => Err(format!("{why}\n  expected {}\n  found    {}", wanted.show(), actual.show())),
        }
    }

    /// Every packet so far must have been expected.
    pub(crate) fn nothing_unexpected(&self) -> Result<(), String> {
        match self.sent.front() {
            None => Ok(()),
            Some((_, at, packet)) => {
                Err(format!("unexpected packet at {}: {}", self.time_of(*at), packet.show()))
            }
        }
    }

    fn collect_notifications(&mut self) {
        while let Some((id, notification)) = self.host.poll_notification() {
            if let Some(peer) = self.peers.iter_mut().find(|peer| peer.connection == Some(id)) {
                peer.told.push(notification);
            }
        }
    }

    fn time_of(&self, at: Instant) -> String {
        format!("{:.6}", at.saturating_since(START).as_secs_f64())
    }

    fn note(&mut self, arrow: char, index: usize, packet: &Packet) {
        let time = self.time_of(self.now);
        let to = if index == 1 { String::new() } else { format!("@{index}") };
        self.transcript.push(format!("{time} {arrow}{to} {}", packet.show()));
    }
}
