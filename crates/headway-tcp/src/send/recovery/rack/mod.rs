//! Loss recovery of today's TCP: RACK-TLP (RFC 8985), PRR (RFC 6937), F-RTO (RFC 5682), and undo of
//! reductions that turn out to be spurious (RFC 3522, 3708, 4015).
//!
//! [`detection`] finds losses of any cause; the [ledger](crate::path::ledger) determines the cause. Only
//! losses that are not damage begin a recovery and reduce the window; damaged segments are retransmitted
//! as soon as the window permits, without any other reaction.

mod damage;
mod detection;
mod episode;
mod frto;
mod outage;
mod probe;
mod prr;

use alloc::boxed::Box;

use headway_units::{Duration, Instant};
use headway_wire::SeqNumber;
use headway_wire::patch::Choice;

use super::{
    AckInfo, Allowance, DamageReport, RecoveryContext, RecoveryEngine, RecoveryOutcome, Retransmission,
    RetransmitQueue, TimerUpdate,
};
use crate::congestion::Ack;
use crate::event::{RecoveryPhase, RetransmitReason};
use crate::path::ledger::{Cause, CauseLedger, Missing};
use crate::profile::Features;
use crate::rules::Rule;
use crate::send::rtt::{RttEstimator, TimeoutPace};
use crate::send::scoreboard::Scoreboard;
use crate::send::sent_queue::{Marks, Sent, SentQueue};
use crate::send::transmissions::{Delivery, Newest, Transmission};
use detection::{Detector, Times};
use episode::Episode;
use frto::Frto;
use outage::Outage;
use probe::Probe;
use prr::Prr;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Open,
    /// Until `point` is acknowledged; or, where damage keeps that from happening, until all that
    /// had been sent up to `order` is delivered or known to be lost: what was outstanding when it
    /// began, and what congestion took of that and was retransmitted.
    Fast {
        point: SeqNumber,
        order: u64,
    },
    /// After a timeout, until `point` is acknowledged. What was sent before has an order up to
    /// `order`.
    Timeout {
        point: SeqNumber,
        order: u64,
        frto: Frto,
    },
}

pub(super) struct Rack {
    features: Features,
    detector: Detector,
    phase: Phase,
    prr: Option<Prr>,
    episode: Option<Box<Episode>>,
    probe: Option<Probe>,
    /// Bytes that had arrived damaged at the last update of proportional rate reduction.
    corrupted: u64,
    /// The next retransmission is sent whatever the window is.
    forced: bool,
    /// Timeouts since `SND.UNA` last moved.
    timeouts: u32,
    /// One of them was answered as congestion.
    timeout_answered: bool,
    /// When the retransmission timer last expired.
    last_timeout: Option<Instant>,
    outage: Outage,
    /// When loss detection runs next.
    reorder_deadline: Option<Instant>,
    /// A special ACK has come.
    damage_reported: bool,
    /// Bytes whose report came in less than half of the shortest round trip, and was believed.
    believed_early: u32,
    /// What the timeout that is being recovered from, if it was spurious, did to the window is undone.
    undone: bool,
}

impl Rack {
    pub(super) fn new(features: Features) -> Self {
        Self {
            features,
            detector: Detector::new(),
            phase: Phase::Open,
            prr: None,
            episode: None,
            probe: None,
            corrupted: 0,
            forced: false,
            timeouts: 0,
            timeout_answered: false,
            last_timeout: None,
            outage: Outage::default(),
            reorder_deadline: None,
            damage_reported: false,
            believed_early: 0,
            undone: false,
        }
    }

    fn in_fast_recovery(&self) -> bool {
        matches!(self.phase, Phase::Fast { .. })
    }

    fn recovering(&self) -> bool {
        self.phase != Phase::Open
    }

    /// Takes the round-trip sample of an ACK, and enters in the ledger what arrived intact.
    fn sample(cx: &mut RecoveryContext<'_>, ack: &AckInfo, delivery: &Delivery) -> Option<Duration> {
        // Karn: the newest transmission that arrived is measured, if it is the only one of its segment, or the one that is echoed. The
        // age of another echo is known to a tick.
        let rtt = match delivery.newest {
            Some(newest) if !newest.retransmitted || ack.tsecr == Some(newest.tsval) => {
                Some(cx.now.saturating_since(newest.sent_at))
            }
            _ => ack.rtt,
        };
        if let Some(sample) = rtt {
            cx.sample_path(sample, delivery.newest.map_or(0, Newest::bytes));
            cx.rtt.clear_backoff();
        }
        // An ACK that only reports damage acknowledges nothing, but what it reports was not lost in silence.
        if delivery.bytes > 0 || delivery.survived != [0; 3] {
            cx.advance_ledger();
            if let Some(ledger) = &mut cx.ledger {
                ledger.on_intact(delivery.acknowledged);
                ledger.on_survived(delivery.survived, delivery.volume / cx.mss.max(1));
            }
        }
        rtt
    }

