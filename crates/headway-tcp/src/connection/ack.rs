//! The ACK of an acceptable segment: window, SACK blocks, round-trip time, congestion, recovery.

use headway_units::{Duration, Instant};
use headway_wire::{Segment, SeqNumber, TcpFlags, V2, V2Ack};

use super::{Connection, Context, State};
use crate::event::{Event, Observer, RecoveryPhase, RetransmitReason, Timer};
use crate::path::delay::Delay;
use crate::send::recovery::{AckInfo, Recovery, RecoveryContext, TimerUpdate};
use crate::send::sent_queue::Acknowledged;
use crate::send::{Outstanding, WindowUpdate};

impl Connection {
    /// Takes the ACK of `segment`, whose ACK number lies in the range of RFC 5961.
    pub(super) fn acknowledge<O: Observer>(&mut self, cx: &mut Context<'_, O>, segment: &Segment<'_>) {
        let special = self.negotiated.hack
            && segment.payload.is_empty()
            && if self.negotiated.v2 {
                segment.options.v2.as_ref().and_then(V2::as_ack).is_some_and(V2Ack::is_special)
            } else {
                segment.options.hack_ack.is_some() || !segment.options.xhack_ack.is_empty()
            };
        // Paper 000, section 3.3 (3): "No further processing is done unlike the case of normal TCP
        // ACKs."
        if special && self.literal() {
            self.special_ack(cx, segment);
        } else if self.ordinary_ack(cx, segment, special) {
            self.path_is_alive(cx);
        }
    }

    /// Everything that an ACK says, in the order in which one part depends on another: what it
    /// covers, what a special ACK reports (no loss detector may see those holes, rule 3), what is
    /// lost. Says whether it reported a transmission that none reported before.
    fn ordinary_ack<O: Observer>(
        &mut self,
        cx: &mut Context<'_, O>,
        segment: &Segment<'_>,
        special: bool,
    ) -> bool {
        let tcp = &segment.tcp;
        if tcp.ack.lt(self.snd.una()) {
            return self.overtaken_ack(cx, segment, special);
        }
        let prior = self.snd.outstanding();
        let window_changed = self.update_window(cx, segment);
        self.record_damage_count(cx, segment);
        let newly_sacked = self.take_sack_blocks(segment);
        let acknowledged = self.advance_una(cx, tcp.ack);
        if acknowledged.bytes > 0 {
            let una = self.snd.una();
            cx.emit(|| Event::Acknowledged { una });
        }
        self.on_ecn_echo(cx, tcp.flags, prior.flight);
        self.snd.clear_probes();
        let stale = !self.snd.has_outstanding() && acknowledged.bytes == 0;
        if stale && !self.snd.reads_stale_ack(false) {
            // Other members of the domain may have found what the path carries.
            self.tune_send_buffer(cx);
            return special && self.special_ack(cx, segment);
        }
        let (recovery, mut work) = self.recovery(cx);
        recovery.end_suppression(&mut work);
        let reported = special && self.special_ack(cx, segment);
        let rtt = if acknowledged.bytes > 0 {
            self.rtt_sample(cx.now, segment, special, &acknowledged)
        } else {
            None
        };
        let info = AckInfo {
            acknowledged,
            newly_sacked,
            // RFC 5681, 2: "(a) the receiver of the ACK has outstanding data, (b) the incoming
            // acknowledgment carries no data, (c) the SYN and FIN bits are both off, (d) the
            // acknowledgment number is equal to the greatest acknowledgment received [...] and
            // (e) the advertised window in the incoming acknowledgment equals the advertised
            // window in the last incoming acknowledgment". Answers to window probes are not duplicates.
            duplicate: acknowledged.bytes == 0
                && !segment.carries_data()
                && !tcp.flags.contains(TcpFlags::FIN)
                && !window_changed
                && self.snd.window().size() > 0
                && prior.flight > 0,
            rtt,
            ..self.ack_info(segment, special, &prior)
        };
        self.recover(cx, &info);
        self.tune_send_buffer(cx);
        self.report_window(cx);
        reported
    }

