//! The network: nodes, connections between their ports, and virtual time.
//!
//! Everything is a [`Node`]: hosts, links, routers, cross traffic. [`Network`] brings packets from port to node, and
//! asks each node when it acts next.
//!
//! Files use those below them only: the network (here, `gateways`), its kinds of `nodes`, what a node is (`node`), and
//! what goes through all hands (`pool`, `packet`, `tap`, `parts`).

mod gateways;
mod node;
mod nodes;
mod packet;
mod parts;
mod pool;
mod tap;

use std::any::Any;
use std::net::{IpAddr, Ipv4Addr};

use headway_link::{Histogram, LinkConfig, LinkCounters};
use headway_tcp::{Host, OnlyPeer};
use headway_units::{Instant, Rate};
use headway_wire::EmitError;

use crate::agenda::Agenda;
use crate::application::Application;
use crate::packet_trace::PacketTrace;
pub use node::{NetworkCounters, Next, Node, NodeContext, Precedence};
pub use nodes::arrivals::Arrivals;
use nodes::host::HostNode;
pub use nodes::link::Exposure;
use nodes::link::LinkNode;
use nodes::replay::Replay;
use nodes::router::Router;
use nodes::sink::Sink;
use nodes::source::Source;
pub use nodes::trunk::{
    GatewayConfig, GatewayStatistics, PacketGatewayConfig, SplitGatewayConfig, SplitRoute,
};
pub use packet::Packet;
pub use parts::{LinkId, LinkPorts, NodeId, Port};
use pool::Pool;
pub use tap::{Passing, Tap};

/// Hosts, routers and links in virtual time.
///
/// Nodes and links are added first; then [`Network::run`].
pub struct Network<A: Application, T: Tap = ()> {
    nodes: Vec<NodePlace<T>>,
    agenda: Agenda,
    /// The node at each place of the agenda.
    order: Vec<NodeId>,
    pool: Pool,
    tap: T,
    now: Instant,
    started: bool,
    counters: NetworkCounters,
    programs: std::marker::PhantomData<A>,
}

/// A node and what is around it.
struct NodePlace<T> {
    node: Box<dyn Node<T>>,
    /// Where its ports lead.
    ports: Vec<NodeId>,
    /// Its place in the agenda.
    actor: usize,
}

/// Buffers hold any packet up to this length.
const BUFFER: usize = 65_536;

impl<A: Application> Network<A> {
    /// An empty network without a tap. No packet is longer than `mtu` bytes.
    pub fn new(mtu: u16) -> Self {
        Self::with_tap(mtu, ())
    }
}

impl<A: Application, T: Tap> Network<A, T> {
    /// An empty network whose packets pass `tap`.
    pub fn with_tap(mtu: u16, tap: T) -> Self {
        Self {
            nodes: Vec::new(),
            agenda: Agenda::new(0),
            order: Vec::new(),
            pool: Pool::new(usize::from(mtu).clamp(128, BUFFER)),
            tap,
            now: Instant::ZERO,
            started: false,
            counters: NetworkCounters::default(),
            programs: std::marker::PhantomData,
        }
    }

    // --- building -------------------------------------------------------------------------------

    /// Adds a node of any kind.
    pub fn add(&mut self, node: impl Node<T>) -> NodeId {
        self.nodes.push(NodePlace { node: Box::new(node), ports: Vec::new(), actor: 0 });
        NodeId(self.nodes.len() - 1)
    }

    /// Gives `from` one more port, which leads to `to`.
    ///
    /// Nodes other than links must not lead to each other in a circle: a packet would never come to rest.
    pub fn connect(&mut self, from: NodeId, to: NodeId) -> Port {
        let ports = &mut self.nodes[from.0].ports;
        ports.push(to);
        Port(ports.len() - 1)
    }

    /// Adds a host with its program. Its packets leave by the first link from it.
    pub fn add_host(&mut self, host: Host<A::Observer>, application: A) -> NodeId {
        self.add(HostNode { host, application, only_peer: None, arrivals: None, has_ended: false })
    }

    /// The host `node` has one link to it, from the host of `peer`: it takes a packet whose IP header is
    /// corrupted for one of the peer's ([`Host::receive_from_only_peer`]). Otherwise it drops such a packet
    /// unseen.
    ///
    /// # Panics
    ///
    /// `node` is not a host.
    pub fn set_only_peer(&mut self, node: NodeId, peer: OnlyPeer) {
        self.node_mut::<HostNode<A>>(node, "host").only_peer = Some(peer);
    }

    /// Measures the one-way delays of the packets that reach `node`.
    ///
    /// # Panics
    ///
    /// `node` is not a host.
    pub fn measure_arrivals(&mut self, node: NodeId) {
        self.node_mut::<HostNode<A>>(node, "host").arrivals = Some(Box::default());
    }