    /// Finds what an ACK shows to be lost, and what it shows to have been taken for lost.
    fn process(
        &mut self,
        cx: &mut RecoveryContext<'_>,
        ack: &AckInfo,
        delivery: &Delivery,
    ) -> RecoveryOutcome {
        let mut outcome = RecoveryOutcome::default();
        if ack.advanced {
            self.timeouts = 0;
            self.timeout_answered = false;
        }
        if delivery.bytes > 0 || ack.acknowledged.bytes > 0 {
            outcome.timer = TimerUpdate::Restart;
        }
        // Behind a hole TSecr stands still, and would disprove every retransmission. On a path that damages
        // packets there is always a hole, and what was retransmitted was lost indeed.
        let damaged = cx.ledger.as_deref().is_some_and(CauseLedger::sees_damage);
        self.detector.update(delivery, cx.now, ack.tsecr.filter(|_| !damaged), times(cx));
        if let Some((start, end)) = cx.sacks.take_duplicate() {
            self.detector.on_duplicate_report(cx.una, cx.nxt);
            self.end_probe_by_duplicate(start, end);
            if self.features.undo
                && self.episode.as_mut().is_some_and(|episode| episode.on_duplicate(start, end))
            {
                self.undo(cx, &mut outcome);
            }
        }
        if ack.advanced
            && self.features.undo
            && self
                .episode
                .as_mut()
                .is_some_and(|episode| episode.tsecr_disproves(ack.prior_una, cx.una, ack.tsecr))
        {
            self.undo(cx, &mut outcome);
        }
        self.watch_timeout(cx, ack, delivery, &mut outcome);
        self.end_probe(cx, ack, delivery);
        let lost = self.detect(cx);
        if lost && self.phase == Phase::Open {
            self.enter(cx, ack.prior_flight, &mut outcome);
        }
        if let Some(prr) = &mut self.prr {
            let (pipe, ssthresh) = (cx.domain.total(cx.queue.pipe()), cx.domain.ssthresh());
            // What arrived damaged has left the network too.
            let corrupted = cx.queue.corrupted_bytes();
            let left = corrupted.wrapping_sub(core::mem::replace(&mut self.corrupted, corrupted)) as u32;
            let arrived = delivery.bytes.saturating_add(left);
            prr.on_ack(arrived, pipe, ssthresh, cx.mss, ack.advanced && !lost);
        }
        self.leave_if_over(cx, &mut outcome);
        outcome
    }

    /// Whether a hole is a sign of a loss that is still to be found: not where packets arrive damaged or
    /// overtake each other.
    fn hole_may_be_loss(&self, cx: &RecoveryContext<'_>) -> bool {
        !self.recovering()
            && !self.detector.has_reordering()
            && !self.damage_reported
            && !cx.ledger.as_deref().is_some_and(CauseLedger::sees_damage)
    }

    /// Finds losses and their causes. Returns whether any cause was not damage.
    fn detect(&mut self, cx: &mut RecoveryContext<'_>) -> bool {
        let window = self.detector.window(self.recovering(), cx.queue.sacked() / cx.mss.max(1), times(cx));
        let mut suspects = alloc::vec::Vec::new();
        self.reorder_deadline = match cx.queue.log() {
            Some(log) => self.detector.detect(log, cx.now, window, &mut |sent| suspects.push(sent)),
            None => None,
        };
        let mut congestion = false;
        for sent in suspects {
            congestion |= self.lose(cx, &sent);
        }
        congestion
    }

