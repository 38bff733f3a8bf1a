//! SEGMENT ARRIVES (RFC 9293, 3.10.7), for segments whose checksum is right. A RST, a SYN
//! and the ACK number are checked as in RFC 5961, against forgery by blind attackers (in SYN-SENT: [`super::open`]).

use headway_units::{Duration, Instant};
use headway_wire::{Ecn, Segment, SeqNumber, TcpFlags, TcpHeader};

use super::open::Reply;
use super::{Connection, Context, Negotiated, Notification, State};
use crate::ConnectionError;
use crate::event::{DropReason, Event, Observer, Timer};

impl Connection {
    /// An intact segment of this connection arrived.
    pub(crate) fn handle_segment<O: Observer>(
        &mut self,
        cx: &mut Context<'_, O>,
        segment: &Segment<'_>,
    ) -> Reply {
        self.statistics.segments_received += 1;
        self.statistics.congestion_marks += u32::from(segment.ip.ecn == Ecn::Ce);
        let tcp = &segment.tcp;
        cx.emit(|| Event::Received {
            seq: tcp.seq,
            len: segment.payload.len() as u32,
            ack: tcp.ack,
            flags: tcp.flags,
        });
        match self.state {
            State::Closed => Reply::Reset,
            State::SynSent => {
                self.on_received(cx.now);
                self.syn_sent(cx, segment)
            }
            _ => self.after_syn(cx, segment),
        }
    }

    /// Whether an intact segment must be from the peer of this open connection, because a host that does not see
    /// the connection cannot guess its numbers. Either it is the very next one: its sequence number is what comes
    /// next, or one before that as a keep-alive probe has it, and it acknowledges what is in flight. Or it is
    /// one of the last window, repeated or ahead of a lost one, and its timestamps are the peer's clock and an
    /// echo of ours: without these a peer that has moved, and whose next segment was lost, would repeat what has
    /// arrived for ever.
    pub(crate) fn is_surely_from_peer(&self, segment: &Segment<'_>, now: Instant) -> bool {
        let tcp = &segment.tcp;
        self.state.is_synchronized()
            && tcp.flags.contains(TcpFlags::ACK)
            && !tcp.flags.intersects(TcpFlags::SYN | TcpFlags::RST)
            && (!self.negotiated.v2 || segment.options.v2.is_some())
            && (self.is_next(segment) || self.is_near(tcp) && self.has_fresh_timestamps(segment, now))
    }

    fn is_next(&self, segment: &Segment<'_>) -> bool {
        let (tcp, nxt) = (&segment.tcp, self.rcv.nxt());
        let is_probe = tcp.seq + 1 == nxt && segment.sequence_len() <= 1;
        (tcp.seq == nxt || is_probe) && self.snd.una().le(tcp.ack) && tcp.ack.le(self.snd.nxt())
    }

    /// Whether its numbers are what the peer may have sent since its window was the largest, or may send beyond
    /// a window that is closed.
    fn is_near(&self, tcp: &TcpHeader) -> bool {
        let (nxt, reach) = (self.rcv.nxt(), self.rcv.largest_window());
        tcp.seq.in_range(nxt - reach, nxt + reach + 1) && self.snd.is_ack_acceptable(tcp.ack)
    }

    /// Whether the timestamps are of the peer's clock by now, and of ours within the last minute. Both clocks
    /// begin at random numbers (RFC 7323, 5.4).
    fn has_fresh_timestamps(&self, segment: &Segment<'_>, now: Instant) -> bool {
        self.negotiated.timestamps
            && segment
                .options
                .timestamps
                .is_some_and(|stamps| self.rcv.is_timestamp_possible(stamps.tsval, now))
            && self.echo_age(now, segment).is_some_and(|age| age <= Duration::from_secs(60))
    }

