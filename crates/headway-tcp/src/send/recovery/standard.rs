//! Loss recovery of the RFCs: 5681 (Reno), 6582 (NewReno), 6675 (with SACK).

use headway_units::Instant;
use headway_wire::SeqNumber;

use super::{AckSignal, Board, Verdict, head_is_damaged};
use crate::congestion::Loss;
use crate::event::{RecoveryPhase, RetransmitReason};
use crate::send::scoreboard::{Scoreboard, open_hole};
use crate::send::sent_queue::{Marks, SentQueue};

/// RFC 5681, 3.2 and RFC 6675, 2: "DupThresh".
const DUPLICATE_THRESHOLD: u32 = 3;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Open,
    /// Fast recovery until this is acknowledged (RFC 6675's RecoveryPoint, RFC 6582's recover).
    Fast(SeqNumber),
    /// Slow start after a timeout until this is acknowledged.
    Timeout(SeqNumber),
}

pub(crate) struct Standard {
    sack: bool,
    /// Stay in fast recovery on partial ACKs (RFC 6582); RFC 5681's Reno leaves at the first.
    partial: bool,
    limited_transmit: bool,
    phase: Phase,
    duplicates: u32,
    /// `SND.NXT` when the last recovery began: RFC 6582's recover.
    recover: Option<SeqNumber>,
    /// Octets that duplicate ACKs say have left the network, where SACK does not say which.
    departed: u32,
    /// The next resend goes out whatever the window says.
    forced: bool,
    rescued: bool,
    timeouts: u32,
}

impl Standard {
    pub(crate) fn new(sack: bool, partial: bool, limited_transmit: bool) -> Self {
        Self {
            sack,
            partial,
            limited_transmit,
            phase: Phase::Open,
            duplicates: 0,
            recover: None,
            departed: 0,
            forced: false,
            rescued: false,
            timeouts: 0,
        }
    }

    pub(super) fn in_fast_recovery(&self) -> bool {
        matches!(self.phase, Phase::Fast(_))
    }

    pub(super) fn inflation(&self) -> u32 {
        self.departed
    }

    pub(super) fn on_ack(&mut self, board: Board<'_>, ack: &AckSignal) -> Verdict {
        let mut verdict = Verdict::default();
        if ack.advanced() {
            self.timeouts = 0;
            self.on_advance(board, ack, &mut verdict);
        } else if !ack.special {
            self.on_standstill(board, ack, &mut verdict);
        } else if ack.newly_sacked > 0 {
            self.judge(board, ack, &mut verdict);
        }
        verdict
    }

    fn on_advance(&mut self, mut board: Board<'_>, ack: &AckSignal, verdict: &mut Verdict) {
        self.duplicates = 0;
        match self.phase {
            // What lies beyond further holes that are known to be damage is still held there.
            Phase::Open if board.queue.any_damaged() => self.deflate(ack),
            Phase::Open => self.departed = 0,
            Phase::Fast(point) if ack.una.ge(point) || !self.partial => {
                self.leave(&mut board, ack, verdict);
            }
            Phase::Fast(_) if !self.sack => {
                // RFC 6582, 3.2 step 3: "partial acknowledgment": retransmit the first
                // unacknowledged segment and deflate by what was acknowledged, less one segment.
                self.deflate(ack);
                if !head_is_damaged(board.queue) && !board.queue.is_empty() {
                    board.queue.mark_lost(0);
                    self.forced = true;
                }
            }
            Phase::Fast(_) => {}
            Phase::Timeout(point) => {
                self.departed = 0;
                if ack.una.ge(point) {
                    self.phase = Phase::Open;
                    verdict.phase = Some(RecoveryPhase::Over);
                }
            }
        }
        self.judge(board, ack, verdict);
    }

    /// An ACK that fills a hole covers one segment that was resent, and others that duplicate ACKs
    /// had announced.
    fn deflate(&mut self, ack: &AckSignal) {
        let acked = (ack.una - ack.prior_una) as u32;
        self.departed = self.departed.saturating_sub(acked.saturating_sub(ack.mss));
    }

    fn leave(&mut self, board: &mut Board<'_>, ack: &AckSignal, verdict: &mut Verdict) {
        self.phase = Phase::Open;
        self.departed = 0;
        self.forced = false;
        board.control.on_recovery_end(&Loss { now: ack.now, flight: board.queue.outstanding() });
        verdict.phase = Some(RecoveryPhase::Over);
    }

