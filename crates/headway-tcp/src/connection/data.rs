//! Which data to send next: retransmissions first, then what was never sent.

use headway_units::Instant;

use super::{Connection, Context, State};
use crate::event::{Event, Observer, RetransmitReason, Timer};
use crate::send::recovery::{Allowance, Retransmission};
use crate::send::{NextSegment, SendSide};

impl Connection {
    #[inline]
    pub(super) fn send_data<O: Observer>(
        &mut self,
        cx: &mut Context<'_, O>,
        buffer: &mut [u8],
    ) -> Option<usize> {
        self.follow_path_mtu(cx);
        if self.pending.has_tail_probe() {
            return self.send_tail_probe(cx, buffer);
        }
        if cx.domain.is_shared() {
            return self.send_in_shared_turn(cx, buffer);
        }
        self.send_in_turn(cx, buffer).or_else(|| self.send_tail_copy(cx, buffer))
    }

    #[inline(never)]
    fn send_in_shared_turn<O: Observer>(
        &mut self,
        cx: &mut Context<'_, O>,
        buffer: &mut [u8],
    ) -> Option<usize> {
        if self.snd.has_data_to_send() && !cx.domain.takes_turn(cx.id) {
            return None;
        }
        let sent = self.send_in_turn(cx, buffer).or_else(|| self.send_tail_copy(cx, buffer));
        match sent {
            Some(len) => cx.domain.spend_turn(cx.id, len as u32),
            None if self.is_held_back(cx) => cx.domain.wait(cx.id),
            None => cx.domain.end_turn(cx.id),
        }
        sent
    }

    /// Whether there is data that the window or pacing holds back.
    fn is_held_back<O>(&mut self, cx: &mut Context<'_, O>) -> bool {
        self.snd.has_data_to_send()
            && (self.is_paced_out(cx) || cx.domain.room(self.snd.pipe()) < self.snd.mss())
    }

    fn send_in_turn<O: Observer>(&mut self, cx: &mut Context<'_, O>, buffer: &mut [u8]) -> Option<usize> {
        let has_unsent = self.snd.has_unsent();
        if !has_unsent && !self.snd.has_outstanding() {
            return None;
        }
        if self.snd.has_data_to_send() && self.is_paced_out(cx) {
            return None;
        }
        if self.snd.has_outstanding()
            && let Some(retransmission) = self.next_retransmit(cx)
        {
            return self.retransmit(cx, buffer, retransmission);
        }
        if self.snd.holds_new_data_back() {
            return None;
        }
        if has_unsent && let Some(sent) = self.send_new(cx, buffer) {
            return Some(sent);
        }
        let allowance = self.allowance(cx);
        let retransmission = self.snd.next_without_new_data(allowance)?;
        self.retransmit(cx, buffer, retransmission)
    }

    /// RFC 8985, 7.3: one segment beyond the window, "(1) if a segment of new data is available, send it,
    /// (2) else retransmit the highest-sequence segment sent so far".
    #[inline(never)]
    fn send_tail_probe<O: Observer>(&mut self, cx: &mut Context<'_, O>, buffer: &mut [u8]) -> Option<usize> {
        let new_data = self.snd.unsent() > 0 && self.snd.usable_window() > 0;
        let last = self.snd.last_unsacked().filter(|_| !new_data);
        let repeats = last.and_then(|index| self.snd.transmission_of(index));
        let sent = match last {
            Some(index) => self.retransmit(cx, buffer, (index, RetransmitReason::TailProbe)),
            None if new_data => self.send_new(cx, buffer),
            None => None,
        };
        self.pending.clear_tail_probe();
        if sent.is_some() {
            self.snd.on_probe_sent(repeats);
            self.timers.stop(Timer::TailProbe);
            self.arm_retransmit(cx.now);
        }
        sent
    }

    /// What the congestion window, or recovery in its place, lets be sent.
    fn allowance<O>(&self, cx: &Context<'_, O>) -> Allowance {
        let allowance = self.snd.allowance(cx.domain.window(), cx.domain.total(self.snd.pipe()));
        // A tail loss probe goes whatever the window says.
        if self.pending.has_tail_probe() {
            Allowance { room: self.snd.mss(), ..allowance }
        } else {
            allowance
        }
    }

    fn next_retransmit<O>(&mut self, cx: &Context<'_, O>) -> Option<Retransmission> {
        if let Some(reason) = self.pending.take_head() {
            if reason == RetransmitReason::Stale {
                self.snd.mark_head_lost();
            }
            return Some((0, reason));
        }
        if !self.snd.may_retransmit() {
            return None;
        }
        let allowance = self.allowance(cx);
        self.snd.next_retransmit(allowance)
    }

