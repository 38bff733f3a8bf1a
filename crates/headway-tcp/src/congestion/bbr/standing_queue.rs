//! Whether a queue stands at the bottleneck: whether the least of the latest round-trip times exceeds that of the path.
//!
//! The draft knows a full pipe by three rounds in which the rate does not grow. On a path with a long round-trip time the
//! queue of these rounds is that of a second or two, and may overflow. That more is in the network, that a queue stands,
//! and that the rate is the same, says it within one. The rate is part of it: beside other flows, whose queue stands
//! too, sending more yields more.

use headway_units::Duration;

/// The queue that stood lately. Small, since each connection has one: times are in microseconds.
#[derive(Debug)]
pub(super) struct StandingQueue {
    /// The least round-trip time of the present part of a round.
    least: u32,
    /// Bytes that were delivered when the part began, modulo 2^32.
    begun: u32,
    /// By how much the least of the last part exceeded the path's.
    delay: u32,
}

impl StandingQueue {
    pub(super) fn new() -> Self {
        Self { least: u32::MAX, begun: 0, delay: 0 }
    }

    /// An ACK gave the round-trip time `rtt`, where that of the path is `min`. `delivered` bytes are delivered in all;
    /// a part of a round has `part` of them: enough that jitter hides no empty queue.
    pub(super) fn on_ack(&mut self, rtt: Duration, min: Duration, delivered: u64, part: u32) {
        self.least = self.least.min(micros(rtt));
        if rtt <= min + min / 8 {
            self.delay = 0;
        }
        let delivered = delivered as u32;
        if delivered.wrapping_sub(self.begun) >= part {
            self.delay = self.least.saturating_sub(micros(min));
            self.least = u32::MAX;
            self.begun = delivered;
        }
    }

    /// How long a packet waited in it, in microseconds; zero: none stood.
    pub(super) fn delay(&self) -> u32 {
        self.delay
    }
}

/// At most 71 minutes.
pub(super) fn micros(span: Duration) -> u32 {
    u32::try_from(span.as_micros()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIN: Duration = Duration::from_millis(80);

    /// Milliseconds.
    fn after(samples: &[u64]) -> u32 {
        let mut queue = StandingQueue::new();
        for (delivered, &rtt) in (1000..).step_by(1000).zip(samples) {
            queue.on_ack(Duration::from_millis(rtt), MIN, delivered, 4000);
        }
        queue.delay() / 1000
    }

    #[test]
    fn a_queue_is_what_all_samples_of_a_part_exceed_the_path_by() {
        assert_eq!(after(&[100, 120, 110]), 0, "not yet a part");
        assert_eq!(after(&[100, 120, 110, 130]), 20);
        assert_eq!(after(&[100, 120, 110, 130, 140, 150, 160, 170]), 60);
    }

    #[test]
    fn one_sample_shows_that_it_is_gone() {
        assert_eq!(after(&[100, 120, 110, 130, 91]), 20);
        assert_eq!(after(&[100, 120, 110, 130, 90]), 0, "an eighth more than the path's");
    }
}
