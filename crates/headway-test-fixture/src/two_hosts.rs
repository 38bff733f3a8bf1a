//! Two hosts in virtual time.
//!
//! A test works in one of two ways, and may change between them: packet by packet, with
//! [`sent`](TwoHosts::sent) and [`deliver`](TwoHosts::deliver); or with a network between the hosts that a
//! function decides about, with [`run`](TwoHosts::run).

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use headway_tcp::{
    ConnectionId, Host, HostConfig, ListenerId, Notification, Observer, Profile, Statistics, Transmit,
};
use headway_units::{Duration, Instant};
use headway_wire::{ChecksumTrust, Received, Segment, layout};

use crate::pattern::Pattern;

/// The host that opens connections.
pub const CLIENT: usize = 0;
/// The host that accepts them.
pub const SERVER: usize = 1;

/// When tests begin: not at the epoch, where "never" and "at once" look alike.
pub const START: Instant = Instant::from_nanos(1_000_000_000_000);

/// What each host writes with [`TwoHosts::write`].
pub const PATTERNS: [Pattern; 2] = [Pattern(0x5bd1_e995), Pattern(0x1b87_3593)];

/// More packets than a host has to send at once; beyond that it answers itself.
const MAX_BURST: usize = 10_000;

/// The address of a host.
pub fn address(host: usize) -> IpAddr {
    Ipv4Addr::new(192, 0, 2, 1 + host as u8).into()
}

/// Where a host's end of the connection is.
pub fn endpoint(host: usize) -> SocketAddr {
    SocketAddr::new(address(host), [5000, 80][host])
}

/// Everything that `host` has to send now.
pub fn drain<O: Observer>(host: &mut Host<O>, now: Instant) -> Vec<Vec<u8>> {
    let mut buffer = vec![0; 9000];
    let mut packets = Vec::new();
    while let Some(Transmit { len, .. }) = host.poll_transmit(now, &mut buffer) {
        packets.push(buffer[..len].to_vec());
        assert!(packets.len() < MAX_BURST, "the host never stops sending");
    }
    packets
}

/// Hands a packet to `host` as a carrier does, whatever state it is in.
pub fn hand_in<O: Observer>(host: &mut Host<O>, now: Instant, packet: &[u8]) {
    host.receive(now, &Received::parse(packet, ChecksumTrust::None));
}

/// Names of connections that lead nowhere, to make up events with.
pub fn connection_ids<const N: usize>() -> [ConnectionId; N] {
    let mut host = Host::new(HostConfig::new(address(CLIENT), [0; 16]));
    let profile = Arc::new(Profile::standard());
    let local = SocketAddr::new(address(CLIENT), 0);
    [(); N].map(|()| host.connect(START, local, endpoint(SERVER), profile.clone()).expect("a free port"))
}

/// What becomes of a packet on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It arrives after the one-way delay.
    Arrives,
    /// It does not arrive.
    Lost,
    /// It arrives with one bit of the payload flipped.
    Corrupted,
    /// It arrives that much later, so that others overtake it.
    Late(Duration),
    /// It arrives twice.
    Duplicated,
}

/// A packet that the network decides about.
#[derive(Clone, Copy, Debug)]
pub struct Passing<'a> {
    /// Who sent it.
    pub from: usize,
    /// Now.
    pub at: Instant,
    /// What was sent.
    pub segment: &'a Segment<'a>,
    /// For a segment of the client's with data: how many came before it in this run.
    pub data: Option<usize>,
}

/// A packet that has passed.
#[derive(Clone, Debug)]
pub struct Passed {
    /// When it was sent.
    pub sent: Instant,
    /// Who sent it.
    pub from: usize,
    /// What became of it.
    pub fate: Fate,
    /// What arrived, or would have.
    pub packet: Vec<u8>,
}

