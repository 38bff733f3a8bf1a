//! Window and pacing rate, derived from the model (draft-ietf-ccwg-bbr, section 5.6).

use headway_units::Duration;

use super::super::Ack;
use super::super::bbr_common::NO_VOLUME;
use super::super::bbr_common::phases::State;
use super::super::bbr_common::quantities::{gained, rate_of, volume};
use super::Bbr;
use super::standing_queue::micros;
use crate::rules::Rule;

/// "PacingMarginPercent constant of 1", "to help drive the network toward lower queues". Where no one else waits in the
/// queue there is none.
const PACING_MARGIN: u64 = 1;
/// "StartupPacingGain (2.77)", in percent, like all gains here.
const STARTUP_PACING_GAIN: u64 = 277;
/// Startup's gains while a queue stands. As conservative slow start does (RFC 9406, 4.2: "CSS_GROWTH_DIVISOR = 4"), the rate
/// grows by a fourth of what it did, which is still more than the quarter a round that keeps Startup going.
const CAUTIOUS_PACING_GAIN: u64 = 144;
const CAUTIOUS_CWND_GAIN: u64 = 150;

/// Each round trip in ProbeBW_CRUISE drains one in this many parts of a standing queue, but with no less than the gain of
/// ProbeBW_DOWN, 0.9.
const DRAIN_ROUNDS: u64 = 4;
const MOST_OVERESTIMATED: u64 = 10;

/// The maximum rounds in which Startup is slow start.
const EARLY_ROUNDS: u64 = 4;
/// "ProbeRTTCwndGain = 0.5".
const PROBE_RTT_CWND_GAIN: u64 = 50;

impl Bbr {
    /// The table of 5.6.1.
    pub(super) fn pacing_gain(&self) -> u64 {
        match self.state {
            State::Startup if self.starts_cautiously() => CAUTIOUS_PACING_GAIN,
            State::Startup => STARTUP_PACING_GAIN,
            State::Drain => 50,
            State::Down => self.cycle.down_gain,
            State::Cruise => 100 - self.overestimate(),
            State::Refill | State::ProbeRtt => 100,
            State::Up => 125,
        }
    }

    /// By how much the bandwidth seems to be overestimated, in percent: a queue stands that no one else keeps. What exceeds it
    /// now is seen a round trip later, so it is drained within [`DRAIN_ROUNDS`].
    fn overestimate(&self) -> u64 {
        let delay = self.standing_queue.delay();
        match self.model.delay.min_rtt.map(micros) {
            Some(min) if self.alone && self.rules_off.hold(Rule::CruiseDrain) && delay > min / 8 => {
                let share = u64::from(delay) * 100 / (DRAIN_ROUNDS * u64::from(min.max(1)));
                share.min(MOST_OVERESTIMATED)
            }
            _ => 0,
        }
    }

    fn cwnd_gain(&self) -> u64 {
        match self.state {
            State::Startup if self.starts_cautiously() => CAUTIOUS_CWND_GAIN,
            State::Startup | State::Drain | State::Down | State::Cruise | State::Refill => 200,
            State::Up => 225,
            State::ProbeRtt => PROBE_RTT_CWND_GAIN,
        }
    }

    /// 5.6.2, InitPacingRate.
    pub(super) fn init_pacing_rate(&mut self, rtt: Duration) {
        self.pacing_rate =
            self.pacing_rate.max(gained(rate_of(self.initial_window(), rtt), STARTUP_PACING_GAIN));
    }

