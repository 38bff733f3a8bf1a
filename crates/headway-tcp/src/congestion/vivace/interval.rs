//! Monitor intervals: times in which segments are sent at one rate, and what became of them.

use headway_units::{Duration, Instant};

/// What an interval is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Slow start: each has twice the rate of the one before.
    Start,
    /// One of a pair, at a higher or lower rate.
    Probe,
    /// The results of others are waited for.
    Wait,
}

/// A monitor interval.
#[derive(Debug)]
pub(super) struct Interval {
    pub(super) purpose: Purpose,
    /// Bits per second.
    pub(super) rate: u64,
    pub(super) start: Instant,
    /// When it is to end, and then when it ended.
    pub(super) end: Instant,
    /// Segments.
    pub(super) sent: u64,
    pub(super) lost: u64,
    pub(super) delays: Delays,
}

impl Interval {
    pub(super) fn new(purpose: Purpose, rate: u64, start: Instant, length: Duration) -> Self {
        Self { purpose, rate, start, end: start + length, sent: 0, lost: 0, delays: Delays::default() }
    }

    pub(super) fn contains(&self, sent_at: Instant) -> bool {
        (self.start..self.end).contains(&sent_at)
    }

    /// Whether what was sent shows what its rate does: three quarters of that and more.
    pub(super) fn is_sound(&self, mss: u32) -> bool {
        let nanos = u128::from(self.end.saturating_since(self.start).as_nanos());
        let wanted = u128::from(self.rate) * nanos / 8_000_000_000;
        u128::from(self.sent) * u128::from(mss) * 4 >= wanted * 3
    }
}

/// Round-trip times over the times of sending, for the line through them (4.3: "Estimating the RTT gradient via linear
/// regression").
#[derive(Debug, Default)]
pub(super) struct Delays {
    count: i128,
    /// Sums, in microseconds.
    at: i128,
    rtt: i128,
    at_at: i128,
    at_rtt: i128,
}

impl Delays {
    pub(super) fn add(&mut self, at: Duration, rtt: Duration) {
        // A day is longer than any interval.
        let [at, rtt] = [at, rtt].map(|time| i128::from(time.as_micros().min(86_400_000_000)));
        self.count += 1;
        self.at += at;
        self.rtt += rtt;
        self.at_at += at * at;
        self.at_rtt += at * rtt;
    }

    /// The slope of the line, with this many bits of fraction.
    pub(super) fn slope(&self, fraction: u32) -> i128 {
        let spread = self.count * self.at_at - self.at * self.at;
        let together = self.count * self.at_rtt - self.at * self.rtt;
        if spread == 0 { 0 } else { together.saturating_mul(1 << fraction) / spread }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_through_round_trip_times() {
        let slope = |rtts: &[u64]| {
            let mut delays = Delays::default();
            for (place, &rtt) in rtts.iter().enumerate() {
                delays.add(Duration::from_millis(10 * place as u64), Duration::from_micros(rtt));
            }
            (delays.slope(32) * 1000 + (1 << 31)) >> 32
        };
        assert_eq!(slope(&[100_000, 100_500, 101_000, 101_500]), 50);
        assert_eq!(slope(&[100_000, 99_000, 98_000]), -100);
        assert_eq!(slope(&[100_000, 101_000, 100_000]), 0);
        assert_eq!(slope(&[100_000]), 0);
    }
}
