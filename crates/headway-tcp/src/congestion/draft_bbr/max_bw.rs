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
    use headway_units::Instant;

    use super::super::super::testing::setup;
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

    /// 5.5.5, where the samples of both cycles have expired.
    #[test]
    fn a_sample_that_the_application_limits_only_raises_the_bandwidth_and_none_changes_nothing() {
        let after = |(delivery_rate, is_app_limited)| {
            let mut bbr = DraftBbr::new(&setup(10));
            bbr.max_bw.update(10);
            bbr.max_bw.advance_max_bw_filter();
            bbr.max_bw.advance_max_bw_filter();
            bbr.update_max_bw(&Rs {
                now: Instant::ZERO,
                rtt: None,
                delivery_rate,
                delivered: 0,
                prior_delivered: 0,
                newly_acked: 0,
                is_app_limited,
                tx_in_flight: 0,
                lost: 0,
            });
            bbr.max_bw.max_bw
        };
        let unlimited = [0, 9, 11].map(|rate| after((rate, false)));
        let limited = [0, 9, 10, 11].map(|rate| after((rate, true)));
        assert_eq!((unlimited, limited), ([10, 9, 11], [10, 10, 10, 11]));
    }
}
