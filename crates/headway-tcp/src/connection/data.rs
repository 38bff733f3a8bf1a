//! Which data to send next: retransmissions first, then what was never sent.

use headway_units::Instant;

use super::build::OutgoingData;
use super::{Connection, Context, State};
use crate::event::{Event, Observer, RetransmitReason, Timer};
use crate::send::recovery::Recovery;
use crate::send::sent_queue::Marks;

/// A segment of new data that may be sent.
struct Candidate {
    len: u32,
    fin: bool,
    /// Bytes written and never sent, it included.
    unsent: u32,
    /// What the peer's window admits.
    usable: u32,
    /// The largest payload beside the options.
    mss: u32,
}

impl Connection {
    pub(super) fn send_data<O: Observer>(
        &mut self,
        cx: &mut Context<'_, O>,
        buffer: &mut [u8],
    ) -> Option<usize> {
        if self.pending.has_tail_probe() {
            return self.send_tail_probe(cx, buffer);
        }
        let has_new = self.snd.unsent() > 0 || self.snd.owes_fin();
        if !has_new && self.snd.queue.is_empty() {
            return None;
        }
        if (self.snd.unsent() > 0 || self.snd.queue.any_missing()) && self.is_paced_out(cx.now) {
            return None;
        }
        if !self.snd.queue.is_empty()
            && let Some((index, reason)) = self.next_resend(cx)
        {
            return self.resend(cx, buffer, index, reason);
        }
        // Rule 2: "If cwnd forbids, it stays first in line": no new data, however small, passes it.
        if self.resends.any_waiting()
            && !self.literal()
            && self.resends.next(&self.snd.queue, false).is_some()
        {
            return None;
        }
        if has_new && let Some(sent) = self.send_new(cx, buffer) {
            return Some(sent);
        }
        if matches!(self.snd.recovery, Recovery::Modern(_)) {
            return self.send_nothing_new(cx, buffer);
        }
        if !self.snd.recovery.may_speculate() {
            return None;
        }
        // RFC 6675, 5 (C): "If cwnd - pipe >= 1 SMSS, the sender SHOULD transmit one or more segments".
        let room = self.room(cx);
        if room < self.snd.mss {
            return None;
        }
        let (index, reason) = self.snd.recovery.next_speculative(&self.snd.queue, &self.snd.sacks, room)?;
        self.resend(cx, buffer, index, reason)
    }

    /// The modern sender has no new data that may go: a resend that F-RTO held back may.
    fn send_nothing_new<O: Observer>(&mut self, cx: &mut Context<'_, O>, buffer: &mut [u8]) -> Option<usize> {
        let room = self.room(cx);
        if self.snd.unsent() == 0 && room >= self.snd.mss {
            self.snd.queue.app_limited();
        }
        // What the congestion window holds back may go when that opens.
        let sendable = self.snd.unsent().min(self.snd.usable_window()).min(self.snd.mss);
        let modern = self.snd.modern()?;
        if sendable <= room {
            modern.no_new_data();
        }
        let (index, reason) = self.next_resend(cx)?;
        self.resend(cx, buffer, index, reason)
    }

    /// RFC 8985, 7.3: one segment beyond the window, new data if there is any.
    fn send_tail_probe<O: Observer>(&mut self, cx: &mut Context<'_, O>, buffer: &mut [u8]) -> Option<usize> {
        let new_data = self.snd.unsent() > 0 && self.snd.usable_window() > 0;
        let target = self.probe_target();
        let sent = if new_data {
            self.send_new(cx, buffer)
        } else {
            target.and_then(|(index, reason)| self.resend(cx, buffer, index, reason))
        };
        self.pending.clear_tail_probe();
        let nxt = self.snd.nxt;
        if let (true, Some(modern)) = (sent.is_some(), self.snd.modern()) {
            modern.probed(nxt, !new_data);
            self.timers.stop(Timer::TailProbe);
            self.arm_retransmit(cx.now);
        }
        sent
    }

    /// What the congestion window leaves, bytes.
    fn room<O>(&mut self, cx: &mut Context<'_, O>) -> u32 {
        self.report_pipe(cx);
        if self.pending.has_tail_probe() {
            return self.snd.mss;
        }
        if let Some(room) = self.snd.modern().and_then(|modern| modern.room()) {
            return room;
        }
        let window = cx.domain.control.window().saturating_add(self.snd.recovery.inflation(self.snd.mss));
        window.saturating_sub(cx.domain.pipe)
    }

    fn next_resend<O>(&mut self, cx: &mut Context<'_, O>) -> Option<(usize, RetransmitReason)> {
        if let Some(reason) = self.pending.take_head() {
            if reason == RetransmitReason::Stale {
                self.snd.queue.mark_lost(0);
            }
            return Some((0, reason));
        }
        if !self.resends.any_waiting() && !self.snd.recovery.may_resend(&self.snd.queue) {
            return None;
        }
        let room = self.room(cx);
        let literal = self.literal();
        let inflation = self.snd.recovery.inflation(self.snd.mss);
        let cwnd = cx.domain.control.window().saturating_add(inflation);
        if let Some(index) = self.resends.next(&self.snd.queue, literal) {
            // Rule 2: if the window forbids, it stays first in line. Read literally, the named
            // segment is still in the pipe, and Linux 2.2 holds resends to as many as the window
            // has room for, whatever else is in the network.
            let room = if literal { cwnd.saturating_sub(self.snd.queue.resent()) } else { room };
            if self.snd.queue.get(index).payload_len() > room {
                return None;
            }
            self.snd.queue.mark_lost(index);
            return Some((index, self.resends.reason()));
        }
        self.snd.recovery.next_resend(&mut self.snd.queue, cwnd, room)
    }