    /// A later ACK was faster.
    #[inline(never)]
    fn overtaken_ack<O: Observer>(
        &mut self,
        cx: &mut Context<'_, O>,
        segment: &Segment<'_>,
        special: bool,
    ) -> bool {
        let reported = special && self.special_ack(cx, segment);
        let has_blocks = !segment.options.sack.is_empty() && self.snd.has_outstanding();
        if has_blocks && self.snd.reads_stale_ack(true) {
            let prior = self.snd.outstanding();
            let newly_sacked = self.take_sack_blocks(segment);
            let info = AckInfo { newly_sacked, ..self.ack_info(segment, special, &prior) };
            self.recover(cx, &info);
        }
        reported
    }

    fn take_sack_blocks(&mut self, segment: &Segment<'_>) -> u32 {
        if !self.negotiated.sack || segment.options.sack.is_empty() {
            return 0;
        }
        self.snd.take_sack_blocks(segment.options.sack.as_slice(), segment.tcp.ack)
    }

    /// What `segment` says as an ACK that acknowledges nothing.
    fn ack_info(&self, segment: &Segment<'_>, special: bool, prior: &Outstanding) -> AckInfo {
        let timestamps = segment.options.timestamps.filter(|_| self.negotiated.timestamps && !special);
        AckInfo {
            advanced: self.snd.una() != prior.una,
            prior_una: prior.una,
            prior_flight: prior.flight,
            prior_pipe: prior.pipe,
            acknowledged: Acknowledged::default(),
            newly_sacked: 0,
            duplicate: false,
            has_data: segment.carries_data(),
            special,
            holds_window: self.holds_window(segment.tcp.flags),
            tsecr: timestamps.map(|timestamps| timestamps.tsecr),
            rtt: None,
        }
    }