    pub(super) fn after_syn<O: Observer>(&mut self, cx: &mut Context<'_, O>, segment: &Segment<'_>) -> Reply {
        let flags = segment.tcp.flags;
        if self.negotiated.v2 && self.state == State::SynReceived && segment.options.v2.is_none() {
            self.give_up_v2(cx, segment);
        }
        // With HACK v2 every segment carries its sums. One that lacks them was damaged where no checksum
        // saw it, or comes from a host that does not know the connection.
        if self.negotiated.v2
            && segment.options.v2.is_none()
            && self.state != State::SynReceived
            && !flags.intersects(TcpFlags::RST | TcpFlags::SYN)
        {
            cx.path.unreadable += 1;
            cx.emit(|| Event::Dropped(DropReason::Unprotected));
            return Reply::Nothing;
        }
        if let Some(reason) = self.unacceptable(cx, segment) {
            cx.emit(|| Event::Dropped(reason));
            return Reply::Nothing;
        }
        // Second: the RST bit.
        if flags.contains(TcpFlags::RST) {
            self.reset_arrived(cx, segment.tcp.seq);
            return Reply::Nothing;
        }
        // Fourth: the SYN bit. RFC 5961, 4.2: "If the SYN bit is set, irrespective of the sequence
        // number, TCP endpoints MUST send a 'challenge ACK' to the remote peer".
        if flags.contains(TcpFlags::SYN) {
            // RFC 9293, SYN-RECEIVED: "If the connection was initiated with a passive OPEN, then return
            // this connection to the LISTEN state and return."
            if self.state == State::SynReceived && self.opening.is_passive() {
                self.fail(cx, ConnectionError::Reset);
                return Reply::Nothing;
            }
            self.challenge(cx.now);
            cx.emit(|| Event::Dropped(DropReason::Challenged));
            return Reply::Nothing;
        }
        // Fifth: the ACK field.
        if !flags.contains(TcpFlags::ACK) {
            cx.emit(|| Event::Dropped(DropReason::NoAck));
            return Reply::Nothing;
        }
        let tcp = &segment.tcp;
        if self.state == State::SynReceived && !self.leave_syn_received(cx, segment) {
            return Reply::Reset;
        }
        // RFC 5961, 5.2: "The ACK value is considered acceptable only if it is in the range of
        // ((SND.UNA - MAX.SND.WND) <= SEG.ACK <= SND.NXT). All incoming segments whose ACK value
        // doesn't satisfy the above condition MUST be discarded and an ACK sent back."
        if !self.snd.is_ack_acceptable(tcp.ack) {
            self.challenge(cx.now);
            cx.emit(|| Event::Dropped(DropReason::UnacceptableAck));
            return Reply::Nothing;
        }
        // Others may be anyone's.
        self.on_received(cx.now);
        if let (true, Some(timestamps)) = (self.negotiated.timestamps, segment.options.timestamps) {
            self.rcv.update_ts_recent(tcp.seq, timestamps.tsval, cx.now);
        }
        self.acknowledge(cx, segment);
        self.closing_progress(cx);
        if self.state == State::Closed {
            return Reply::Nothing;
        }
        // Sixth: the URG bit. RFC 6093 leaves the data in line; the application is only notified.
        if flags.contains(TcpFlags::URG) && segment.tcp.urgent > 0 && self.state.may_receive() {
            self.notify(Notification::Urgent);
        }
        self.take_mark(segment);
        // Seventh and eighth: the segment text and FIN.
        self.take_text(cx, segment);
        Reply::Nothing
    }

    /// "If SND.UNA < SEG.ACK =< SND.NXT, then enter ESTABLISHED state [...] If the segment
    /// acknowledgment is not acceptable, form a reset segment". Says whether it is.
    #[inline(never)]
    fn leave_syn_received<O: Observer>(&mut self, cx: &mut Context<'_, O>, segment: &Segment<'_>) -> bool {
        if !self.snd.acknowledges_new(segment.tcp.ack) {
            return false;
        }
        // The first segment behind the SYN lacks the option: the peer never saw our answer to its
        // offer.
        if self.negotiated.v2 && segment.options.v2.is_none() {
            self.give_up_hack(cx);
        }
        self.acknowledge_syn(cx, segment);
        self.set_state(cx, State::Established);
        self.established(cx);
        self.snd.set_window(segment.tcp.window);
        true
    }

    /// Our SYN-ACK took version 2, and the ACK of it lacks the option: it was taken out on the way, and the
    /// peer knows nothing of it.
    #[inline(never)]
    fn give_up_v2<O>(&mut self, cx: &mut Context<'_, O>, segment: &Segment<'_>) {
        let flags = segment.tcp.flags;
        let answers = flags.contains(TcpFlags::ACK) && !flags.intersects(TcpFlags::SYN | TcpFlags::RST);
        if self.opening.is_passive()
            && answers
            && segment.tcp.ack == self.snd.nxt()
            && segment.tcp.seq == self.rcv.nxt()
        {
            self.negotiated =
                Negotiated { v2: false, hack: false, partial: false, compact: false, ..self.negotiated };
            self.update_mss(cx, false);
        }
    }

