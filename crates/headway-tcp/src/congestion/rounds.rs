//! Round trips, counted by delivered bytes rather than by time.

use super::RateSample;

/// Determines where one round trip ends and the next begins.
///
/// draft-ietf-ccwg-bbr, section 5.5.1: "waiting for an ACK of any data packet that was sent after that
/// sentinel packet"; the bytes delivered when a segment was sent give the time of its sending.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rounds {
    /// Bytes delivered when the current round began.
    end: u64,
}

impl Rounds {
    /// Whether this sample begins a round.
    pub(super) fn on_sample(&mut self, sample: &RateSample) -> bool {
        self.on_delivered(sample.prior_delivered, sample.total_delivered)
    }

    /// Whether the ACK of a segment begins a round, by the delivered bytes when it was sent and now.
    pub(super) fn on_delivered(&mut self, prior_delivered: u64, total_delivered: u64) -> bool {
        let begins = prior_delivered >= self.end;
        if begins {
            self.end = total_delivered;
        }
        begins
    }

    /// Starts a round, with this many bytes delivered so far.
    pub(super) fn restart(&mut self, total_delivered: u64) {
        self.end = total_delivered;
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::sample;
    use super::*;

    #[test]
    fn a_round_ends_with_the_first_segment_sent_after_it_began() {
        let mut rounds = Rounds::default();
        assert!(rounds.on_sample(&sample(0, 1000)), "the first of all");
        assert!(!rounds.on_sample(&sample(0, 2000)), "sent before anything was delivered");
        assert!(rounds.on_sample(&sample(1000, 3000)), "sent once the first was delivered");
        assert!(!rounds.on_sample(&sample(2000, 4000)));
        assert!(rounds.on_sample(&sample(3000, 5000)));
    }
}
