//! The way from the transmitter to the receiver: delay, jitter and reordering.

use crate::{
    LinkConfig,
    in_flight::{InFlight, PacketInFlight},
    jitter::Jitter,
    random::{Chance, Stream, Streams},
};
use headway_units::{Duration, Instant};

/// Brings packets to the receiver.
#[derive(Clone, Debug)]
pub(crate) struct Propagation<P> {
    delay: Duration,
    jitter: Jitter,
    reorder: (Chance, Stream),
    reorder_delay: Duration,
    /// The latest arrival of a packet that was not held back: none arrives before it, unless jitter reorders.
    last_arrival: Instant,
    /// No packet arrives before this.
    earliest: Instant,
    in_flight: InFlight<P>,
    duplicates: usize,
}

impl<P> Propagation<P> {
    pub(crate) fn new(config: &LinkConfig, streams: &Streams) -> Self {
        let reorder = Chance::new(config.reorder);
        let jitter = Jitter::new(config, streams.jitter.clone());
        Self {
            delay: config.delay,
            last_arrival: Instant::ZERO,
            earliest: Instant::ZERO,
            in_flight: InFlight::new(!reorder.is_never() || jitter.reorders()),
            jitter,
            reorder: (reorder, streams.reorder.clone()),
            reorder_delay: config.reorder_delay,
            duplicates: 0,
        }
    }

    /// The delay without jitter.
    #[inline]
    pub(crate) fn delay(&self) -> Duration {
        self.delay
    }

    /// When a frame whose transmission ends at `end` arrives, if nothing before it arrives later.
    #[inline]
    pub(crate) fn arrival(&mut self, end: Instant) -> Instant {
        end + self.jitter.next_delay()
    }

    /// The least delay that jitter may give.
    #[inline]
    pub(crate) fn least_delay(&self) -> Duration {
        self.jitter.bounds().0
    }

    /// The arrival of the next packet, which is due at `due`: no packet overtakes another, except by jitter that
    /// reorders and those that are held back. Says whether this one is.
    #[inline]
    pub(crate) fn schedule(&mut self, due: Instant) -> (Instant, bool) {
        let at = due.max(if self.jitter.reorders() { self.earliest } else { self.last_arrival });
        self.last_arrival = at.max(self.last_arrival);
        if self.reorder.0.happens(&mut self.reorder.1) {
            (at + self.reorder_delay, true)
        } else {
            (at, false)
        }
    }

    /// [`arrival`](Self::arrival) and [`schedule`](Self::schedule) in one where all packets have the same delay.
    #[inline]
    pub(crate) fn schedule_alike(&mut self, end: Instant) -> Instant {
        self.last_arrival = self.last_arrival.max(end + self.delay);
        self.last_arrival
    }

    /// Sends a packet on its way.
    #[inline]
    pub(crate) fn send(&mut self, packet: PacketInFlight<P>) {
        self.duplicates += usize::from(packet.duplicate);
        self.in_flight.push(packet);
    }

    /// Takes the first packet, if it has arrived by `now`.
    #[inline]
    pub(crate) fn receive(&mut self, now: Instant) -> Option<PacketInFlight<P>> {
        let packet = self.in_flight.pop(now)?;
        self.duplicates -= usize::from(packet.duplicate);
        Some(packet)
    }

    #[inline]
    pub(crate) fn next_arrival(&self) -> Option<Instant> {
        self.in_flight.next_arrival()
    }

    /// Whether a packet that is sent later may arrive before one that is on its way.
    #[inline]
    pub(crate) fn may_reorder(&self) -> bool {
        self.in_flight.may_reorder()
    }

    /// Packets on their way, without duplicates.
    pub(crate) fn originals(&self) -> usize {
        self.in_flight.len() - self.duplicates
    }

    /// The latest arrival of anything sent so far or until `end`, without packets that are held back.
    pub(crate) fn latest_arrival(&self, end: Option<Instant>) -> Instant {
        end.map_or(self.last_arrival, |end| self.last_arrival.max(end + self.jitter.bounds().1))
    }

    /// No packet arrives before `at`.
    pub(crate) fn hold_until(&mut self, at: Instant) {
        self.last_arrival = at;
        self.earliest = at;
    }
}