    /// The first check: sequence number and PAWS (RFC 9293, 3.10.7.4; RFC 7323, 5.3).
    fn unacceptable<O: Observer>(
        &mut self,
        cx: &mut Context<'_, O>,
        segment: &Segment<'_>,
    ) -> Option<DropReason> {
        let tcp = &segment.tcp;
        let (nxt, wnd) = (self.rcv.nxt(), self.rcv.wnd());
        // RFC 5961, 3.2: "If the RST bit is set and the sequence number is outside the current receive
        // window, silently drop the segment." No timestamp is asked of it (RFC 7323, 5.2).
        if tcp.flags.contains(TcpFlags::RST) {
            let within = tcp.seq == nxt || tcp.seq.in_range(nxt, nxt + wnd);
            return (!within).then_some(DropReason::OutsideWindow);
        }
        // A repeated SYN while ours is on its way: it, or our answer to it, was lost.
        if self.state == State::SynReceived && tcp.flags.contains(TcpFlags::SYN) && tcp.seq == self.rcv.irs()
        {
            if tcp.flags.contains(TcpFlags::ACK) && tcp.ack == self.snd.nxt() {
                // Simultaneous open: the peer's SYN-ACK acknowledges our SYN.
                self.acknowledge_syn(cx, segment);
                self.set_state(cx, State::Established);
                self.established(cx);
                self.rcv.ack_at_once();
            } else {
                self.take_better_offer(cx, segment);
                self.pending.set_syn(true);
            }
            return Some(DropReason::OutsideWindow);
        }
        if self.negotiated.timestamps {
            // RFC 7323, 3.2: "If a non-<RST> segment is received without a TSopt, a TCP SHOULD
            // silently drop the segment."
            let timestamps = segment.options.timestamps;
            let Some(timestamps) = timestamps else { return Some(DropReason::Paws) };
            // RFC 7323, 5.3, R1: "If SEG.TSval < TS.Recent, and if TS.Recent is valid [...] Send an
            // acknowledgment in reply as specified in RFC 793 [...] and drop the segment."
            if self.rcv.is_timestamp_old(timestamps.tsval, cx.now, self.negotiated.v2) {
                self.answer_unacceptable(cx.now, segment);
                return Some(DropReason::Paws);
            }
        }
        if acceptable(tcp.seq, segment.sequence_len(), nxt, wnd) {
            None
        } else {
            Some(self.outside_window(cx, segment))
        }
    }

    /// A segment has no sequence number in the window: what it is good for all the same.
    #[inline(never)]
    fn outside_window<O: Observer>(&mut self, cx: &mut Context<'_, O>, segment: &Segment<'_>) -> DropReason {
        let tcp = &segment.tcp;
        let (nxt, wnd) = (self.rcv.nxt(), self.rcv.wnd());
        // "If the RCV.WND is zero, no segments will be acceptable, but special allowance should be
        // made to accept valid ACKs, URGs, and RSTs."
        if wnd == 0 && tcp.seq == nxt && tcp.flags.contains(TcpFlags::ACK) {
            self.rcv.ack_at_once();
            if tcp.ack.le(self.snd.nxt()) && tcp.ack.ge(self.snd.una()) {
                self.acknowledge(cx, segment);
                self.closing_progress(cx);
            }
            return DropReason::OutsideWindow;
        }
        // An ACK from a peer that sent one number more than it was offered, as a probe, and has not
        // learnt that it was accepted. If both ends are in this place, each has what the other waits for in
        // an ACK that the other drops and answers, without end.
        let behind = segment.sequence_len() == 0 && tcp.seq + 1 == nxt && tcp.flags.contains(TcpFlags::ACK);
        if behind && self.state.is_synchronized() && self.snd.acknowledges_new(tcp.ack) {
            self.acknowledge(cx, segment);
            self.closing_progress(cx);
            if self.state == State::Closed {
                return DropReason::OutsideWindow;
            }
        }
        self.answer_unacceptable(cx.now, segment);
        if self.state == State::TimeWait && tcp.flags.contains(TcpFlags::FIN) {
            // "The only thing that can arrive in this state is a retransmission of the remote FIN.
            // Acknowledge it, and restart the 2 MSL timeout."
            self.timers.set(Timer::TimeWait, cx.now + self.profile.time_wait);
        }
        DropReason::OutsideWindow
    }

