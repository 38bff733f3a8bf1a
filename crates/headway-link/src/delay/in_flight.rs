//! Packets in flight, in the order of their arrival.

use crate::Hit;
use headway_units::Instant;
use std::{
    cmp::Ordering,
    collections::{BinaryHeap, VecDeque},
};

/// A packet on its way.
#[derive(Clone, Debug)]
pub(crate) struct PacketInFlight<P> {
    pub(crate) at: Instant,
    pub(crate) packet: P,
    pub(crate) len: usize,
    pub(crate) damage: Option<Hit>,
    pub(crate) duplicate: bool,
}

/// Packets on their way, in order of arrival; those that arrive at the same time in the order they
/// were sent.
#[derive(Clone, Debug)]
pub(crate) enum InFlight<P> {
    /// For links where nothing overtakes.
    InOrder(VecDeque<PacketInFlight<P>>),
    /// For links where packets may be held back.
    AnyOrder { heap: BinaryHeap<Sorted<P>>, sent: u64 },
}

impl<P> InFlight<P> {
    pub(crate) fn new(may_reorder: bool) -> Self {
        if may_reorder {
            Self::AnyOrder { heap: BinaryHeap::new(), sent: 0 }
        } else {
            Self::InOrder(VecDeque::new())
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, packet: PacketInFlight<P>) {
        match self {
            Self::InOrder(queue) => {
                debug_assert!(queue.back().is_none_or(|last| last.at <= packet.at));
                queue.push_back(packet);
            }
            Self::AnyOrder { .. } => self.push_sorted(packet),
        }
    }

    #[inline(never)]
    fn push_sorted(&mut self, packet: PacketInFlight<P>) {
        if let Self::AnyOrder { heap, sent } = self {
            heap.push(Sorted { order: *sent, packet });
            *sent += 1;
        }
    }

    /// Takes the first packet, if it has arrived by `now`.
    #[inline]
    pub(crate) fn pop(&mut self, now: Instant) -> Option<PacketInFlight<P>> {
        if self.next_arrival()? > now {
            return None;
        }
        match self {
            Self::InOrder(queue) => queue.pop_front(),
            Self::AnyOrder { heap, .. } => heap.pop().map(|sorted| sorted.packet),
        }
    }

    #[inline]
    pub(crate) fn next_arrival(&self) -> Option<Instant> {
        match self {
            Self::InOrder(queue) => queue.front().map(|packet| packet.at),
            Self::AnyOrder { heap, .. } => heap.peek().map(|sorted| sorted.packet.at),
        }
    }

    /// Whether a packet that is sent later may arrive before one that is on its way.
    #[inline]
    pub(crate) fn may_reorder(&self) -> bool {
        matches!(self, Self::AnyOrder { .. })
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::InOrder(queue) => queue.len(),
            Self::AnyOrder { heap, .. } => heap.len(),
        }
    }
}

/// A packet that sorts first (as the greatest of a max-heap) when it arrives first.
#[derive(Clone, Debug)]
pub(crate) struct Sorted<P> {
    order: u64,
    packet: PacketInFlight<P>,
}

impl<P> Sorted<P> {
    fn key(&self) -> (Instant, u64) {
        (self.packet.at, self.order)
    }
}

impl<P> Ord for Sorted<P> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

impl<P> PartialOrd for Sorted<P> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<P> PartialEq for Sorted<P> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<P> Eq for Sorted<P> {}
