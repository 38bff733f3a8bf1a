//! When to acknowledge (RFC 9293, 3.8.6.3; RFC 5681, 4.2).

use headway_units::{Duration, Instant};

use crate::profile::DelayedAck;

/// Whether an ACK is owed now, later, or not at all.
pub(crate) struct AckSchedule {
    config: DelayedAck,
    clock: Duration,
    now: bool,
    deadline: Option<Instant>,
    /// Linux 2.2's estimate of the gap between arrivals.
    gap: Option<Duration>,
    /// When data last arrived.
    last_arrival: Instant,
    quick: bool,
}

impl AckSchedule {
    pub(crate) fn new(config: DelayedAck, clock: Duration) -> Self {
        Self {
            config,
            clock,
            now: false,
            deadline: None,
            gap: None,
            last_arrival: Instant::ZERO,
            quick: config.adaptive,
        }
    }

    /// Whether the delay is a part of the round-trip time.
    pub(crate) fn is_short(&self) -> bool {
        self.config.part.is_some()
    }

    pub(crate) fn is_due(&self) -> bool {
        self.now
    }

    /// When the ACK that is held back must leave.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// An ACK must leave at once.
    pub(crate) fn at_once(&mut self) {
        self.now = true;
    }

    /// Data arrived; `at_once` if it is not to be held back anyway (out of order, or the second
    /// segment). The times are the receiver's view of the retransmission timeout, and of the round-trip time.
    pub(crate) fn on_data(&mut self, now: Instant, at_once: bool, (rto, round_trip): (Duration, Duration)) {
        let since = now.saturating_since(self.last_arrival);
        if self.config.adaptive {
            self.follow_gap(now, rto);
        }
        self.last_arrival = now;
        let part = self.config.part.map_or(Duration::MAX, |part| round_trip / part);
        let hold = self.hold().min(part);
        let is_second = self.is_short() && self.deadline.is_some();
        if at_once || is_second || self.quick || hold.is_zero() || since > part / 2 {
            self.now = true;
        } else if self.deadline.is_none() {
            self.deadline = Some(now + hold);
        }
        self.quick = false;
    }

    fn hold(&self) -> Duration {
        match self.gap {
            Some(gap) if self.config.adaptive => gap.min(self.config.timeout),
            _ => self.config.timeout,
        }
    }

    /// Linux 2.2: half of the last estimate plus the gap just seen, but no more than the
    /// retransmission timeout.
    fn follow_gap(&mut self, now: Instant, rto: Duration) {
        let seen = now.saturating_since(self.last_arrival).max(self.clock);
        self.gap = Some(match self.gap {
            None => self.clock,
            Some(_) if seen > rto => rto,
            Some(gap) => gap / 2 + seen,
        });
    }

    /// The time for which an ACK was held back is over.
    pub(crate) fn expire(&mut self) {
        if self.deadline.take().is_some() {
            self.now = true;
        }
    }

    /// An ACK left.
    pub(crate) fn on_ack_sent(&mut self) {
        self.now = false;
        self.deadline = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux 2.2: the gap that was seen counts whole, and half of the last estimate, up to the retransmission timeout.
    #[test]
    fn a_gap_beyond_the_retransmission_timeout_is_taken_for_as_long_as_that() {
        let millis = Duration::from_millis;
        let config = DelayedAck { timeout: millis(500), adaptive: true, part: None };
        for (gap, held) in [(150, 155), (200, 205), (201, 200), (5000, 200)] {
            let mut schedule = AckSchedule::new(config, millis(10));
            let mut now = Instant::ZERO;
            schedule.on_data(now, false, (millis(200), millis(100)));
            assert!(schedule.is_due(), "the first is acknowledged at once");
            schedule.on_ack_sent();
            now += millis(gap);
            schedule.on_data(now, false, (millis(200), millis(100)));
            assert_eq!(schedule.deadline(), Some(now + millis(held)), "{gap}");
        }
    }

    /// With a part of the round-trip time: where segments follow one another in less than half of that.
    #[test]
    fn an_ack_waits_only_for_a_segment_that_is_about_to_come() {
        let millis = Duration::from_millis;
        let config = DelayedAck { timeout: millis(40), adaptive: false, part: Some(32) };
        for (round_trip, gap, held) in
            [(320, 4, Some(10)), (320, 6, None), (3200, 30, Some(40)), (0, 0, None)]
        {
            let mut schedule = AckSchedule::new(config, millis(1));
            let mut now = Instant::ZERO + millis(1000);
            for _ in 0..2 {
                schedule.on_ack_sent();
                now += millis(gap);
                schedule.on_data(now, false, (millis(200), millis(round_trip)));
            }
            assert_eq!(schedule.deadline(), held.map(|held| now + millis(held)), "{round_trip} {gap}");
            assert_eq!(schedule.is_due(), held.is_none(), "{round_trip} {gap}");
            // Also beyond a gap, where nothing is acknowledged.
            schedule.on_data(now, false, (millis(200), millis(round_trip)));
            assert!(schedule.is_due(), "the second segment: {round_trip} {gap}");
        }
    }
}
