//! Pacing: what the window allows is spread over the round trip.

use headway_units::{Duration, Instant, Rate};

/// What may leave at once, as time at the pacing rate: a timer that fires each millisecond keeps up.
const BURST: Duration = Duration::from_millis(1);

/// When the next segment may leave.
#[derive(Debug, Default)]
pub(crate) struct Pacer {
    /// When the last segment would be gone if segments left evenly.
    next: Instant,
}

impl Pacer {
    /// When a segment may leave: now, if that is not later than `now`.
    pub(crate) fn ready_at(&self) -> Instant {
        self.next
    }

    /// A segment of this many bytes is sent.
    pub(crate) fn on_sent(&mut self, now: Instant, bytes: u32, rate: Rate) {
        // Time that was not used gives no right to a burst, except a short one.
        let from = self.next.max(now - BURST);
        self.next = from + rate.transmit_time(u64::from(bytes));
    }
}

/// The pacing rate of a controller that has only a window: the window each round trip, and
/// more than that so that it can grow: Linux and RFC 9002, 7.7 take 1.25; in slow start twice, as the window
/// doubles.
pub(crate) fn window_rate(window: u32, smoothed: Duration, slow_start: bool) -> Rate {
    each_round_trip(window, if slow_start { 200 } else { 125 }, smoothed)
}

/// One segment each round trip.
pub(crate) fn min_rate(mss: u32, smoothed: Duration) -> Rate {
    each_round_trip(mss.max(1), 100, smoothed)
}

fn each_round_trip(bytes: u32, percent: u128, smoothed: Duration) -> Rate {
    let nanos = u128::from(smoothed.as_nanos().max(1));
    let bits = u128::from(bytes) * 8 * percent * 10_000_000 / nanos;
    Rate::from_bits_per_second(u64::try_from(bits).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_leave_evenly() {
        let rate = window_rate(125_000, Duration::from_millis(100), false);
        assert_eq!(rate, Rate::from_bits_per_second(12_500_000));
        let mut pacer = Pacer::default();
        let start = Instant::ZERO + Duration::from_secs(1);
        for _ in 0..100 {
            pacer.on_sent(start, 1250, rate);
        }
        let span = pacer.ready_at().saturating_since(start);
        assert_eq!(span, Duration::from_millis(79), "80 ms less the burst");
    }
}
