//! Drain (draft-ietf-ccwg-bbr, section 5.3.2).

use headway_units::Instant;

use super::super::bbr_common::phases::State;
use super::DraftBbr;

impl DraftBbr {
    /// EnterDrain() (5.3.2).
    pub(super) fn enter_drain(&mut self) {
        self.state = State::Drain;
        self.drain_start_round = self.round.round_count;
    }

    /// CheckDrainDone() (5.3.2).
    pub(super) fn check_drain_done(&mut self, now: Instant) {
        if self.state == State::Drain
            && (self.c.inflight <= self.inflight(self.bw, 100)
                || self.round.round_count > self.drain_start_round + 3)
        {
            self.enter_probe_bw(now);
        }
    }
}
