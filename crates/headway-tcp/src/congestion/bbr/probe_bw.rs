//! ProbeBW: the cycle of sending below, at, and above the delivery rate (draft-ietf-ccwg-bbr,
//! section 5.3.3).

use headway_units::{Duration, Instant};

use super::super::bbr_common::phases::{AckPhase, State};
use super::super::bbr_common::quantities::{share, volume};
use super::super::bbr_common::{BETA, NO_VOLUME, is_too_high};
use super::{Bbr, Signal};
use crate::rules::Rule;

/// ProbeBW_DOWN drains the queue of a probe within this time: half of the shortest wait for the next.
const DRAIN_TIME: Duration = Duration::from_secs(1);

/// A probe's own queue of this delay ends it, in percent of the path's RTT.
const QUEUE: u32 = 12;

/// The state of the cycle.
#[derive(Debug, Default)]
pub(super) struct Cycle {
    pub(super) ack_phase: AckPhase,
    /// `BBR.is_bw_probe_sample`.
    pub(super) is_probe_sample: bool,
    /// ProbeRTT ended ProbeBW_UP, or the feedback on it.
    pub(super) cut_short: bool,
    pub(super) rounds_since_probe_up: u32,
    /// The delay of the queue that stood when ProbeBW_UP began, microseconds.
    queue_before: u32,
    /// Pacing gain of ProbeBW_DOWN, percent.
    pub(super) down_gain: u64,
    stamp: Instant,
    /// `BBR.bw_probe_wait`.
    wait: Duration,
    /// `BBR.bw_probe_up_rounds`.
    up_rounds: u32,
    /// `BBR.bw_probe_up_acked`, in bytes.
    up_acked: u32,
    /// `BBR.probe_up_acked_per_inc`, in bytes; `None` while the bound does not grow.
    up_acked_per_increment: Option<u32>,
    prev_probe_too_high: bool,
    prev_probe_precautionary: bool,
}

impl Cycle {
    /// What is still to be reported of the last probe is no feedback on it.
    pub(super) fn forget_probe(&mut self) {
        self.is_probe_sample = false;
        self.ack_phase = AckPhase::Init;
        self.prev_probe_too_high = false;
    }
}

impl Bbr {
    /// UpdateProbeBWCyclePhase.
    pub(super) fn update_cycle_phase(&mut self, signal: &Signal<'_>) {
        if !self.full_pipe.reached || self.adapt_long_term_model(signal) {
            return;
        }
        match self.state {
            State::Down | State::Cruise if self.is_time_to_probe(signal.now) => self.start_refill(),
            State::Down if self.is_time_to_cruise() => self.start_cruise(),
            // "After one round of REFILL, start UP".
            State::Refill if self.round_start => {
                self.cycle.is_probe_sample = true;
                self.start_up(signal.rate);
            }
            State::Up => self.go_down_if_it_is_time(signal),
            _ => {}
        }
    }

    // --- states -------------------------------------------------------------------------------------

    /// StartProbeBW_DOWN.
    pub(super) fn start_down(&mut self, now: Instant) {
        self.bounds.reset_signals();
        self.cycle.up_acked_per_increment = None;
        // PickProbeWait: "Decide random round-trip bound for wait", "wall clock bound": 2 to 3 s.
        self.cycle.rounds_since_probe_up = self.random.below(2) as u32;
        self.cycle.wait = Duration::from_secs(2) + Duration::from_micros(self.random.below(1_000_001));
        self.cycle.stamp = now;
        self.cycle.ack_phase = AckPhase::ProbeStopping;
        self.cycle.down_gain = self.down_gain();
        self.start_round();
        self.state = State::Down;
    }

    /// "ProbeBW_DOWN [...] pacing_gain of 0.90": drains a tenth of a second of data each second. On a
    /// long path a probe queues more than this drains before the next: then the queue is never empty, and
    /// only ProbeRTT, at the cost of idle time, measures the minimum RTT. So the gain is chosen to drain
    /// it in time, down to Drain's 0.5; on paths up to 100 ms it is 0.9.
    fn down_gain(&self) -> u64 {
        let excess = self.inflight.saturating_sub(self.bdp_multiple(self.model.max_bw(), 100));
        let drained = volume(self.model.max_bw(), DRAIN_TIME.as_nanos(), 100).max(1);
        let share = u64::from(excess) * 100 / u64::from(drained);
        if self.rules_off.hold(Rule::DownGain) { 100 - share.clamp(10, 50) } else { 90 }
    }

    /// StartProbeBW_CRUISE.
    pub(super) fn start_cruise(&mut self) {
        self.state = State::Cruise;
    }

    /// StartProbeBW_REFILL.
    pub(super) fn start_refill(&mut self) {
        self.bounds.forget_short_term();
        self.cycle.up_rounds = 0;
        self.cycle.up_acked = 0;
        self.cycle.prev_probe_precautionary = false;
        self.cycle.ack_phase = AckPhase::Refilling;
        self.start_round();
        self.state = State::Refill;
    }

    /// StartProbeBW_UP.
    fn start_up(&mut self, rate: u64) {
        self.cycle.ack_phase = AckPhase::ProbeStarting;
        self.start_round();
        self.full_pipe.reset(rate);
        self.cycle.queue_before = self.standing_queue.delay();
        self.state = State::Up;
        self.raise_longterm_slope();
    }

    // --- when to change -----------------------------------------------------------------------------

