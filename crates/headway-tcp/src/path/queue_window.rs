//! How long the queue at the bottleneck was lately, from round-trip times.
//!
//! A queue that overflows drops what arrives while it is full, and what is admitted around that time waits for
//! all of it. So a packet that was lost while its neighbours waited for less than half of the longest wait
//! was not lost to an overflow, however shallow the queue is.
//!
//! A single long round trip is no queue: the receiver may have delayed its ACK. A queue delays what follows too.
//!
//! A packet waits for as long as its round-trip time exceeds the shortest of late, which is that of an empty queue, or of the
//! part of a queue that never drains. The shortest of all times would take a path that became longer for a queue that never
//! ends.

use headway_units::{Duration, Instant};

use super::delay::Delay;
use super::others_queue::OthersQueue;

/// What is kept is of the present and of the previous span of this length.
const SPAN: Duration = Duration::from_secs(5);
/// Waits below this, or below this part of the round-trip time without a queue, are noise.
const NOISE: Duration = Duration::from_millis(1);
const NOISE_PART: u32 = 64;
/// A queue that never lets wait for longer than this, or than this part of the round-trip time without a queue, is not seen.
/// A probe for bandwidth adds a quarter of a bandwidth-delay product, if the queue has room for it.
const UNSEEN: Duration = Duration::from_millis(3);
const UNSEEN_PART: u32 = 8;

/// Round-trip times of one span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    /// The longest, of two in a row.
    longest: Duration,
    shortest: Duration,
}

impl Default for Span {
    fn default() -> Self {
        Self { longest: Duration::ZERO, shortest: Duration::MAX }
    }
}

impl Span {
    /// Whether it has no samples of its own, only what was known before a pause.
    fn is_inherited(&self) -> bool {
        self.longest.is_zero()
    }
}

/// See the module's documentation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct QueueWindow {
    present: Span,
    previous: Span,
    ends: Instant,
    /// Whether others keep the queue.
    others: OthersQueue,
}

impl QueueWindow {
    /// A round-trip time was sampled after `before`, or is still the latest.
    pub(super) fn on_sample(&mut self, now: Instant, before: Option<Delay>, delay: Delay) {
        let mut before = before.map_or(Duration::ZERO, |before| before.latest);
        if now >= self.ends {
            if now.saturating_since(self.ends) < SPAN {
                self.previous = self.present;
            } else {
                // The queue of that time is gone; the path is the same, as far as was seen since the last such pause.
                before = Duration::ZERO;
                let known = if self.previous.is_inherited() { self.present.shortest } else { self.floor() };
                self.previous = Span { shortest: known, ..Span::default() };
            }
            self.present = Span::default();
            self.ends = now + SPAN;
            self.others.halve();
        }
        self.present.shortest = self.present.shortest.min(delay.latest);
        // As long as no other is sampled, the latest is given again.
        if delay.latest != before {
            self.present.longest = self.present.longest.max(delay.latest.min(before));
        }
    }

    /// Segments sent at the path's rate reached the receiver.
    pub(super) fn on_survived(&mut self, segments: u32, delay: Delay) {
        self.others.on_survived(segments, self.wait(delay));
    }

    /// Whether others keep a queue.
    pub(super) fn is_of_others(&self) -> bool {
        self.others.stands()
    }

    /// Whether there was a queue of late in which others could have been seen.
    pub(super) fn was_seen(&self) -> bool {
        self.longest() > UNSEEN.max(self.floor() / UNSEEN_PART)
    }

    /// Whether the wait was so short that the queue cannot have overflowed.
    pub(super) fn is_short(&self, delay: Delay) -> bool {
        self.wait(delay) <= (self.longest() / 2).max(self.floor() / NOISE_PART).max(NOISE)
    }

    /// The shortest round-trip time of late.
    fn floor(&self) -> Duration {
        self.present.shortest.min(self.previous.shortest)
    }

    /// The longest wait of late.
    fn longest(&self) -> Duration {
        self.present.longest.max(self.previous.longest) - self.floor()
    }

