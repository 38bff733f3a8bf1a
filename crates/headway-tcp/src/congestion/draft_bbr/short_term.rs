//! Losses while not probing for bandwidth: the short-term bounds (draft-ietf-ccwg-bbr, section 5.5.10.3).

use super::super::bbr_common::quantities::{bytes, gained, share};
use super::super::bbr_common::{BETA, NO_RATE, NO_VOLUME};
use super::{DraftBbr, Rs};

/// The delivery of the last round, and the short-term model that follows from it.
#[derive(Debug)]
pub(super) struct Signals {
    pub(super) bw_latest: u64,
    pub(super) inflight_latest: u32,
    pub(super) loss_round_delivered: u64,
    pub(super) loss_round_start: bool,
    pub(super) is_loss_in_round: bool,
    pub(super) bw_shortterm: u64,
    pub(super) inflight_shortterm: u32,
}

impl Signals {
    pub(super) fn new() -> Self {
        Self {
            bw_latest: 0,
            inflight_latest: 0,
            loss_round_delivered: 0,
            loss_round_start: false,
            is_loss_in_round: false,
            bw_shortterm: NO_RATE,
            inflight_shortterm: NO_VOLUME,
        }
    }

    /// ResetCongestionSignals().
    pub(super) fn reset_congestion_signals(&mut self) {
        self.is_loss_in_round = false;
        self.bw_latest = 0;
        self.inflight_latest = 0;
    }

    /// InitLowerBounds(): "Handle the first congestion episode in this cycle".
    fn init_lower_bounds(&mut self, max_bw: u64, cwnd: u32) {
        if self.bw_shortterm == NO_RATE {
            self.bw_shortterm = max_bw;
        }
        if self.inflight_shortterm == NO_VOLUME {
            self.inflight_shortterm = cwnd;
        }
    }

    /// LossLowerBounds(): "Adjust model once per round based on loss".
    fn loss_lower_bounds(&mut self) {
        self.bw_shortterm = self.bw_latest.max(gained(self.bw_shortterm, BETA));
        self.inflight_shortterm = self.inflight_latest.max(share(self.inflight_shortterm, BETA));
    }

    /// ResetShortTermModel().
    pub(super) fn reset_short_term_model(&mut self) {
        self.bw_shortterm = NO_RATE;
        self.inflight_shortterm = NO_VOLUME;
    }
}

impl DraftBbr {
    /// UpdateLatestDeliverySignals(), "Near start of ACK processing".
    pub(super) fn update_latest_delivery_signals(&mut self, rs: &Rs) {
        let signals = &mut self.signals;
        signals.bw_latest = signals.bw_latest.max(rs.delivery_rate);
        signals.inflight_latest = signals.inflight_latest.max(bytes(rs.delivered));
        signals.loss_round_start = rs.prior_delivered >= signals.loss_round_delivered;
        if signals.loss_round_start {
            signals.loss_round_delivered = self.c.delivered;
        }
    }

    /// AdvanceLatestDeliverySignals(), "Near end of ACK processing".
    pub(super) fn advance_latest_delivery_signals(&mut self, rs: &Rs) {
        if self.signals.loss_round_start {
            self.signals.bw_latest = rs.delivery_rate;
            self.signals.inflight_latest = bytes(rs.delivered);
            self.startup_losses.holes.start_round();
        }
    }

    /// UpdateCongestionSignals(): "Update congestion state on every ACK".
    pub(super) fn update_congestion_signals(&mut self, rs: &Rs) {
        self.update_max_bw(rs);
        if !self.signals.loss_round_start {
            return;
        }
        self.adapt_lower_bounds_from_congestion();
        self.signals.is_loss_in_round = false;
    }

    /// AdaptLowerBoundsFromCongestion(): "Once per round-trip respond to congestion".
    fn adapt_lower_bounds_from_congestion(&mut self) {
        // IsProbingBW().
        if !self.state.accelerates() && self.signals.is_loss_in_round {
            self.signals.init_lower_bounds(self.max_bw.max_bw, self.c.cwnd);
            self.signals.loss_lower_bounds();
        }
    }

    /// BoundBWForModel().
    pub(super) fn bound_bw_for_model(&mut self) {
        self.bw = self.max_bw.max_bw.min(self.signals.bw_shortterm);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_lower_the_bounds_by_three_tenths_or_to_what_was_delivered() {
        let mut signals = Signals { bw_latest: 6_000_000, inflight_latest: 50_000, ..Signals::new() };
        signals.init_lower_bounds(10_000_000, 100_000);
        signals.loss_lower_bounds();
        assert_eq!((signals.bw_shortterm, signals.inflight_shortterm), (7_000_000, 70_000));
        signals.init_lower_bounds(10_000_000, 100_000);
        signals.loss_lower_bounds();
        assert_eq!((signals.bw_shortterm, signals.inflight_shortterm), (6_000_000, 50_000));
        signals.reset_short_term_model();
        assert_eq!((signals.bw_shortterm, signals.inflight_shortterm), (NO_RATE, NO_VOLUME));
    }
}
