//! ProbeRTT: periodically drain the queue, to measure the minimum RTT (draft-ietf-ccwg-bbr,
//! section 5.3.4).

use headway_units::{Duration, Instant};

use super::super::bbr_common::phases::{AckPhase, State};
use super::{Bbr, Signal};

/// "ProbeRTTDuration (200 ms)".
const DURATION: Duration = Duration::from_millis(200);

/// The state of a probe.
#[derive(Debug, Default)]
pub(super) struct ProbeRtt {
    /// When it may end, after the window has been small.
    done: Option<Instant>,
    round_done: bool,
    /// MarkConnectionAppLimited: samples of segments sent up to this delivered count measure the probe,
    /// not the path.
    limited: (u64, u64),
    /// To send less would show whether the path damages packets.
    pub(super) asked: bool,
}

impl ProbeRtt {
    /// Whether a segment, sent at this delivered count, was sent during a probe.
    pub(super) fn limited(&self, prior_delivered: u64) -> bool {
        (self.limited.0..self.limited.1).contains(&prior_delivered)
    }

    /// Nothing was in the network for a retransmission timeout: the queue has drained.
    pub(super) fn on_idle(&mut self) {
        self.done = Some(Instant::ZERO);
    }
}

impl Bbr {
    /// CheckProbeRTT.
    pub(super) fn check_probe_rtt(&mut self, signal: &Signal<'_>) {
        let asked = self.probe_rtt.asked && self.full_pipe.reached;
        if self.state != State::ProbeRtt && (self.model.delay.expired || asked) && !self.idle_restart {
            if asked {
                self.bounds.forget_short_term();
            }
            self.cycle.cut_short = self.state == State::Up || self.cycle.ack_phase == AckPhase::ProbeStopping;
            self.save_cwnd();
            self.state = State::ProbeRtt;
            self.probe_rtt.done = None;
            self.probe_rtt.limited = (self.total_delivered, self.total_delivered);
            self.cycle.ack_phase = AckPhase::ProbeStopping;
            self.start_round();
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(signal.now);
        }
        if signal.sample.delivered > 0 {
            self.idle_restart = false;
        }
    }

    /// HandleProbeRTT.
    fn handle_probe_rtt(&mut self, now: Instant) {
        // "Ignore low rate samples during ProbeRTT".
        self.probe_rtt.limited.1 = self.total_delivered + u64::from(self.inflight) + 1;
        if self.probe_rtt.done.is_some() {
            if self.round_start {
                self.probe_rtt.round_done = true;
            }
            if self.probe_rtt.round_done {
                self.check_probe_rtt_done(now);
            }
        } else if self.inflight <= self.probe_rtt_cwnd() {
            // "Wait for at least BBR.ProbeRTTDuration to elapse", "at least one round".
            self.probe_rtt.done = Some(now + DURATION);
            self.probe_rtt.round_done = false;
            self.start_round();
        }
    }

    /// Whether less is sent to find out what loses packets.
    pub(super) fn experiments(&self) -> bool {
        self.state == State::ProbeRtt && self.probe_rtt.asked
    }

    /// CheckProbeRTTDone.
    pub(super) fn check_probe_rtt_done(&mut self, now: Instant) {
        if self.probe_rtt.done.is_some_and(|done| now > done) && !self.probe_rtt.asked {
            // "schedule next ProbeRTT".
            self.model.delay.on_probed(now);
            self.restore_cwnd();
            self.exit_probe_rtt(now);
        }
    }

    /// ExitProbeRTT: the bytes in flight are below the estimate, so it continues with cruising.
    fn exit_probe_rtt(&mut self, now: Instant) {
        self.bounds.forget_short_term();
        if self.full_pipe.reached {
            self.start_down(now);
            self.start_cruise();
        } else {
            self.state = State::Startup;
        }
    }
}
