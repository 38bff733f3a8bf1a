//! Startup and Drain (draft-ietf-ccwg-bbr, sections 5.3.1 and 5.3.2).

use headway_units::Instant;

use super::super::bbr_common::phases::State;
use super::super::bbr_common::{STARTUP_FULL_LOSS_COUNT, is_too_high};
use super::{Bbr, Signal};
use crate::rules::Rule;

/// Drain ends after this many rounds, drained or not.
const DRAIN_ROUNDS: u32 = 3;

impl Bbr {
    /// CheckStartupDone.
    pub(super) fn check_startup_done(&mut self, signal: &Signal<'_>) {
        if self.state != State::Startup {
            return;
        }
        // CheckStartupHighLoss: "fast recovery for at least one full packet-timed round trip", "the
        // loss rate over the time scale of a single full round trip exceeds BBR.LossThresh". What fills the pipe also ends the growth
        // of the rate, or shows as a queue; damage does neither.
        let grows = self.rules_off.hold(Rule::Growth) && self.full_pipe.grows();
        let is_congested = signal.in_fast_recovery
            && (self.queued || !grows)
            && self.bounds.loss_round_start
            && self.bounds.holes() >= STARTUP_FULL_LOSS_COUNT
            && is_too_high(signal.sample.lost, signal.sample.in_flight);
        if is_congested {
            self.leave_startup_for_congestion();
        } else if self.full_pipe.reached {
            self.enter_drain();
        } else if self.has_reached_the_saved_rate() {
            self.full_pipe.reached = true;
            self.enter_drain();
        } else if let Some(rate) = self.resume.validated_rate() {
            self.check_told_rate(rate.bits_per_second());
        }
    }

    /// All of a jump to a told rate has arrived. The first sample of what was sent after it says at what rate: if at the told
    /// one, Startup goes on from there as where a queue stands, since the pipe is probably full.
    fn check_told_rate(&mut self, rate: u64) {
        if self.model.max_bw() >= rate - rate / 16 {
            self.resume.forget();
            self.is_told = true;
            self.full_pipe.reset(self.model.max_bw());
        } else if self.round_start {
            self.resume.forget();
        }
    }

    /// The path delivers the limit found by an earlier connection: the three rounds to confirm it, and
    /// the queue that they fill, are skipped. If the path carries more now, ProbeBW finds it.
    fn has_reached_the_saved_rate(&self) -> bool {
        let measured = self.model.bdp(self.model.max_bw(), 100);
        self.resume.target().zip(measured).is_some_and(|(window, measured)| measured >= window - window / 16)
    }

    /// Losses or marks show that the pipe is full.
    pub(super) fn leave_startup_for_congestion(&mut self) {
        self.undo.state = Some(State::Startup);
        self.full_pipe.reached = true;
        // "max(BBR.bdp, BBR.inflight_latest)".
        self.bounds.inflight_longterm = self.bdp_multiple(self.bw, 100).max(self.bounds.inflight_latest);
        self.enter_drain();
    }

    fn enter_drain(&mut self) {
        self.state = State::Drain;
        self.drain_start_round = self.round_count as u32;
    }

    /// Startup should not have ended.
    pub(super) fn return_to_startup(&mut self) {
        self.full_pipe.reset(0);
        self.full_pipe.reached = false;
        // ProbeRTT ends in it then.
        if self.state != State::ProbeRtt {
            self.state = State::Startup;
        }
    }

    /// CheckDrainDone.
    pub(super) fn check_drain_done(&mut self, now: Instant) {
        if self.state == State::Drain
            && (self.inflight <= self.inflight_target(self.bw, 100)
                || (self.round_count as u32).wrapping_sub(self.drain_start_round) > DRAIN_ROUNDS)
        {
            self.start_down(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::known;
    use super::*;

    #[test]
    fn drain_ends_with_its_rounds_where_the_queue_stays() {
        for (inflight, rounds, expected) in [
            (9_000_000, DRAIN_ROUNDS, State::Drain),
            (9_000_000, DRAIN_ROUNDS + 1, State::Down),
            (9_000_000, DRAIN_ROUNDS + 2, State::Down),
            (1000, 0, State::Down),
        ] {
            let mut bbr = known(State::Drain);
            (bbr.inflight, bbr.drain_start_round) = (inflight, 5);
            bbr.round_count = (5 + rounds).into();
            bbr.check_drain_done(Instant::ZERO);
            assert_eq!(bbr.state, expected, "{inflight} bytes, {rounds} rounds");
        }
    }
}
