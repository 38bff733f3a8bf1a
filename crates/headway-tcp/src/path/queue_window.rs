//! How long the queue at the bottleneck was lately, from round-trip times.
//!
//! A queue that overflows drops what arrives while it is full, and what is admitted around that time waits for
//! all of it. So a packet that was lost while its neighbours waited for less than half of the longest wait
//! was not lost to an overflow, however shallow the queue is.
//!
//! A single long round trip is no queue: the receiver may have delayed its ACK. A queue delays what follows too.

use headway_units::{Duration, Instant};

use super::delay::Delay;
use super::others_queue::OthersQueue;

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
    /// The last wait.
    last: Duration,
    /// Whether others keep the queue.
    others: OthersQueue,
}

impl QueueWindow {
    /// A round-trip time was sampled, or is still the latest.
    pub(super) fn on_sample(&mut self, now: Instant, delay: Delay) {
        if now >= self.ends {
            let lapsed = now.saturating_since(self.ends) >= SPAN;
            if lapsed {
                self.last = Duration::ZERO;
            }
            self.previous = if lapsed { Duration::ZERO } else { self.present };
            self.present = Duration::ZERO;
            self.ends = now + SPAN;
            self.others.halve();
        }
        let wait = delay.wait();
        // As long as no other is sampled, the latest is given again.
        if wait != self.last {
            self.present = self.present.max(wait.min(self.last));
            self.last = wait;
        }
    }

    /// Segments sent at the path's rate reached the receiver.
    pub(super) fn on_survived(&mut self, segments: u32, delay: Delay) {
        self.others.on_survived(segments, delay);
    }

    /// Whether others keep a queue.
    pub(super) fn is_of_others(&self) -> bool {
        self.others.stands()
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

    fn sample(window: &mut QueueWindow, seconds: u64, waits: &[u64]) {
        for &wait in waits {
            window.on_sample(at(seconds), delay(wait));
        }
    }

    #[test]
    fn half_of_the_longest_wait_is_long_however_shallow_the_queue() {
        let mut window = QueueWindow::default();
        sample(&mut window, 0, &[0, 11, 10, 0]);
        assert!(window.is_short(delay(5)) && !window.is_short(delay(6)));
        sample(&mut window, 2, &[101, 100]);
        assert!(window.is_short(delay(50)) && !window.is_short(delay(51)));
    }

    #[test]
    fn a_delayed_ack_is_no_queue() {
        let mut window = QueueWindow::default();
        sample(&mut window, 0, &[10, 11, 60, 60, 10, 11]);
        assert!(window.is_short(delay(5)) && !window.is_short(delay(6)));
    }

    #[test]
    fn what_was_long_ago_is_forgotten() {
        let mut window = QueueWindow::default();
        sample(&mut window, 0, &[100, 101]);
        window.on_sample(at(6), delay(10));
        assert!(window.is_short(delay(50)), "of the previous span");
        window.on_sample(at(12), delay(11));
        assert!(!window.is_short(delay(6)));
        sample(&mut window, 12, &[100, 101]);
        window.on_sample(at(60), delay(40));
        assert!(!window.is_short(delay(6)), "a minute later: not two in a row");
    }

    #[test]
    fn the_queue_of_others_is_forgotten_with_the_spans() {
        let mut window = QueueWindow::default();
        window.on_survived(100, delay(10));
        for span in 0..3 {
            assert!(window.is_of_others());
            window.on_sample(at(6 * span), delay(0));
            window.on_survived(100, delay(0));
        }
        assert!(!window.is_of_others());
    }

    #[test]
    fn noise_says_nothing() {
        assert!(QueueWindow::default().is_short(delay(1)));
        assert!(!QueueWindow::default().is_short(delay(3)));
    }
}