    fn on_standstill(&mut self, board: Board<'_>, ack: &AckSignal, verdict: &mut Verdict) {
        // RFC 6675, 2: with SACK an ACK is a duplicate if it covers octets that none covered
        // before.
        let counts = if self.sack { ack.newly_sacked > 0 } else { ack.duplicate };
        if !counts {
            return;
        }
        let explained =
            if self.sack { !board.sacks.has_open_hole(board.queue) } else { head_is_damaged(board.queue) };
        // What arrived left the network, whatever made the hole.
        if !self.sack && (self.in_fast_recovery() || self.limited_transmit || explained) {
            self.departed = self.departed.saturating_add(ack.mss).min(board.queue.outstanding());
        }
        if !explained {
            self.duplicates += 1;
        }
        self.judge(board, ack, verdict);
    }

    /// Marks losses and enters fast recovery where there is one.
    fn judge(&mut self, board: Board<'_>, ack: &AckSignal, verdict: &mut Verdict) {
        if board.queue.is_empty() {
            return;
        }
        let mut lost = false;
        if self.sack {
            // RFC 6675, 4, IsLost: "(DupThresh - 1) * SMSS bytes with sequence numbers greater
            // than 'SeqNum' have been SACKed".
            // What NextSeg's rule (3) sent again before stays sent: HighRxt covers it.
            let threshold = (DUPLICATE_THRESHOLD - 1) * ack.mss;
            board.sacks.mark_lost(board.queue, threshold, SentQueue::mark_first_lost);
            // Losses beyond the point at which the last recovery ended count as much as new ones.
            lost = board.queue.has_unexplained_loss();
        }
        if self.phase != Phase::Open {
            return;
        }
        // RFC 6582, 3.2 step 2: duplicates for what was outstanding at the last timeout or
        // recovery do not start another.
        let fresh =
            self.recover.is_none_or(|recover| ack.una.gt(recover) || (self.sack && ack.una.ge(recover)));
        if !fresh || !(lost || self.duplicates >= DUPLICATE_THRESHOLD) {
            return;
        }
        if !lost {
            let top = board.sacks.highest().map_or(1, |highest| board.queue.first_from(highest));
            match open_hole(board.queue, top) {
                Some(hole) => board.queue.mark_lost(hole),
                None => return,
            }
        }
        self.phase = Phase::Fast(ack.nxt);
        self.recover = Some(ack.nxt);
        self.forced = true;
        self.rescued = false;
        if !self.sack {
            // RFC 5681, 3.2 step 3: the three segments that triggered it have left the network.
            self.departed = DUPLICATE_THRESHOLD * ack.mss;
        }
        board.control.on_loss(&Loss { now: ack.now, flight: ack.prior_flight });
        verdict.restart_timer = true;
        verdict.phase = Some(RecoveryPhase::Fast);
    }

    pub(super) fn on_timeout(&mut self, board: Board<'_>, now: Instant, nxt: SeqNumber) {
        let loss = Loss { now, flight: board.queue.outstanding() };
        // RFC 2018, section 8, and RFC 6675, 5.1: a first segment that is SACKed although it was
        // never acknowledged shows that the receiver reneged.
        if board.queue.head().is_some_and(|head| head.has(Marks::SACKED)) {
            board.queue.clear_sacked();
            board.sacks.reset();
        }
        board.queue.clear_losses();
        for index in 0..board.queue.len() {
            board.queue.mark_lost(index);
        }
        board.control.on_timeout(&loss, self.timeouts == 0);
        self.timeouts += 1;
        self.phase = Phase::Timeout(nxt);
        self.recover = Some(nxt);
        self.duplicates = 0;
        self.departed = 0;
        self.forced = true;
    }

    pub(super) fn next_resend(
        &mut self,
        queue: &mut SentQueue,
        room: u32,
    ) -> Option<(usize, RetransmitReason)> {
        let reason = match self.phase {
            Phase::Open => return None,
            Phase::Fast(_) => RetransmitReason::FastRetransmit,
            Phase::Timeout(_) => RetransmitReason::Timeout,
        };
        let index = queue.first_missing()?;
        if !self.forced && queue.get(index).payload_len() > room {
            return None;
        }
        self.forced = false;
        Some((index, reason))
    }

