//! Loss recovery as Linux 2.2 did it: Hoe's NewReno without SACK, and with it a
//! forward-acknowledgement recovery that takes every hole below the highest SACK block for a
//! loss.
//!
//! After a timeout it sends no new data until all that was outstanding is acknowledged; what it
//! resends then it walks through once, as many at a time as the window permits, each time that an
//! ACK covers new data. A resent segment that is lost again waits for the next timeout.

use headway_units::Instant;
use headway_wire::SeqNumber;

use super::{AckSignal, Board, Verdict, head_is_damaged};
use crate::congestion::Loss;
use crate::event::{RecoveryPhase, RetransmitReason};
use crate::send::sent_queue::{Marks, SentQueue};

/// What may be resent before the next ACK.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Burst {
    Nothing,
    /// The first segment of the queue.
    Head,
    /// Holes below the highest SACK block, at least one, until the window is full.
    Holes {
        sent: bool,
    },
    /// Everything from the walk's position on, at least one, until that many resent segments as
    /// the window permits are in the network.
    Walk {
        sent: bool,
    },
}

pub(crate) struct Linux22 {
    sack: bool,
    duplicates: u32,
    /// `SND.NXT` when recovery began; no other recovery begins before it is acknowledged.
    high_seq: Option<SeqNumber>,
    /// Timeouts since everything was last acknowledged.
    timeouts: u32,
    /// Segments by which duplicate ACKs have opened the window.
    inflated: u32,
    /// Segments that duplicate ACKs say have arrived beyond a hole that is known to be damage,
    /// where SACK does not say which: they clock out new ones, or a whole window would leave in one
    /// burst when the hole is filled.
    departed: u32,
    burst: Burst,
    reason: RetransmitReason,
    /// How far the walk after a timeout has come.
    walked: Option<SeqNumber>,
}

impl Linux22 {
    pub(crate) fn new(sack: bool) -> Self {
        Self {
            sack,
            duplicates: 0,
            high_seq: None,
            timeouts: 0,
            inflated: 0,
            departed: 0,
            burst: Burst::Nothing,
            reason: RetransmitReason::FastRetransmit,
            walked: None,
        }
    }

    pub(super) fn recovering_from_timeout(&self) -> bool {
        self.timeouts > 0
    }

    /// Not after a timeout until everything is acknowledged; and not on the duplicate ACKs that
    /// come before recovery begins: there is no limited transmit.
    pub(super) fn permits_new_data(&self) -> bool {
        self.timeouts == 0 && (self.duplicates == 0 || self.high_seq.is_some())
    }

    pub(super) fn inflation(&self, mss: u32) -> u32 {
        self.inflated.saturating_add(self.departed).saturating_mul(mss)
    }

    pub(super) fn on_ack(&mut self, board: Board<'_>, ack: &AckSignal) -> Verdict {
        let mut verdict = Verdict::default();
        if ack.newly_sacked > 0 {
            // Forward acknowledgement: whatever lies below the highest block has left the network.
            board.sacks.mark_lost(board.queue, 0, SentQueue::mark_lost);
        }
        if ack.advanced() {
            let acked = ((ack.una - ack.prior_una) as u32).div_ceil(ack.mss.max(1));
            self.departed = if board.queue.any_damaged() {
                self.departed.saturating_sub(acked.saturating_sub(1))
            } else {
                0
            };
            if self.timeouts > 0 && board.queue.is_empty() {
                self.timeouts = 0;
                verdict.phase = Some(RecoveryPhase::Over);
            }
            if self.timeouts > 0 {
                self.burst = Burst::Walk { sent: false };
                self.reason = RetransmitReason::Timeout;
            }
        }
        let duplicate = ack.duplicate && !ack.special;
        if duplicate {
            self.on_duplicate(board, ack, &mut verdict);
        } else if let Some(high_seq) = self.high_seq {
            self.on_progress(board, ack, high_seq, &mut verdict);
        } else if ack.advanced() || !ack.special {
            self.duplicates = 0;
        }
        verdict
    }