    fn resend<O: Observer>(
        &mut self,
        cx: &mut Context<'_, O>,
        buffer: &mut [u8],
        index: usize,
        reason: RetransmitReason,
    ) -> Option<usize> {
        let stamp = self.tsval(cx.now);
        self.snd.queue.resend(index, cx.now, stamp);
        self.resends.sent(&self.snd.queue, index);
        let first = self.snd.queue.get(index).seq;
        self.ecn.on_resent(first, self.snd.nxt);
        let copy = self.snd.queue.transmissions();
        if let Some(modern) = self.snd.modern() {
            modern.on_resent(first, stamp, copy, reason);
        }
        let sent = self.snd.queue.get(index);
        let (seq, len) = (sent.seq, sent.payload_len());
        let (fin, push) = (sent.has(Marks::FIN), sent.has(Marks::PUSH));
        self.statistics.retransmissions += 1;
        self.statistics.bytes_retransmitted += u64::from(len);
        if reason == RetransmitReason::Damage {
            self.statistics.damage_retransmissions += 1;
        }
        cx.emit(|| Event::Retransmitted { seq, len, reason });
        if !self.timers.is_set(Timer::Retransmit) {
            self.arm_retransmit(cx.now);
        }
        self.account_sent(cx, len);
        let offset = (seq - self.snd.buffer_start()) as usize;
        self.build_data(cx, buffer, &OutgoingData { seq, offset, len, fin, push, fresh: false })
    }

    /// The next segment of new data, if the windows, Nagle's algorithm and silly-window avoidance
    /// permit one.
    fn send_new<O: Observer>(&mut self, cx: &mut Context<'_, O>, buffer: &mut [u8]) -> Option<usize> {
        if !self.snd.recovery.permits_new_data() {
            return None;
        }
        let unsent = self.snd.unsent();
        let usable = self.snd.usable_window();
        let mss = self.snd.mss - self.sack_room_beside_data() as u32;
        let len = unsent.min(usable).min(mss);
        // FIN goes with the last data, or alone; it needs a sequence number within the window.
        let fin = self.snd.owes_fin() && len == unsent && usable > len;
        if !self.may_send_now(cx, &Candidate { len, fin, unsent, usable, mss }) {
            return None;
        }
        let (len, fin) = if len == 0 && !fin { self.probe_size(unsent) } else { (len, fin) };
        self.snd.override_sws = false;
        let seq = self.snd.nxt;
        let offset = self.snd.buffer.len() - unsent as usize;
        if self.snd.queue.is_empty() {
            self.snd.last_advance = cx.now;
            self.timers.stop(Timer::User);
        }
        let stamp = self.tsval(cx.now);
        self.snd.queue.push(seq, len + u32::from(fin), false, fin, cx.now, stamp);
        self.snd.nxt = seq + (len + u32::from(fin));
        self.notify_writable();
        if let Some(modern) = self.snd.modern() {
            modern.on_new_data();
        }
        if fin {
            self.snd.fin_sent = true;
            let state = if self.state == State::CloseWait { State::LastAck } else { State::FinWait1 };
            self.set_state(cx, state);
        }
        self.timers.stop(Timer::Persist);
        if !self.timers.is_set(Timer::Retransmit) {
            self.arm_retransmit(cx.now);
        }
        self.arm_user_timeout();
        self.account_sent(cx, len);
        self.arm_tail_probe(cx);
        let push = len == unsent;
        if push {
            self.snd.queue.push_last();
        }
        // A probe beyond the window is none (RFC 3168, 6.1.6).
        let fresh = len > 0 && usable > 0;
        self.build_data(cx, buffer, &OutgoingData { seq, offset, len, fin, push, fresh })
    }

    /// RFC 9293, 3.8.6.1: "the transmitting TCP peer regularly transmits at least one octet of new
    /// data (if available)".
    fn probe_size(&self, unsent: u32) -> (u32, bool) {
        if unsent > 0 { (1, false) } else { (0, true) }
    }

    fn may_send_now<O>(&mut self, cx: &mut Context<'_, O>, candidate: &Candidate) -> bool {
        let &Candidate { len, fin, unsent, usable, mss } = candidate;
        if self.snd.override_sws && (len > 0 || self.snd.queue.is_empty()) {
            return true;
        }
        if len == 0 && !fin {
            self.watch_closed_window(cx.now);
            return false;
        }
        let idle = self.snd.queue.is_empty();
        if idle {
            self.restart_after_idle(cx);
        }
        // RFC 9293, 3.8.6.2.1: send (1) a maximum-sized segment, (2) all that is queued if nothing
        // is outstanding or Nagle's algorithm is off, (3) half of the largest window, likewise.
        let nagle_off = idle || !self.profile.nagle || fin;
        let worthwhile =
            len >= mss || (nagle_off && len == unsent) || (nagle_off && len >= (self.snd.max_wnd / 2).max(1));
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
        self.room(cx) >= len
    }

    /// Arms the persist timer if nothing outstanding keeps the connection alive.
    fn watch_closed_window(&mut self, now: Instant) {
        if self.snd.queue.is_empty() && !self.timers.is_set(Timer::Persist) {
            self.timers.set(Timer::Persist, now + self.snd.rtt.timeout());
        }
    }

    /// RFC 5681, 4.1: "a TCP SHOULD set cwnd to no more than RW segments before beginning
    /// transmission if the TCP has not sent data in an interval exceeding the retransmission
    /// timeout".
    fn restart_after_idle<O>(&mut self, cx: &mut Context<'_, O>) {
        if self.snd.last_sent.is_some_and(|last| cx.now.saturating_since(last) > self.snd.rtt.timeout()) {
            cx.domain.control.on_idle();
            self.snd.last_sent = None;
        }
    }
}
