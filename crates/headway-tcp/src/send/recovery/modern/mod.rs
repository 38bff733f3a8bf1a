//! Loss recovery of the modern sender: RACK-TLP (RFC 8985), PRR (RFC 6937), F-RTO (RFC 5682), and
//! undo of reductions that turn out to be spurious (RFC 3522, 3708, 4015).
//!
//! What was lost is found by [`rack`], whatever took it; the [ledger](crate::path::ledger) says what did.
//! Only what was not damage begins a recovery and reduces the window; what was damage is sent again
//! at once, as the window permits, and that is all.

mod episode;
mod prr;
mod rack;

use alloc::boxed::Box;

use headway_units::{Duration, Instant};
use headway_wire::SeqNumber;

use super::Verdict;
use crate::congestion::{CongestionControl, Loss};
use crate::event::{RecoveryPhase, RetransmitReason};
use crate::path::ledger::{Cause, CauseLedger, Delay};
use crate::profile;
use crate::send::sent_queue::{Marks, SentQueue};
use crate::send::transmissions::{Copy, Delivery};
use episode::Episode;
use prr::Prr;
use rack::Rack;

pub(crate) use rack::Times;

/// What recovery works on.
pub(crate) struct Bench<'a> {
    pub(crate) queue: &'a mut SentQueue,
    pub(crate) control: &'a mut dyn CongestionControl,
    /// The path's ledger, where the profile uses it.
    pub(crate) ledger: Option<&'a mut CauseLedger>,
    pub(crate) now: Instant,
    pub(crate) nxt: SeqNumber,
    pub(crate) mss: u32,
    pub(crate) times: Times,
    /// What the last round-trip sample says.
    pub(crate) delay: Option<Delay>,
    /// The window has been reduced for this window of data, in answer to a mark (RFC 3168).
    pub(crate) answered: bool,
}

/// What an acceptable ACK brought.
pub(crate) struct News {
    pub(crate) prior_una: SeqNumber,
    pub(crate) una: SeqNumber,
    pub(crate) prior_flight: u32,
    pub(crate) delivery: Delivery,
    /// The timestamp that it echoes, unless it is a special ACK's.
    pub(crate) echo: Option<u32>,
    /// A D-SACK block (RFC 2883).
    pub(crate) duplicate: Option<(SeqNumber, SeqNumber)>,
}

/// RFC 5682, section 3.1: the algorithm for a sender that uses SACK.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Frto {
    Off,
    /// Step 2: the first segment has been sent again, and nothing else goes.
    Sent,
    /// Step 3: it is acknowledged; so many segments of new data may go, and the next ACK decides.
    Probing(u8),
}

/// Step 2b: "transmit up to two new (previously unsent) segments".
const FRTO_SEGMENTS: u8 = 2;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Open,
    /// Until `point` is acknowledged; or, where damage keeps that from happening, until all that
    /// had been sent up to `order` is delivered or known to be lost: what was outstanding when it
    /// began, and what congestion took of that and was sent again.
    Fast {
        point: SeqNumber,
        order: u64,
    },
    /// After a timeout, until `point` is acknowledged. What was sent before bears an order up to
    /// `order`.
    Timeout {
        point: SeqNumber,
        order: u64,
        frto: Frto,
    },
}

/// A tail loss probe that is out (RFC 8985, section 7.4).
#[derive(Clone, Copy)]
struct Probe {
    end: SeqNumber,
    /// It was a resend.
    resent: bool,
}

pub(crate) struct Modern {
    switches: profile::Modern,
    rack: Rack,
    phase: Phase,
    prr: Option<Prr>,
    episode: Option<Box<Episode>>,
    probe: Option<Probe>,
    /// Octets that had arrived damaged when proportional rate reduction last looked.
    crossed: u64,
    /// The next resend goes out whatever the window says.
    forced: bool,
    timeouts: u32,
    /// When [`Modern::on_reorder_timer`] is to look again.
    look_again: Option<Instant>,
    /// What the timeout that is being recovered from, if it was spurious, did to the window is undone.
    undone: bool,
}

