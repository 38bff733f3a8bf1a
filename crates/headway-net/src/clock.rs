//! The one place that reads the machine's clocks.

use std::time::{Instant as StdInstant, SystemTime, UNIX_EPOCH};

use headway_units::Instant;

/// A monotonic clock in nanoseconds since 1970: the machine's monotonic clock, initialised from its
/// real-time clock. Later changes of the real-time clock do not affect it.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    started: StdInstant,
    epoch: u64,
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock {
    /// A clock initialised with the current real time.
    #[expect(clippy::disallowed_methods, reason = "a live driver reads the clock")]
    pub fn new() -> Self {
        Self { started: StdInstant::now(), epoch: real_time() }
    }

    /// The current time.
    pub fn now(&self) -> Instant {
        Instant::from_nanos(self.epoch + self.started.elapsed().as_nanos() as u64)
    }

    /// The time of this clock at the real time `timestamp`, with which the kernel timestamps packets.
    /// `now` is the current time of this clock, `real_time` the current real time; a timestamp from the
    /// future, or more than a second old, means that the real-time clock was set, and gives `now`.
    pub(crate) fn at_timestamp(now: Instant, real_time: u64, timestamp: u64) -> Instant {
        const LONGEST: u64 = 1_000_000_000;
        match real_time.checked_sub(timestamp) {
            Some(age) if age <= LONGEST => Instant::from_nanos(now.as_nanos().saturating_sub(age)),
            _ => now,
        }
    }
}

/// The real time, in nanoseconds since 1970.
#[expect(clippy::disallowed_methods, reason = "a live driver reads the clock")]
pub(crate) fn real_time() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_time_is_counted_in_nanoseconds_from_1970() {
        let year_2020 = 1_577_836_800 * 1_000_000_000;
        assert!(real_time() > year_2020);
    }

    #[test]
    fn timestamps_become_times_of_this_clock() {
        let now = Instant::from_nanos(5_000_000_000);
        assert_eq!(
            Clock::at_timestamp(now, 9_000_000_000, 8_999_000_000),
            Instant::from_nanos(4_999_000_000)
        );
        assert_eq!(Clock::at_timestamp(now, 9_000_000_000, 9_000_000_001), now, "from the future");
        assert_eq!(
            Clock::at_timestamp(now, 9_000_000_000, 7_000_000_000),
            now,
            "the real-time clock was set"
        );
    }

    #[test]
    fn it_does_not_go_back() {
        let clock = Clock::new();
        let first = clock.now();
        assert!(clock.now() >= first);
    }
}
