//! What a node of the network does, and what it works with.

use std::any::Any;

use headway_link::Hit;
use headway_units::Instant;

use super::{NetworkCounters, NodeId};
use crate::pool::Pool;
use crate::tap::{Passing, Tap};

/// A packet between two nodes, in a buffer of the network's.
// In a box with all that is known of it: it is moved from hand to hand several times on each link.
#[derive(Clone, Debug)]
pub struct Packet(Box<Content>);

#[derive(Clone, Debug)]
struct Content {
    buffer: Box<[u8]>,
    len: u32,
    damage: Option<Hit>,
    /// When its host sent it.
    sent: Instant,
}

impl Packet {
    /// None yet, in a new buffer of `size` bytes.
    pub(crate) fn new(size: usize) -> Self {
        let buffer = vec![0; size].into_boxed_slice();
        Self(Box::new(Content { buffer, len: 0, damage: None, sent: Instant::ZERO }))
    }

    /// Its bytes, from the IP header on.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.0.buffer[..self.0.len as usize]
    }

    /// What damage the links so far did to it. For observers: a host finds out by its checksums.
    #[inline]
    pub fn damage(&self) -> Option<Hit> {
        self.0.damage
    }

    /// When the node that made it sent it.
    pub(super) fn sent(&self) -> Instant {
        self.0.sent
    }

    #[inline]
    pub(super) fn record_damage(&mut self, damage: Option<Hit>) {
        if damage.is_some() {
            self.0.damage = damage;
        }
    }
}

/// The whole buffer: the packet and what follows it.
impl AsMut<[u8]> for Packet {
    #[inline]
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.0.buffer
    }
}

/// One of a node's ways out, numbered in the order in which [`Network::connect`](super::Network::connect)
/// made them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Port(pub usize);

/// What a node does next.
#[derive(Clone, Debug)]
pub enum Next {
    /// It sends a packet by this port.
    Transmit(Port, Packet),
    /// It waits for a packet, or until this time.
    Wait(Option<Instant>),
}

/// Which of several nodes acts first at the same time; in each class those that were added first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Precedence {
    /// Links: what arrives at the time of a timeout arrives before it.
    Link,
    /// Every other node.
    Endpoint,
}

/// What the network lends to a node for the time of one call.
pub struct NodeContext<'a, T> {
    /// Virtual time.
    pub now: Instant,
    pub(super) node: NodeId,
    pub(super) pool: &'a mut Pool,
    pub(super) tap: &'a mut T,
    pub(super) counters: &'a mut NetworkCounters,
}

impl<T: Tap> NodeContext<'_, T> {
    /// A packet that `fill` writes into a buffer of the length of the network's MTU; `fill` gives its length, or
    /// `None` where there is no packet.
    pub fn packet(&mut self, fill: impl FnOnce(&mut [u8]) -> Option<usize>) -> Option<Packet> {
        let Packet(content) = self.pool.next();
        let len = fill(&mut content.buffer)?;
        (content.len, content.damage, content.sent) = (len as u32, None, self.now);
        self.pool.take()
    }

    /// The packet ends here; its buffer is used again.
    pub fn discard(&mut self, packet: Packet) {
        self.pool.give(packet);
    }

    /// Shows a packet that passes the interface of a host.
    #[inline]
    pub(super) fn observe(&mut self, packet: &Packet, outbound: bool) {
        if T::ENABLED {
            let (bytes, damage) = (packet.bytes(), packet.damage());
            self.tap.pass(&Passing { host: self.node, at: self.now, outbound, packet: bytes, damage });
        }
    }
}

/// A part of the network: packets come in, packets go out by its ports, and time passes.
///
/// After each call of [`receive`](Self::receive), [`handle_timeout`](Self::handle_timeout) and
/// [`wake`](Self::wake) the network calls [`poll`](Self::poll) until that returns [`Next::Wait`], and brings
/// each packet to the next node before it asks for another.
pub trait Node<T: Tap>: Any {
    /// A packet arrives.
    fn receive(&mut self, cx: &mut NodeContext<'_, T>, packet: Packet);

    /// The time of [`Next::Wait`] has come.
    fn handle_timeout(&mut self, _cx: &mut NodeContext<'_, T>) {}

    /// The network starts, or the user of the network changed something in this node.
    fn wake(&mut self, _cx: &mut NodeContext<'_, T>) {}

    /// The next packet that leaves the node now, or what the node waits for.
    fn poll(&mut self, cx: &mut NodeContext<'_, T>) -> Next;

    /// Whether it acts before others at the same time.
    fn precedence(&self) -> Precedence {
        Precedence::Endpoint
    }
}
