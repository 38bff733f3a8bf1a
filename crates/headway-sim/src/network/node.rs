//! What a node of the network does, and what it works with.

use std::any::Any;

use headway_units::Instant;

use super::packet::Packet;
use super::parts::{NodeId, Port};
use super::pool::Pool;
use super::tap::{Passing, Tap};

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
    /// Packets for which a router had no route, or whose IP header it could not read.
    pub unroutable: u64,
    /// Programs that came to an end ([`Application::has_ended`](crate::Application::has_ended)).
    pub ended: u64,
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
        self.pool.next().refill(self.now, fill)?;
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
