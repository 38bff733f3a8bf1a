//! Loss recovery of the RFCs: 5681 (Reno), 6582 (NewReno), 6675 (with SACK).

use headway_units::Instant;
use headway_wire::SeqNumber;

use super::{
    AckInfo, Allowance, RecoveryContext, RecoveryEngine, RecoveryOutcome, Retransmission, TimerUpdate,
    head_is_damaged,
};
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

pub(crate) struct Reno {
    sack: bool,
    /// Stay in fast recovery on partial ACKs (RFC 6582); RFC 5681's Reno leaves at the first.
    partial: bool,
    limited_transmit: bool,
    phase: Phase,
    duplicates: u32,
    /// `SND.NXT` when the last recovery began: RFC 6582's recover.
    recover: Option<SeqNumber>,
    /// Bytes that duplicate ACKs say have left the network, where SACK does not say which.
    departed: u32,
    /// The next retransmission goes out whatever the window says.
    forced: bool,
    rescued: bool,
    timeouts: u32,
}

impl Reno {
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

    fn in_fast_recovery(&self) -> bool {
        matches!(self.phase, Phase::Fast(_))
    }

    fn on_advance(&mut self, cx: &mut RecoveryContext<'_>, ack: &AckInfo, outcome: &mut RecoveryOutcome) {
        self.duplicates = 0;
        match self.phase {
            // What lies beyond further holes that are known to be damage is still held there.
            Phase::Open if cx.queue.any_damaged() => self.deflate(cx, ack),
            Phase::Open => self.departed = 0,
            Phase::Fast(point) if cx.una.ge(point) || !self.partial => {
                self.leave(cx, outcome);
            }
            Phase::Fast(_) if !self.sack => {
                // RFC 6582, 3.2 step 3: "partial acknowledgment": retransmit the first
                // unacknowledged segment and deflate by what was acknowledged, less one segment.
                self.deflate(cx, ack);
                if !head_is_damaged(cx.queue) && !cx.queue.is_empty() {
                    cx.queue.mark_lost(0);
                    self.forced = true;
                }
            }
            Phase::Fast(_) => {}
            Phase::Timeout(point) => {
                self.departed = 0;
                if cx.una.ge(point) {
                    self.phase = Phase::Open;
                    outcome.phase = Some(RecoveryPhase::Over);
                }
            }
        }
        self.judge(cx, ack, outcome);
    }

    /// An ACK that fills a hole covers one segment that was retransmitted, and others that duplicate ACKs
    /// had announced.
    fn deflate(&mut self, cx: &RecoveryContext<'_>, ack: &AckInfo) {
        let acked = (cx.una - ack.prior_una) as u32;
        self.departed = self.departed.saturating_sub(acked.saturating_sub(cx.mss));
    }

    fn leave(&mut self, cx: &mut RecoveryContext<'_>, outcome: &mut RecoveryOutcome) {
        self.phase = Phase::Open;
        self.departed = 0;
        self.forced = false;
        cx.report_recovery_end();
        outcome.phase = Some(RecoveryPhase::Over);
    }

    fn on_standstill(&mut self, cx: &mut RecoveryContext<'_>, ack: &AckInfo, outcome: &mut RecoveryOutcome) {
        // RFC 6675, 2: with SACK an ACK is a duplicate if it covers bytes that none covered
        // before.
        let counts = if self.sack { ack.newly_sacked > 0 } else { ack.duplicate };
        if !counts {
            return;
        }
        let explained = if self.sack { !cx.sacks.has_open_hole(cx.queue) } else { head_is_damaged(cx.queue) };
        // What arrived left the network, whatever made the hole.
        if !self.sack && (self.in_fast_recovery() || self.limited_transmit || explained) {
            self.departed = self.departed.saturating_add(cx.mss).min(cx.queue.outstanding());
        }
        if !explained {
            self.duplicates += 1;
        }
        self.judge(cx, ack, outcome);
    }