impl Modern {
    pub(crate) fn new(switches: profile::Modern) -> Self {
        Self {
            switches,
            rack: Rack::new(),
            phase: Phase::Open,
            prr: None,
            episode: None,
            probe: None,
            crossed: 0,
            forced: false,
            timeouts: 0,
            look_again: None,
            undone: false,
        }
    }

    /// Whether packets of this connection were seen to overtake each other.
    pub(crate) fn saw_reordering(&self) -> bool {
        self.rack.saw_reordering()
    }

    /// Nothing is being recovered from, and no packets were seen to overtake each other.
    pub(crate) fn expects_order(&self) -> bool {
        !self.recovering() && !self.rack.has_reordering()
    }

    /// Packets of an earlier connection were.
    pub(crate) fn recall_reordering(&mut self) {
        self.rack.recall_reordering();
    }

    /// What loss detection waits for, if it does.
    pub(crate) fn look_again(&self) -> Option<Instant> {
        self.look_again
    }

    pub(crate) fn in_fast_recovery(&self) -> bool {
        matches!(self.phase, Phase::Fast { .. })
    }

    /// What the recovery lets be sent, where it rather than the window decides.
    pub(crate) fn room(&self) -> Option<u32> {
        self.prr.as_ref().map(Prr::room)
    }

    fn recovering(&self) -> bool {
        self.phase != Phase::Open
    }

    /// An acceptable ACK was processed: the queue is trimmed, its SACK blocks are marked.
    pub(crate) fn on_ack(&mut self, mut bench: Bench<'_>, news: &News) -> Verdict {
        let mut verdict = Verdict::default();
        let advanced = news.una != news.prior_una;
        if advanced {
            self.timeouts = 0;
        }
        verdict.restart_timer = news.delivery.octets > 0;
        self.rack.update(&news.delivery, bench.now, news.echo, bench.times);
        if let Some((start, end)) = news.duplicate {
            self.rack.on_duplicate_report(news.una, bench.nxt);
            self.end_probe_by_duplicate(start, end);
            if self.switches.undo
                && self.episode.as_mut().is_some_and(|episode| episode.on_duplicate(start, end))
            {
                self.undo(&mut bench, &mut verdict);
            }
        }
        if advanced
            && self.switches.undo
            && self
                .episode
                .as_mut()
                .is_some_and(|episode| episode.echo_disproves(news.prior_una, news.una, news.echo))
        {
            self.undo(&mut bench, &mut verdict);
        }
        self.watch_timeout(&mut bench, news, advanced, &mut verdict);
        self.end_probe(&mut bench, news);
        let lost = self.detect(&mut bench);
        if lost && self.phase == Phase::Open {
            self.enter(&mut bench, news.prior_flight, &mut verdict);
        }
        if let Some(prr) = &mut self.prr {
            let (pipe, ssthresh) = (bench.queue.pipe(), bench.control.ssthresh());
            // What arrived damaged has left the network too.
            let crossed = bench.queue.crossed_octets();
            let left = crossed.wrapping_sub(core::mem::replace(&mut self.crossed, crossed)) as u32;
            let arrived = news.delivery.octets.saturating_add(left);
            prr.on_ack(arrived, pipe, ssthresh, bench.mss, advanced && !lost);
        }
        self.leave_if_over(&mut bench, news.una, &mut verdict);
        verdict
    }

    /// The copy `order` arrived damaged: those sent before it have arrived too, or are lost.
    pub(crate) fn on_crossed(&mut self, order: u64, sent_at: Instant, now: Instant) {
        self.rack.on_crossed(order, sent_at, now);
    }

    /// The time for which [`Modern::look_again`] asked has come (RFC 8985, 6.3).
    pub(crate) fn on_reorder_timer(&mut self, mut bench: Bench<'_>) -> Verdict {
        let mut verdict = Verdict::default();
        let flight = bench.queue.outstanding();
        if self.detect(&mut bench) && self.phase == Phase::Open {
            self.enter(&mut bench, flight, &mut verdict);
        }
        verdict
    }