    pub(super) fn may_speculate(&self) -> bool {
        self.sack && self.in_fast_recovery()
    }

    pub(super) fn next_speculative(
        &mut self,
        queue: &SentQueue,
        sacks: &Scoreboard,
        room: u32,
    ) -> Option<(usize, RetransmitReason)> {
        if !self.may_speculate() {
            return None;
        }
        // RFC 6675, 4, NextSeg rule (3): "one segment of up to SMSS octets starting with S3",
        // not SACKed, never retransmitted, below the highest block.
        let top = sacks.highest().map_or(0, |highest| queue.first_from(highest));
        let candidate = (0..top)
            .find(|&index| {
                let sent = queue.get(index);
                !sent.has(Marks::SACKED) && !sent.has(Marks::LOST) && !sent.has(Marks::EVER_RESENT)
            })
            .map(|index| (index, RetransmitReason::FastRetransmit));
        // Rule (4): once a recovery, the last segment, so that its ACK tells what is missing.
        let candidate = candidate.or_else(|| {
            let last = queue.len().checked_sub(1)?;
            let fits =
                !self.rescued && !queue.get(last).has(Marks::SACKED) && !queue.get(last).has(Marks::DAMAGED);
            fits.then_some((last, RetransmitReason::Rescue))
        })?;
        if queue.get(candidate.0).payload_len() > room {
            return None;
        }
        if candidate.1 == RetransmitReason::Rescue {
            self.rescued = true;
        }
        Some(candidate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::{Algorithm, Setup};

    const SETUP: Setup =
        Setup { initial_window: 10, hystart: false, pacing: false, deliveries: false, seed: 0 };

    /// RFC 6675, 5: what was lost beyond the recovery point begins the next recovery at once; no new
    /// SACK block needs to tell of it again.
    #[test]
    fn losses_beyond_the_recovery_point_begin_another_recovery() {
        let mut queue = SentQueue::default();
        for segment in 0..10 {
            queue.push(SeqNumber(segment * 1000), 1000, false, false, Instant::ZERO, 0);
        }
        let (mut sacks, mut control) = (Scoreboard::default(), Algorithm::Reno.build(SETUP));
        let mut standard = Standard::new(true, true, true);
        let mut ack = |prior: u32, una: u32, blocks: &[(u32, u32)]| {
            let (prior_una, una, nxt) = (SeqNumber(prior), SeqNumber(una), SeqNumber(10_000));
            let blocks: alloc::vec::Vec<_> =
                blocks.iter().map(|&(from, to)| (SeqNumber(from), SeqNumber(to))).collect();
            let prior_flight = queue.outstanding();
            let newly_sacked = sacks.update(&mut queue, &blocks, una, nxt);
            queue.acknowledge(una);
            sacks.advance(una);
            let signal = AckSignal {
                now: Instant::ZERO,
                prior_una,
                una,
                nxt,
                duplicate: prior_una == una,
                has_data: false,
                special: false,
                newly_sacked,
                prior_flight,
                mss: 1000,
            };
            let board = Board { queue: &mut queue, sacks: &mut sacks, control: &mut *control };
            standard.on_ack(board, &signal).phase
        };
        assert_eq!(ack(0, 0, &[(1000, 4000)]), Some(RecoveryPhase::Fast));
        assert_eq!(ack(0, 0, &[(5000, 9000), (1000, 4000)]), None, "4000 is lost too");
        standard.phase = Phase::Fast(SeqNumber(4000));
        standard.recover = Some(SeqNumber(4000));
        let mut after = |prior: u32, una: u32| {
            let prior_flight = queue.outstanding();
            queue.acknowledge(SeqNumber(una));
            let signal = AckSignal {
                now: Instant::ZERO,
                prior_una: SeqNumber(prior),
                una: SeqNumber(una),
                nxt: SeqNumber(10_000),
                duplicate: false,
                has_data: false,
                special: false,
                newly_sacked: 0,
                prior_flight,
                mss: 1000,
            };
            let board = Board { queue: &mut queue, sacks: &mut sacks, control: &mut *control };
            standard.on_ack(board, &signal).phase
        };
        assert_eq!(after(0, 4000), Some(RecoveryPhase::Fast));
        assert_eq!(queue.first_missing().map(|index| queue.get(index).seq), Some(SeqNumber(4000)));
    }
}