/// A client, whose events go to `O`, and a server.
pub struct TwoHosts<O: Observer = ()> {
    /// The time.
    pub now: Instant,
    /// The client and the server.
    pub hosts: [Host<Option<O>>; 2],
    /// The server's listener.
    pub listener: ListenerId,
    /// The profiles of the client and the server.
    pub profiles: [Arc<Profile>; 2],
    /// How long packets take from one host to the other in [`TwoHosts::run`].
    pub delay: Duration,
    /// Whether a program reads at once what arrives at the server in [`TwoHosts::run`].
    pub is_reading: bool,
    /// What passed in [`TwoHosts::run`].
    pub passed: Vec<Passed>,
    /// Packets on their way: when they arrive, and where.
    in_flight: Vec<(Instant, usize, Vec<u8>)>,
    ids: Option<[ConnectionId; 2]>,
    /// Bytes that each host has written and read with the methods here.
    written: [usize; 2],
    read: [usize; 2],
}

impl TwoHosts {
    /// Two hosts of the same profile, without a connection.
    pub fn new(profile: Profile) -> Self {
        Self::with([profile.clone(), profile], ())
    }

    /// Two hosts of the same profile, and a connection between them.
    pub fn connected(profile: Profile) -> Self {
        let mut pair = Self::new(profile);
        pair.connect();
        pair
    }
}

impl<O: Observer> TwoHosts<O> {
    /// Two hosts of the same profile, of which the client has an observer, and a connection between them.
    /// Packets take `delay`, and a program reads at once what arrives at the server.
    pub fn observed(profile: Profile, observer: O, delay: Duration) -> Self {
        let mut pair = Self::with([profile.clone(), profile], observer);
        (pair.delay, pair.is_reading) = (delay, true);
        pair.connect();
        pair
    }

    /// Two hosts, of which the client has an observer.
    pub fn with(profiles: [Profile; 2], observer: O) -> Self {
        let profiles = profiles.map(Arc::new);
        let config = |host: usize| HostConfig::new(address(host), [host as u8; 16]);
        let client = Host::with_observer(config(CLIENT), Some(observer));
        let mut server = Host::with_observer(config(SERVER), None);
        let listener = server.listen(endpoint(SERVER), 4, profiles[SERVER].clone()).expect("a free port");
        Self {
            now: START,
            hosts: [client, server],
            listener,
            profiles,
            delay: Duration::ZERO,
            is_reading: false,
            passed: Vec::new(),
            in_flight: Vec::new(),
            ids: None,
            written: [0; 2],
            read: [0; 2],
        }
    }

    /// Opens a connection and waits until it is there. Its name at the client and at the server.
    pub fn connect(&mut self) -> [ConnectionId; 2] {
        let profile = self.profiles[CLIENT].clone();
        let opened = self.hosts[CLIENT].connect(self.now, endpoint(CLIENT), endpoint(SERVER), profile);
        let client = opened.expect("a free port");
        self.wait(self.delay * 3);
        let ids = [client, self.hosts[SERVER].accept(self.listener).expect("a connection")];
        self.ids = Some(ids);
        ids
    }

    /// The connection's name at `host`.
    pub fn id(&self, host: usize) -> ConnectionId {
        self.ids.expect("connect() comes first")[host]
    }

    /// What the connection counts at `host`.
    pub fn statistics(&self, host: usize) -> Statistics {
        self.hosts[host].statistics(self.id(host)).expect("a connection that is not released")
    }

    /// The client's observer.
    pub fn observer(&self) -> &O {
        self.hosts[CLIENT].observer().as_ref().expect("the client has one")
    }

    /// The client's observer, in the end.
    pub fn into_observer(self) -> O {
        let [client, _] = self.hosts;
        client.into_observer().expect("the client has one")
    }

    /// The next `len` bytes of `host`'s pattern, of which all must be taken.
    #[track_caller]
    pub fn write(&mut self, host: usize, len: usize) {
        let bytes = PATTERNS[host].bytes(self.written[host], len);
        assert_eq!(self.hosts[host].write(self.id(host), &bytes), Ok(len));
        self.written[host] += len;
    }

    /// Reads what `host` has, compares every byte with what the other has written, and says how many they
    /// were.
    #[track_caller]
    pub fn read(&mut self, host: usize) -> usize {
        let id = self.id(host);
        let mut bytes = vec![0; self.hosts[host].readable(id)];
        let len = self.hosts[host].read(id, &mut bytes).expect("a connection");
        PATTERNS[1 - host].check(self.read[host], &bytes[..len]);
        self.read[host] += len;
        assert!(self.read[host] <= self.written[1 - host], "more than was written");
        len
    }

