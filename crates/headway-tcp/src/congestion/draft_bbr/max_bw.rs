//! The maximum bandwidth of two ProbeBW cycles (draft-ietf-ccwg-bbr, sections 5.5.2 to 5.5.6).

use super::{DraftBbr, Rs};

/// `BBR.max_bw` and its filter, of MaxBwFilterLen = 2: "the current cycle and the previous full cycle".
#[derive(Debug, Default)]
pub(super) struct MaxBw {
    pub(super) max_bw: u64,
    this_cycle: u64,
    last_cycle: u64,
}

impl MaxBw {
    /// UpdateWindowedMaxFilter().
    fn update(&mut self, delivery_rate: u64) {
        self.this_cycle = self.this_cycle.max(delivery_rate);
        self.max_bw = self.this_cycle.max(self.last_cycle);
    }

    /// AdvanceMaxBwFilter() (5.5.6). What expires leaves BBR.max_bw with the next sample.
    pub(super) fn advance_max_bw_filter(&mut self) {
        self.last_cycle = core::mem::take(&mut self.this_cycle);
    }
}

impl DraftBbr {
    /// UpdateMaxBw() (5.5.5).
    pub(super) fn update_max_bw(&mut self, rs: &Rs) {
        self.update_round(rs);
        if rs.delivery_rate > 0 && (rs.delivery_rate >= self.max_bw.max_bw || !rs.is_app_limited) {
            self.max_bw.update(rs.delivery_rate);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bandwidth_is_the_maximum_of_two_cycles() {
        let mut filter = MaxBw::default();
        filter.update(10);
        filter.update(8);
        assert_eq!(filter.max_bw, 10);
        filter.advance_max_bw_filter();
        filter.update(7);
        assert_eq!(filter.max_bw, 10, "of the cycle before");
        filter.advance_max_bw_filter();
        assert_eq!(filter.max_bw, 10, "until there is a sample");
        filter.update(6);
        assert_eq!(filter.max_bw, 7);
    }
}
