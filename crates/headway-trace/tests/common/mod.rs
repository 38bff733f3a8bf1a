//! Two hosts connected by a wire with a fixed delay, in virtual time.
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use headway_tcp::{ConnectionId, Event, Host, HostConfig, ListenerId, Observer, Profile};
use headway_units::{Duration, Instant};
use headway_wire::{ChecksumTrust, Received, Segment, layout};

pub(crate) const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
pub(crate) const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2));
pub(crate) const ONE_WAY: Duration = Duration::from_millis(50);

/// What happens to a packet on the wire.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Arrives,
    IsLost,
    /// One bit of the payload is flipped.
    IsDamaged,
}

/// A packet on the wire: the time and side of sending, and what arrived, if anything.
pub(crate) struct Passed {
    pub(crate) sent: Instant,
    pub(crate) from_client: bool,
    pub(crate) arrived: Option<Vec<u8>>,
    pub(crate) fate: Fate,
}

/// A client with observer `O`, and a server that reads everything.
pub(crate) struct Pair<O: Observer> {
    pub(crate) now: Instant,
    pub(crate) client: Host<O>,
    server: Host,
    listener: ListenerId,
    profile: Arc<Profile>,
    on_the_way: Vec<(Instant, bool, Vec<u8>)>,
    /// Ordinary ACKs that the server sends together with a special ACK are lost.
    pub(crate) loses_acks_behind_special: bool,
    pub(crate) passed: Vec<Passed>,
}

impl<O: Observer> Pair<O> {
    pub(crate) fn new(profile: Profile, observer: O) -> Self {
        let profile = Arc::new(profile);
        let mut server = Host::new(HostConfig::new(SERVER, [2; 16]));
        let listener = server.listen(SocketAddr::new(SERVER, 80), 8, profile.clone()).unwrap();
        Self {
            now: Instant::ZERO,
            client: Host::with_observer(HostConfig::new(CLIENT, [1; 16]), observer),
            server,
            listener,
            profile,
            on_the_way: Vec::new(),
            loses_acks_behind_special: false,
            passed: Vec::new(),
        }
    }

    pub(crate) fn connect(&mut self) -> ConnectionId {
        let (local, remote) = (SocketAddr::new(CLIENT, 0), SocketAddr::new(SERVER, 80));
        self.client.connect(self.now, local, remote, self.profile.clone()).unwrap()
    }

    /// Runs the hosts until `until`. `fate` decides about each data segment of the client, by its number
    /// from 0.
    pub(crate) fn run(&mut self, until: Instant, mut fate: impl FnMut(usize) -> Fate) {
        let mut data_segments = 0;
        loop {
            self.transmit(&mut |packet| {
                if Segment::parse(packet).unwrap().payload.is_empty() {
                    return Fate::Arrives;
                }
                data_segments += 1;
                fate(data_segments - 1)
            });
            let arrival = self.on_the_way.iter().map(|(at, ..)| *at).min();
            let next = [arrival, self.client.next_deadline(), self.server.next_deadline()];
            let Some(next) = next.into_iter().flatten().min().filter(|&at| at <= until) else { break };
            self.now = self.now.max(next);
            self.deliver();
            self.client.handle_timeout(self.now);
            self.server.handle_timeout(self.now);
            while self.server.accept(self.listener).is_some() {}
            self.read_all();
        }
        self.now = until;
    }

    fn transmit(&mut self, fate: &mut impl FnMut(&[u8]) -> Fate) {
        let mut buffer = [0; 2000];
        while let Some(len) = self.client.poll_transmit(self.now, &mut buffer) {
            let mut packet = buffer[..len].to_vec();
            let fate = fate(&packet);
            if fate == Fate::IsDamaged {
                let header_len = layout(&packet).unwrap().header_len;
                packet[header_len + 10] ^= 0x10;
            }
            self.pass(packet, true, fate);
        }
        let mut behind_special = false;
        while let Some(len) = self.server.poll_transmit(self.now, &mut buffer) {
            let options = Segment::parse(&buffer[..len]).unwrap().options;
            let special = options.hack_ack.is_some() || !options.xhack_ack.is_empty();
            let lost = self.loses_acks_behind_special && behind_special && !special;
            behind_special |= special;
            self.pass(buffer[..len].to_vec(), false, if lost { Fate::IsLost } else { Fate::Arrives });
        }
    }

    fn pass(&mut self, packet: Vec<u8>, from_client: bool, fate: Fate) {
        let arrived = (fate != Fate::IsLost).then_some(packet);
        if let Some(packet) = &arrived {
            self.on_the_way.push((self.now + ONE_WAY, from_client, packet.clone()));
        }
        self.passed.push(Passed { sent: self.now, from_client, arrived, fate });
    }

    fn deliver(&mut self) {
        let now = self.now;
        let (due, later) = std::mem::take(&mut self.on_the_way).into_iter().partition(|(at, ..)| *at <= now);
        self.on_the_way = later;
        let due: Vec<(Instant, bool, Vec<u8>)> = due;
        for (at, from_client, packet) in due {
            let received = Received::parse(&packet, ChecksumTrust::None);
            if from_client { self.server.receive(at, &received) } else { self.client.receive(at, &received) }
        }
    }

    fn read_all(&mut self) {
        while let Some((id, _)) = self.server.poll_notification() {
            let readable = self.server.readable(id);
            self.server.consume(id, readable);
        }
    }
}

/// Records every event, and forwards it.
#[derive(Default)]
pub(crate) struct Tap<O> {
    pub(crate) events: Vec<(Instant, ConnectionId, Event)>,
    pub(crate) inner: O,
}

impl<O: Observer> Observer for Tap<O> {
    fn event(&mut self, now: Instant, connection: ConnectionId, event: &Event) {
        self.events.push((now, connection, event.clone()));
        self.inner.event(now, connection, event);
    }
}

/// Identifiers of connections for synthetic events.
pub(crate) fn connections<const N: usize>() -> [ConnectionId; N] {
    let mut pair = Pair::new(Profile::standard(), ());
    std::array::from_fn(|_| pair.connect())
}

pub(crate) fn millis(count: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(count)
}
