//! The ACK of an acceptable segment: window, SACK blocks, round-trip time, congestion, recovery,
//! and what special ACKs ask for.

use headway_units::{Duration, Instant};
use headway_wire::{Segment, SeqList, SeqNumber, TcpFlags, V2, V2Ack, V2Request};

use super::modern::Heard;
use super::{Connection, Context, State};
use crate::congestion::Ack;
use crate::event::{Event, Observer, RecoveryPhase, RetransmitReason, Timer};
use crate::hack::classic::sender::Notice;
use crate::send::recovery::{AckSignal, Board, Recovery};
use crate::send::sent_queue::Acknowledged;

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
    /// covers, what a special ACK names (no loss detector may see those holes, rule 3), what is
    /// lost. Says whether it named a copy that none named before.
    fn ordinary_ack<O: Observer>(
        &mut self,
        cx: &mut Context<'_, O>,
        segment: &Segment<'_>,
        special: bool,
    ) -> bool {
        let tcp = &segment.tcp;
        let prior_una = self.snd.una;
        let prior_flight = self.snd.queue.outstanding();
        let prior_pipe = self.snd.queue.pipe();
        if tcp.ack.lt(prior_una) {
            let names_new_copy = special && self.special_ack(cx, segment);
            self.overtaken_ack(cx, segment, special);
            return names_new_copy;
        }
        let window_changed = self.update_window(cx, segment);
        self.hear_count(cx, segment);
        let newly_sacked = if self.negotiated.sack && !segment.options.sack.is_empty() {
            let blocks = segment.options.sack.as_slice();
            self.snd.sacks.update(&mut self.snd.queue, blocks, tcp.ack, self.snd.nxt)
        } else {
            0
        };
        let acknowledged = self.advance_una(cx, tcp.ack);
        if acknowledged.octets > 0 {
            let una = self.snd.una;
            cx.emit(|| Event::Acknowledged { una });
        }
        self.on_ecn_echo(cx, tcp.flags, prior_flight);
        self.snd.probes = 0;
        if self.snd.queue.is_empty() && acknowledged.octets == 0 && !self.has_news_of_the_past() {
            return special && self.special_ack(cx, segment);
        }
        if self.resends.any_hidden() {
            let hold = self.snd.damage_hold();
            if let Some(lowest) = self.resends.expire(&mut self.snd.queue, cx.now, hold) {
                self.snd.sacks.rejudge(lowest);
            }
        }
        let names_new_copy = special && self.special_ack(cx, segment);
        if matches!(self.snd.recovery, Recovery::Modern(_)) {
            let news = Heard { prior_una, prior_flight, prior_pipe, special, acknowledged };
            self.modern_ack(cx, segment, &news);
            self.tune_send_buffer(cx);
            self.report_pipe(cx);
            self.tell_window(cx);
            return names_new_copy;
        }
        let rtt = if acknowledged.octets > 0 {
            self.rtt_sample(cx.now, segment, special, &acknowledged)
        } else {
            None
        };
        if acknowledged.octets > 0 {
            cx.domain.control.on_ack(&Ack {
                now: cx.now,
                acked: acknowledged.octets,
                delivered: acknowledged.octets,
                prior_pipe,
                pipe: self.snd.queue.pipe(),
                rtt,
                in_recovery: self.snd.recovery.in_fast_recovery(&self.snd.sacks)
                    || self.holds_window(tcp.flags),
                duplicate: false,
                retransmitted: acknowledged.retransmitted,
                rate: None,
            });
        }
        let signal = AckSignal {
            now: cx.now,
            prior_una,
            una: self.snd.una,
            nxt: self.snd.nxt,
            // RFC 5681, 2: "(a) the receiver of the ACK has outstanding data, (b) the incoming
            // acknowledgment carries no data, (c) the SYN and FIN bits are both off, (d) the
            // acknowledgment number is equal to the greatest acknowledgment received [...] and
            // (e) the advertised window in the incoming acknowledgment equals the advertised
            // window in the last incoming acknowledgment". Answers to window probes are none.
            duplicate: acknowledged.octets == 0
                && segment.payload.is_empty()
                && !tcp.flags.contains(TcpFlags::FIN)
                && !window_changed
                && self.snd.wnd > 0
                && prior_flight > 0,
            has_data: !segment.payload.is_empty(),
            special,
            newly_sacked,
            prior_flight,
            mss: self.snd.mss,
        };
        let board = Board {
            queue: &mut self.snd.queue,
            sacks: &mut self.snd.sacks,
            control: &mut *cx.domain.control,
        };
        let verdict = self.snd.recovery.on_ack(board, &signal);
        if let Some(sample) = rtt {
            let segments = cx.domain.control.window() / self.snd.mss.max(1);
            self.snd.rtt.sample(sample, segments);
            if !self.snd.recovery.keeps_backoff() {
                self.snd.rtt.clear_backoff();
            }
        }
        if let Some(phase) = verdict.phase {
            self.note_phase(cx, phase);
        }
        self.tune_send_buffer(cx);
        self.rearm_after_ack(cx, acknowledged.octets > 0, verdict.restart_timer);
        self.report_pipe(cx);
        self.tell_window(cx);
        names_new_copy
    }

    /// RFC 9293, 3.10.7.4: "If SND.WL1 < SEG.SEQ or (SND.WL1 = SEG.SEQ and SND.WL2 =< SEG.ACK),
    /// set SND.WND <- SEG.WND". Says whether the window changed.
    fn update_window<O>(&mut self, cx: &Context<'_, O>, segment: &Segment<'_>) -> bool {
        let tcp = &segment.tcp;
        // The rule keeps old segments from changing the window. A copy of old data whose ACK covers
        // new data is no old segment: its window goes with its ACK, or the sum of the two would
        // exceed all that the peer ever offered.
        let newer = self.snd.wl1.lt(tcp.seq)
            || (self.snd.wl1 == tcp.seq && self.snd.wl2.le(tcp.ack))
            || tcp.ack.gt(self.snd.una);
        if !newer {
            return false;
        }
        let window = u32::from(tcp.window) << self.snd.scale;
        let before = core::mem::replace(&mut self.snd.wnd, window);
        self.snd.max_wnd = self.snd.max_wnd.max(window);
        self.snd.edge = self.snd.edge.max(tcp.ack + window);
        self.snd.wl1 = tcp.seq;
        self.snd.wl2 = tcp.ack;
        if before == 0 && window > 0 {
            // The window opened: what was sent as a probe may be sent again at once.
            self.timers.stop(Timer::Persist);
            self.snd.rtt.clear_backoff();
            if !self.snd.queue.is_empty() {
                self.arm_retransmit(cx.now);
            }
        }
        before != window
    }

    /// Moves SND.UNA and releases what it covers.
    fn advance_una<O>(&mut self, cx: &Context<'_, O>, ack: SeqNumber) -> Acknowledged {
        if !ack.gt(self.snd.una) {
            return Acknowledged::default();
        }
        let start = self.snd.buffer_start();
        let acknowledged = self.snd.queue.acknowledge(ack);
        let covered = (ack - start).max(0) as usize;
        self.snd.buffer.consume(covered.min(self.snd.buffer.len()));
        self.snd.una = ack;
        // The segment that it meant is gone.
        self.pending.clear_head();
        self.snd.sacks.advance(ack);
        self.snd.last_advance = cx.now;
        self.snd.timeouts_in_a_row = 0;
        self.notify_writable();
        acknowledged
    }

    /// The congestion window may have grown: so may the send buffer.
    fn tune_send_buffer<O>(&mut self, cx: &Context<'_, O>) {
        if self.profile.modern.autotune {
            self.snd.tune_buffer(cx.domain.control.window(), self.profile.send_buffer);
            self.notify_writable();
        }
    }

    pub(super) fn rtt_sample(
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
        let ticks = self.tsval(now).wrapping_sub(segment.options.timestamps?.echo);
        // An echo from the future, or from before the connection, is no echo of ours.
        if ticks as i32 <= -1 || self.profile.clock * ticks > now.saturating_since(Instant::ZERO) {
            return None;
        }
        Some(self.profile.clock * ticks)
    }

    pub(super) fn rearm_after_ack<O>(&mut self, cx: &Context<'_, O>, advanced: bool, restart: bool) {
        let Some(sent_at) = self.snd.queue.head().map(|head| head.sent_at) else {
            // RFC 6298 (5.2): "When all outstanding data has been acknowledged, turn off the
            // retransmission timer."
            self.timers.stop(Timer::Retransmit);
            self.timers.stop(Timer::User);
            self.snd.queue.release();
            self.resends.clear();
            return;
        };
        if advanced {
            self.timers.stop(Timer::User);
            self.arm_user_timeout();
        }
        if restart || (advanced && self.snd.recovery.restarts_timer_in_full()) {
            // RFC 6298 (5.3): "restart the retransmission timer so that it will expire after RTO
            // seconds".
            self.arm_retransmit(cx.now);
        } else if advanced {
            let at = (sent_at + self.snd.rtt.timeout()).max(cx.now + self.profile.clock);
            self.timers.set(Timer::Retransmit, at);
        }
    }

    /// Reports the window and what is in the network.
    pub(super) fn tell_window<O: Observer>(&self, cx: &mut Context<'_, O>) {
        if O::ENABLED {
            let (cwnd, ssthresh) = (cx.domain.control.window(), cx.domain.control.ssthresh());
            cx.emit(|| Event::Window { cwnd, ssthresh, pipe: self.snd.queue.pipe() });
        }
    }

    pub(super) fn note_phase<O: Observer>(&mut self, cx: &mut Context<'_, O>, phase: RecoveryPhase) {
        if phase == RecoveryPhase::Fast {
            self.statistics.fast_recoveries += 1;
            self.ecn_reduced();
        }
        cx.emit(|| Event::Recovery(phase));
    }

    /// Paper 000, section 3.3 and paper 003, section 4.2.3: what a special ACK names is to be sent
    /// again. Says whether it names a copy that none named before.
    fn special_ack<O: Observer>(&mut self, cx: &mut Context<'_, O>, segment: &Segment<'_>) -> bool {
        self.statistics.special_acks_received += 1;
        let stamp = segment.options.timestamps.filter(|_| self.negotiated.timestamps);
        let stamp = stamp.map(|stamps| stamps.echo);
        let numbers = self.named_by(segment);
        // The estimate lags behind a queue that grows: a resend that is on its way is not asked for
        // again for being a little late.
        let round_trip = self.snd.damage_hold();
        let named = Notice {
            seq: numbers.first().copied().unwrap_or_default(),
            stamp,
            least_age: self.snd.rtt.least().unwrap_or(Duration::ZERO),
        };
        let v2 = segment.options.v2.as_ref().and_then(V2::as_ack);
        let sums = v2.and_then(|ack| match &ack.request {
            V2Request::Blocks { sums, .. } => Some(sums),
            V2Request::Segments(_) => None,
        });
        let mut accepted = u8::from(self.take_notice(cx, named));
        match sums {
            Some(sums) if accepted > 0 => self.spare_blocks(named.seq, sums),
            None if accepted == 0 && !numbers.is_empty() => {
                accepted += u8::from(self.peer_held.give_up(&mut self.snd.queue, &named))
            }
            _ => {}
        }
        let names_new_copy = accepted > 0;
        // "the echo belongs to the newest entry only: for the others, resend if the latest
        // transmission is older than one RTT".
        for &seq in numbers.as_slice().iter().skip(1) {
            accepted += u8::from(self.take_notice(cx, Notice { seq, stamp: None, least_age: round_trip }));
        }
        let count = numbers.len() as u8;
        cx.emit(|| Event::SpecialAckReceived { seq: named.seq, count, accepted });
        self.report_pipe(cx);
        names_new_copy
    }

    /// The numbers that a special ACK lists, the newest first.
    fn named_by(&self, segment: &Segment<'_>) -> SeqList {
        let options = &segment.options;
        let mut numbers = SeqList::default();
        if let Some(v2) = options.v2.as_ref().and_then(V2::as_ack).filter(|_| self.negotiated.v2) {
            v2.named(segment.tcp.ack).for_each(|seq| {
                numbers.push(seq);
            });
            return numbers;
        }
        if let Some(seq) = options.hack_ack {
            numbers.push(seq);
        }
        options.xhack_ack.as_slice().iter().for_each(|&seq| {
            numbers.push(seq);
        });
        numbers
    }

    fn take_notice<O>(&mut self, cx: &mut Context<'_, O>, notice: Notice) -> bool {
        if self.literal() {
            return self.resends.notice_literally(&self.snd.queue, notice.seq);
        }
        if matches!(self.snd.recovery, Recovery::Modern(_)) {
            return self.take_notice_in_order(cx, notice);
        }
        let accepted = self.resends.notice(&mut self.snd.queue, notice, cx.now);
        if accepted {
            cx.domain.control.on_damage(cx.now, self.snd.mss);
        }
        accepted
    }

    /// Rule 4: the retransmission timer starts anew without backoff, unless `SND.UNA`'s own
    /// segment has been left behind; then that one is resent first.
    fn path_is_alive<O>(&mut self, cx: &Context<'_, O>) {
        let Some(head) = self.snd.queue.head() else { return };
        // Where loss detection goes by the order of sending, none is left behind.
        let in_order = matches!(self.snd.recovery, Recovery::Modern(_));
        let left_behind = !in_order && cx.now.saturating_since(head.sent_at) > self.snd.rtt.smoothed() * 2;
        // One that a special ACK has named is resent at once if it is first in line; one that is
        // lost would have to wait for a window that resends of others keep full.
        let is_next = head.is_missing() && self.resends.next(&self.snd.queue, false) == Some(0);
        if left_behind && !is_next {
            self.resend_head(RetransmitReason::Stale);
        } else {
            self.snd.timeouts_in_a_row = 0;
            self.snd.rtt.clear_backoff();
            if self.state != State::Closed {
                self.arm_retransmit(cx.now);
            }
        }
    }
}
