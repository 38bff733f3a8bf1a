//! What to send next, and building it.
//!
//! The order: SYN or RST that is owed; special ACKs, at once; resends (a head left behind, what
//! special ACKs named, what loss recovery wants); new data; and last an ACK that nothing carried.

use headway_wire::{
    EmitError, IpHeader, SeqNumber, TcpFlags, TcpHeader, TcpOptions, Timestamps, V2, V2Request, emit,
};

use super::{Connection, Context, State};
use crate::event::{Event, Observer, RetransmitReason, Timer};
use crate::send::recovery::Recovery;
use crate::send::sent_queue::Marks;

/// Room for options in a TCP header (RFC 9293, 3.1).
const OPTION_SPACE: usize = 40;

const HOP_LIMIT: u8 = 64;

/// A segment about to be built.
struct Outgoing<'a> {
    seq: SeqNumber,
    flags: TcpFlags,
    /// Payload: that many octets from this offset in the send buffer.
    offset: usize,
    len: usize,
    options: &'a TcpOptions,
    /// It carries data that was never sent before, within the peer's window.
    fresh: bool,
}

/// What a segment with data bears.
#[derive(Clone, Copy)]
struct Shape {
    fin: bool,
    push: bool,
    fresh: bool,
}

impl<'a> Outgoing<'a> {
    fn control(seq: SeqNumber, flags: TcpFlags, options: &'a TcpOptions) -> Self {
        Self { seq, flags, offset: 0, len: 0, options, fresh: false }
    }
}

impl Connection {
    /// Builds the next segment that the connection has to send now, if any, into `buffer` and
    /// returns its length.
    pub(crate) fn poll_transmit<O: Observer>(
        &mut self,
        cx: &mut Context<'_, O>,
        buffer: &mut [u8],
    ) -> Option<usize> {
        let sent = self.choose(cx, buffer);
        self.report_pipe(cx);
        sent
    }

    fn choose<O: Observer>(&mut self, cx: &mut Context<'_, O>, buffer: &mut [u8]) -> Option<usize> {
        if self.owes_reset {
            self.owes_reset = false;
            let flags = TcpFlags::RST | TcpFlags::ACK;
            // RFC 7323, 3.2: a TSopt "SHOULD be sent in an <RST> segment".
            let options = self.fixed_options(cx, false);
            return self.build(cx, buffer, &Outgoing::control(self.snd.nxt, flags, &options));
        }
        if self.owes_syn {
            return self.send_syn(cx, buffer);
        }
        if self.special_acks.is_owed() {
            return self.send_special_ack(cx, buffer);
        }
        if !self.state.is_synchronized() {
            return None;
        }
        if !matches!(self.state, State::TimeWait | State::FinWait2)
            && let Some(sent) = self.send_data(cx, buffer)
        {
            return Some(sent);
        }
        if self.rcv.acks.is_due() {
            return self.send_ack(cx, buffer);
        }
        // Data written since the timer expired asks as well.
        if core::mem::take(&mut self.owes_keep_alive) && self.snd.queue.is_empty() {
            // RFC 9293, 3.8.4: a segment with SEG.SEQ = SND.NXT-1 and no data. The peer answers it and
            // takes nothing from it, as it is not acceptable: an ACK that is owed stays so.
            let options = self.fixed_options(cx, false);
            let outgoing = Outgoing::control(self.snd.nxt - 1, TcpFlags::ACK, &options);
            return self.build_segment(cx, buffer, &outgoing, false);
        }
        None
    }

    fn send_syn<O: Observer>(&mut self, cx: &mut Context<'_, O>, buffer: &mut [u8]) -> Option<usize> {
        self.owes_syn = false;
        let mut flags = TcpFlags::SYN;
        if self.state == State::SynReceived {
            flags.insert(TcpFlags::ACK);
        }
        flags |= self.ecn_syn_flags();
        let options = self.syn_options(cx.now);
        self.offers_left = self.offers_left.map(|left| left.saturating_sub(1));
        if self.snd.nxt == self.snd.iss {
            self.snd.nxt = self.snd.iss + 1;
            self.snd.queue.push(self.snd.iss, 1, true, false, cx.now, 0);
            self.snd.last_advance = cx.now;
        } else {
            self.snd.queue.resend(0, cx.now, 0);
        }
        self.arm_retransmit(cx.now);
        self.arm_user_timeout();
        self.build(cx, buffer, &Outgoing::control(self.snd.iss, flags, &options))
    }