    #[inline(never)]
    fn retransmit<O: Observer>(
        &mut self,
        cx: &mut Context<'_, O>,
        buffer: &mut [u8],
        retransmission: Retransmission,
    ) -> Option<usize> {
        let retransmission = self.fit_to_path(cx, retransmission);
        let segment = self.snd.retransmit(retransmission, cx.now, self.tsval(cx.now));
        let (seq, len, reason) = (segment.seq, segment.bytes(), retransmission.1);
        self.ecn.on_retransmitted(seq, self.snd.nxt());
        self.statistics.retransmissions += 1;
        self.statistics.bytes_retransmitted += u64::from(len);
        self.statistics.patches += u64::from(!segment.patch.is_none());
        self.statistics.bytes_spared += u64::from(segment.len - len);
        if reason == RetransmitReason::Damage {
            self.statistics.damage_retransmissions += 1;
        }
        cx.emit(|| Event::Retransmitted { seq, len, reason });
        if !self.timers.is_set(Timer::Retransmit) {
            self.arm_retransmit(cx.now);
        }
        self.pace(cx, len);
        self.arm_tail_copies(cx);
        self.build_data(cx, buffer, &segment, false)
    }

    /// The next segment of new data, if the windows, Nagle's algorithm and silly-window avoidance
    /// permit one.
    fn send_new<O: Observer>(&mut self, cx: &mut Context<'_, O>, buffer: &mut [u8]) -> Option<usize> {
        if !self.snd.may_send_new() {
            return None;
        }
        let next = self.snd.next_segment(self.sack_room_beside_data() as u32);
        let next = self.mtu_probe(cx, &next).unwrap_or(next);
        if !self.may_send_now(cx, &next) {
            return None;
        }
        let next = if next.is_empty() { SendSide::window_probe(next) } else { next };
        if !self.snd.has_outstanding() {
            self.timers.stop(Timer::User);
        }
        let mut segment = self.snd.send(&next, cx.now, self.tsval(cx.now));
        if segment.len > self.snd.mss() {
            self.on_mtu_probe_sent(cx);
        } else if self.bundles(cx) {
            segment = self.snd.bundle(segment, cx.now);
        }
        self.notify_writable();
        if segment.fin {
            let state = if self.state == State::CloseWait { State::LastAck } else { State::FinWait1 };
            self.set_state(cx, state);
        }
        self.timers.stop(Timer::Persist);
        if !self.timers.is_set(Timer::Retransmit) {
            self.arm_retransmit(cx.now);
        }
        self.arm_user_timeout();
        self.pace(cx, segment.len);
        self.arm_tail_probe(cx, true);
        self.arm_tail_copies(cx);
        // A probe beyond the window is not new data (RFC 3168, 6.1.6).
        let fresh = segment.len > 0 && next.usable > 0;
        self.build_data(cx, buffer, &segment, fresh)
    }

    /// Whether small segments are repeated in later ones: where the path damages packets, and beside connections
    /// whose transfers may overflow a queue.
    fn bundles<O>(&self, cx: &Context<'_, O>) -> bool {
        let features = &self.profile.features;
        features.bundling && (cx.domain.is_shared() || features.ledger && cx.path.ledger.damages())
    }

    fn may_send_now<O>(&mut self, cx: &mut Context<'_, O>, next: &NextSegment) -> bool {
        let &NextSegment { len, fin, unsent, usable, mss } = next;
        let idle = !self.snd.has_outstanding();
        if self.snd.overrides_silly_window() && (len > 0 || idle) {
            return true;
        }
        if next.is_empty() {
            self.watch_closed_window(cx.now);
            return false;
        }
        if idle {
            cx.domain.restart_after_idle(cx.now, self.snd.rtt().timeout());
        }
        // RFC 9293, 3.8.6.2.1: send (1) a maximum-sized segment, (2) all that is queued if nothing
        // is outstanding or Nagle's algorithm is off, (3) half of the largest window, likewise.
        let nagle_off = idle || !self.profile.nagle || fin;
        let half = (self.snd.window().max() / 2).max(1);
        let worthwhile = len >= mss || (nagle_off && len == unsent) || (nagle_off && len >= half);
        if !worthwhile {
            if len == usable.min(mss) && len < unsent {
                // (4) The window is too small: the override timer decides.
                self.watch_closed_window(cx.now);
            }
            return false;
        }
        // "Don't be strict about the congestion window for the final FIN": it carries no data.
        if len == 0 {
            return true;
        }
        // A probe of the path's MTU is beyond the window by less than a segment.
        self.allowance(cx).room >= len.min(self.snd.mss())
    }

    /// Arms the persist timer if nothing outstanding keeps the connection alive.
    #[inline(never)]
    fn watch_closed_window(&mut self, now: Instant) {
        if !self.snd.has_outstanding() && !self.timers.is_set(Timer::Persist) {
            self.timers.set(Timer::Persist, now + self.snd.rtt().timeout());
        }
    }
}
