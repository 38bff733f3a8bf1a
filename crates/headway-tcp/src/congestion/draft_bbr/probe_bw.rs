//! ProbeBW: its states and their order (draft-ietf-ccwg-bbr, section 5.3.3.9).

use headway_units::{Duration, Instant};

use super::super::bbr_common::phases::{AckPhase, State};
use super::super::bbr_common::quantities::share;
use super::super::bbr_common::{HEADROOM, MIN_PIPE_SEGMENTS, NO_VOLUME};
use super::{DraftBbr, Rs};

/// The state of ProbeBW (2.14).
#[derive(Debug, Default)]
pub(super) struct Cycle {
    pub(super) ack_phase: AckPhase,
    pub(super) is_bw_probe_sample: bool,
    pub(super) rounds_since_probe_up: u32,
    pub(super) bw_probe_wait: Duration,
    pub(super) cycle_stamp: Instant,
    pub(super) bw_probe_up_rounds: u32,
    pub(super) bw_probe_up_acked: u32,
    /// `None`: Infinity.
    pub(super) probe_up_acked_per_inc: Option<u32>,
    pub(super) prev_probe_too_high: bool,
    pub(super) prev_probe_precautionary: bool,
}

impl DraftBbr {
    /// EnterProbeBW().
    pub(super) fn enter_probe_bw(&mut self, now: Instant) {
        self.start_probe_bw_down(now);
    }

    /// StartProbeBW_DOWN().
    pub(super) fn start_probe_bw_down(&mut self, now: Instant) {
        self.signals.reset_congestion_signals();
        // "not growing BBR.inflight_longterm".
        self.cycle.probe_up_acked_per_inc = None;
        self.pick_probe_wait();
        self.cycle.cycle_stamp = now;
        self.cycle.ack_phase = AckPhase::ProbeStopping;
        self.start_round();
        self.state = State::Down;
    }

    /// StartProbeBW_CRUISE().
    pub(super) fn start_probe_bw_cruise(&mut self) {
        self.state = State::Cruise;
    }

    /// StartProbeBW_REFILL().
    pub(super) fn start_probe_bw_refill(&mut self) {
        self.signals.reset_short_term_model();
        self.cycle.bw_probe_up_rounds = 0;
        self.cycle.bw_probe_up_acked = 0;
        self.cycle.prev_probe_precautionary = false;
        self.cycle.ack_phase = AckPhase::Refilling;
        self.start_round();
        self.state = State::Refill;
    }

    /// StartProbeBW_UP().
    fn start_probe_bw_up(&mut self, rs: &Rs) {
        self.cycle.ack_phase = AckPhase::ProbeStarting;
        self.start_round();
        self.full_bw.reset_full_bw();
        self.full_bw.full_bw = rs.delivery_rate;
        self.state = State::Up;
        self.raise_inflight_longterm_slope();
    }

    /// UpdateProbeBWCyclePhase().
    pub(super) fn update_probe_bw_cycle_phase(&mut self, rs: &Rs) {
        if !self.full_bw.full_bw_reached || self.adapt_long_term_model(rs) {
            return;
        }
        match self.state {
            State::Down => self.update_down(rs),
            State::Cruise => {
                self.is_time_to_probe_bw(rs.now);
            }
            State::Refill => self.update_refill(rs),
            State::Up => self.update_up(rs),
            State::Startup | State::Drain | State::ProbeRtt => {}
        }
    }

    /// The case ProbeBW_DOWN of UpdateProbeBWCyclePhase().
    fn update_down(&mut self, rs: &Rs) {
        if !self.is_time_to_probe_bw(rs.now) && self.is_time_to_cruise() {
            self.start_probe_bw_cruise();
        }
    }

    /// The case ProbeBW_REFILL: "After one round of REFILL, start UP".
    fn update_refill(&mut self, rs: &Rs) {
        if self.round.round_start {
            self.cycle.is_bw_probe_sample = true;
            self.start_probe_bw_up(rs);
        }
    }

    /// The case ProbeBW_UP.
    fn update_up(&mut self, rs: &Rs) {
        if self.is_time_to_go_down(rs) {
            // "no high loss (yet)".
            self.cycle.prev_probe_too_high = false;
            self.start_probe_bw_down(rs.now);
        }
    }

    /// IsTimeToCruise().
    fn is_time_to_cruise(&self) -> bool {
        self.c.inflight <= self.inflight_with_headroom()
            && self.c.inflight <= self.inflight(self.max_bw.max_bw, 100)
    }

    /// IsTimeToGoDown().
    fn is_time_to_go_down(&mut self, rs: &Rs) -> bool {
        // "Precautionary Bandwidth Probing: Deceleration".
        if self.cycle.prev_probe_too_high && self.c.inflight >= self.inflight_longterm {
            self.cycle.prev_probe_precautionary = true;
            return true;
        }
        if self.c.usage.is_cwnd_limited() && self.c.cwnd >= self.inflight_longterm {
            // "bw is limited by BBR.inflight_longterm".
            self.full_bw.reset_full_bw();
            self.full_bw.full_bw = rs.delivery_rate;
            return false;
        }
        self.full_bw.full_bw_now
    }

    /// InflightWithHeadroom().
    pub(super) fn inflight_with_headroom(&self) -> u32 {
        if self.inflight_longterm == NO_VOLUME {
            return NO_VOLUME;
        }
        let headroom = share(self.inflight_longterm, HEADROOM).max(self.c.smss);
        self.inflight_longterm.saturating_sub(headroom).max(self.min_pipe_cwnd())
    }

    /// `BBR.MinPipeCwnd` (5.6.4.3).
    pub(super) fn min_pipe_cwnd(&self) -> u32 {
        MIN_PIPE_SEGMENTS.saturating_mul(self.c.smss)
    }
}