    /// IsTimeToProbeBW.
    fn is_time_to_probe(&self, now: Instant) -> bool {
        // Where a round trip takes longer than the wait, what the last probe showed would never be used, and an
        // outdated bandwidth never expire.
        if self.cycle.ack_phase == AckPhase::ProbeStopping && self.rules_off.hold(Rule::NextProbe) {
            return false;
        }
        // IsRenoCoexistenceProbeTime: "reno_rounds = TargetInflight()" in segments, at most 63.
        let reno_rounds = (self.target_inflight() / self.mss.max(1)).min(63);
        now > self.cycle.stamp + self.cycle.wait || self.cycle.rounds_since_probe_up >= reno_rounds
    }

    /// TargetInflight: "Our estimated BDP, unless congestion cut C.cwnd".
    fn target_inflight(&self) -> u32 {
        self.bdp_multiple(self.bw, 100).min(self.cwnd)
    }

    /// IsTimeToCruise.
    fn is_time_to_cruise(&self) -> bool {
        self.inflight <= self.bounds.with_headroom(self.mss, self.min_pipe_cwnd())
            && self.inflight <= self.inflight_target(self.model.max_bw(), 100)
    }

    /// IsTimeToGoDown.
    fn go_down_if_it_is_time(&mut self, signal: &Signal<'_>) {
        let longterm = self.bounds.inflight_longterm;
        // "Precautionary Bandwidth Probing: Deceleration".
        let precaution = self.cycle.prev_probe_too_high && self.inflight >= longterm;
        if precaution {
            self.cycle.prev_probe_precautionary = true;
        } else if self.queue_stands(self.cycle.queue_before, QUEUE) && self.full_pipe.is_flat(signal.rate) {
            // More is in the network, and no more arrives for it: the queue is this probe's own.
            self.full_pipe.now = true;
        } else if self.is_cwnd_limited() && self.cwnd >= longterm {
            // "bw is limited by BBR.inflight_longterm".
            self.full_pipe.reset(signal.rate);
            return;
        }
        if precaution || self.full_pipe.now {
            // "no high loss (yet)".
            self.cycle.prev_probe_too_high = false;
            self.start_down(signal.now);
        }
    }

    fn is_cwnd_limited(&self) -> bool {
        self.usage.peak().saturating_add(2 * self.mss) >= self.cwnd
    }

    // --- the long-term bound ------------------------------------------------------------------------

    /// AdaptLongTermModel; returns whether it changed the state.
    fn adapt_long_term_model(&mut self, signal: &Signal<'_>) -> bool {
        let cycle = &mut self.cycle;
        if cycle.ack_phase == AckPhase::ProbeStarting && self.round_start {
            cycle.ack_phase = AckPhase::ProbeFeedback;
        }
        if cycle.ack_phase == AckPhase::ProbeStopping && self.round_start {
            // "end of samples from bw probing phase".
            cycle.is_probe_sample = false;
            cycle.ack_phase = AckPhase::Init;
            let probes = self.state.probes_bandwidth();
            // "one round trip after exiting ProbeBW_UP [...] BBR increments BBR.cycle_count". The draft's
            // code omits this if ProbeRTT came in between. With RTTs of half a second and more it
            // always does, and an outdated bandwidth would never expire.
            let cut_short = core::mem::take(&mut cycle.cut_short) && self.rules_off.hold(Rule::NextProbe);
            if (probes && !signal.app_limited) || (cut_short && !signal.sample.app_limited) {
                self.model.advance_cycle();
            }
            // "Precautionary Bandwidth Probing: Acceleration".
            if probes && cycle.prev_probe_precautionary && !cycle.prev_probe_too_high {
                self.start_refill();
                return true;
            }
        }
        if is_too_high(signal.sample.lost, signal.sample.in_flight)
            || self.bounds.inflight_longterm == NO_VOLUME
        {
            return false;
        }
        // "Loss rate is safe. Adjust upper bounds upward."
        self.bounds.inflight_longterm = self.bounds.inflight_longterm.max(signal.sample.in_flight);
        if self.state == State::Up {
            self.probe_longterm_upward(signal.newly_acked);
        }
        false
    }

    /// ProbeInflightLongtermUpward.
    fn probe_longterm_upward(&mut self, newly_acked: u32) {
        if !self.is_cwnd_limited() || self.cwnd < self.bounds.inflight_longterm {
            return;
        }
        self.cycle.up_acked = self.cycle.up_acked.saturating_add(newly_acked);
        if let Some(per_increment) = self.cycle.up_acked_per_increment
            && self.cycle.up_acked >= per_increment
        {
            let steps = self.cycle.up_acked / per_increment;
            self.cycle.up_acked %= per_increment;
            self.bounds.inflight_longterm =
                self.bounds.inflight_longterm.saturating_add(steps.saturating_mul(self.mss));
        }
        if self.round_start {
            self.raise_longterm_slope();
        }
    }

    /// RaiseInflightLongtermSlope.
    fn raise_longterm_slope(&mut self) {
        let growth_this_round = 1 << self.cycle.up_rounds;
        self.cycle.up_rounds = (self.cycle.up_rounds + 1).min(30);
        self.cycle.up_acked_per_increment = Some((self.cwnd / growth_this_round).max(self.mss).max(1));
    }

    /// HandleInflightTooHigh: more was in flight than the path carries.
    pub(super) fn handle_inflight_too_high(&mut self, now: Instant, in_flight: u32, app_limited: bool) {
        self.cycle.prev_probe_too_high = true;
        self.cycle.is_probe_sample = false;
        if !app_limited {
            self.bounds.inflight_longterm = in_flight.max(share(self.target_inflight(), BETA));
        }
        if self.state == State::Up {
            self.undo.state = Some(State::Up);
            self.start_down(now);
        }
    }
}
