//! Whether the window limits the sender.

use super::Ack;
use super::rounds::Rounds;

/// The maximum of bytes in the network during this round trip and the last.
///
/// RFC 9438, 5.8 and RFC 7661: a window that was not used is not validated, so it must not grow. With
/// pacing the whole window is rarely in the network when an ACK arrives, so the maximum of a round trip
/// counts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    rounds: Rounds,
    last: u32,
    current: u32,
}

impl Usage {
    /// An ACK arrived.
    pub(super) fn on_ack(&mut self, ack: &Ack) {
        match &ack.rate {
            Some(rate) if self.rounds.on_sample(rate) => {
                self.last = self.current;
                self.current = 0;
            }
            Some(_) => {}
            // Without rounds only the current value is known.
            None => (self.last, self.current) = (0, 0),
        }
        self.current = self.current.max(ack.prior_pipe);
    }

    /// The maximum of bytes in the network during this round trip and the last.
    pub(super) fn peak(&self) -> u32 {
        self.last.max(self.current)
    }

    /// Whether the sender used a window of `cwnd` bytes.
    pub(super) fn is_limited(&self, cwnd: u32, mss: u32, slow_start: bool) -> bool {
        let peak = self.peak();
        if slow_start {
            // The window doubles in a round trip: the bytes in the network were sent with half of it.
            peak >= cwnd / 2
        } else {
            peak.saturating_add((2 * mss).max(cwnd / 8)) >= cwnd
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{ack, sample};
    use super::*;

    #[test]
    fn the_peak_of_two_rounds_counts() {
        let mut usage = Usage::default();
        let mut at = |prior, total, pipe| {
            let mut one = ack(1000, pipe);
            one.rate = Some(sample(prior, total));
            usage.on_ack(&one);
            usage
        };
        assert!(at(0, 1000, 90_000).is_limited(100_000, 1000, false), "an eighth may be missing");
        assert!(at(1000, 2000, 1000).is_limited(100_000, 1000, false), "the round before counts");
        let usage = at(2000, 3000, 60_000);
        assert!(!usage.is_limited(100_000, 1000, false));
        assert!(usage.is_limited(100_000, 1000, true), "half is enough in slow start");
        assert!(!usage.is_limited(130_000, 1000, true));
    }

    #[test]
    fn without_rounds_this_moment_counts() {
        let mut usage = Usage::default();
        usage.on_ack(&ack(1000, 90_000));
        usage.on_ack(&ack(1000, 1000));
        assert!(!usage.is_limited(100_000, 1000, false));
    }
}
