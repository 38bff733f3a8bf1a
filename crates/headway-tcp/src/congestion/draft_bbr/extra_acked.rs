//! The excess of what ACKs aggregate (draft-ietf-ccwg-bbr, section 5.5.9).

use headway_units::Instant;

use super::super::bbr_common::aggregation::Aggregation;
use super::{DraftBbr, Rs};

/// `BBR.extra_acked` and its filter.
#[derive(Debug, Default)]
pub(super) struct ExtraAcked {
    filter: Aggregation,
    pub(super) extra_acked: u32,
}

impl ExtraAcked {
    /// Sets `BBR.extra_acked_interval_start`.
    pub(super) fn restart_interval(&mut self, now: Instant) {
        self.filter.restart(now);
    }
}

impl DraftBbr {
    /// UpdateACKAggregation() (5.5.9).
    pub(super) fn update_ack_aggregation(&mut self, rs: &Rs) {
        let round = self.round.round_count;
        self.extra_acked.filter.on_ack(rs.now, rs.newly_acked, self.bw, self.c.cwnd, round);
        // "in Startup, just remember 1 round".
        self.extra_acked.extra_acked =
            self.extra_acked.filter.extra_acked(round, !self.full_bw.full_bw_reached);
    }
}