    /// Marks losses and enters fast recovery where there is one.
    fn judge(&mut self, cx: &mut RecoveryContext<'_>, ack: &AckInfo, outcome: &mut RecoveryOutcome) {
        if cx.queue.is_empty() {
            return;
        }
        let mut lost = false;
        if self.sack {
            // RFC 6675, 4, IsLost: "(DupThresh - 1) * SMSS bytes with sequence numbers greater
            // than 'SeqNum' have been SACKed".
            // What NextSeg's rule (3) retransmitted before stays sent: HighRxt covers it.
            let threshold = (DUPLICATE_THRESHOLD - 1) * cx.mss;
            cx.sacks.mark_lost(cx.queue, threshold, SentQueue::mark_first_lost);
            // Losses beyond the point at which the last recovery ended count as much as new ones.
            lost = cx.queue.has_unexplained_loss();
        }
        if self.phase != Phase::Open {
            return;
        }
        // RFC 6582, 3.2 step 2: duplicates for what was outstanding at the last timeout or
        // recovery do not start another.
        let fresh =
            self.recover.is_none_or(|recover| cx.una.gt(recover) || (self.sack && cx.una.ge(recover)));
        if !fresh || !(lost || self.duplicates >= DUPLICATE_THRESHOLD) {
            return;
        }
        if !lost {
            let top = cx.sacks.highest().map_or(1, |highest| cx.queue.first_from(highest));
            match open_hole(cx.queue, top) {
                Some(hole) => cx.queue.mark_lost(hole),
                None => return,
            }
        }
        self.phase = Phase::Fast(cx.nxt);
        self.recover = Some(cx.nxt);
        self.forced = true;
        self.rescued = false;
        if !self.sack {
            // RFC 5681, 3.2 step 3: the three segments that triggered it have left the network.
            self.departed = DUPLICATE_THRESHOLD * cx.mss;
        }
        cx.report_loss(ack.prior_flight);
        outcome.timer = TimerUpdate::Restart;
        outcome.phase = Some(RecoveryPhase::Fast);
    }
}

impl RecoveryEngine for Reno {
    fn on_ack(&mut self, cx: &mut RecoveryContext<'_>, ack: &AckInfo) -> RecoveryOutcome {
        cx.report_acknowledged(ack, self.in_fast_recovery());
        let mut outcome = RecoveryOutcome::default();
        if ack.advanced {
            self.timeouts = 0;
            self.on_advance(cx, ack, &mut outcome);
        } else if !ack.special {
            self.on_standstill(cx, ack, &mut outcome);
        } else if ack.newly_sacked > 0 {
            self.judge(cx, ack, &mut outcome);
        }
        if let Some(sample) = ack.rtt {
            cx.sample_rtt(sample);
            cx.rtt.clear_backoff();
        }
        if ack.acknowledged.bytes > 0 {
            outcome.timer = TimerUpdate::Restart;
        }
        outcome
    }

    fn on_timeout(&mut self, cx: &mut RecoveryContext<'_>, _last_received: Instant) -> RecoveryOutcome {
        let flight = cx.queue.outstanding();
        // RFC 2018, section 8, and RFC 6675, 5.1: a first segment that is SACKed although it was
        // never acknowledged shows that the receiver reneged.
        if cx.queue.head().is_some_and(|head| head.has(Marks::SACKED)) {
            cx.queue.clear_sacked();
            cx.sacks.reset();
        }
        cx.queue.clear_losses();
        for index in 0..cx.queue.len() {
            cx.queue.mark_lost(index);
        }
        cx.report_timeout(flight, self.timeouts == 0);
        self.timeouts += 1;
        self.phase = Phase::Timeout(cx.nxt);
        self.recover = Some(cx.nxt);
        self.duplicates = 0;
        self.departed = 0;
        self.forced = true;
        RecoveryOutcome { phase: Some(RecoveryPhase::Timeout), ..RecoveryOutcome::default() }
    }

    fn next_retransmit(&mut self, queue: &mut SentQueue, allowance: Allowance) -> Option<Retransmission> {
        let reason = match self.phase {
            Phase::Open => return None,
            Phase::Fast(_) => RetransmitReason::FastRetransmit,
            Phase::Timeout(_) => RetransmitReason::Timeout,
        };
        let index = queue.first_missing()?;
        if !self.forced && queue.get(index).payload_len() > allowance.room {
            return None;
        }
        self.forced = false;
        Some((index, reason))
    }

    fn next_speculative(
        &mut self,
        queue: &SentQueue,
        sacks: &Scoreboard,
        allowance: Allowance,
    ) -> Option<Retransmission> {
        // RFC 6675, 5 (C): "If cwnd - pipe >= 1 SMSS, the sender SHOULD transmit one or more segments".
        if !self.sack || !self.in_fast_recovery() || allowance.room < allowance.mss {
            return None;
        }
        // RFC 6675, 4, NextSeg rule (3): "one segment of up to SMSS octets starting with S3",
        // not SACKed, never retransmitted, below the highest block.
        let top = sacks.highest().map_or(0, |highest| queue.first_from(highest));
        let candidate = (0..top)
            .find(|&index| {
                let sent = queue.get(index);
                !sent.has(Marks::SACKED) && !sent.has(Marks::LOST) && !sent.has(Marks::EVER_RETRANSMITTED)
            })
            .map(|index| (index, RetransmitReason::FastRetransmit));
        // Rule (4): once a recovery, the last segment, so that its ACK shows what is missing.
        let candidate = candidate.or_else(|| {
            let last = queue.len().checked_sub(1)?;
            let fits =
                !self.rescued && !queue.get(last).has(Marks::SACKED) && !queue.get(last).has(Marks::DAMAGED);
            fits.then_some((last, RetransmitReason::Rescue))
        })?;
        if queue.get(candidate.0).payload_len() > allowance.room {
            return None;
        }
        if candidate.1 == RetransmitReason::Rescue {
            self.rescued = true;
        }
        Some(candidate)
    }

