//! ProbeRTT (draft-ietf-ccwg-bbr, section 5.3.4).

use headway_units::{Duration, Instant};

use super::super::bbr_common::phases::{AckPhase, State};
use super::{DraftBbr, Rs};

/// "ProbeRTTDuration: [...] 200 ms".
const PROBE_RTT_DURATION: Duration = Duration::from_millis(200);

/// The state of a probe.
#[derive(Debug, Default)]
pub(super) struct ProbeRtt {
    /// `BBR.probe_rtt_done_stamp`; `None` is the draft's zero.
    done_stamp: Option<Instant>,
    /// `BBR.probe_rtt_round_done`.
    round_done: bool,
}

impl DraftBbr {
    /// CheckProbeRTT() (5.3.4.3).
    pub(super) fn check_probe_rtt(&mut self, rs: &Rs) {
        if self.state != State::ProbeRtt && self.min_rtt.probe_rtt_expired && !self.idle_restart {
            self.enter_probe_rtt();
            // In this state already: a larger window that was saved before stays saved.
            self.save_cwnd();
            self.probe_rtt.done_stamp = None;
            self.cycle.ack_phase = AckPhase::ProbeStopping;
            self.start_round();
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(rs.now);
        }
        if rs.delivered > 0 {
            self.idle_restart = false;
        }
    }

    /// EnterProbeRTT() (5.3.4.3). The gains follow from the state.
    fn enter_probe_rtt(&mut self) {
        self.state = State::ProbeRtt;
    }

    /// HandleProbeRTT() (5.3.4.3).
    fn handle_probe_rtt(&mut self, now: Instant) {
        // "Ignore low rate samples during ProbeRTT".
        self.c.mark_connection_app_limited();
        if self.probe_rtt.done_stamp.is_some() {
            if self.round.round_start {
                self.probe_rtt.round_done = true;
            }
            if self.probe_rtt.round_done {
                self.check_probe_rtt_done(now);
            }
        } else if self.c.inflight <= self.probe_rtt_cwnd() {
            // "Wait for at least BBR.ProbeRTTDuration to elapse", "at least one round".
            self.probe_rtt.done_stamp = Some(now + PROBE_RTT_DURATION);
            self.probe_rtt.round_done = false;
            self.start_round();
        }
    }

    /// CheckProbeRTTDone() (5.3.4.3).
    pub(super) fn check_probe_rtt_done(&mut self, now: Instant) {
        if self.probe_rtt.done_stamp.is_some_and(|done| now > done) {
            // "schedule next ProbeRTT".
            self.min_rtt.schedule_next_probe_rtt(now);
            self.restore_cwnd();
            self.exit_probe_rtt(now);
        }
    }

    /// ExitProbeRTT() (5.3.4.4).
    fn exit_probe_rtt(&mut self, now: Instant) {
        self.signals.reset_short_term_model();
        if self.full_bw.full_bw_reached {
            self.start_probe_bw_down(now);
            self.start_probe_bw_cruise();
        } else {
            self.enter_startup();
        }
    }
}