    /// "If an incoming segment is not acceptable, an acknowledgment should be sent in reply (unless
    /// the RST bit is set [...])".
    ///
    /// Replies to mere ACKs, and to data whose numbers cannot be the peer's, are limited like challenge ACKs. A
    /// reply that is duplicated on its way comes late, with a timestamp that is old by then, and would call for another: on a path that
    /// duplicates and reorders, ACKs would multiply by themselves. A keep-alive probe (RFC 9293,
    /// 3.8.4) has its answer in any case. In SYN-RECEIVED all replies are limited: that the peer is at its
    /// address is not proven.
    #[inline(never)]
    fn answer_unacceptable(&mut self, now: Instant, segment: &Segment<'_>) {
        let probe = segment.tcp.seq + 1 == self.rcv.nxt();
        let possible = (segment.sequence_len() > 0 || segment.carries_data()) && self.is_near(&segment.tcp);
        if self.state.is_synchronized() && (possible || probe) {
            self.rcv.ack_at_once();
            self.report_repeat(segment);
        } else {
            self.challenge(now);
        }
    }

    /// A segment whose data lies below the window is a duplicate worth reporting (RFC 2883).
    fn report_repeat(&mut self, segment: &Segment<'_>) {
        let (start, len) = (segment.tcp.seq, segment.payload.len() as u32);
        if self.negotiated.sack && len > 0 && (start + len).le(self.rcv.nxt()) {
            self.rcv.report_duplicate(start, start + len);
        }
    }

    #[inline(never)]
    fn reset_arrived<O: Observer>(&mut self, cx: &mut Context<'_, O>, seq: SeqNumber) {
        // RFC 5961, 3.2, as in RFC 9293, 3.10.7.4: "If the RST bit is set and the sequence number exactly matches the next
        // expected sequence number (RCV.NXT), then TCP endpoints MUST reset the connection", and
        // "does not exactly match [...] yet is within the current receive window [...] MUST send
        // an acknowledgment (challenge ACK)".
        if seq != self.rcv.nxt() {
            self.challenge(cx.now);
            cx.emit(|| Event::Dropped(DropReason::Challenged));
            return;
        }
        match self.state {
            State::SynReceived if !self.opening.is_passive() => self.fail(cx, ConnectionError::Refused),
            State::Closing | State::LastAck | State::TimeWait => self.finish(cx),
            _ => self.fail(cx, ConnectionError::Reset),
        }
    }

    /// What the acknowledgement of our FIN means in each state.
    fn closing_progress<O: Observer>(&mut self, cx: &mut Context<'_, O>) {
        if !self.snd.is_fin_acknowledged() {
            return;
        }
        match self.state {
            State::FinWait1 => {
                self.set_state(cx, State::FinWait2);
                self.limit_fin_wait_2(cx.now);
            }
            State::Closing => self.enter_time_wait(cx),
            State::LastAck => self.finish(cx),
            _ => {}
        }
    }
}

/// RFC 9293, 3.4, table 6: the four cases of an acceptable segment.
fn acceptable(seq: SeqNumber, len: u32, nxt: SeqNumber, wnd: u32) -> bool {
    // Numbers come from the network, so any two may be half of the space apart, where "before" and
    // "after" say nothing: only ranges do.
    let in_window = |number: SeqNumber| number.in_range(nxt, nxt + wnd);
    match (len, wnd) {
        (0, 0) => seq == nxt,
        // The right edge itself is let in: an ACK from a peer that has filled the window
        // carries it, and dropping that would stop the ACKs of a full pipe.
        (0, _) => in_window(seq) || seq == nxt + wnd,
        (_, 0) => false,
        _ => in_window(seq) || in_window(seq + (len - 1)) || nxt.in_range(seq, seq + len),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_four_cases_of_table_6() {
        let n = SeqNumber;
        assert!(acceptable(n(100), 0, n(100), 0));
        assert!(!acceptable(n(101), 0, n(100), 0));
        assert!(acceptable(n(149), 0, n(100), 50));
        assert!(!acceptable(n(99), 0, n(100), 50));
        assert!(!acceptable(n(151), 0, n(100), 50));
        assert!(!acceptable(n(100), 1, n(100), 0));
        assert!(acceptable(n(90), 11, n(100), 50), "its last byte is in the window");
        assert!(!acceptable(n(90), 10, n(100), 50));
        assert!(acceptable(n(149), 100, n(100), 50));
        assert!(!acceptable(n(150), 1, n(100), 50));
        assert!(acceptable(n(90), 100, n(100), 50), "it covers the whole window");
        let far = n(100 + (1 << 31));
        for seq in [far - 149, far - 1, far, far + 1, far + 49] {
            assert!(!acceptable(seq, 100, n(100), 50), "{seq:?}, half of the space away");
        }
    }
}
