//! The control law of CoDel (RFC 8289, section 5), for one queue of packets with timestamps.

use headway_units::{Duration, Instant};

use super::fifo::Fifo;
use super::mark::mark_capable;
use crate::{Frame, LinkCounters};

/// CoDel's parameters (RFC 8289, section 4).
#[derive(Clone, Copy, Debug)]
pub(super) struct Parameters {
    /// Acceptable standing queue delay.
    pub(super) target: Duration,
    /// How long the delay may exceed it: about a worst-case round trip.
    pub(super) interval: Duration,
}

/// The state of CoDel for one queue, with the names of the pseudocode.
#[derive(Clone, Debug)]
pub(super) struct ControlLaw {
    parameters: Parameters,
    /// When the delay will have been above the target for an interval; `None` while it is below.
    first_above_time: Option<Instant>,
    /// When to drop next.
    drop_next: Instant,
    /// Packets dropped since it went into the dropping state.
    count: u32,
    /// `count` when it last did.
    last_count: u32,
    dropping: bool,
}

impl ControlLaw {
    pub(super) fn new(parameters: Parameters) -> Self {
        Self {
            parameters,
            first_above_time: None,
            drop_next: Instant::ZERO,
            count: 0,
            last_count: 0,
            dropping: false,
        }
    }

    /// The queue was empty when a packet was asked for.
    pub(super) fn on_empty(&mut self) {
        self.first_above_time = None;
        self.dropping = false;
    }

    /// The next packet of `fifo`, after the drops that are due. `max_packet` is the length of the longest
    /// packet. What can be marked is marked where another is dropped, and leaves.
    pub(super) fn dequeue<P: AsMut<[u8]>>(
        &mut self,
        now: Instant,
        fifo: &mut Fifo<P>,
        max_packet: u64,
        counters: &mut LinkCounters,
    ) -> Option<Frame<P>> {
        let (mut frame, mut ok_to_drop) = self.dodequeue(now, fifo, max_packet);
        if self.dropping {
            // "sojourn time below TARGET - leave drop state"
            self.dropping = ok_to_drop;
            // "Time for the next drop. Drop current packet and dequeue next. If the dequeue doesn't take us
            // out of dropping state, schedule the next drop. A large backlog might result in drop rates so
            // high that the next drop should happen now, hence the 'while' loop."
            while self.dropping && now >= self.drop_next {
                self.count = self.count.saturating_add(1);
                if frame.as_mut().is_some_and(|frame| mark_capable(frame, counters)) {
                    self.drop_next = self.next_drop(self.drop_next);
                    break;
                }
                count_drop(counters);
                (frame, ok_to_drop) = self.dodequeue(now, fifo, max_packet);
                self.dropping = ok_to_drop;
                if ok_to_drop {
                    self.drop_next = self.next_drop(self.drop_next);
                }
            }
        } else if ok_to_drop {
            // "If we get here, we're not in drop state. The 'ok_to_drop' return from dodequeue means that the
            // sojourn time has been above 'TARGET' for 'INTERVAL', so enter drop state."
            if !frame.as_mut().is_some_and(|frame| mark_capable(frame, counters)) {
                count_drop(counters);
                (frame, _) = self.dodequeue(now, fifo, max_packet);
            }
            self.dropping = true;
            // "If min went above TARGET close to when it last went below, assume that the drop rate that
            // controlled the queue on the last cycle is a good starting point to control it now."
            let delta = self.count - self.last_count.min(self.count);
            let is_recent = now.saturating_since(self.drop_next) < self.parameters.interval * 16;
            self.count = if delta > 1 && is_recent { delta } else { 1 };
            self.drop_next = self.next_drop(now);
            self.last_count = self.count;
        }
        frame
    }

    /// The next packet, and whether it may be dropped.
    fn dodequeue<P>(
        &mut self,
        now: Instant,
        fifo: &mut Fifo<P>,
        max_packet: u64,
    ) -> (Option<Frame<P>>, bool) {
        let Some((came, frame)) = fifo.pop() else {
            // "queue is empty - we can't be above TARGET"
            self.first_above_time = None;
            return (None, false);
        };
        let sojourn_time = now.saturating_since(came);
        if sojourn_time < self.parameters.target || fifo.bytes() <= max_packet {
            // "went below - stay below for at least INTERVAL"
            self.first_above_time = None;
            return (Some(frame), false);
        }
        // "just went above from below. if still above at first_above_time, will say it's ok to drop."
        let first_above_time = *self.first_above_time.get_or_insert(now + self.parameters.interval);
        (Some(frame), now >= first_above_time)
    }

    /// "t + INTERVAL / sqrt(count)", rounded down to the nanosecond.
    fn next_drop(&self, t: Instant) -> Instant {
        let interval = u128::from(self.parameters.interval.as_nanos());
        t + Duration::from_nanos((interval * interval / u128::from(self.count.max(1))).isqrt() as u64)
    }
}

fn count_drop(counters: &mut LinkCounters) {
    counters.queue_drops += 1;
    counters.queue_left += 1;
}