    fn wait(&self, delay: Delay) -> Duration {
        delay.latest - self.floor()
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

    /// Samples with these waits follow each other.
    fn sample(window: &mut QueueWindow, seconds: u64, waits: &[u64]) {
        let mut before = None;
        for delay in waits.iter().map(|wait| delay(*wait)) {
            window.on_sample(at(seconds), before.replace(delay), delay);
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
    fn a_queue_of_less_than_an_eighth_is_not_seen() {
        let mut window = QueueWindow::default();
        assert!(!window.was_seen());
        sample(&mut window, 0, &[0, 12, 12]);
        assert!(!window.was_seen());
        sample(&mut window, 0, &[13, 0]);
        assert!(!window.was_seen(), "not two in a row");
        sample(&mut window, 0, &[14, 13]);
        assert!(window.was_seen());
        sample(&mut window, 12, &[0]);
        assert!(!window.was_seen(), "long ago");
    }

    #[test]
    fn a_delayed_ack_is_no_queue() {
        let mut window = QueueWindow::default();
        sample(&mut window, 0, &[0, 10, 11, 60, 60, 10, 11]);
        assert!(window.is_short(delay(5)) && !window.is_short(delay(6)));
    }

    #[test]
    fn what_was_long_ago_is_forgotten() {
        let mut window = QueueWindow::default();
        sample(&mut window, 0, &[0, 100, 101]);
        sample(&mut window, 6, &[0, 10]);
        assert!(window.is_short(delay(50)), "of the previous span");
        sample(&mut window, 12, &[10, 11]);
        assert!(!window.is_short(delay(6)));
        sample(&mut window, 12, &[100, 101]);
        sample(&mut window, 60, &[40]);
        assert!(!window.is_short(delay(6)), "a minute later: not two in a row");
    }

    #[test]
    fn the_queue_of_others_is_forgotten_with_the_spans() {
        let mut window = QueueWindow::default();
        sample(&mut window, 0, &[0]);
        window.on_survived(100, delay(10));
        for span in 0..3 {
            assert!(window.is_of_others());
            sample(&mut window, 6 * (span + 1), &[0]);
            window.on_survived(100, delay(0));
        }
        assert!(!window.is_of_others());
    }

    #[test]
    fn a_path_that_became_longer_is_no_long_queue() {
        let mut window = QueueWindow::default();
        sample(&mut window, 0, &[0, 11, 10]);
        for seconds in [6, 9] {
            sample(&mut window, seconds, &[280, 291, 290]);
            window.on_survived(100, delay(280));
            assert!(
                !window.is_short(delay(280)) && window.is_of_others(),
                "after {seconds} s it may be a queue"
            );
        }
        sample(&mut window, 12, &[280, 291, 290]);
        assert!(window.is_short(delay(285)) && !window.is_short(delay(286)));
        window.on_survived(2000, delay(280));
        assert!(!window.is_of_others());
    }

    #[test]
    fn a_path_is_not_longer_after_a_pause() {
        let mut window = QueueWindow::default();
        sample(&mut window, 0, &[0]);
        sample(&mut window, 100, &[50, 51]);
        assert!(!window.is_short(delay(26)) && window.is_short(delay(25)));
    }

    #[test]
    fn a_path_that_became_longer_is_known_after_two_pauses() {
        let mut window = QueueWindow::default();
        sample(&mut window, 0, &[0]);
        for (seconds, known) in [(20, 0), (40, 280), (60, 280)] {
            sample(&mut window, seconds, &[280, 281, 280]);
            assert_eq!(window.floor(), Duration::from_millis(100 + known), "after {seconds} s");
        }
        // As long as its sender does not pause, the present and the previous span count.
        sample(&mut window, 66, &[300, 301]);
        sample(&mut window, 90, &[300, 301]);
        assert_eq!(window.floor(), Duration::from_millis(380));
    }

    #[test]
    fn noise_says_nothing() {
        let mut window = QueueWindow::default();
        sample(&mut window, 0, &[0]);
        assert!(window.is_short(delay(1)) && !window.is_short(delay(3)));
    }
}
