//! The long-term bound on what is in flight (draft-ietf-ccwg-bbr, sections 5.3.3.5, 5.3.3.6 and 5.3.3.9).

use super::super::bbr_common::phases::{AckPhase, State};
use super::super::bbr_common::{NO_VOLUME, is_too_high};
use super::{DraftBbr, Rs};

impl DraftBbr {
    /// AdaptLongTermModel() (5.3.3.9): "Returns true if it decided a state transition".
    pub(super) fn adapt_long_term_model(&mut self, rs: &Rs) -> bool {
        if self.cycle.ack_phase == AckPhase::ProbeStarting && self.round.round_start {
            // "starting to get bw probing samples".
            self.cycle.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.cycle.ack_phase == AckPhase::ProbeStopping && self.round.round_start {
            // "end of samples from bw probing phase".
            self.cycle.is_bw_probe_sample = false;
            self.cycle.ack_phase = AckPhase::Init;
            if self.state.probes_bandwidth() && !rs.is_app_limited {
                self.max_bw.advance_max_bw_filter();
            }
            // "Precautionary Bandwidth Probing: Acceleration".
            if self.state.probes_bandwidth()
                && self.cycle.prev_probe_precautionary
                && !self.cycle.prev_probe_too_high
            {
                self.start_probe_bw_refill();
                return true;
            }
        }
        if !is_too_high(rs.lost, rs.tx_in_flight) {
            // "Loss rate is safe. Adjust upper bounds upward."
            if self.inflight_longterm == NO_VOLUME {
                return false;
            }
            self.inflight_longterm = self.inflight_longterm.max(rs.tx_in_flight);
            if self.state == State::Up {
                self.probe_inflight_longterm_upward(rs);
            }
        }
        false
    }

    /// ProbeInflightLongtermUpward() (5.3.3.9).
    fn probe_inflight_longterm_upward(&mut self, rs: &Rs) {
        if !self.c.usage.is_cwnd_limited() || self.c.cwnd < self.inflight_longterm {
            // "not fully using BBR.inflight_longterm, so don't grow it".
            return;
        }
        self.cycle.bw_probe_up_acked = self.cycle.bw_probe_up_acked.saturating_add(rs.newly_acked);
        if let Some(per_inc) = self.cycle.probe_up_acked_per_inc
            && self.cycle.bw_probe_up_acked >= per_inc
        {
            let delta = self.cycle.bw_probe_up_acked / per_inc;
            self.cycle.bw_probe_up_acked -= delta * per_inc;
            self.inflight_longterm = self.inflight_longterm.saturating_add(delta.saturating_mul(self.c.smss));
        }
        if self.round.round_start {
            self.raise_inflight_longterm_slope();
        }
    }

    /// RaiseInflightLongtermSlope() (5.3.3.9).
    pub(super) fn raise_inflight_longterm_slope(&mut self) {
        let growth_this_round = 1 << self.cycle.bw_probe_up_rounds;
        self.cycle.bw_probe_up_rounds = (self.cycle.bw_probe_up_rounds + 1).min(30);
        self.cycle.probe_up_acked_per_inc = Some((self.c.cwnd / growth_this_round).max(self.c.smss).max(1));
    }
}