    /// A transmission is lost. Returns whether the cause was not damage.
    fn lose(&mut self, cx: &mut RecoveryContext<'_>, sent: &Transmission) -> bool {
        let Some(index) = cx.queue.segment_of(sent) else { return false };
        // RFC 4821, 3: "The isolated loss of a probe packet [...] is treated as an indication of an MTU limit, and not as a
        // congestion indicator." Nothing else is longer than segments are.
        if cx.queue.get(index).payload_len() > cx.mss {
            cx.queue.mark_damaged(index);
            return false;
        }
        let due = sent.sent_at + self.detector.rtt();
        let cause = cx.attribute(sent.missing(cx.mss, cx.now.saturating_since(due)));
        let damage = matches!(cause, Cause::Damage | Cause::Silent);
        if damage {
            cx.queue.mark_damaged(index);
        } else {
            let least = if self.features.rules_off.hold(Rule::LostBlock) { cx.mss } else { 0 };
            if let Some(lost) = cx.queue.mark_dropped(index, sent, least, cx.now) {
                cx.domain.control().on_segment_lost(&lost);
            }
        }
        if matches!(cause, Cause::Damage | Cause::Either) {
            cx.queue.count_passed(index, due, cx.now);
        }
        if damage || cause == Cause::Either {
            cx.report_damage(sent.len);
        }
        !damage
    }

    /// RFC 8985, 6.3, RACK_mark_losses_on_RTO: the first segment, and what "RACK.xmit_ts + RACK.rtt +
    /// RACK.reo_wnd" says is too old, is lost. Says whether any to anything but damage.
    fn lose_late(&mut self, cx: &mut RecoveryContext<'_>) -> bool {
        let window = self.detector.window(true, 0, times(cx));
        let mut congestion = false;
        for index in 0..cx.queue.len() {
            let sent = cx.queue.get(index);
            let late = sent.sent_at + self.detector.rtt() + window <= cx.now;
            if (index > 0 && !late) || sent.has(Marks::SACKED) || sent.is_missing() {
                continue;
            }
            if sent.payload_len() <= cx.mss {
                let cause = match cx.queue.transmission_of(index) {
                    Some(latest) => cx.attribute(latest.missing(cx.mss, Duration::ZERO)),
                    None => Cause::Unknown,
                };
                congestion |= !matches!(cause, Cause::Damage | Cause::Silent);
            }
            cx.queue.mark_lost(index);
        }
        congestion
    }

    fn enter(&mut self, cx: &mut RecoveryContext<'_>, flight: u32, outcome: &mut RecoveryOutcome) {
        let order = cx.queue.transmissions();
        self.phase = Phase::Fast { point: cx.nxt, order };
        // A reduction in response to an ECN mark is not undone.
        self.episode = (self.features.undo && !cx.answered).then(|| Box::new(Episode::new()));
        self.undone = false;
        let window = cx.domain.window();
        if !cx.answered {
            cx.report_loss(flight);
        }
        // The window of a shared domain bounds all members together: there is no share of one to reduce in
        // proportion.
        if self.features.prr && !cx.domain.is_shared() && !cx.domain.control().recovers_by_itself() {
            // As for the threshold: FlightSize includes what was selectively acknowledged or arrived damaged, and
            // may be much larger than the window ever was. (That may have been reduced before, in answer to a
            // mark; then what is in the network is more.)
            let most = window.max(cx.queue.pipe());
            self.prr = Some(Prr::new(flight.min(most)));
            self.corrupted = cx.queue.corrupted_bytes();
        }
        self.forced = true;
        outcome.phase = Some(RecoveryPhase::Fast);
        outcome.timer = TimerUpdate::Restart;
    }

    fn leave_if_over(&mut self, cx: &mut RecoveryContext<'_>, outcome: &mut RecoveryOutcome) {
        let over = match self.phase {
            Phase::Open => return,
            Phase::Fast { point, order } => {
                let resolved = !cx.queue.any_missing()
                    && cx.ledger.as_deref().is_some_and(CauseLedger::sees_damage)
                    && cx
                        .queue
                        .log()
                        .is_some_and(|log| log.oldest().is_none_or(|oldest| oldest.order > order));
                cx.una.ge(point) || resolved
            }
            Phase::Timeout { point, .. } => cx.una.ge(point),
        };
        if over {
            self.detector.on_recovery_end();
            if self.in_fast_recovery() {
                cx.report_recovery_end();
            }
            self.phase = Phase::Open;
            self.prr = None;
            self.forced = false;
            outcome.phase = Some(RecoveryPhase::Over);
        }
    }

    /// RFC 4015: the reduction was spurious.
    fn undo(&mut self, cx: &mut RecoveryContext<'_>, outcome: &mut RecoveryOutcome) {
        self.episode = None;
        if core::mem::replace(&mut self.undone, true) {
            return;
        }
        self.detector.on_overtaken();
        cx.domain.on_spurious(cx.member);
        if matches!(self.phase, Phase::Timeout { .. }) {
            // What the timeout took for lost is in the network.
            cx.queue.revive_losses();
        }
        self.phase = Phase::Open;
        self.prr = None;
        self.forced = false;
        outcome.phase = Some(RecoveryPhase::Spurious);
    }
}