    /// Finds what is lost, and what took it. Says whether it was anything but damage.
    fn detect(&mut self, bench: &mut Bench<'_>) -> bool {
        let window =
            self.rack.window(self.recovering(), bench.queue.sacked() / bench.mss.max(1), bench.times);
        let mut suspects = alloc::vec::Vec::new();
        self.look_again = match bench.queue.log() {
            Some(log) => self.rack.detect(log, bench.now, window, &mut |copy| suspects.push(copy)),
            None => None,
        };
        let mut congestion = false;
        for copy in suspects {
            congestion |= Self::lose(bench, &copy);
        }
        self.match_counts(bench);
        congestion
    }

    /// A copy is lost. Says whether to anything but damage.
    fn lose(bench: &mut Bench<'_>, copy: &Copy) -> bool {
        let Some(index) = bench.queue.segment_of(copy) else { return false };
        let cause = match &mut bench.ledger {
            Some(ledger) => ledger.attribute(bench.delay),
            None => Cause::Unknown,
        };
        if cause == Cause::Damage {
            bench.queue.mark_crossed(index, bench.now);
            bench.control.on_damage(bench.now, copy.len);
            return false;
        }
        if let Some(lost) = bench.queue.mark_dropped(index, copy, bench.now) {
            bench.control.on_segment_lost(&lost);
        }
        true
    }

    /// Damaged packets that the receiver counted, and that nothing is found missing for yet: on a
    /// path that keeps the order they are the oldest of those under way.
    fn match_counts(&mut self, bench: &mut Bench<'_>) {
        let Some(ledger) = &mut bench.ledger else { return };
        ledger.bound_credits(bench.queue.pipe().div_ceil(bench.mss.max(1)));
        if self.rack.has_reordering() {
            return;
        }
        while ledger.credits() > 0 && !ledger.is_exhausted() {
            let Some(&copy) = bench.queue.log().and_then(|log| log.oldest()) else { return };
            // It cannot have been there and the report back in less than a round trip.
            if bench.now.saturating_since(copy.sent_at) < bench.times.least {
                return;
            }
            let Some(index) = bench.queue.segment_of(&copy) else { continue };
            ledger.take_credit();
            bench.queue.mark_crossed(index, bench.now);
            bench.control.on_damage(bench.now, copy.len);
        }
    }

    fn enter(&mut self, bench: &mut Bench<'_>, flight: u32, verdict: &mut Verdict) {
        let order = bench.queue.transmissions();
        self.phase = Phase::Fast { point: bench.nxt, order };
        // A reduction that a mark called for is not taken back.
        self.episode = (self.switches.undo && !bench.answered).then(|| Box::new(Episode::new()));
        self.undone = false;
        if !bench.answered {
            bench.control.on_loss(&Loss { now: bench.now, flight });
        }
        if self.switches.prr && !bench.control.recovers_by_itself() {
            self.prr = Some(Prr::new(flight));
            self.crossed = bench.queue.crossed_octets();
        }
        self.forced = true;
        verdict.phase = Some(RecoveryPhase::Fast);
        verdict.restart_timer = true;
    }

    fn leave_if_over(&mut self, bench: &mut Bench<'_>, una: SeqNumber, verdict: &mut Verdict) {
        let over = match self.phase {
            Phase::Open => return,
            Phase::Fast { point, order } => {
                let settled = bench.ledger.as_ref().is_some_and(|ledger| ledger.sees_damage())
                    && bench
                        .queue
                        .log()
                        .is_some_and(|log| log.oldest().is_none_or(|oldest| oldest.order > order));
                una.ge(point) || settled
            }
            Phase::Timeout { point, .. } => una.ge(point),
        };
        if over {
            if self.in_fast_recovery() {
                self.rack.on_recovery_end();
                bench.control.on_recovery_end(&Loss { now: bench.now, flight: bench.queue.outstanding() });
            }
            self.phase = Phase::Open;
            self.prr = None;
            self.forced = false;
            verdict.phase = Some(RecoveryPhase::Over);
        }
    }

