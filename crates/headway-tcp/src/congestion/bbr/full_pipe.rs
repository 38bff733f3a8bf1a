//! Whether a higher sending rate still increases the delivery rate (draft-ietf-ccwg-bbr, section 5.3.1.2).

/// The full-pipe estimator. Rates in bits per second.
#[derive(Debug, Default)]
pub(super) struct FullPipe {
    /// `BBR.full_bw`.
    baseline: u64,
    count: u32,
    /// `BBR.full_bw_now`: the pipe is full by the current search.
    pub(super) now: bool,
    /// `BBR.full_bw_reached`: the pipe has been full before.
    pub(super) reached: bool,
}

impl FullPipe {
    /// ResetFullBW: starts a search from `baseline`.
    pub(super) fn reset(&mut self, baseline: u64) {
        self.baseline = baseline;
        self.count = 0;
        self.now = false;
    }

    /// CheckFullBWReached, on the first sample of a round that the application did not limit. `queued`: a queue stands, so
    /// that one round without growth is enough.
    pub(super) fn on_round(&mut self, rate: u64, queued: bool) {
        if self.now {
            return;
        }
        // "if (RS.delivery_rate >= BBR.full_bw * 1.25)": "bw is still growing".
        if u128::from(rate) * 4 >= u128::from(self.baseline) * 5 {
            self.reset(rate);
            return;
        }
        // "BBR waits three packet-timed round trips".
        self.count += 1;
        self.now = self.count >= 3 || queued;
        self.reached |= self.now;
    }

    /// Whether the rate of the latest round was a quarter higher than any before.
    pub(super) fn grows(&self) -> bool {
        self.count == 0
    }

    /// Whether `rate` is no more than the search began with, to a sixteenth.
    pub(super) fn is_flat(&self, rate: u64) -> bool {
        u128::from(rate) * 16 < u128::from(self.baseline) * 17
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_rounds_of_less_than_a_quarter_more_fill_the_pipe() {
        let mut pipe = FullPipe::default();
        for rate in [100, 125, 157, 170, 180] {
            pipe.on_round(rate, false);
        }
        assert!(!pipe.now);
        pipe.on_round(196, false);
        assert!(pipe.now && pipe.reached, "196 is less than 1.25 * 157");
        assert!(!pipe.is_flat(167) && pipe.is_flat(166), "a sixteenth more than 157");
        pipe.reset(196);
        assert!(!pipe.now && pipe.reached);
    }

    #[test]
    fn beside_a_queue_one_round_does() {
        let mut pipe = FullPipe::default();
        pipe.on_round(100, true);
        pipe.on_round(125, true);
        assert!(!pipe.now, "it grows");
        pipe.on_round(150, true);
        assert!(pipe.now && pipe.reached);
    }
}