    /// Adds a router, which forwards by destination address as [`Network::add_route`] says.
    pub fn add_router(&mut self) -> NodeId {
        self.add(Router::default())
    }

    /// Adds a node that takes every packet and answers none.
    pub fn add_sink(&mut self) -> NodeId {
        self.add(Sink)
    }

    /// Adds a source of UDP datagrams of `len` bytes from `src` to `dst` at a constant `rate`.
    ///
    /// # Errors
    ///
    /// The addresses are not of one family, or `len` has no room for the headers.
    ///
    /// # Panics
    ///
    /// `len` exceeds the MTU of the network.
    pub fn add_source(
        &mut self,
        src: IpAddr,
        dst: IpAddr,
        rate: Rate,
        len: usize,
    ) -> Result<NodeId, EmitError> {
        assert!(len <= self.pool.size(), "a datagram of {len} bytes does not fit the network's MTU");
        Ok(self.add(Source::new(src, dst, rate, len)?))
    }

    /// Adds a source of UDP datagrams from `src` to `dst`, both IPv4, with the times and lengths of `trace`: the
    /// first at `start`, or, where that is `None`, when [`Network::start_replay`] says. Those shorter than the
    /// headers, 28 bytes, become that long.
    ///
    /// # Panics
    ///
    /// A packet exceeds the MTU of the network.
    pub fn add_replay(
        &mut self,
        src: Ipv4Addr,
        dst: Ipv4Addr,
        trace: PacketTrace,
        start: Option<Instant>,
    ) -> NodeId {
        if let Err(problem) = trace.check(self.mtu()) {
            panic!("{problem}");
        }
        self.add(Replay::new(src.into(), dst.into(), trace, start))
    }

    /// Begins a replay, from the first packet, at `at`.
    ///
    /// # Panics
    ///
    /// `node` is not a replay.
    pub fn start_replay(&mut self, node: NodeId, at: Instant) {
        self.node_mut::<Replay>(node, "replay").start(at);
        self.wake(node);
    }

    /// Adds one direction of a link.
    pub fn add_link(&mut self, ports: LinkPorts, config: LinkConfig, seed: u64) -> LinkId {
        let node = self.add(LinkNode::new(config, seed));
        let port = self.connect(ports.from, node);
        self.connect(node, ports.to);
        LinkId { node, port }
    }

    /// Limits the damage of `link`; loss, queue and delay apply to all packets.
    pub fn expose(&mut self, link: LinkId, exposure: Exposure) {
        self.node_mut::<LinkNode>(link.node, "link").expose(exposure);
    }

    /// Packets for `destination` leave `router` by `link`.
    ///
    /// # Panics
    ///
    /// `router` is not a router.
    pub fn add_route(&mut self, router: NodeId, destination: IpAddr, link: LinkId) {
        self.node_mut::<Router>(router, "router").add_route(destination, link.port);
    }

    // --- looking at it --------------------------------------------------------------------------

    /// Virtual time.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// What was counted.
    pub fn counters(&self) -> NetworkCounters {
        self.counters
    }

    /// How long packets were in the queue and the transmitter of a link.
    pub fn link_waits(&self, link: LinkId) -> &Histogram {
        self.node::<LinkNode>(link.node, "link").waits()
    }

    /// Packets in the queue of a link, and their bytes.
    pub fn link_queue(&self, link: LinkId) -> (usize, u64) {
        self.node::<LinkNode>(link.node, "link").queue()
    }

    /// What a link counted.
    pub fn link_counters(&self, link: LinkId) -> &LinkCounters {
        self.node::<LinkNode>(link.node, "link").counters()
    }

    /// What the packets that reached a host took; `None` if that is not measured.
    ///
    /// # Panics
    ///
    /// `node` is not a host.
    pub fn arrivals(&self, node: NodeId) -> Option<&Arrivals> {
        self.node::<HostNode<A>>(node, "host").arrivals.as_deref()
    }

    /// Packet events so far: a packet leaves a host, enters or leaves a queue, or arrives.
    pub fn events(&self) -> u64 {
        let links =
            self.nodes.iter().filter_map(|place| (&*place.node as &dyn Any).downcast_ref::<LinkNode>());
        let in_links: u64 =
            links.map(LinkNode::counters).map(|counters| counters.queue_entered + counters.queue_left).sum();
        self.counters.sent + in_links + self.counters.arrived
    }

    /// A host and its program.
    ///
    /// # Panics
    ///
    /// `node` is not a host.
    pub fn host(&self, node: NodeId) -> (&Host<A::Observer>, &A) {
        let node = self.node::<HostNode<A>>(node, "host");
        (&node.host, &node.application)
    }