    /// Compares every byte that could be read at `host` with what the other has written, and says how many
    /// they are.
    #[track_caller]
    pub fn readable(&self, host: usize) -> usize {
        let (first, second) = self.hosts[host].peek(self.id(host));
        PATTERNS[1 - host].check(self.read[host], first);
        PATTERNS[1 - host].check(self.read[host] + first.len(), second);
        first.len() + second.len()
    }

    /// The notifications of `host` to its program.
    pub fn notifications(&mut self, host: usize) -> Vec<Notification> {
        std::iter::from_fn(|| self.hosts[host].poll_notification()).map(|(_, told)| told).collect()
    }

    /// What `host` has to send now.
    pub fn sent(&mut self, host: usize) -> Vec<Vec<u8>> {
        drain(&mut self.hosts[host], self.now)
    }

    /// Packets arrive at `host` now.
    pub fn deliver<P: AsRef<[u8]>>(&mut self, host: usize, packets: &[P]) {
        for packet in packets {
            hand_in(&mut self.hosts[host], self.now, packet.as_ref());
        }
    }

    /// Everything arrives at once, until neither host has anything to send. No time passes.
    pub fn settle(&mut self) {
        loop {
            let sent = [self.sent(CLIENT), self.sent(SERVER)];
            if sent.iter().all(Vec::is_empty) {
                return;
            }
            self.deliver(SERVER, &sent[CLIENT]);
            self.deliver(CLIENT, &sent[SERVER]);
        }
    }

    /// Time passes, and then the timers that are due expire; nothing is sent.
    pub fn advance(&mut self, span: Duration) {
        self.now += span;
        self.hosts.iter_mut().for_each(|host| host.handle_timeout(self.now));
    }

    /// Time passes, timers expire, and everything arrives.
    pub fn wait(&mut self, span: Duration) {
        self.run(span, |_| Fate::Arrives);
    }

    /// Time passes and timers expire, and `network` decides about every packet.
    pub fn run(&mut self, span: Duration, mut network: impl FnMut(Passing<'_>) -> Fate) {
        let until = self.now + span;
        let mut data_segments = 0;
        loop {
            for from in [CLIENT, SERVER] {
                for packet in self.sent(from) {
                    let segment = Segment::parse(&packet).expect("a host sends what can be read");
                    let has_data = from == CLIENT && !segment.payload.is_empty();
                    let data = has_data.then_some(data_segments);
                    data_segments += usize::from(has_data);
                    let fate = network(Passing { from, at: self.now, segment: &segment, data });
                    self.pass(from, packet, fate);
                }
            }
            let arrival = self.in_flight.iter().map(|(at, ..)| *at).min();
            let [client, server] = &mut self.hosts;
            let next = [arrival, client.next_deadline(), server.next_deadline()];
            let Some(next) = next.into_iter().flatten().min().filter(|&at| at <= until) else { break };
            self.now = self.now.max(next);
            for (_, to, packet) in self.in_flight.extract_if(.., |(at, ..)| *at <= self.now) {
                hand_in(&mut self.hosts[to], self.now, &packet);
            }
            self.hosts.iter_mut().for_each(|host| host.handle_timeout(self.now));
            if self.is_reading && self.ids.is_some() {
                self.read(SERVER);
            }
        }
        self.now = until;
    }

    /// A packet enters the network.
    fn pass(&mut self, from: usize, mut packet: Vec<u8>, fate: Fate) {
        if fate == Fate::Corrupted {
            let header_len = layout(&packet).expect("a segment").header_len;
            packet[header_len + 10] ^= 0x10;
        }
        let at = self.now + self.delay;
        let arrivals = match fate {
            Fate::Lost => vec![],
            Fate::Arrives | Fate::Corrupted => vec![at],
            Fate::Late(by) => vec![at + by],
            Fate::Duplicated => vec![at, at],
        };
        self.in_flight.extend(arrivals.into_iter().map(|at| (at, 1 - from, packet.clone())));
        self.passed.push(Passed { sent: self.now, from, fate, packet });
    }
}
