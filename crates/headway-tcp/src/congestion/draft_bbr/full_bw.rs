//! The plateau of the delivery rate that shows a full pipe (draft-ietf-ccwg-bbr, section 5.3.1.2).

use super::{DraftBbr, Rs};

/// `BBR.full_bw` and what belongs to it (2.13).
#[derive(Debug, Default)]
pub(super) struct FullBw {
    pub(super) full_bw: u64,
    full_bw_count: u32,
    pub(super) full_bw_now: bool,
    pub(super) full_bw_reached: bool,
}

impl FullBw {
    /// ResetFullBW() (5.3.1.2).
    pub(super) fn reset_full_bw(&mut self) {
        self.full_bw = 0;
        self.full_bw_count = 0;
        self.full_bw_now = false;
    }

    /// The rest of CheckFullBWReached(), once a round has ended.
    fn on_round(&mut self, delivery_rate: u64) {
        // "bw is still growing, so reset".
        if u128::from(delivery_rate) * 4 >= u128::from(self.full_bw) * 5 {
            self.reset_full_bw();
            self.full_bw = delivery_rate;
            return;
        }
        // "another round w/o much growth".
        self.full_bw_count += 1;
        self.full_bw_now = self.full_bw_count >= 3;
        self.full_bw_reached |= self.full_bw_now;
    }
}

impl DraftBbr {
    /// CheckFullBWReached() (5.3.1.2).
    pub(super) fn check_full_bw_reached(&mut self, rs: &Rs) {
        if self.full_bw.full_bw_now || !self.round.round_start || rs.is_app_limited {
            return;
        }
        self.full_bw.on_round(rs.delivery_rate);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_rounds_of_less_than_a_quarter_more_fill_the_pipe() {
        let mut pipe = FullBw::default();
        for rate in [100, 125, 157, 170, 180] {
            pipe.on_round(rate);
        }
        assert!(!pipe.full_bw_now);
        pipe.on_round(196);
        assert!(pipe.full_bw_now && pipe.full_bw_reached, "196 is less than 1.25 * 157");
        pipe.reset_full_bw();
        assert_eq!((pipe.full_bw, pipe.full_bw_now, pipe.full_bw_reached), (0, false, true));
    }
}
