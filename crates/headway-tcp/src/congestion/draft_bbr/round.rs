//! Packet-timed round trips (draft-ietf-ccwg-bbr, section 5.5.1).

use super::super::rounds::Rounds;
use super::{DraftBbr, Rs};

/// `BBR.round_count` and `BBR.round_start`. [`Rounds`] has `BBR.next_round_delivered`.
#[derive(Debug, Default)]
pub(super) struct RoundCount {
    rounds: Rounds,
    pub(super) round_start: bool,
    pub(super) round_count: u64,
}

impl DraftBbr {
    /// UpdateRound() (5.5.1).
    pub(super) fn update_round(&mut self, rs: &Rs) {
        self.round.round_start = self.round.rounds.on_delivered(rs.prior_delivered, self.c.delivered);
        if self.round.round_start {
            self.round.round_count += 1;
            self.cycle.rounds_since_probe_up = self.cycle.rounds_since_probe_up.saturating_add(1);
        }
    }

    /// StartRound() (5.5.1).
    pub(super) fn start_round(&mut self) {
        self.round.rounds.restart(self.c.delivered);
    }
}