    fn on_duplicate(&mut self, board: Board<'_>, ack: &AckSignal, verdict: &mut Verdict) {
        let forward = board.sacks.forward_distance(board.queue);
        // A hole that is known to be damage feeds no detector.
        if forward == 0 && head_is_damaged(board.queue) {
            if !self.sack {
                self.departed = (self.departed + 1).min(board.queue.len() as u32);
            }
            return;
        }
        self.duplicates += 1;
        if self.high_seq.is_none_or(|high| ack.una.gt(high)) {
            if forward > 3 || self.duplicates == 3 {
                board.control.on_loss(&Loss { now: ack.now, flight: board.queue.outstanding() });
                self.inflated = 3;
                self.high_seq = Some(ack.nxt);
                self.resend_hole(board, forward);
                verdict.restart_timer = true;
                verdict.phase = Some(RecoveryPhase::Fast);
            }
        } else if self.duplicates > 3 {
            if forward == 0 {
                self.inflated += 1;
            } else {
                self.resend_hole(board, forward);
            }
        }
    }

    fn on_progress(&mut self, board: Board<'_>, ack: &AckSignal, high_seq: SeqNumber, verdict: &mut Verdict) {
        if ack.una.ge(high_seq) || ack.has_data {
            if self.duplicates > 0 && self.inflated > 0 {
                board.control.on_recovery_end(&Loss { now: ack.now, flight: board.queue.outstanding() });
                verdict.phase = Some(RecoveryPhase::Over);
            }
            self.duplicates = 0;
            self.inflated = 0;
            if ack.una.ge(high_seq) {
                self.high_seq = None;
            }
        } else if self.duplicates >= 3 {
            let forward = board.sacks.forward_distance(board.queue);
            if forward > 0 {
                self.resend_hole(board, forward);
            } else if ack.advanced() && !head_is_damaged(board.queue) {
                // Hoe: an ACK that covers only part of the window shows another loss.
                self.resend_hole(board, 0);
                verdict.restart_timer = true;
            }
        }
    }

    fn resend_hole(&mut self, board: Board<'_>, forward: usize) {
        self.reason = RetransmitReason::FastRetransmit;
        if forward == 0 {
            self.burst = Burst::Head;
        } else if self.sack {
            board.sacks.mark_lost(board.queue, 0, SentQueue::mark_lost);
            self.burst = Burst::Holes { sent: false };
        }
    }

    pub(super) fn on_timeout(&mut self, board: Board<'_>, now: Instant, nxt: SeqNumber) {
        // RFC 2018, section 8: "the data sender SHOULD turn off all of the SACKed bits".
        board.queue.clear_sacked();
        board.queue.clear_losses();
        board.sacks.reset();
        board.control.on_timeout(&Loss { now, flight: board.queue.outstanding() }, self.timeouts == 0);
        self.timeouts += 1;
        self.duplicates = 0;
        self.inflated = 0;
        self.departed = 0;
        self.high_seq = Some(nxt);
        self.walked = None;
        self.burst = Burst::Head;
        self.reason = RetransmitReason::Timeout;
    }

    pub(super) fn may_resend(&self) -> bool {
        !matches!(self.burst, Burst::Nothing)
    }

    pub(super) fn next_resend(
        &mut self,
        queue: &mut SentQueue,
        cwnd: u32,
    ) -> Option<(usize, RetransmitReason)> {
        let index = match self.burst {
            Burst::Nothing => None,
            Burst::Head => {
                self.burst = Burst::Nothing;
                (!queue.is_empty()).then_some(0)
            }
            Burst::Holes { sent } => {
                let full = sent && queue.pipe() >= cwnd;
                if full { None } else { queue.first_missing() }
            }
            Burst::Walk { sent } => {
                if sent && queue.resent() >= cwnd {
                    None
                } else {
                    self.walk(queue)
                }
            }
        };
        match (&mut self.burst, index) {
            (burst, None) => *burst = Burst::Nothing,
            (Burst::Holes { sent } | Burst::Walk { sent }, Some(_)) => *sent = true,
            _ => {}
        }
        Some((index?, self.reason))
    }

    fn walk(&mut self, queue: &SentQueue) -> Option<usize> {
        let from = self.walked.map_or(0, |walked| queue.first_from(walked));
        let next = (from..queue.len()).find(|&index| {
            let sent = queue.get(index);
            !sent.has(Marks::SACKED) && !sent.has(Marks::RESENT)
        });
        self.walked = Some(match next {
            Some(index) => queue.get(index).end(),
            None => queue.last()?.end(),
        });
        next
    }
}
