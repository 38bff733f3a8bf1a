//! Loss recovery as Linux 2.2 did it: Hoe's NewReno without SACK, and with it a
//! forward-acknowledgement recovery that takes every hole below the highest SACK block for a
//! loss.
//!
//! After a timeout it sends no new data until all that was outstanding is acknowledged. It retransmits the outstanding
//! segments in one pass, as many at a time as the window permits, each time that an ACK covers new data. A retransmitted
//! segment that is lost again waits for the next timeout.

use headway_units::Instant;
use headway_wire::SeqNumber;

use super::{
    AckInfo, Allowance, RecoveryContext, RecoveryEngine, RecoveryOutcome, Retransmission, TimerUpdate,
    head_is_damaged,
};
use crate::event::{RecoveryPhase, RetransmitReason};
use crate::send::sent_queue::{Marks, SentQueue};

/// What may be retransmitted before the next ACK.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Burst {
    Nothing,
    /// The first segment of the queue.
    Head,
    /// Holes below the highest SACK block, at least one, until the window is full.
    Holes {
        sent: bool,
    },
    /// Everything from the walk's position on, at least one, until that many retransmitted segments as
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

    fn recovering_from_timeout(&self) -> bool {
        self.timeouts > 0
    }

    fn on_duplicate(&mut self, cx: &mut RecoveryContext<'_>, outcome: &mut RecoveryOutcome) {
        let forward = cx.sacks.forward_distance(cx.queue);
        // A hole that is known to be damage feeds no detector.
        if forward == 0 && head_is_damaged(cx.queue) {
            if !self.sack {
                self.departed = (self.departed + 1).min(cx.queue.len() as u32);
            }
            return;
        }
        self.duplicates += 1;
        if self.high_seq.is_none_or(|high| cx.una.gt(high)) {
            if forward > 3 || self.duplicates == 3 {
                cx.report_loss(cx.queue.outstanding());
                self.inflated = 3;
                self.high_seq = Some(cx.nxt);
                self.retransmit_hole(cx, forward);
                outcome.timer = TimerUpdate::Restart;
                outcome.phase = Some(RecoveryPhase::Fast);
            }
        } else if self.duplicates > 3 {
            if forward == 0 {
                self.inflated += 1;
            } else {
                self.retransmit_hole(cx, forward);
            }
        }
    }

    fn on_progress(
        &mut self,
        cx: &mut RecoveryContext<'_>,
        ack: &AckInfo,
        high_seq: SeqNumber,
        outcome: &mut RecoveryOutcome,
    ) {
        if cx.una.ge(high_seq) || ack.has_data {
            if self.inflated > 0 {
                cx.report_recovery_end();
                outcome.phase = Some(RecoveryPhase::Over);
            }
            self.duplicates = 0;
            self.inflated = 0;
            if cx.una.ge(high_seq) {
                self.high_seq = None;
            }
        } else if self.duplicates >= 3 {
            let forward = cx.sacks.forward_distance(cx.queue);
            if forward > 0 {
                self.retransmit_hole(cx, forward);
            } else if ack.advanced && !head_is_damaged(cx.queue) {
                // Hoe: an ACK that covers only part of the window shows another loss.
                self.retransmit_hole(cx, 0);
                outcome.timer = TimerUpdate::Restart;
            }
        }
    }

    fn retransmit_hole(&mut self, cx: &mut RecoveryContext<'_>, forward: usize) {
        self.reason = RetransmitReason::FastRetransmit;
        if forward == 0 {
            self.burst = Burst::Head;
        } else if self.sack {
            cx.sacks.mark_lost(cx.queue, 0, SentQueue::mark_lost);
            self.burst = Burst::Holes { sent: false };
        }
    }

    fn walk(&mut self, queue: &SentQueue) -> Option<usize> {
        let from = self.walked.map_or(0, |walked| queue.first_from(walked));
        let next = (from..queue.len()).find(|&index| {
            let sent = queue.get(index);
            !sent.has(Marks::SACKED) && !sent.has(Marks::RETRANSMITTED)
        });
        self.walked = Some(match next {
            Some(index) => queue.get(index).end(),
            None => queue.last()?.end(),
        });
        next
    }
}

