//! Segment text and FIN (RFC 9293, 3.10.7.4, seventh and eighth).

use headway_wire::{Segment, TcpFlags};

use super::{Connection, Context, Notification, State};
use crate::event::{DropReason, Event, Observer, Timer};
use crate::receive::{Clocks, Placed};

impl Connection {
    pub(super) fn take_text<O: Observer>(&mut self, cx: &mut Context<'_, O>, segment: &Segment<'_>) {
        if !matches!(self.state, State::Established | State::FinWait1 | State::FinWait2) {
            self.answer_after_fin(cx, segment);
            return;
        }
        if segment.is_patch() {
            self.take_intact_patch(cx, segment);
            return;
        }
        let flags = segment.tcp.flags;
        let (syn, fin) = (flags.contains(TcpFlags::SYN), flags.contains(TcpFlags::FIN));
        if segment.payload.is_empty() && !fin {
            return;
        }
        if !syn {
            self.record_header(cx.now, segment);
        }
        // A SYN precedes the text of its segment.
        let seq = segment.tcp.seq + u32::from(syn);
        let placed = self.rcv.place(seq, segment.payload, fin, self.longest_segment());
        if placed.dropped {
            cx.emit(|| Event::Dropped(DropReason::ReassemblyFull));
        }
        self.statistics.bytes_received += u64::from(placed.advanced);
        if !segment.payload.is_empty() && !syn {
            self.fill_corrupted(cx, segment);
        }
        if self.profile.features.autotune {
            self.tune_receive_buffer(cx, segment);
        }
        self.acknowledge_text(cx, &placed, fin);
    }

    /// Text that a SYN carried, now that the connection is ESTABLISHED.
    #[inline(never)]
    pub(super) fn take_syn_text<O: Observer>(&mut self, cx: &mut Context<'_, O>) {
        let Some(text) = self.opening.take_text() else { return };
        let placed = self.rcv.place(self.rcv.irs() + 1, &text, false, self.longest_segment());
        self.statistics.bytes_received += u64::from(placed.advanced);
        self.acknowledge_text(cx, &placed, false);
    }

    #[inline]
    fn acknowledge_text<O: Observer>(&mut self, cx: &mut Context<'_, O>, placed: &Placed, fin: bool) {
        if let (true, Some((start, end))) = (self.negotiated.sack, placed.duplicate) {
            self.rcv.report_duplicate(start, end);
        }
        self.pending.on_data(cx.now, |seq| self.rcv.holds(seq));
        let rtt = self.snd.rtt();
        self.rcv.schedule_ack(cx.now, placed, fin, (rtt.timeout(), rtt.smoothed()));
        self.tell_reader(cx, placed);
    }

    /// Text was placed: whoever reads can go on, or has read all.
    pub(super) fn tell_reader<O: Observer>(&mut self, cx: &mut Context<'_, O>, placed: &Placed) {
        if placed.advanced > 0 || (placed.out_of_order && self.profile.unordered) {
            self.notify(Notification::Readable);
        }
        if self.rcv.fin_reached() {
            self.fin_reached(cx);
        }
    }

    /// The peer's FIN has arrived, and a segment of the window after it: its text "should not occur, since a
    /// FIN has been received from the remote side. Ignore the segment text."
    #[inline(never)]
    fn answer_after_fin<O>(&mut self, cx: &Context<'_, O>, segment: &Segment<'_>) {
        let time_wait = self.state == State::TimeWait;
        if segment.tcp.flags.contains(TcpFlags::FIN) {
            // "If the FIN bit is set, [...] send an acknowledgment for the FIN", and in TIME-WAIT: "Restart
            // the 2 MSL time-wait timeout."
            self.rcv.ack_at_once();
            if time_wait {
                self.timers.set(Timer::TimeWait, cx.now + self.profile.time_wait);
            }
        } else if time_wait && (segment.tcp.seq != self.rcv.nxt() || !segment.payload.is_empty()) {
            // "The only thing that can arrive in this state is a retransmission of the remote FIN.
            // Acknowledge it": no such segment can have been sent, so the reply is limited.
            self.challenge(cx.now);
        }
    }

    pub(super) fn tune_receive_buffer<O>(&mut self, cx: &mut Context<'_, O>, segment: &Segment<'_>) {
        self.rcv.tune(&Clocks {
            now: cx.now,
            tsval: self.tsval(cx.now),
            tsecr: segment
                .options
                .timestamps
                .filter(|_| self.negotiated.timestamps)
                .map(|timestamps| timestamps.tsecr),
            smoothed: self.snd.rtt().smoothed(),
        });
        if self.profile.features.sharing {
            cx.path.receive_window = cx.path.receive_window.max(self.rcv.target());
        }
    }

    /// "If the FIN bit is set, signal the user 'connection closing' [...] advance RCV.NXT over the
    /// FIN, and send an acknowledgment for the FIN."
    pub(super) fn fin_reached<O: Observer>(&mut self, cx: &mut Context<'_, O>) {
        self.rcv.ack_at_once();
        self.notify(Notification::Readable);
        match self.state {
            State::Established => self.set_state(cx, State::CloseWait),
            // Whether our FIN is acknowledged has been seen to before.
            State::FinWait1 => self.set_state(cx, State::Closing),
            State::FinWait2 => self.enter_time_wait(cx),
            _ => {}
        }
    }
}