    fn inflation(&self, _mss: u32) -> u32 {
        self.departed
    }
}

#[cfg(test)]
mod tests {
    use alloc::sync::Arc;

    use super::*;
    use crate::ConnectionId;
    use crate::Profile;
    use crate::congestion::{Algorithm, CongestionDomain, Setup};
    use crate::ring::Ring;
    use crate::send::rtt::RttEstimator;
    use crate::send::sent_queue::Acknowledged;

    const SETUP: Setup = Setup {
        initial_window: 10,
        slow_start_limit: None,
        hystart: false,
        pacing: false,
        deliveries: false,
        seed: 0,
        rules_off: crate::rules::RulesOff::NONE,
    };
    const NXT: SeqNumber = SeqNumber(10_000);

    /// What a connection lends to its recovery.
    struct Lender {
        queue: SentQueue,
        sacks: Scoreboard,
        rtt: RttEstimator,
        domain: CongestionDomain,
        una: u32,
    }

    impl Lender {
        /// The ACK of `una`, with these SACK blocks.
        fn ack(&mut self, reno: &mut Reno, una: u32, blocks: &[(u32, u32)]) -> Option<RecoveryPhase> {
            let (prior_una, una) = (SeqNumber(core::mem::replace(&mut self.una, una)), SeqNumber(una));
            let blocks: alloc::vec::Vec<_> =
                blocks.iter().map(|&(from, to)| (SeqNumber(from), SeqNumber(to))).collect();
            let prior_flight = self.queue.outstanding();
            let newly_sacked = self.sacks.update(&mut self.queue, &blocks, una, NXT);
            self.queue.acknowledge(una);
            self.sacks.advance(una);
            let ack = AckInfo {
                advanced: prior_una != una,
                prior_una,
                prior_flight,
                prior_pipe: 0,
                acknowledged: Acknowledged::default(),
                newly_sacked,
                duplicate: prior_una == una,
                has_data: false,
                special: false,
                holds_window: false,
                tsecr: None,
                rtt: None,
            };
            let mut cx = RecoveryContext {
                now: Instant::ZERO,
                queue: &mut self.queue,
                sacks: &mut self.sacks,
                rtt: &mut self.rtt,
                domain: &mut self.domain,
                member: ConnectionId::of_test(),
                ledger: None,
                buffer: &Ring::new(1),
                buffer_start: una,
                una,
                nxt: NXT,
                mss: 1000,
                answered: false,
            };
            reno.on_ack(&mut cx, &ack).phase
        }
    }

    /// RFC 6675, 5: what was lost beyond the recovery point begins the next recovery at once; no new
    /// SACK block needs to report it again.
    #[test]
    fn losses_beyond_the_recovery_point_begin_another_recovery() {
        let mut queue = SentQueue::default();
        for segment in 0..10 {
            queue.push(SeqNumber(segment * 1000), 1000, Marks::NONE, Instant::ZERO, 0);
        }
        let rtt = RttEstimator::new(Arc::new(Profile::standard()));
        let domain = CongestionDomain::new(Algorithm::Reno.build(SETUP, None));
        let mut lender = Lender { queue, sacks: Scoreboard::default(), rtt, domain, una: 0 };
        let mut reno = Reno::new(true, true, true);
        assert_eq!(lender.ack(&mut reno, 0, &[(1000, 4000)]), Some(RecoveryPhase::Fast));
        assert_eq!(lender.ack(&mut reno, 0, &[(5000, 9000), (1000, 4000)]), None, "4000 is lost too");
        reno.phase = Phase::Fast(SeqNumber(4000));
        reno.recover = Some(SeqNumber(4000));
        assert_eq!(lender.ack(&mut reno, 4000, &[]), Some(RecoveryPhase::Fast));
        let missing = lender.queue.first_missing().map(|index| lender.queue.get(index).seq);
        assert_eq!(missing, Some(SeqNumber(4000)));
    }
}