    /// A host and its program, to change them between two runs; then [`Network::wake`].
    ///
    /// # Panics
    ///
    /// `node` is not a host.
    pub fn host_mut(&mut self, node: NodeId) -> (&mut Host<A::Observer>, &mut A) {
        let node = self.node_mut::<HostNode<A>>(node, "host");
        (&mut node.host, &mut node.application)
    }

    /// Takes the observers of two hosts; both hosts are replaced by sinks.
    ///
    /// # Panics
    ///
    /// A node is not a host, or both are the same.
    pub(crate) fn take_observers(&mut self, a: NodeId, b: NodeId) -> (A::Observer, A::Observer) {
        let mut take = |node: NodeId| {
            let taken = std::mem::replace(&mut self.nodes[node.0].node, Box::new(Sink));
            match (taken as Box<dyn Any>).downcast::<HostNode<A>>() {
                Ok(node) => node.host.into_observer(),
                Err(_) => panic!("this node is not a host"),
            }
        };
        (take(a), take(b))
    }

    /// The tap.
    pub(crate) fn tap(&self) -> &T {
        &self.tap
    }

    /// Takes the network apart: the tap, to keep what it recorded.
    pub fn into_tap(self) -> T {
        self.tap
    }

    /// No packet is longer.
    fn mtu(&self) -> u16 {
        u16::try_from(self.pool.size()).unwrap_or(u16::MAX)
    }

    fn is<N: Node<T>>(&self, node: NodeId) -> bool {
        (&*self.nodes[node.0].node as &dyn Any).is::<N>()
    }

    fn node<N: Node<T>>(&self, node: NodeId, kind: &str) -> &N {
        (&*self.nodes[node.0].node as &dyn Any)
            .downcast_ref()
            .unwrap_or_else(|| panic!("this node is not a {kind}"))
    }

    fn node_mut<N: Node<T>>(&mut self, node: NodeId, kind: &str) -> &mut N {
        (&mut *self.nodes[node.0].node as &mut dyn Any)
            .downcast_mut()
            .unwrap_or_else(|| panic!("this node is not a {kind}"))
    }

    // --- time -----------------------------------------------------------------------------------

    /// Lets time pass until `done` returns true (it is called after each event), no event is left, or
    /// `until` is reached. Says whether `done` did.
    pub fn run(&mut self, until: Instant, mut done: impl FnMut(&Self) -> bool) -> bool {
        while !done(self) {
            if !self.step(until) {
                return false;
            }
        }
        true
    }

    /// Handles the next event. False, with the time at `until`, if there is none until then.
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
        self.call(self.order[actor], Node::handle_timeout);
        true
    }

    /// Wakes a node, after [`Network::host_mut`] changed something.
    pub fn wake(&mut self, node: NodeId) {
        if self.started {
            self.call(node, Node::wake);
        }
    }

    fn start(&mut self) {
        self.started = true;
        self.order = (0..self.nodes.len()).map(NodeId).collect();
        self.order.sort_by_key(|node| self.nodes[node.0].node.precedence());
        for (actor, node) in self.order.iter().enumerate() {
            self.nodes[node.0].actor = actor;
        }
        self.agenda = Agenda::new(self.nodes.len());
        for node in 0..self.nodes.len() {
            self.wake(NodeId(node));
        }
    }

    /// Calls a node, brings on what it sends, and takes down when it acts next.
    #[inline]
    fn call(&mut self, node: NodeId, work: impl FnOnce(&mut dyn Node<T>, &mut NodeContext<'_, T>)) {
        let (called, mut cx) = self.lend(node);
        work(&mut *called.node, &mut cx);
        loop {
            let (called, mut cx) = self.lend(node);
            match called.node.poll(&mut cx) {
                Next::Transmit(port, packet) => match called.ports.get(port.0) {
                    Some(&next) => self.deliver(next, packet),
                    // A port that leads nowhere.
                    None => cx.discard(packet),
                },
                Next::Wait(until) => {
                    let actor = called.actor;
                    self.agenda.set(actor, until.unwrap_or(Instant::MAX));
                    return;
                }
            }
        }
    }

    fn deliver(&mut self, node: NodeId, packet: Packet) {
        self.call(node, |node, cx| node.receive(cx, packet));
    }

    #[inline]
    fn lend(&mut self, node: NodeId) -> (&mut NodePlace<T>, NodeContext<'_, T>) {
        let cx = NodeContext {
            now: self.now,
            node,
            pool: &mut self.pool,
            tap: &mut self.tap,
            counters: &mut self.counters,
        };
        (&mut self.nodes[node.0], cx)
    }
}
