//! The network: nodes, links between them, and virtual time.

use std::net::IpAddr;

use headway_link::{Headers, Hit, Link, LinkConfig, LinkCounters, Offer};
use headway_tcp::Host;
use headway_units::{Instant, Rate};
use headway_wire::{ChecksumTrust, EmitError, Received, ip::Datagram};

use crate::agenda::Agenda;
use crate::application::Application;
use crate::pacer::Pacer;
use crate::pool::Pool;
use crate::tap::{Passing, Tap};

/// A host, a router or a source of cross traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(usize);

/// One direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LinkId(usize);

/// Where a link begins and ends.
#[derive(Clone, Copy, Debug)]
pub struct LinkPorts {
    /// Packets from this node enter it.
    pub from: NodeId,
    /// And reach this one.
    pub to: NodeId,
}

/// What the network counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NetworkCounters {
    /// Packets that hosts sent.
    pub sent: u64,
    /// Packets that reached a host.
    pub arrived: u64,
    /// Damaged packets that passed every checksum.
    pub undetected: u64,
    /// Packets that a router had no way for, or whose IP header it could not read.
    pub unroutable: u64,
}

enum Node<A: Application> {
    Host { host: Box<Host<A::Observer>>, application: A, uplink: Option<LinkId> },
    Router { routes: Vec<(IpAddr, LinkId)> },
    Pacer { pacer: Pacer, uplink: Option<LinkId> },
    Sink,
}

struct Wire {
    link: Link<Packet>,
    to: NodeId,
    exposure: Exposure,
}

/// A packet on its way, with the damage that links before the present one did to it.
#[derive(Clone)]
struct Packet {
    bytes: Vec<u8>,
    damage: Option<Hit>,
}

impl AsMut<[u8]> for Packet {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

/// Which packets the damage of a link may hit.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Exposure {
    /// Every packet.
    #[default]
    All,
    /// Packets from these addresses only.
    Sources(Vec<IpAddr>),
}

/// Hosts, routers and links in virtual time.
///
/// Nodes and links are added first; then [`Network::run`].
pub struct Network<A: Application, T: Tap = ()> {
    nodes: Vec<Node<A>>,
    wires: Vec<Wire>,
    agenda: Agenda,
    pool: Pool,
    tap: T,
    now: Instant,
    started: bool,
    counters: NetworkCounters,
}

/// Buffers hold any packet up to this length.
const BUFFER: usize = 65_536;

impl<A: Application> Network<A> {
    /// An empty network whose packets nobody watches. No packet is longer than `mtu` octets.
    pub fn new(mtu: u16) -> Self {
        Self::with_tap(mtu, ())
    }
}

impl<A: Application, T: Tap> Network<A, T> {
    /// An empty network whose packets pass `tap`.
    pub fn with_tap(mtu: u16, tap: T) -> Self {
        Self {
            nodes: Vec::new(),
            wires: Vec::new(),
            agenda: Agenda::new(0),
            pool: Pool::new(usize::from(mtu).clamp(128, BUFFER)),
            tap,
            now: Instant::ZERO,
            started: false,
            counters: NetworkCounters::default(),
        }
    }

    /// Adds a host with its program.
    pub fn add_host(&mut self, host: Host<A::Observer>, application: A) -> NodeId {
        self.nodes.push(Node::Host { host: Box::new(host), application, uplink: None });
        NodeId(self.nodes.len() - 1)
    }

    /// Adds a router, which forwards by destination address as [`Network::add_route`] says.
    pub fn add_router(&mut self) -> NodeId {
        self.nodes.push(Node::Router { routes: Vec::new() });
        NodeId(self.nodes.len() - 1)
    }

    /// Adds a node that takes whatever reaches it and answers nothing.
    pub fn add_sink(&mut self) -> NodeId {
        self.nodes.push(Node::Sink);
        NodeId(self.nodes.len() - 1)
    }

    /// Adds a source of UDP datagrams of `len` octets from `src` to `dst` at a constant `rate`.
    ///
    /// # Errors
    ///
    /// The addresses are not of one family, or `len` has no room for the headers.
    ///
    /// # Panics
    ///
    /// `len` exceeds the MTU of the network.
    pub fn add_pacer(
        &mut self,
        src: IpAddr,
        dst: IpAddr,
        rate: Rate,
        len: usize,
    ) -> Result<NodeId, EmitError> {
        assert!(len <= self.pool.size(), "a datagram of {len} octets does not fit the network's MTU");
        self.nodes.push(Node::Pacer { pacer: Pacer::new(src, dst, rate, len)?, uplink: None });
        Ok(NodeId(self.nodes.len() - 1))
    }

