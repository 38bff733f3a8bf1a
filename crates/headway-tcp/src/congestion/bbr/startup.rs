//! Startup and Drain (draft-ietf-ccwg-bbr, sections 5.3.1 and 5.3.2).

use headway_units::Instant;

use super::bounds::is_too_high;
use super::{Bbr, Signal, State};

/// "BBRStartupFullLossCnt=6 discontiguous sequence ranges lost in that round trip".
const FULL_LOSS_COUNT: u32 = 6;
/// Drain ends after this many rounds, drained or not.
const DRAIN_ROUNDS: u32 = 3;

impl Bbr {
    /// CheckStartupDone.
    pub(super) fn check_startup_done(&mut self, signal: &Signal<'_>) {
        if self.state != State::Startup {
            return;
        }
        // CheckStartupHighLoss: "fast recovery for at least one full packet-timed round trip", "the
        // loss rate over the time scale of a single full round trip exceeds BBR.LossThresh".
        // The draft knows no damage. Where that explains most of what a round loses, what the ledger leaves unexplained is
        // no proof of a full pipe.
        if signal.in_fast_recovery
            && signal.sample.lost > self.bounds.damaged()
            && self.bounds.loss_round_start
            && self.bounds.holes() >= FULL_LOSS_COUNT
            && is_too_high(signal.sample.lost, signal.sample.in_flight)
        {
            self.leave_startup_for_congestion();
        } else if self.full_pipe.reached || self.has_reached_the_saved_rate() {
            self.full_pipe.reached = true;
            self.enter_drain();
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
