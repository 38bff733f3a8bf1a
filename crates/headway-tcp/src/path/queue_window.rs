//! How long the queue at the bottleneck was lately, from round-trip times.
//!
//! A queue that overflows drops what arrives while it is full, and what is admitted around that time waits for
//! all of it. So a packet that was lost while its neighbours waited for less than half of the longest wait
//! was not lost to an overflow, however shallow the queue is.

use headway_units::{Duration, Instant};

use super::delay::Delay;

/// The longest wait is of the present and of the previous span of this length.
const SPAN: Duration = Duration::from_secs(5);
/// Waits below this, or below this part of the minimum round-trip time, are noise.
const NOISE: Duration = Duration::from_millis(1);
const NOISE_PART: u32 = 64;

/// See the module's documentation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct QueueWindow {
    present: Duration,
    previous: Duration,
    ends: Instant,
}

impl QueueWindow {
    /// A round-trip time was sampled, or is still the latest.
    pub(super) fn on_sample(&mut self, now: Instant, delay: Delay) {
        if now >= self.ends {
            let lapsed = now.saturating_since(self.ends) >= SPAN;
            self.previous = if lapsed { Duration::ZERO } else { self.present };
            self.present = Duration::ZERO;
            self.ends = now + SPAN;
        }
        self.present = self.present.max(delay.wait());
    }

    /// Whether the wait was so short that the queue cannot have overflowed.
    pub(super) fn is_short(&self, delay: Delay) -> bool {
        let longest = self.present.max(self.previous);
        delay.wait() <= (longest / 2).max(delay.min / NOISE_PART).max(NOISE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delay(wait: u64) -> Delay {
        let min = Duration::from_millis(100);
        Delay { latest: min + Duration::from_millis(wait), min, smoothed: min }
    }

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn half_of_the_longest_wait_is_long_however_shallow_the_queue() {
        let mut window = QueueWindow::default();
        window.on_sample(at(0), delay(10));
        window.on_sample(at(1), delay(0));
        assert!(window.is_short(delay(5)) && !window.is_short(delay(6)));
        window.on_sample(at(2), delay(100));
        assert!(window.is_short(delay(50)) && !window.is_short(delay(51)));
    }

    #[test]
    fn what_was_long_ago_is_forgotten() {
        let mut window = QueueWindow::default();
        window.on_sample(at(0), delay(100));
        window.on_sample(at(6), delay(10));
        assert!(window.is_short(delay(50)), "of the previous span");
        window.on_sample(at(12), delay(10));
        assert!(!window.is_short(delay(6)));
    }

    #[test]
    fn noise_says_nothing() {
        assert!(QueueWindow::default().is_short(delay(1)));
        assert!(!QueueWindow::default().is_short(delay(3)));
    }
}