    /// RFC 4015: the reduction was not called for.
    fn undo(&mut self, bench: &mut Bench<'_>, verdict: &mut Verdict) {
        self.episode = None;
        if core::mem::replace(&mut self.undone, true) {
            return;
        }
        self.rack.on_overtaken();
        bench.control.on_spurious();
        if matches!(self.phase, Phase::Timeout { .. }) {
            // What the timeout took for lost is under way.
            bench.queue.revive_losses();
        }
        self.phase = Phase::Open;
        self.prr = None;
        self.forced = false;
        verdict.phase = Some(RecoveryPhase::Spurious);
    }

    // --- timeouts ---------------------------------------------------------------------------------

    /// The retransmission timer expired. `damage`: there is evidence of damage, and the peer was heard
    /// since the last time. Says whether that is to be answered as congestion is.
    pub(crate) fn on_timeout(&mut self, bench: &mut Bench<'_>, damage: bool) -> bool {
        let flight = bench.queue.outstanding();
        // RFC 2018, section 8: a first segment that is SACKed although it was never acknowledged
        // shows that the receiver reneged.
        if bench.queue.head().is_some_and(|head| head.has(Marks::SACKED)) {
            bench.queue.lose_sacked();
        }
        let window = self.rack.window(true, 0, bench.times);
        // RFC 8985, 6.3, RACK_mark_losses_on_RTO: the first segment, and what "RACK.xmit_ts +
        // RACK.rtt + RACK.reo_wnd" says is too old.
        for index in 0..bench.queue.len() {
            let sent = bench.queue.get(index);
            let late = sent.sent_at + self.rack.rtt() + window <= bench.now;
            if (index == 0 || late) && !sent.has(Marks::SACKED) && !sent.is_missing() {
                bench.queue.mark_lost(index);
            }
        }
        self.forced = true;
        self.probe = None;
        self.look_again = None;
        if damage {
            return false;
        }
        let first = self.timeouts == 0;
        bench.control.on_timeout(&Loss { now: bench.now, flight }, first);
        self.timeouts += 1;
        self.prr = None;
        if first {
            self.undone = false;
            self.episode = self.switches.undo.then(|| Box::new(Episode::new()));
        }
        // "the sender SHOULD NOT enter [F-RTO] if there are already retransmissions outstanding".
        let frto =
            if self.switches.frto && first && self.phase == Phase::Open { Frto::Sent } else { Frto::Off };
        self.phase = Phase::Timeout { point: bench.nxt, order: bench.queue.transmissions(), frto };
        true
    }

    /// RFC 5682, section 3.1.
    fn watch_timeout(&mut self, bench: &mut Bench<'_>, news: &News, advanced: bool, verdict: &mut Verdict) {
        let Phase::Timeout { point, order, frto } = self.phase else { return };
        let next = match frto {
            Frto::Off => return,
            // Step 2: duplicates are waited through; with all that was outstanding acknowledged,
            // there is nothing to tell.
            Frto::Sent if !advanced => Frto::Sent,
            Frto::Sent if news.una.lt(point) => Frto::Probing(FRTO_SEGMENTS),
            Frto::Sent => Frto::Off,
            Frto::Probing(_) => match news.delivery.newest {
                // Step 3b: something arrives that was sent before the timer expired, and never again:
                // nothing was lost.
                Some(newest) if !newest.resent && newest.order <= order => {
                    self.undo(bench, verdict);
                    return;
                }
                // Step 3a: what was sent after it arrives first.
                _ => Frto::Off,
            },
        };
        self.phase = Phase::Timeout { point, order, frto: next };
    }

    /// Whether new data may go, as far as F-RTO is concerned.
    pub(crate) fn permits_new_data(&self) -> bool {
        !matches!(self.phase, Phase::Timeout { frto: Frto::Sent | Frto::Probing(0), .. })
    }

    /// A segment of new data leaves.
    pub(crate) fn on_new_data(&mut self) {
        if let Phase::Timeout { frto: Frto::Probing(left), .. } = &mut self.phase {
            *left = left.saturating_sub(1);
        }
    }

    // --- tail loss probes -------------------------------------------------------------------------

