//! The one place that reads the machine's clocks.

use std::time::{Instant as StdInstant, SystemTime, UNIX_EPOCH};

use headway_units::Instant;

/// A clock that never goes back, in nanoseconds since 1970: the machine's monotonic clock, set by
/// its calendar clock when it was made. A later change of the calendar does not move it.
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
    /// A clock that shows the calendar's time now.
    #[expect(clippy::disallowed_methods, reason = "a live driver reads the clock")]
    pub fn new() -> Self {
        Self { started: StdInstant::now(), epoch: calendar() }
    }

    /// What it shows.
    pub fn now(&self) -> Instant {
        Instant::from_nanos(self.epoch + self.started.elapsed().as_nanos() as u64)
    }

    /// What it showed when the calendar clock showed `stamp` nanoseconds since 1970, as the kernel
    /// stamps packets. `now` is what this clock shows now, `calendar` what the calendar does; a stamp
    /// from the future, or from more than a second ago, is taken for a clock that was set.
    pub(crate) fn at_stamp(now: Instant, calendar: u64, stamp: u64) -> Instant {
        const LONGEST: u64 = 1_000_000_000;
        match calendar.checked_sub(stamp) {
            Some(age) if age <= LONGEST => Instant::from_nanos(now.as_nanos().saturating_sub(age)),
            _ => now,
        }
    }
}

/// The calendar's time, in nanoseconds since 1970.
#[expect(clippy::disallowed_methods, reason = "a live driver reads the clock")]
pub(crate) fn calendar() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_become_times_of_this_clock() {
        let now = Instant::from_nanos(5_000_000_000);
        assert_eq!(Clock::at_stamp(now, 9_000_000_000, 8_999_000_000), Instant::from_nanos(4_999_000_000));
        assert_eq!(Clock::at_stamp(now, 9_000_000_000, 9_000_000_001), now, "from the future");
        assert_eq!(Clock::at_stamp(now, 9_000_000_000, 7_000_000_000), now, "the calendar was set");
    }

    #[test]
    fn it_does_not_go_back() {
        let clock = Clock::new();
        let first = clock.now();
        assert!(clock.now() >= first);
    }
}