    /// 5.6.2, SetPacingRateWithGain: "if (BBR.full_bw_reached || rate > C.pacing_rate)".
    pub(super) fn set_pacing_rate(&mut self, gain: u64) {
        let margin = if self.alone { 0 } else { PACING_MARGIN };
        let mut rate = gained(gained(self.bw, gain), 100 - margin);
        if self.is_early()
            && let Some(min_rtt) = self.model.delay.min_rtt
        {
            rate = rate.max(gained(rate_of(self.cwnd, min_rtt), 200));
        }
        if rate > 0 && (self.full_pipe.reached || self.starts_cautiously() || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }

    /// 5.6.4.6, SetCwnd.
    pub(super) fn set_cwnd(&mut self, newly_acked: u32) {
        let max_inflight = self.max_inflight();
        let grown = self.cwnd.saturating_add(newly_acked);
        if self.full_pipe.reached {
            self.cwnd = grown.min(max_inflight);
        } else if !self.resume.holds_window()
            && (self.cwnd < max_inflight
                || self.total_delivered < u64::from(self.initial_window())
                || self.is_early())
        {
            self.cwnd = grown;
        }
        self.cwnd = self.cwnd.max(self.min_pipe_cwnd());
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        self.bound_cwnd_for_model();
    }

    /// Whether Startup seems to have filled the pipe, by the queue that stands.
    fn starts_cautiously(&self) -> bool {
        self.state == State::Startup && self.queue_stands(0, 12)
    }

    /// Whether the samples are of the first rounds and not reliable, and without a sign of a queue.
    ///
    /// The first windows are sent in a part of a round trip, but their samples take at least a whole one:
    /// a rate derived from them would lag one round trip behind slow start. So slow start is used in
    /// these rounds, as in the draft for the first window.
    fn is_early(&self) -> bool {
        self.rules_off.hold(Rule::EarlyRounds)
            && self.state == State::Startup
            && self.round_count <= EARLY_ROUNDS
            && !self.queued
    }

    /// 5.6.4.7, BoundCwndForModel.
    fn bound_cwnd_for_model(&mut self) {
        let min = self.min_pipe_cwnd();
        let cap = match self.state {
            State::Down | State::Refill | State::Up => self.bounds.inflight_longterm,
            // Headroom is for cross traffic.
            State::Cruise if self.alone => self.bounds.inflight_longterm,
            State::ProbeRtt | State::Cruise => self.bounds.with_headroom(self.mss, min),
            State::Startup | State::Drain => NO_VOLUME,
        };
        let cap = cap.min(self.bounds.inflight_shortterm).max(min);
        self.cwnd = self.cwnd.min(cap);
    }

    /// 5.6.4.2, UpdateMaxInflight.
    fn max_inflight(&self) -> u32 {
        let multiple = self.bdp_multiple(self.bw, self.cwnd_gain());
        let extra = self.model.aggregation.extra_acked(self.round_count, !self.full_pipe.reached);
        self.with_quantization_budget(multiple.saturating_add(extra))
    }

    /// BDPMultiple: "no valid RTT samples yet" leaves the initial window.
    pub(super) fn bdp_multiple(&self, bw: u64, gain: u64) -> u32 {
        self.model.bdp(bw, gain).unwrap_or_else(|| self.initial_window())
    }

    /// Inflight(bw, gain).
    pub(super) fn inflight_target(&self, bw: u64, gain: u64) -> u32 {
        self.with_quantization_budget(self.bdp_multiple(bw, gain))
    }

    /// QuantizationBudget, with the offload budget of TCP: "3 * C.send_quantum".
    fn with_quantization_budget(&self, inflight: u32) -> u32 {
        let up = if self.state == State::Up { 2 * self.mss } else { 0 };
        inflight.max(self.send_quantum().saturating_mul(3)).max(self.min_pipe_cwnd()).saturating_add(up)
    }

    /// 5.6.3, SetSendQuantum: what the pacing rate sends in a millisecond. "SHOULD attempt to use the
    /// smallest feasible quanta": segments are sent one by one, so the minimum is one and not two.
    fn send_quantum(&self) -> u32 {
        volume(self.pacing_rate, Duration::from_millis(1).as_nanos(), 100).min(65_536).max(self.mss)
    }

    /// 5.6.4.5, ProbeRTTCwnd.
    pub(super) fn probe_rtt_cwnd(&self) -> u32 {
        self.bdp_multiple(self.bw, PROBE_RTT_CWND_GAIN).max(self.min_pipe_cwnd())
    }

    /// 5.6.4.4, SaveCwnd: "the latest C.cwnd unmodulated by loss recovery or ProbeRTT".
    pub(super) fn save_cwnd(&mut self) {
        self.prior_cwnd = if self.in_loss_recovery() || self.state == State::ProbeRtt {
            self.prior_cwnd.max(self.cwnd)
        } else {
            self.cwnd
        };
    }

    pub(super) fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    /// A resumed connection jumps to a part of the saved window, paced over a round trip.
    pub(super) fn jump(&mut self, ack: &Ack) {
        let limited = self.usage.is_limited(self.cwnd, self.mss, self.state == State::Startup);
        let Some(jump) = self.resume.on_ack(ack, self.cwnd, limited) else { return };
        let window = jump.window;
        if self.state != State::Startup || window <= self.cwnd {
            return;
        }
        self.cwnd = window;
        if let Some(min_rtt) = self.model.delay.min_rtt {
            self.pacing_rate = self.pacing_rate.max(rate_of(window, min_rtt));
        }
    }
}