    /// When to probe, after data was sent or acknowledged (RFC 8985, 7.2); `None`: not at all.
    pub(crate) fn probe_timeout(
        &self,
        queue: &SentQueue,
        smoothed: Option<Duration>,
        mss: u32,
        ledger: Option<&CauseLedger>,
    ) -> Option<Duration> {
        /// "WCDelAckT": the longest that the peer holds an ACK back.
        const DELAYED_ACK: Duration = Duration::from_millis(200);
        if !self.switches.tlp || self.recovering() || self.probe.is_some() || queue.is_empty() {
            return None;
        }
        // Holes that damage made say nothing against probing.
        let tolerated = ledger.is_some_and(CauseLedger::sees_damage);
        if queue.sacked() > 0 && !tolerated {
            return None;
        }
        let Some(smoothed) = smoothed else { return Some(Duration::from_secs(1)) };
        let single = queue.outstanding() <= mss;
        Some(smoothed * 2 + if single { DELAYED_ACK } else { Duration::ZERO })
    }

    /// A probe was sent (RFC 8985, 7.3).
    pub(crate) fn probed(&mut self, end: SeqNumber, resent: bool) {
        self.probe = Some(Probe { end, resent });
    }

    /// RFC 8985, 7.4.2: a probe that was a resend and was needed repaired a loss, which calls for an
    /// answer of congestion control.
    fn end_probe(&mut self, bench: &mut Bench<'_>, news: &News) {
        let Some(probe) = self.probe.filter(|probe| news.una.ge(probe.end)) else { return };
        // What covers the probe may be the answer to the original, and that to the probe, a duplicate
        // without anything new, be on its way. It would come before later data is acknowledged.
        let repaired = news.una.gt(probe.end);
        let duplicate = news.una == news.prior_una && news.delivery.octets == 0;
        if probe.resent && !repaired && !duplicate {
            return;
        }
        self.probe = None;
        if !(probe.resent && repaired) {
            return;
        }
        let cause = match &mut bench.ledger {
            Some(ledger) => ledger.attribute(bench.delay),
            None => Cause::Unknown,
        };
        if cause != Cause::Damage && !bench.answered {
            bench.control.on_loss(&Loss { now: bench.now, flight: news.prior_flight });
        }
    }

    /// Whether it is open what became of a tail loss probe.
    pub(crate) fn awaits_answer(&self) -> bool {
        self.probe.is_some()
    }

    fn end_probe_by_duplicate(&mut self, start: SeqNumber, end: SeqNumber) {
        if self.probe.is_some_and(|probe| probe.resent && start.lt(probe.end) && probe.end.le(end)) {
            self.probe = None;
        }
    }

    // --- what to send -----------------------------------------------------------------------------

    pub(crate) fn next_resend(
        &mut self,
        queue: &mut SentQueue,
        room: u32,
    ) -> Option<(usize, RetransmitReason)> {
        let index = queue.first_missing()?;
        if !self.forced && queue.get(index).payload_len() > room {
            return None;
        }
        // Step 2b of F-RTO: new data rather than resends tells whether the timeout was spurious.
        if let Phase::Timeout { frto: Frto::Sent | Frto::Probing(_), .. } = self.phase
            && !self.forced
        {
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

    /// There is no new data, or the peer's window has no room for it: without it F-RTO cannot
    /// tell, and conventional recovery goes on.
    pub(crate) fn no_new_data(&mut self) {
        if let Phase::Timeout { point, order, frto: Frto::Probing(FRTO_SEGMENTS) } = self.phase {
            self.phase = Phase::Timeout { point, order, frto: Frto::Off };
        }
    }

    /// Data leaves.
    pub(crate) fn on_sent(&mut self, octets: u32) {
        if let Some(prr) = &mut self.prr {
            prr.on_sent(octets);
        }
    }

    /// A segment was sent again for `reason`, with this timestamp, as the copy number `copy`.
    pub(crate) fn on_resent(&mut self, seq: SeqNumber, stamp: u32, copy: u64, reason: RetransmitReason) {
        if reason == RetransmitReason::Damage {
            return;
        }
        if let Phase::Fast { point, order } = &mut self.phase
            && seq.lt(*point)
        {
            *order = copy;
        }
        if let Some(episode) = &mut self.episode
            && !self.undone
        {
            episode.on_resent(seq, stamp);
        }
    }
}