    /// Adds one direction of a link; the first link that leaves a host or a pacer is its way out.
    pub fn add_link(&mut self, ports: LinkPorts, config: LinkConfig, seed: u64) -> LinkId {
        let id = LinkId(self.wires.len());
        self.wires.push(Wire { link: Link::new(config, seed), to: ports.to, exposure: Exposure::All });
        if let Node::Host { uplink, .. } | Node::Pacer { uplink, .. } = &mut self.nodes[ports.from.0] {
            uplink.get_or_insert(id);
        }
        id
    }

    /// Limits the damage of `link`; its other fates (loss, queue, delay) remain for all.
    pub fn expose(&mut self, link: LinkId, exposure: Exposure) {
        self.wires[link.0].exposure = exposure;
    }

    /// Packets for `destination` leave `router` by `link`.
    ///
    /// # Panics
    ///
    /// `router` is no router.
    pub fn add_route(&mut self, router: NodeId, destination: IpAddr, link: LinkId) {
        match &mut self.nodes[router.0] {
            Node::Router { routes } => routes.push((destination, link)),
            _ => panic!("only a router has routes"),
        }
    }

    /// Virtual time.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// What was counted.
    pub fn counters(&self) -> NetworkCounters {
        self.counters
    }

    /// What a link counted.
    pub fn link_counters(&self, link: LinkId) -> &LinkCounters {
        self.wires[link.0].link.counters()
    }

    /// Packet events so far: a packet leaves a host, enters or leaves a queue, or arrives.
    pub fn events(&self) -> u64 {
        let in_links: u64 = self
            .wires
            .iter()
            .map(|wire| wire.link.counters())
            .map(|counters| counters.queue_entered + counters.queue_left)
            .sum();
        self.counters.sent + in_links + self.counters.arrived
    }

    /// A host and its program.
    ///
    /// # Panics
    ///
    /// `node` is no host.
    pub fn host(&self, node: NodeId) -> (&Host<A::Observer>, &A) {
        match &self.nodes[node.0] {
            Node::Host { host, application, .. } => (host, application),
            _ => panic!("this node has no host"),
        }
    }

    /// A host and its program, to change them between two runs.
    ///
    /// # Panics
    ///
    /// `node` is no host.
    pub fn host_mut(&mut self, node: NodeId) -> (&mut Host<A::Observer>, &mut A) {
        match &mut self.nodes[node.0] {
            Node::Host { host, application, .. } => (host, application),
            _ => panic!("this node has no host"),
        }
    }

    /// Takes the observers of two hosts, whose hosts are gone then.
    ///
    /// # Panics
    ///
    /// A node is no host, or both are the same.
    pub(crate) fn take_observers(&mut self, a: NodeId, b: NodeId) -> (A::Observer, A::Observer) {
        let mut take = |node: NodeId| {
            let router = Node::Router { routes: Vec::new() };
            match std::mem::replace(&mut self.nodes[node.0], router) {
                Node::Host { host, .. } => host.into_observer(),
                _ => panic!("this node has no observer"),
            }
        };
        (take(a), take(b))
    }

    /// Takes the network apart: the tap, to keep what it recorded.
    pub fn into_tap(self) -> T {
        self.tap
    }

    /// Lets time pass until `done` says so (it is asked after each event), nothing can happen any
    /// more, or `until` is reached. Says whether `done` did.
    pub fn run(&mut self, until: Instant, mut done: impl FnMut(&Self) -> bool) -> bool {
        while !done(self) {
            if !self.step(until) {
                return false;
            }
        }
        true
    }

    /// Lets the next thing happen. False, with the time at `until`, if nothing does until then.
    pub fn step(&mut self, until: Instant) -> bool {
        if !self.started {
            self.start();
        }
        let (actor, at) = self.agenda.next();
        if at > until || at == Instant::MAX {
            self.now = self.now.max(until.min(at));
            return false;
        }
        self.now = at;
        if actor < self.wires.len() {
            self.drain_link(LinkId(actor));
        } else {
            self.act(NodeId(actor - self.wires.len()));
        }
        true
    }

    /// Lets every program look at its host again, after [`Network::host_mut`] changed something.
    pub fn wake(&mut self, node: NodeId) {
        if self.started {
            self.service(node);
        }
    }

    fn start(&mut self) {
        self.started = true;
        // Links come before hosts: what arrives at the time of a timeout arrives first.
        self.agenda = Agenda::new(self.wires.len() + self.nodes.len());
        for node in 0..self.nodes.len() {
            match &self.nodes[node] {
                Node::Host { .. } => self.service(NodeId(node)),
                Node::Pacer { pacer, uplink: Some(_) } => {
                    self.agenda.set(self.wires.len() + node, pacer.next());
                }
                Node::Pacer { uplink: None, .. } | Node::Router { .. } | Node::Sink => {}
            }
        }
    }

