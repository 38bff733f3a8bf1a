//! Startup (draft-ietf-ccwg-bbr, section 5.3.1).

use super::super::bbr_common::holes::Holes;
use super::super::bbr_common::phases::State;
use super::super::bbr_common::{STARTUP_FULL_LOSS_COUNT, is_too_high};
use super::{DraftBbr, Rs};

/// What CheckStartupHighLoss() judges: the losses of a round.
#[derive(Debug, Default)]
pub(super) struct StartupLosses {
    pub(super) holes: Holes,
}

impl DraftBbr {
    /// EnterStartup() (5.3.1.1). The gains follow from the state.
    pub(super) fn enter_startup(&mut self) {
        self.state = State::Startup;
    }

    /// CheckStartupDone() (5.3.1.1).
    pub(super) fn check_startup_done(&mut self, rs: &Rs) {
        self.check_startup_high_loss(rs);
        if self.state == State::Startup && self.full_bw.full_bw_reached {
            self.enter_drain();
        }
    }

    /// CheckStartupHighLoss() (5.3.1.3): for at least a whole round in fast recovery, more than LossThresh lost in it, and
    /// "at least BBRStartupFullLossCnt=6 discontiguous sequence ranges".
    fn check_startup_high_loss(&mut self, rs: &Rs) {
        if self.state == State::Startup
            && self.signals.loss_round_start
            && self.recovery.has_lasted_a_round(rs.prior_delivered)
            && self.startup_losses.holes.count() >= STARTUP_FULL_LOSS_COUNT
            && is_too_high(rs.lost, rs.tx_in_flight)
        {
            self.exit_startup_for_losses();
        }
    }

    /// The steps of CheckStartupHighLoss() where it ends Startup. That full_bw_now becomes true too is in A.2.
    pub(super) fn exit_startup_for_losses(&mut self) {
        self.undo.state = Some(State::Startup);
        self.full_bw.full_bw_reached = true;
        self.full_bw.full_bw_now = true;
        // "max(BBR.bdp, BBR.inflight_latest)".
        self.inflight_longterm = self.bdp().max(self.signals.inflight_latest);
        self.enter_drain();
    }
}