    // --- data -----------------------------------------------------------------------------------

    fn send_data<O: Observer>(&mut self, cx: &mut Context<'_, O>, buffer: &mut [u8]) -> Option<usize> {
        if self.owes_probe {
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
        self.owes_probe = false;
        let nxt = self.snd.nxt;
        if let (true, Some(modern)) = (sent.is_some(), self.snd.modern()) {
            modern.probed(nxt, !new_data);
            self.timers.stop(Timer::TailProbe);
            self.arm_retransmit(cx.now);
        }
        sent
    }

    /// What the congestion window leaves, octets.
    fn room<O>(&mut self, cx: &mut Context<'_, O>) -> u32 {
        self.report_pipe(cx);
        if self.owes_probe {
            return self.snd.mss;
        }
        if let Some(room) = self.snd.modern().and_then(|modern| modern.room()) {
            return room;
        }
        let window = cx.domain.control.window().saturating_add(self.snd.recovery.inflation(self.snd.mss));
        window.saturating_sub(cx.domain.pipe)
    }

    fn next_resend<O>(&mut self, cx: &mut Context<'_, O>) -> Option<(usize, RetransmitReason)> {
        if let Some(reason) = self.owes_head.take() {
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
        let stamp = self.stamp(cx.now);
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
        self.statistics.octets_retransmitted += u64::from(len);
        if reason == RetransmitReason::Damage {
            self.statistics.damage_resends += 1;
        }
        cx.emit(|| Event::Retransmitted { seq, len, reason });
        if !self.timers.is_set(Timer::Retransmit) {
            self.arm_retransmit(cx.now);
        }
        self.account_sent(cx, len);
        let offset = (seq - self.snd.buffer_start()) as usize;
        self.build_data(cx, buffer, seq, offset, len as usize, Shape { fin, push, fresh: false })
    }

    /// The next segment of new data, if the windows, Nagle's algorithm and silly-window avoidance
    /// permit one.
    fn send_new<O: Observer>(&mut self, cx: &mut Context<'_, O>, buffer: &mut [u8]) -> Option<usize> {
        if !self.snd.recovery.permits_new_data() {
            return None;
        }
        let unsent = self.snd.unsent();
        let usable = self.snd.usable_window();
        let blocks = self.sack_room_beside_data();
        let mss = self.snd.mss - blocks.map_or(0, |octets| octets as u32);
        let len = unsent.min(usable).min(mss);
        // FIN goes with the last data, or alone; it needs a sequence number within the window.
        let fin = self.snd.owes_fin() && len == unsent && usable > len;
        if !self.may_send_now(cx, len, unsent, usable, mss, fin) {
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
        let stamp = self.stamp(cx.now);
        self.snd.queue.push(seq, len + u32::from(fin), false, fin, cx.now, stamp);
        self.snd.nxt = seq + (len + u32::from(fin));
        self.tell_writable();
        if let Some(modern) = self.snd.modern() {
            modern.on_new_data();
        }
        if fin {
            self.snd.fin_sent = true;
            let state = if self.state == State::CloseWait { State::LastAck } else { State::FinWait1 };
            self.enter(cx, state);
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
        self.build_data(cx, buffer, seq, offset, len as usize, Shape { fin, push, fresh })
    }

    /// RFC 9293, 3.8.6.1: "the transmitting TCP peer regularly transmits at least one octet of new
    /// data (if available)".
    fn probe_size(&self, unsent: u32) -> (u32, bool) {
        if unsent > 0 { (1, false) } else { (0, true) }
    }

    fn may_send_now<O>(
        &mut self,
        cx: &mut Context<'_, O>,
        len: u32,
        unsent: u32,
        usable: u32,
        mss: u32,
        fin: bool,
    ) -> bool {
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
    fn watch_closed_window(&mut self, now: headway_units::Instant) {
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

    fn build_data<O: Observer>(
        &mut self,
        cx: &mut Context<'_, O>,
        buffer: &mut [u8],
        seq: SeqNumber,
        offset: usize,
        len: usize,
        shape: Shape,
    ) -> Option<usize> {
        let Shape { fin, push, fresh } = shape;
        let mut flags = TcpFlags::ACK;
        if fin {
            flags.insert(TcpFlags::FIN);
        }
        if push && len > 0 {
            flags.insert(TcpFlags::PSH);
        }
        let mut options = self.fixed_options(cx, len > 0);
        // Whatever of the packet and of the option space is left may report holes of our own.
        let packet = usize::from(self.profile.mtu.min(cx.path.mtu.unwrap_or(u16::MAX)));
        let spare = packet.saturating_sub(usize::from(self.bare_headers()) + len).min(OPTION_SPACE);
        self.add_sack_blocks(&mut options, spare);
        self.snd.last_sent = Some(cx.now);
        self.build(cx, buffer, &Outgoing { seq, flags, offset, len, options: &options, fresh })
    }

    // --- acknowledgements -----------------------------------------------------------------------

    fn send_ack<O: Observer>(&mut self, cx: &mut Context<'_, O>, buffer: &mut [u8]) -> Option<usize> {
        let options = self.ack_options(cx, OPTION_SPACE);
        self.build(cx, buffer, &Outgoing::control(self.acceptable_seq(), TcpFlags::ACK, &options))
    }

    /// The sequence number of a segment without data: SND.NXT, or the furthest right edge that the
    /// peer has offered if a probe stands beyond it.
    ///
    /// The peer takes no number beyond its window. Where both windows are closed, both ends would
    /// drop each other's ACKs and answer them, a round trip apart, without end.
    fn acceptable_seq(&self) -> SeqNumber {
        self.snd.nxt.min(self.snd.edge)
    }

    /// Paper 000, section 3.2 (3): "the 'special' ACK is sent to the sender of the corrupted
    /// packet"; paper 003, section 4.2.2 (3): "Its option contains all the sequence numbers that
    /// have been saved in the s_buffer".
    fn send_special_ack<O: Observer>(&mut self, cx: &mut Context<'_, O>, buffer: &mut [u8]) -> Option<usize> {
        let special_ack = self.special_acks.pop()?;
        let mut options = self.fixed_options(cx, false);
        // The echo names the copy that was hit, not TS.Recent.
        if let (Some(stamps), Some(tsecr)) = (&mut options.timestamps, special_ack.tsecr) {
            stamps.echo = tsecr;
        }
        let blocks = self.block_request(special_ack.seq);
        let is_full = blocks.is_some();
        let count = if let Some(blocks) = blocks {
            options.v2 = Some(V2::ack(self.profile.exid, cx.path.damaged_data as u16, blocks));
            1
        } else if self.negotiated.v2 {
            let rcv = &self.rcv;
            self.special_acks.prune(cx.now, |seq| rcv.holds(seq));
            // As below: the newest SACK block goes before repeated numbers.
            let reserved = if self.negotiated.sack && self.rcv.has_sack_news() { 8 } else { 0 };
            let room = OPTION_SPACE - options.encoded_len() - reserved;
            let named = self.special_acks.list(special_ack.seq, (room / 4).max(1));
            let request = V2Request::segments(self.rcv.nxt(), named.as_slice().iter().copied());
            options.v2 = Some(V2::ack(self.profile.exid, cx.path.damaged_data as u16, request));
            named.len()
        } else if self.negotiated.xhack {
            let rcv = &self.rcv;
            self.special_acks.prune(cx.now, |seq| rcv.holds(seq));
            // One SACK block, the newest, goes before repeated numbers: the sender's pipe depends
            // on it, and every special ACK repeats the numbers. Two octets for the option itself,
            // two to align it; likewise for SACK.
            let reserved = if self.negotiated.sack && self.rcv.has_sack_news() { 12 } else { 0 };
            let room = OPTION_SPACE - options.encoded_len() - reserved;
            options.xhack_ack = self.special_acks.list(special_ack.seq, room.saturating_sub(4) / 4);
            options.xhack_ack.len()
        } else {
            options.hack_ack = Some(request.seq);
            1
        };
        self.add_sack_blocks(&mut options, OPTION_SPACE);
        self.statistics.special_acks_sent += 1;
        cx.emit(|| Event::SpecialAckSent { seq: special_ack.seq, count: count as u8 });
        let outgoing = Outgoing::control(self.acceptable_seq(), TcpFlags::ACK, &options);
        // Read by the paper's rules, a special ACK acknowledges nothing: one that is owed stays so.
        // So does one that block sums leave no room for SACK blocks in.
        let carries_ack = !(self.literal() || is_full && self.rcv.has_sack_news());
        self.build_segment(cx, buffer, &outgoing, carries_ack)
    }

    fn ack_options<O>(&mut self, cx: &Context<'_, O>, space: usize) -> TcpOptions {
        let mut options = self.fixed_options(cx, false);
        self.add_sack_blocks(&mut options, space);
        options
    }

    fn fixed_options<O>(&self, cx: &Context<'_, O>, data: bool) -> TcpOptions {
        let exid = self.profile.exid;
        let v2 = || {
            if data {
                V2::data(exid)
            } else {
                V2::ack(exid, cx.path.damaged_data as u16, V2Request::default())
            }
        };
        TcpOptions {
            timestamps: self
                .negotiated
                .timestamps
                .then(|| Timestamps { value: self.stamp(cx.now), echo: self.rcv.ts_recent.value }),
            // Paper 000, section 3.1: every data segment; the value is computed when it is built.
            hack: (data && self.negotiated.hack && !self.negotiated.v2).then_some(0),
            v2: self.negotiated.v2.then(v2),
            ..TcpOptions::default()
        }
    }

    #[inline]
    fn add_sack_blocks(&mut self, options: &mut TcpOptions, space: usize) {
        if self.negotiated.sack && self.rcv.has_sack_news() {
            // The option of v2 on an ACK ends with half a word, which SACK's kind and length fill.
            let start = if options.v2.as_ref().is_some_and(|v2| v2.as_ack().is_some()) { 0 } else { 4 };
            let room = space.saturating_sub(options.encoded_len() + start) / 8;
            options.sack = self.rcv.sack_blocks(room.min(4));
        }
    }

    /// Octets that SACK blocks would take from a new data segment: one block's worth while there
    /// is something to report.
    fn sack_room_beside_data(&self) -> Option<usize> {
        (self.negotiated.sack && self.rcv.has_sack_news()).then_some(12)
    }

    // --- building -------------------------------------------------------------------------------

    fn build<O: Observer>(
        &mut self,
        cx: &mut Context<'_, O>,
        buffer: &mut [u8],
        outgoing: &Outgoing<'_>,
    ) -> Option<usize> {
        self.build_segment(cx, buffer, outgoing, true)
    }

    fn build_segment<O: Observer>(
        &mut self,
        cx: &mut Context<'_, O>,
        buffer: &mut [u8],
        outgoing: &Outgoing<'_>,
        carries_ack: bool,
    ) -> Option<usize> {
        let (marks, ecn) = self.ecn_marks(outgoing.seq, outgoing.flags, outgoing.fresh);
        let flags = outgoing.flags | marks;
        let window = self.rcv.advertise(flags.contains(TcpFlags::SYN));
        let has_ack = flags.contains(TcpFlags::ACK);
        let header = TcpHeader {
            src_port: self.ends.local.port(),
            dst_port: self.ends.remote.port(),
            seq: outgoing.seq,
            ack: if has_ack { self.rcv.nxt() } else { SeqNumber::default() },
            flags,
            window,
            urgent: 0,
        };
        let ip = IpHeader {
            src: self.ends.local.ip(),
            dst: self.ends.remote.ip(),
            ecn,
            hop_limit: HOP_LIMIT,
            identification: self.statistics.segments_sent as u16,
        };
        let payload = self.snd.buffer.slices(outgoing.offset, outgoing.len);
        let built: Result<usize, EmitError> = emit(buffer, &ip, &header, outgoing.options, payload);
        let len = match built {
            Ok(len) => len,
            // The host checks the buffer's size and options are chosen to fit.
            Err(error) => unreachable!("a segment that fits its buffer: {error}"),
        };
        if has_ack && carries_ack && !flags.contains(TcpFlags::RST) {
            self.rcv.on_ack_sent();
        }
        self.statistics.segments_sent += 1;
        self.statistics.octets_sent += outgoing.len as u64;
        cx.emit(|| Event::Sent { seq: outgoing.seq, len: outgoing.len as u32, ack: header.ack, flags });
        Some(len)
    }
}