impl RecoveryEngine for Linux22 {
    fn on_ack(&mut self, cx: &mut RecoveryContext<'_>, ack: &AckInfo) -> RecoveryOutcome {
        cx.report_acknowledged(ack, !self.recovering_from_timeout() && cx.sacks.highest().is_none());
        let mut outcome = RecoveryOutcome::default();
        if ack.newly_sacked > 0 {
            // Forward acknowledgement: whatever lies below the highest block has left the network.
            cx.sacks.mark_lost(cx.queue, 0, SentQueue::mark_lost);
        }
        if ack.advanced {
            let acked = ((cx.una - ack.prior_una) as u32).div_ceil(cx.mss.max(1));
            self.departed = if cx.queue.any_damaged() {
                self.departed.saturating_sub(acked.saturating_sub(1))
            } else {
                0
            };
            if self.timeouts > 0 && cx.queue.is_empty() {
                self.timeouts = 0;
                outcome.phase = Some(RecoveryPhase::Over);
            }
            if self.timeouts > 0 {
                self.burst = Burst::Walk { sent: false };
                self.reason = RetransmitReason::Timeout;
            }
        }
        let duplicate = ack.duplicate && !ack.special;
        if duplicate {
            self.on_duplicate(cx, &mut outcome);
        } else if let Some(high_seq) = self.high_seq {
            self.on_progress(cx, ack, high_seq, &mut outcome);
        } else if ack.advanced || !ack.special {
            self.duplicates = 0;
        }
        let recovering = self.recovering_from_timeout();
        if let Some(sample) = ack.rtt {
            cx.sample_rtt(sample);
            if !recovering {
                cx.rtt.clear_backoff();
            }
        }
        if ack.acknowledged.bytes > 0 && outcome.timer == TimerUpdate::Keep {
            // From the oldest segment on is Linux 2.2's way, and makes it take an ACK that is held back
            // long for a loss (`crates/headway-sim/tests/spurious_timeout.rs`).
            outcome.timer = if recovering { TimerUpdate::Restart } else { TimerUpdate::FromOldest };
        }
        outcome
    }

    fn on_timeout(&mut self, cx: &mut RecoveryContext<'_>, _last_received: Instant) -> RecoveryOutcome {
        // RFC 2018, section 8: "the data sender SHOULD turn off all of the SACKed bits".
        cx.queue.clear_sacked();
        cx.queue.clear_losses();
        cx.sacks.reset();
        cx.report_timeout(cx.queue.outstanding(), self.timeouts == 0);
        self.timeouts += 1;
        self.duplicates = 0;
        self.inflated = 0;
        self.departed = 0;
        self.high_seq = Some(cx.nxt);
        self.walked = None;
        self.burst = Burst::Head;
        self.reason = RetransmitReason::Timeout;
        RecoveryOutcome { phase: Some(RecoveryPhase::Timeout), ..RecoveryOutcome::default() }
    }

    fn may_retransmit(&self, _queue: &SentQueue) -> bool {
        !matches!(self.burst, Burst::Nothing)
    }

    fn next_retransmit(&mut self, queue: &mut SentQueue, allowance: Allowance) -> Option<Retransmission> {
        let index = match self.burst {
            Burst::Nothing => None,
            Burst::Head => {
                self.burst = Burst::Nothing;
                (!queue.is_empty()).then_some(0)
            }
            Burst::Holes { sent } => {
                let full = sent && allowance.room == 0;
                if full { None } else { queue.first_missing() }
            }
            Burst::Walk { sent } => {
                if sent && queue.retransmitted() >= allowance.cwnd {
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

    /// Not after a timeout until everything is acknowledged; and not on the duplicate ACKs that
    /// come before recovery begins: there is no limited transmit.
    fn may_send_new(&self) -> bool {
        self.timeouts == 0 && (self.duplicates == 0 || self.high_seq.is_some())
    }

    fn inflation(&self, mss: u32) -> u32 {
        self.inflated.saturating_add(self.departed).saturating_mul(mss)
    }
}