    /// The time of a node has come.
    fn act(&mut self, node: NodeId) {
        let now = self.now;
        match &mut self.nodes[node.0] {
            Node::Host { host, .. } => {
                host.handle_timeout(now);
                self.service(node);
            }
            Node::Pacer { pacer, uplink } => {
                let uplink = *uplink;
                let mut buffer = self.pool.take();
                let packet = pacer.send(now);
                let len = packet.len();
                buffer[..len].copy_from_slice(packet);
                let next = pacer.next();
                self.agenda.set(self.wires.len() + node.0, next);
                match uplink {
                    Some(link) => self.offer(link, Packet { bytes: buffer, damage: None }, len),
                    None => self.pool.give(buffer),
                }
            }
            Node::Router { .. } | Node::Sink => {}
        }
    }

    /// Hands on everything that has arrived at the end of `link`.
    fn drain_link(&mut self, link: LinkId) {
        let now = self.now;
        while let Some(delivery) = self.wires[link.0].link.poll(now) {
            let to = self.wires[link.0].to;
            let packet = &delivery.packet.bytes[..delivery.len];
            let damage = delivery.damage.or(delivery.packet.damage);
            match &mut self.nodes[to.0] {
                Node::Host { host, .. } => {
                    self.counters.arrived += 1;
                    if T::ENABLED {
                        self.tap.pass(&Passing { host: to, at: now, outbound: false, packet, damage });
                    }
                    let received = Received::parse(packet, ChecksumTrust::None);
                    host.receive(now, &received);
                    if damage.is_some() && matches!(received, Received::Intact(_)) {
                        self.counters.undetected += 1;
                    }
                    self.service(to);
                    self.pool.give(delivery.packet.bytes);
                }
                Node::Pacer { .. } | Node::Sink => self.pool.give(delivery.packet.bytes),
                Node::Router { routes } => {
                    // A router drops a packet whose IP header is damaged.
                    let route = Datagram::parse(packet)
                        .ok()
                        .and_then(|datagram| routes.iter().find(|route| route.0 == datagram.header.dst));
                    match route {
                        Some(&(_, next)) => {
                            let packet = Packet { damage, ..delivery.packet };
                            self.offer(next, packet, delivery.len);
                        }
                        None => {
                            self.counters.unroutable += 1;
                            self.pool.give(delivery.packet.bytes);
                        }
                    }
                }
            }
        }
        self.reschedule_link(link);
    }

    /// Lets a host's program work and carries away what the host sends.
    fn service(&mut self, node: NodeId) {
        let now = self.now;
        let Node::Host { host, application, uplink } = &mut self.nodes[node.0] else { return };
        application.progress(host, now);
        let uplink = *uplink;
        loop {
            let Node::Host { host, .. } = &mut self.nodes[node.0] else { return };
            let mut buffer = self.pool.take();
            let Some(len) = host.poll_transmit(now, &mut buffer) else {
                self.pool.give(buffer);
                break;
            };
            self.counters.sent += 1;
            if T::ENABLED {
                let packet = &buffer[..len];
                self.tap.pass(&Passing { host: node, at: now, outbound: true, packet, damage: None });
            }
            match uplink {
                Some(link) => self.offer(link, Packet { bytes: buffer, damage: None }, len),
                None => self.pool.give(buffer),
            }
        }
        let Node::Host { host, .. } = &mut self.nodes[node.0] else { return };
        let deadline = host.next_deadline().unwrap_or(Instant::MAX);
        self.agenda.set(self.wires.len() + node.0, deadline);
    }

    fn offer(&mut self, link: LinkId, packet: Packet, len: usize) {
        let headers = headway_wire::layout(&packet.bytes[..len]).map_or(
            Headers { ip_header_len: 0, header_len: len },
            |layout| Headers { ip_header_len: layout.ip_header_len, header_len: layout.header_len },
        );
        let wire = &mut self.wires[link.0];
        let exposed = match &wire.exposure {
            Exposure::All => true,
            Exposure::Sources(sources) => Datagram::parse(&packet.bytes[..len])
                .is_ok_and(|datagram| sources.contains(&datagram.header.src)),
        };
        match wire.link.offer(self.now, packet, len, headers, exposed) {
            Offer::Queued => self.reschedule_link(link),
            Offer::QueueFull(packet) => self.pool.give(packet.bytes),
        }
    }

    fn reschedule_link(&mut self, link: LinkId) {
        let next = self.wires[link.0].link.next_event().unwrap_or(Instant::MAX);
        self.agenda.set(link.0, next);
    }
}