impl RecoveryEngine for Rack {
    fn on_ack(&mut self, cx: &mut RecoveryContext<'_>, ack: &AckInfo) -> RecoveryOutcome {
        let (delivery, rate) = cx.queue.take_delivery(cx.now, cx.rtt.min());
        let rtt = Self::sample(cx, ack, &delivery);
        cx.advance_ledger();
        let mut outcome = self.process(cx, ack, &delivery);
        if delivery.bytes > 0 {
            self.end_outage(cx, &mut outcome);
            outcome.progress = true;
        }
        if delivery.bytes > 0 || rate.is_some() {
            let duplicate = ack.acknowledged.bytes == 0 && self.hole_may_be_loss(cx);
            let (prior_pipe, pipe) = (cx.domain.total(ack.prior_pipe), cx.domain.total(cx.queue.pipe()));
            cx.domain.control().on_ack(&Ack {
                now: cx.now,
                acked: ack.acknowledged.bytes,
                delivered: delivery.bytes,
                prior_pipe,
                pipe,
                rtt,
                in_recovery: self.in_fast_recovery() || ack.holds_window,
                duplicate,
                retransmitted: ack.acknowledged.retransmitted,
                damages: cx.ledger.as_deref().is_some_and(CauseLedger::damages),
                asks_for_less: cx.ledger.as_deref().is_some_and(CauseLedger::asks_for_less),
                alone: cx.ledger.as_deref().is_some_and(CauseLedger::is_alone),
                rate,
            });
            let load = cx.domain.control().load();
            cx.queue.set_load(load);
        }
        outcome.rate = rate;
        outcome.reorder_deadline = self.reorder_deadline;
        if outcome.phase == Some(RecoveryPhase::Spurious) {
            cx.rtt.clear_backoff();
        }
        outcome
    }

    /// The SACK blocks of a reordered ACK are new information all the same, and the only information if there are
    /// more holes than an ACK has blocks. A duplicate report shows what became of a tail loss probe.
    fn reads_stale_ack(&self, overtaken: bool, sacks: &Scoreboard) -> bool {
        overtaken || sacks.has_duplicate() || self.probe.is_some()
    }

    /// Segments are found missing by the order in which they were sent, and this one arrived damaged.
    fn on_damage_report(
        &mut self,
        cx: &mut RecoveryContext<'_>,
        _reported: &mut RetransmitQueue,
        report: &DamageReport<'_>,
    ) -> bool {
        self.damage_reported = true;
        self.take_report(cx, report)
    }

    /// None is, where loss detection goes by the order of sending.
    fn leaves_head_behind(&self, _cx: &RecoveryContext<'_>) -> bool {
        false
    }

    fn on_timeout(&mut self, cx: &mut RecoveryContext<'_>, last_received: Instant) -> RecoveryOutcome {
        cx.advance_ledger();
        // A timer that expires twice with nothing received in between means silence, and
        // silence may be congestion whatever was damaged before.
        let received = self.last_timeout.is_none_or(|at| last_received > at);
        self.last_timeout = Some(cx.now);
        let damages = cx.ledger.as_deref().is_some_and(CauseLedger::damages);
        let flight = cx.queue.outstanding();
        let in_network = cx.queue.pipe();
        // RFC 2018, section 8: a first segment that is SACKed although it was never acknowledged
        // shows that the receiver reneged.
        if cx.queue.head().is_some_and(|head| head.has(Marks::SACKED)) {
            cx.sacks.reset();
            cx.queue.lose_sacked();
        }
        let congestion = self.lose_late(cx);
        self.forced = true;
        self.probe = None;
        self.reorder_deadline = None;
        let thin = self.is_thin(cx);
        self.timeouts += 1;
        if self.timeouts > 1 {
            // A peer that answers no patch gets segments.
            (0..cx.queue.len()).for_each(|index| cx.queue.set_patch(index, Choice::NONE));
        }
        if damages && received && !congestion {
            let pace = if thin { TimeoutPace::Linear } else { TimeoutPace::BackOff };
            return RecoveryOutcome { pace, ..RecoveryOutcome::default() };
        }
        let outages = self.features.rules_off.hold(Rule::Outages);
        let silence = outages && damages && (!received || in_network >= outage::WINDOW * cx.mss);
        let pace = if let Some(outage) = self.outage.on_timeout(cx.now, silence) {
            TimeoutPace::Probe(outage)
        } else if thin {
            TimeoutPace::Linear
        } else {
            TimeoutPace::BackOff
        };
        let first = !core::mem::replace(&mut self.timeout_answered, true);
        cx.report_timeout(flight, first);
        self.prr = None;
        if first {
            self.undone = false;
            self.episode = self.features.undo.then(|| Box::new(Episode::new()));
        }
        // "the sender SHOULD NOT enter [F-RTO] if there are already retransmissions outstanding".
        let frto =
            if self.features.frto && first && self.phase == Phase::Open { Frto::Sent } else { Frto::Off };
        self.phase = Phase::Timeout { point: cx.nxt, order: cx.queue.transmissions(), frto };
        RecoveryOutcome { phase: Some(RecoveryPhase::Timeout), pace, ..RecoveryOutcome::default() }
    }

