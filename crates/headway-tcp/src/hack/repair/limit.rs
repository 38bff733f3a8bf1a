//! How much is tried: for one packet, and in a second.

use headway_units::{Duration, Instant};

/// Tests that one packet has left: how often something that its sum protects, or the sum itself, is held against
/// that sum. Each accepts a header that was not sent with a probability of 2^-32, all of them together with less
/// than 2^-12.
pub(super) struct Budget(usize);

impl Default for Budget {
    fn default() -> Self {
        Self(1 << 20)
    }
}

impl Budget {
    /// Takes this number of tests, if they are left.
    pub(super) fn take(&mut self, tests: usize) -> bool {
        let left = self.0.checked_sub(tests);
        self.0 = left.unwrap_or(self.0);
        left.is_some()
    }

    #[cfg(test)]
    pub(super) fn used(&self) -> usize {
        Self::default().0 - self.0
    }
}

/// The time between two searches in the mean: at most 10,000 a second.
const INTERVAL: Duration = Duration::from_micros(100);
/// How far they may run ahead of that: a thousand at once.
const BURST: Duration = Duration::from_millis(100);

/// Bounds the packets that are searched.
#[derive(Default)]
pub(super) struct SearchLimit {
    /// When all searches so far would be over, each of which takes [`INTERVAL`].
    busy_until: Instant,
}

impl SearchLimit {
    /// Whether one more packet may be searched; it counts then.
    pub(super) fn admit(&mut self, now: Instant) -> bool {
        let start = self.busy_until.max(now);
        let admitted = start.saturating_since(now) < BURST;
        if admitted {
            self.busy_until = start + INTERVAL;
        }
        admitted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn searches_are_limited_by_the_second() {
        let mut limit = SearchLimit::default();
        let at = |ms: u64| Instant::ZERO + Duration::from_millis(ms);
        let mut admitted = |ms: u64, tries: usize| (0..tries).filter(|_| limit.admit(at(ms))).count();
        assert_eq!(admitted(5000, 100_000), 1000, "a burst");
        assert_eq!(admitted(5050, 100_000), 500);
        assert_eq!((0..1000).map(|ms| admitted(5050 + ms, 100)).sum::<usize>(), 9990, "10 a millisecond");
        assert_eq!(admitted(10_000, 100_000), 1000, "no more after a pause");
    }

    #[test]
    fn a_packet_has_a_million_tests() {
        let mut budget = Budget::default();
        assert!(
            budget.take(1 << 19) && !budget.take((1 << 19) + 1) && budget.take(1 << 19) && !budget.take(1)
        );
    }
}