    /// Lends the recovery what it works on.
    pub(super) fn recovery<'a, O>(
        &'a mut self,
        cx: &'a mut Context<'_, O>,
    ) -> (&'a mut Recovery, RecoveryContext<'a>) {
        let answered = self.has_answered_mark();
        let ledger = self.profile.features.ledger.then_some(&mut cx.path.ledger);
        self.snd.lend_recovery(cx.now, (cx.domain, cx.id), ledger, answered)
    }

    /// Loss recovery and congestion control learn of an ACK.
    fn recover<O: Observer>(&mut self, cx: &mut Context<'_, O>, info: &AckInfo) {
        self.on_lengths_arrived(cx, info.acknowledged.bytes);
        let (recovery, mut work) = self.recovery(cx);
        let outcome = recovery.on_ack(&mut work, info);
        if outcome.progress {
            self.snd.clear_timeouts();
        }
        if let (true, Some(sample)) = (self.profile.features.sharing, outcome.rate) {
            self.update_path_memory(cx, sample);
        }
        if let Some(phase) = outcome.phase {
            self.record_phase(cx, phase);
        }
        self.rearm_after_ack(cx, info.acknowledged.bytes > 0, outcome.timer);
        self.set_reorder_timer(cx.now, outcome.reorder_deadline);
        // RFC 8985, 7.2, restarts it "upon receiving an ACK that cumulatively acknowledges new data". Behind holes that damage
        // leaves most ACKs do not; there any ACK does.
        let behind_damage = self.profile.features.ledger && cx.path.ledger.sees_damage();
        self.arm_tail_probe(cx, info.acknowledged.bytes > 0 || behind_damage);
    }

    /// Says whether the window changed.
    fn update_window<O>(&mut self, cx: &Context<'_, O>, segment: &Segment<'_>) -> bool {
        let update = self.snd.update_window(&segment.tcp);
        if update == WindowUpdate::Opened {
            // What was sent as a probe may be retransmitted at once.
            self.timers.stop(Timer::Persist);
            if self.snd.has_outstanding() {
                self.arm_retransmit(cx.now);
            }
        }
        update != WindowUpdate::Unchanged
    }

    /// Moves SND.UNA and releases what it covers.
    fn advance_una<O>(&mut self, cx: &Context<'_, O>, ack: SeqNumber) -> Acknowledged {
        let Some(acknowledged) = self.snd.acknowledge(ack, cx.now) else { return Acknowledged::default() };
        // The segment that it meant is gone.
        self.pending.clear_head();
        self.notify_writable();
        acknowledged
    }

    /// The congestion window may have grown: so may the send buffer.
    fn tune_send_buffer<O>(&mut self, cx: &Context<'_, O>) {
        if self.profile.features.autotune {
            self.snd.tune_buffer(cx.domain.window(), self.profile.send_buffer);
            self.notify_writable();
        }
    }

    fn rtt_sample(
        &self,
        now: Instant,
        segment: &Segment<'_>,
        special: bool,
        acknowledged: &Acknowledged,
    ) -> Option<Duration> {
        // RFC 6298, 3 (Karn): only what was sent once, or what a timestamp tells apart.
        match acknowledged.sent_at {
            Some(sent) if !acknowledged.retransmitted => Some(now.saturating_since(sent)),
            // Rule 7: the echo of a special ACK is the damaged segment's, no sample for new data.
            _ if special => None,
            _ => self.echoed_sample(now, segment),
        }
    }

    /// RFC 7323, 4.1: the time since the echoed timestamp was sent.
    pub(super) fn echoed_sample(&self, now: Instant, segment: &Segment<'_>) -> Option<Duration> {
        if self.negotiated.timestamps { self.echo_age(now, segment) } else { None }
    }

    /// How long ago the echoed timestamp was sent.
    pub(super) fn echo_age(&self, now: Instant, segment: &Segment<'_>) -> Option<Duration> {
        let ticks = self.tsval(now).wrapping_sub(segment.options.timestamps?.tsecr);
        // An echo from the future, or from before the connection, is no echo of ours.
        if ticks as i32 <= -1 || self.profile.clock * ticks > now.saturating_since(Instant::ZERO) {
            return None;
        }
        Some(self.profile.clock * ticks)
    }

    fn rearm_after_ack<O>(&mut self, cx: &Context<'_, O>, advanced: bool, update: TimerUpdate) {
        let Some(sent_at) = self.snd.oldest_sent_at() else {
            // RFC 6298 (5.2): "When all outstanding data has been acknowledged, turn off the
            // retransmission timer."
            self.timers.stop(Timer::Retransmit);
            self.timers.stop(Timer::User);
            self.snd.release_queue();
            return;
        };
        if advanced {
            self.timers.stop(Timer::User);
            self.arm_user_timeout();
        }
        match update {
            TimerUpdate::Keep => {}
            TimerUpdate::Restart => self.arm_retransmit(cx.now),
            TimerUpdate::FromOldest => {
                let at = (sent_at + self.snd.rtt().timeout()).max(cx.now + self.profile.clock);
                self.timers.set(Timer::Retransmit, at);
            }
        }
    }

    /// Reports the window, what is in the network, and what is known of the round-trip time.
    pub(super) fn report_window<O: Observer>(&self, cx: &mut Context<'_, O>) {
        if O::ENABLED {
            let (rtt, pacing) = (self.snd.rtt(), self.pacing_rate(cx));
            if let Some(Delay { latest, min, smoothed }) = rtt.delay() {
                let variation = rtt.variation();
                cx.emit(|| Event::Timing { latest, smoothed, variation, min, pacing });
            }
            let (cwnd, ssthresh) = (cx.domain.window(), cx.domain.ssthresh());
            cx.emit(|| Event::Window { cwnd, ssthresh, pipe: self.snd.pipe() });
        }
    }

    pub(super) fn record_phase<O: Observer>(&mut self, cx: &mut Context<'_, O>, phase: RecoveryPhase) {
        if phase == RecoveryPhase::Fast {
            self.statistics.fast_recoveries += 1;
            self.ecn_reduced();
        }
        cx.emit(|| Event::Recovery(phase));
    }

    /// Rule 4: the retransmission timer starts anew without backoff, unless `SND.UNA`'s own
    /// segment has been left behind; then that one is retransmitted first.
    fn path_is_alive<O>(&mut self, cx: &mut Context<'_, O>) {
        if !self.snd.has_outstanding() {
            return;
        }
        let (recovery, work) = self.recovery(cx);
        if recovery.has_stale_head(&work) {
            self.request_head(RetransmitReason::Stale);
        } else {
            self.snd.clear_timeouts();
            self.snd.rtt_mut().clear_backoff();
            if self.state != State::Closed {
                self.arm_retransmit(cx.now);
            }
        }
    }
}
