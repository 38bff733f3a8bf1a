//! How long the queue at the bottleneck was lately, from round-trip times.
//!
//! A queue that overflows drops what arrives while it is full, and what is admitted around that time waits for
//! all of it. So a packet that was lost while its neighbours waited for less than half of the longest wait
//! was not lost to an overflow, however shallow the queue is.
//!
//! A single long round trip is no queue: the receiver may have delayed its ACK. A queue delays what follows too.

use headway_units::{Duration, Instant};

use super::delay::Delay;

/// The longest wait is of the present and of the previous span of this length.
const SPAN: Duration = Duration::from_secs(5);
/// Waits below this, or below this part of the minimum round-trip time, are noise.
const NOISE: Duration = Duration::from_millis(1);
const NOISE_PART: u32 = 64;

/// Active queue management drops nothing that waits for less: CoDel's target (RFC 8289, 4.3), a third of PIE's (RFC 8033, 4.2).
const UNMANAGED: Duration = Duration::from_millis(5);

/// How long a queue was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Queue {
    /// So short that nothing drops its packets.
    Empty,
    /// So short that it cannot have overflowed.
    Short,
    /// It may have overflowed.
    Long,
}

/// See the module's documentation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct QueueWindow {
    present: Duration,
    previous: Duration,
    ends: Instant,
    /// The last wait.
    last: Duration,
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
        }
        let wait = delay.wait();
        // As long as no other is sampled, the latest is given again.
        if wait != self.last {
            self.present = self.present.max(wait.min(self.last));
            self.last = wait;
        }
    }

    /// How long the queue was at the time of the sample `delay`.
    pub(super) fn length(&self, delay: Delay) -> Queue {
        let half = self.present.max(self.previous) / 2;
        let noise = (delay.min / NOISE_PART).max(NOISE);
        let wait = delay.wait();
        if wait <= (half / 2).min(UNMANAGED).max(noise) {
            Queue::Empty
        } else if wait <= half.max(noise) {
            Queue::Short
        } else {
            Queue::Long
        }
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

    /// Whether a queue of this wait cannot have overflowed.
    fn is_short(window: &QueueWindow, wait: u64) -> bool {
        window.length(delay(wait)) != Queue::Long
    }

    #[test]
    fn half_of_the_longest_wait_is_long_however_shallow_the_queue() {
        let mut window = QueueWindow::default();
        sample(&mut window, 0, &[0, 11, 10, 0]);
        assert!(is_short(&window, 5) && !is_short(&window, 6));
        sample(&mut window, 2, &[101, 100]);
        assert!(is_short(&window, 50) && !is_short(&window, 51));
    }

    #[test]
    fn a_delayed_ack_is_no_queue() {
        let mut window = QueueWindow::default();
        sample(&mut window, 0, &[10, 11, 60, 60, 10, 11]);
        assert!(is_short(&window, 5) && !is_short(&window, 6));
    }

    #[test]
    fn what_was_long_ago_is_forgotten() {
        let mut window = QueueWindow::default();
        sample(&mut window, 0, &[100, 101]);
        window.on_sample(at(6), delay(10));
        assert!(is_short(&window, 50), "of the previous span");
        window.on_sample(at(12), delay(11));
        assert!(!is_short(&window, 6));
        sample(&mut window, 12, &[100, 101]);
        window.on_sample(at(60), delay(40));
        assert!(!is_short(&window, 6), "a minute later: not two in a row");
    }

    #[test]
    fn noise_says_nothing() {
        assert!(is_short(&QueueWindow::default(), 1));
        assert!(!is_short(&QueueWindow::default(), 3));
    }

    #[test]
    fn what_no_discipline_drops_is_empty() {
        let mut window = QueueWindow::default();
        sample(&mut window, 0, &[101, 100]);
        let lengths = [5, 6, 50, 51].map(|wait| window.length(delay(wait)));
        assert_eq!(lengths, [Queue::Empty, Queue::Short, Queue::Short, Queue::Long]);
        let mut shallow = QueueWindow::default();
        sample(&mut shallow, 0, &[9, 8]);
        let lengths = [2, 3, 4, 5].map(|wait| shallow.length(delay(wait)));
        assert_eq!(lengths, [Queue::Empty, Queue::Short, Queue::Short, Queue::Long], "a quarter is less");
    }
}
