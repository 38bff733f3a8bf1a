//! The way from the transmitter to the receiver: delay, jitter and reordering.

use super::{
    in_flight::{InFlight, PacketInFlight},
    jitter::Jitter,
};
use crate::{
    DelaySteps, LinkConfig,
    random::{Chance, Stream, Streams},
};
use headway_units::{Duration, Instant};

/// Brings packets to the receiver.
#[derive(Clone, Debug)]
pub(crate) struct Propagation<P> {
    /// Where it does not change.
    delay: Duration,
    delay_steps: Option<DelaySteps>,
    /// The least delay that jitter may give at any time.
    least_delay: Duration,
    /// The latest arrival without jitter: where the delay falls, none is earlier.
    last_due: Instant,
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
        let least = config.delay_steps.as_ref().map_or(config.delay, DelaySteps::least);
        Self {
            delay: config.delay,
            delay_steps: config.delay_steps.clone(),
            least_delay: jitter.bounds(least).0,
            last_due: Instant::ZERO,
            last_arrival: Instant::ZERO,
            earliest: Instant::ZERO,
            in_flight: InFlight::new(!reorder.is_never() || jitter.reorders()),
            jitter,
            reorder: (reorder, streams.reorder.clone()),
            reorder_delay: config.reorder_delay,
            duplicates: 0,
        }
    }

    /// The delay without jitter of a frame whose transmission ends at `end`.
    #[inline]
    fn delay_at(&self, end: Instant) -> Duration {
        self.delay_steps.as_ref().map_or(self.delay, |steps| steps.at(end))
    }

    /// When a frame whose transmission ends at `end` arrives without jitter: not before those in front of it.
    #[inline]
    pub(crate) fn due(&self, end: Instant) -> Instant {
        self.last_due.max(end + self.delay_at(end))
    }

    /// When a frame whose transmission ends at `end` arrives, if jitter lets nothing before it arrive later.
    #[inline]
    pub(crate) fn arrival(&mut self, end: Instant) -> Instant {
        self.last_due = self.due(end);
        end + self.jitter.vary(self.last_due.saturating_since(end))
    }

    /// When the receiver's answer to a frame whose transmission ends at `end` is back, without jitter and without a
    /// queue: it has the delay of the time at which the frame arrives.
    #[inline]
    pub(crate) fn answer(&self, end: Instant) -> Instant {
        let due = self.due(end);
        due + self.delay_at(due)
    }

    /// The least delay that jitter may give.
    #[inline]
    pub(crate) fn least_delay(&self) -> Duration {
        self.least_delay
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

    /// [`arrival`](Self::arrival) and [`schedule`](Self::schedule) in one where all packets have the same delay, whenever
    /// they are sent.
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

    /// The latest arrival of anything sent so far or whose transmission ends between the two times, without packets that
    /// are held back.
    pub(crate) fn latest_arrival(&self, ends: Option<(Instant, Instant)>) -> Instant {
        let Some((first, last)) = ends else { return self.last_arrival };
        let steps = self.delay_steps.as_ref();
        let due =
            steps.map_or(last + self.delay, |steps| self.last_due.max(steps.latest_arrival(first, last)));
        self.last_arrival.max(last + self.jitter.bounds(due.saturating_since(last)).1)
    }

    /// No packet arrives before `at`.
    pub(crate) fn hold_until(&mut self, at: Instant) {
        self.last_arrival = at;
        self.earliest = at;
    }
}
