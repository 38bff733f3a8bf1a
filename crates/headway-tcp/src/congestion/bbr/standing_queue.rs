//! Whether a queue stands at the bottleneck: whether the least of the latest round-trip times exceeds that of the path.
//!
//! The draft knows a full pipe by three rounds in which the rate does not grow. On a path with a long round-trip time the
//! queue of these rounds is that of a second or two, and may overflow. That more is in the network, that a queue stands,
//! and that the rate is the same, says it within one. The rate is part of it: beside other flows, whose queue stands
//! too, sending more yields more.

use headway_units::Duration;

/// The queue that stood lately.
#[derive(Debug, Default)]
pub(super) struct StandingQueue {
    /// The least round-trip time of the present part of a round.
    least: Option<Duration>,
    /// Bytes that were delivered when the part began.
    begun: u64,
    /// By how much the least of the last part exceeded the path's.
    delay: Duration,
}

impl StandingQueue {
    /// An ACK gave the round-trip time `rtt`, where that of the path is `min`. `delivered` bytes are delivered in all;
    /// a part of a round has `part` of them: enough that jitter hides no empty queue.
    pub(super) fn on_ack(&mut self, rtt: Duration, min: Duration, delivered: u64, part: u32) {
        let least = self.least.map_or(rtt, |least| least.min(rtt));
        self.least = Some(least);
        if rtt <= min + min / 8 {
            self.delay = Duration::ZERO;
        }
        if delivered.saturating_sub(self.begun) >= part.into() {
            self.delay = least - min;
            self.least = None;
            self.begun = delivered;
        }
    }

    /// How long a packet waited in it; zero: none stood.
    pub(super) fn delay(&self) -> Duration {
        self.delay
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIN: Duration = Duration::from_millis(80);

    fn after(samples: &[u64]) -> Duration {
        let mut queue = StandingQueue::default();
        for (delivered, &rtt) in (1000..).step_by(1000).zip(samples) {
            queue.on_ack(Duration::from_millis(rtt), MIN, delivered, 4000);
        }
        queue.delay()
    }

    #[test]
    fn a_queue_is_what_all_samples_of_a_part_exceed_the_path_by() {
        assert_eq!(after(&[100, 120, 110]), Duration::ZERO, "not yet a part");
        assert_eq!(after(&[100, 120, 110, 130]), Duration::from_millis(20));
        assert_eq!(after(&[100, 120, 110, 130, 140, 150, 160, 170]), Duration::from_millis(60));
    }

    #[test]
    fn one_sample_shows_that_it_is_gone() {
        assert_eq!(after(&[100, 120, 110, 130, 91]), Duration::from_millis(20));
        assert_eq!(after(&[100, 120, 110, 130, 90]), Duration::ZERO, "an eighth more than the path's");
    }
}
