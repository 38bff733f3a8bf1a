//! The modern sender's side of ACKs and timers: round trips and delivery rates, the ledger of the
//! path, and the timers of RACK-TLP and pacing.

use headway_units::{Duration, Instant};
use headway_wire::{Segment, SeqNumber, V2, V2Ack};

use super::{Connection, Context};
use crate::congestion::Ack;
use crate::event::{Observer, RecoveryPhase, RetransmitReason, Timer};
use crate::hack::classic::sender::Notice;
use crate::send::pacer::{least_rate, window_rate};
use crate::send::recovery::modern::{Bench, News};
use crate::send::recovery::{Recovery, Verdict};
use crate::send::sent_queue::{Acknowledged, Marks};

/// What an ACK found and did before loss detection hears of it.
pub(super) struct Heard {
    pub(super) prior_una: SeqNumber,
    pub(super) prior_flight: u32,
    pub(super) prior_pipe: u32,
    pub(super) special: bool,
    pub(super) acknowledged: Acknowledged,
}

impl Connection {
    /// Lends recovery what it needs.
    fn recover<O: Observer>(
        &mut self,
        cx: &mut Context<'_, O>,
        work: impl FnOnce(&mut crate::send::recovery::modern::Modern, Bench<'_>) -> Verdict,
    ) -> Verdict {
        let (times, delay) = (self.snd.times(), self.snd.delay());
        let answered = self.has_answered_mark();
        let Recovery::Modern(modern) = &mut self.snd.recovery else { return Verdict::default() };
        let ledger = if self.profile.modern.ledger {
            if let Some(delay) = delay {
                cx.path.ledger.advance(cx.now, delay);
            }
            Some(&mut cx.path.ledger)
        } else {
            None
        };
        let bench = Bench {
            queue: &mut self.snd.queue,
            control: &mut *cx.domain.control,
            ledger,
            now: cx.now,
            nxt: self.snd.nxt,
            mss: self.snd.mss,
            times,
            delay,
            answered,
        };
        work(modern, bench)
    }

    /// Whether an ACK may still say something when all has been acknowledged: that a segment arrived
    /// twice.
    pub(super) fn has_news_of_the_past(&self) -> bool {
        let Recovery::Modern(modern) = &self.snd.recovery else { return false };
        self.snd.sacks.duplicate.is_some() || modern.awaits_answer()
    }

    /// What an acceptable ACK means to loss detection and congestion control.
    pub(super) fn modern_ack<O: Observer>(
        &mut self,
        cx: &mut Context<'_, O>,
        segment: &Segment<'_>,
        heard: &Heard,
    ) {
        let (delivery, rate) = self.snd.queue.take_delivery(cx.now);
        if delivery.octets > 0 {
            self.peer_held.resolve(&mut self.snd.queue, self.snd.una);
        }
        // Karn: the newest copy that arrived tells, if it is the only one of its segment.
        let rtt = match delivery.newest {
            Some(newest) if !newest.resent => Some(cx.now.saturating_since(newest.sent_at)),
            _ if heard.acknowledged.octets > 0 => {
                self.rtt_sample(cx.now, segment, heard.special, &heard.acknowledged)
            }
            _ => None,
        };
        if let Some(sample) = rtt {
            let segments = cx.domain.control.window() / self.snd.mss.max(1);
            self.snd.rtt.sample(sample, segments);
            self.snd.rtt.clear_backoff();
        }
        if delivery.octets > 0 {
            self.snd.timeouts_in_a_row = 0;
            if self.profile.modern.ledger {
                self.advance_ledger(cx);
                cx.path.ledger.on_intact(delivery.octets.div_ceil(self.snd.mss.max(1)));
            }
        }
        let echo = segment.options.timestamps.filter(|_| self.negotiated.timestamps && !heard.special);
        let news = News {
            prior_una: heard.prior_una,
            una: self.snd.una,
            prior_flight: heard.prior_flight,
            delivery,
            echo: echo.map(|stamps| stamps.echo),
            duplicate: self.snd.sacks.duplicate.take(),
        };
        let verdict = self.recover(cx, |modern, bench| modern.on_ack(bench, &news));
        if delivery.octets > 0 {
            let duplicate = heard.acknowledged.octets == 0 && self.hole_may_be_loss(cx);
            cx.domain.control.on_ack(&Ack {
                now: cx.now,
                acked: heard.acknowledged.octets,
                delivered: delivery.octets,
                prior_pipe: heard.prior_pipe,
                pipe: self.snd.queue.pipe(),
                rtt,
                in_recovery: self.snd.recovery.in_fast_recovery(&self.snd.sacks)
                    || self.holds_window(segment.tcp.flags),
                duplicate,
                retransmitted: heard.acknowledged.retransmitted,
                rate,
            });
        }
        if let (true, Some(sample)) = (self.profile.modern.sharing, rate) {
            self.update_path_memory(cx, sample);
        }
        let advanced = heard.acknowledged.octets > 0;
        if verdict.phase == Some(RecoveryPhase::Spurious) {
            self.snd.rtt.clear_backoff();
        }
        if let Some(phase) = verdict.phase {
            self.note_phase(cx, phase);
        }
        self.rearm_after_ack(cx, advanced, verdict.restart_timer);
        self.watch_order(cx.now);
        self.arm_tail_probe(cx);
    }

    /// Whether a hole is a sign of a loss that is still to be found: not where packets arrive damaged or
    /// overtake each other.
    fn hole_may_be_loss<O>(&self, cx: &Context<'_, O>) -> bool {
        let Recovery::Modern(modern) = &self.snd.recovery else { return false };
        modern.expects_order()
            && self.statistics.special_acks_received == 0
            && !(self.profile.modern.ledger && cx.path.ledger.sees_damage())
    }

    /// Moves the ledger's window to now, before anything is entered: after a pause it would be
    /// forgotten with what is too old.
    fn advance_ledger<O>(&mut self, cx: &mut Context<'_, O>) {
        if let Some(delay) = self.snd.delay() {
            cx.path.ledger.advance(cx.now, delay);
        }
    }

    /// The peer's count of damaged packets that it could not read (HACK v2).
    pub(super) fn hear_count<O>(&mut self, cx: &mut Context<'_, O>, segment: &Segment<'_>) {
        if !self.profile.modern.ledger {
            return;
        }
        self.advance_ledger(cx);
        if !self.negotiated.v2 {
            return;
        }
        let count = segment.options.v2.as_ref().and_then(V2::as_ack).map(|ack: &V2Ack| ack.damaged);
        if let Some(count) = count {
            let sent = u16::try_from(self.snd.queue.transmissions()).unwrap_or(u16::MAX);
            cx.path.ledger.on_count(cx.now, count, sent);
        }
    }

    /// A later ACK was faster. What this one's SACK blocks say is news all the same, and the only news where
    /// there are more holes than an ACK has blocks.
    pub(super) fn overtaken_ack<O: Observer>(
        &mut self,
        cx: &mut Context<'_, O>,
        segment: &Segment<'_>,
        special: bool,
    ) {
        let modern = matches!(self.snd.recovery, Recovery::Modern(_));
        if !modern || segment.options.sack.is_empty() || self.snd.queue.is_empty() {
            return;
        }
        let heard = Heard {
            prior_una: self.snd.una,
            prior_flight: self.snd.queue.outstanding(),
            prior_pipe: self.snd.queue.pipe(),
            special,
            acknowledged: Acknowledged::default(),
        };
        let blocks = segment.options.sack.as_slice();
        self.snd.sacks.update(&mut self.snd.queue, blocks, segment.tcp.ack, self.snd.nxt);
        self.modern_ack(cx, segment, &heard);
        self.report_pipe(cx);
    }

    /// A special ACK names a copy: segments are found missing by the order in which they were sent,
    /// and this one arrived damaged. Says whether no other named it before.
    pub(super) fn take_notice_in_order<O>(&mut self, cx: &mut Context<'_, O>, notice: Notice) -> bool {
        let queue = &mut self.snd.queue;
        let Some(index) = queue.index_of(notice.seq) else { return false };
        let sent = queue.get(index).clone();
        if sent.has(Marks::SACKED) || sent.has(Marks::HELD) || sent.is_missing() {
            return false;
        }
        // A report of a copy cannot be back before a round trip is over. (The half leaves room for a
        // path that became shorter; and a sample of one tick says that the round trip took one at most,
        // perhaps next to nothing.) A peer that foresees timestamps must not have us send each segment
        // as often as it asks.
        let age = cx.now.saturating_since(sent.sent_at);
        let least = self.snd.rtt.least().unwrap_or(Duration::ZERO);
        if age < Duration::from_nanos(least.as_nanos().saturating_sub(self.profile.clock.as_nanos())) / 2 {
            return false;
        }
        let means_latest = match notice.stamp {
            Some(stamp) => queue.name_copy(index, stamp),
            None => !sent.has(Marks::EVER_RESENT) || age >= notice.least_age,
        };
        if !means_latest {
            return false;
        }
        if self.profile.modern.ledger {
            self.advance_ledger(cx);
            if cx.path.ledger.is_exhausted() {
                return false;
            }
            cx.path.ledger.on_named(self.snd.delay());
        }
        self.snd.queue.mark_crossed(index, cx.now);
        cx.domain.control.on_damage(cx.now, sent.len);
        if let Some(modern) = self.snd.modern() {
            modern.on_crossed(sent.order, sent.sent_at, cx.now);
        }
        true
    }

    // --- timers -------------------------------------------------------------------------------------

    /// RFC 8985, 6.2: loss detection looks again when the reordering window is over.
    fn watch_order(&mut self, now: Instant) {
        let Recovery::Modern(modern) = &self.snd.recovery else { return };
        match modern.look_again() {
            Some(at) => self.timers.set(Timer::Reorder, at.max(now)),
            None => self.timers.stop(Timer::Reorder),
        }
    }

    pub(super) fn reorder_expired<O: Observer>(&mut self, cx: &mut Context<'_, O>) {
        let verdict = self.recover(cx, crate::send::recovery::modern::Modern::on_reorder_timer);
        if let Some(phase) = verdict.phase {
            self.note_phase(cx, phase);
        }
        if verdict.restart_timer && !self.snd.queue.is_empty() {
            self.arm_retransmit(cx.now);
        }
        self.watch_order(cx.now);
        self.report_pipe(cx);
        self.tell_window(cx);
    }

    /// RFC 8985, 7.2: schedules a probe after data was sent or acknowledged.
    pub(super) fn arm_tail_probe<O>(&mut self, cx: &Context<'_, O>) {
        let Recovery::Modern(modern) = &self.snd.recovery else { return };
        let ledger = self.profile.modern.ledger.then_some(&cx.path.ledger);
        let timeout = modern.probe_timeout(&self.snd.queue, self.snd.rtt.estimate(), self.snd.mss, ledger);
        match timeout.map(|timeout| cx.now + timeout) {
            // "If Now() + PTO > TCP_RTO_expiration(): PTO = TCP_RTO_expiration() - Now()": the probe
            // takes the place of a timeout that would come before it.
            Some(at) => {
                let rto = self.timers.get(Timer::Retransmit);
                self.timers.set(Timer::TailProbe, rto.map_or(at, |rto| at.min(rto)));
            }
            None => self.timers.stop(Timer::TailProbe),
        }
    }

    pub(super) fn tail_probe_expired<O>(&mut self, cx: &Context<'_, O>) {
        if !self.snd.queue.is_empty() && self.snd.wnd > 0 {
            self.pending.request_tail_probe();
            self.arm_retransmit(cx.now);
        }
    }

    /// The retransmission timer expired in a connection whose recovery is the modern one. Says
    /// whether that is answered as congestion: with a backoff and a window of one segment.
    pub(super) fn modern_timeout<O: Observer>(&mut self, cx: &mut Context<'_, O>) -> bool {
        // A timer that expires without a word from the peer since it last did tells of silence, and
        // silence may be congestion whatever was damaged before.
        let heard = self.snd.last_timeout.is_none_or(|at| self.keep_alive.last_received() > at);
        let damage = self.profile.modern.ledger && heard && cx.path.ledger.sees_damage();
        self.snd.last_timeout = Some(cx.now);
        if self.snd.queue.head().is_some_and(|head| head.has(Marks::SACKED)) {
            self.snd.sacks.reset();
        }
        let mut as_congestion = true;
        self.recover(cx, |modern, mut bench| {
            as_congestion = modern.on_timeout(&mut bench, damage);
            Verdict::default()
        });
        self.timers.stop(Timer::Reorder);
        self.timers.stop(Timer::TailProbe);
        as_congestion
    }

    // --- pacing -------------------------------------------------------------------------------------

    /// Whether the next segment has to wait; then the timer that ends the wait is set.
    pub(super) fn is_paced_out(&mut self, now: Instant) -> bool {
        let ready = self.snd.pacer.ready_at();
        if !self.profile.modern.pacing || ready <= now {
            return false;
        }
        self.timers.set_exactly(Timer::Pace, ready);
        true
    }

    /// Data of so many octets leaves.
    pub(super) fn account_sent<O>(&mut self, cx: &mut Context<'_, O>, octets: u32) {
        if let Some(modern) = self.snd.modern() {
            modern.on_sent(octets);
        }
        cx.domain.control.on_sent(cx.now, self.snd.queue.pipe().saturating_sub(octets));
        if !self.profile.modern.pacing {
            return;
        }
        let control = &cx.domain.control;
        let rate = match (control.pacing_rate(), self.snd.rtt.estimate()) {
            // A model that has seen next to nothing delivered, as when a segment comes through after
            // many timeouts, may say next to nothing. No TCP sends less than a segment each round trip.
            (Some(rate), _) => rate.max(least_rate(self.snd.mss, self.snd.rtt.smoothed())),
            (None, Some(smoothed)) => window_rate(control.window(), smoothed, control.doubles()),
            (None, None) => return,
        };
        // Windows and delivery rates count payload, so this does too.
        self.snd.pacer.on_sent(cx.now, octets, rate);
    }

    /// The segment for a tail loss probe: "(1) if a segment of new data is available, send it, (2) else
    /// retransmit the highest-sequence segment sent so far" (RFC 8985, 7.3).
    pub(super) fn probe_target(&self) -> Option<(usize, RetransmitReason)> {
        let last = self.snd.queue.len().checked_sub(1)?;
        (!self.snd.queue.get(last).has(Marks::SACKED)).then_some((last, RetransmitReason::TailProbe))
    }
}