    /// RFC 8985, 6.3.
    fn on_reorder_timer(&mut self, cx: &mut RecoveryContext<'_>) -> RecoveryOutcome {
        cx.advance_ledger();
        let mut outcome = RecoveryOutcome::default();
        let flight = cx.queue.outstanding();
        if self.detect(cx) && self.phase == Phase::Open {
            self.enter(cx, flight, &mut outcome);
        }
        outcome.reorder_deadline = self.reorder_deadline;
        outcome
    }

    fn on_sent(&mut self, bytes: u32) {
        self.on_new_data();
        if let Some(prr) = &mut self.prr {
            prr.on_sent(bytes);
        }
    }

    fn on_retransmitted(&mut self, sent: &Sent, reason: RetransmitReason) {
        if let Some(prr) = &mut self.prr {
            prr.on_sent(sent.payload_bytes());
        }
        if reason == RetransmitReason::Damage {
            return;
        }
        if let Phase::Fast { point, order } = &mut self.phase
            && sent.seq.lt(*point)
        {
            *order = sent.order;
        }
        if let Some(episode) = &mut self.episode
            && !self.undone
        {
            episode.on_retransmitted(sent.seq, sent.tsval(), sent.has(Marks::COPIED));
        }
    }

    fn next_retransmit(&mut self, queue: &mut SentQueue, allowance: Allowance) -> Option<Retransmission> {
        let index = queue.first_missing()?;
        if !self.forced && queue.get(index).payload_bytes() > allowance.room {
            return None;
        }
        if !self.forced && self.frto_holds_back(index, queue) {
            return None;
        }
        self.forced = false;
        let reason = if queue.get(index).has(Marks::DAMAGED) {
            RetransmitReason::Damage
        } else if matches!(self.phase, Phase::Timeout { .. }) {
            RetransmitReason::Timeout
        } else {
            RetransmitReason::FastRetransmit
        };
        Some((index, reason))
    }

    fn may_send_new(&self) -> bool {
        self.frto_permits_new_data()
    }

    fn on_no_new_data(
        &mut self,
        queue: &mut SentQueue,
        allowance: Allowance,
        unsent: u32,
        sendable: u32,
    ) -> bool {
        if unsent == 0 && allowance.room >= allowance.mss {
            queue.app_limited();
        }
        // What the congestion window holds back may go when that opens.
        if sendable <= allowance.room {
            self.end_frto_without_new_data();
        }
        true
    }

    /// What proportional rate reduction leaves.
    fn room(&self) -> Option<u32> {
        self.prr.as_ref().map(Prr::room)
    }

    fn probe_timeout(
        &self,
        queue: &SentQueue,
        rtt: &RttEstimator,
        mss: u32,
        ledger: Option<&CauseLedger>,
    ) -> Option<Duration> {
        // Holes caused by damage do not prevent probing.
        let tolerates_holes = ledger.is_some_and(CauseLedger::sees_damage);
        self.tail_probe_timeout(queue, rtt, mss, tolerates_holes)
    }

    fn on_probe_sent(&mut self, end: SeqNumber, repeats: Option<Missing>) {
        self.probe = Some(Probe::new(end, repeats));
    }

    fn on_path_memory(&mut self, reordering: bool) -> bool {
        if reordering {
            self.detector.recall_reordering();
        }
        true
    }

    fn saw_reordering(&self) -> bool {
        self.detector.saw_reordering()
    }

    fn spares_probes(&self) -> bool {
        true
    }

    fn allocated(&self) -> usize {
        size_of::<Self>()
    }
}

/// The round-trip times that the reordering window depends on.
fn times(cx: &RecoveryContext<'_>) -> Times {
    let smoothed = cx.rtt.smoothed();
    Times { smoothed, min: cx.rtt.min().unwrap_or(smoothed) }
}
