//! *Corrupted segments*: the header is valid, the payload is damaged (`docs/protocol.md`, 5.2; paper 000,
//! section 3.2; paper 003, section 4.2.2).
//!
//! The header may still be wrong: the 16-bit sum misses some errors. So such a segment only asks
//! for a retransmission; it never delivers data by itself and never moves the receive window, `SND.UNA` or
//! `TS.Recent`.

use headway_wire::{Ecn, Segment};

use super::{Connection, Context, State};
use crate::event::{DamageOutcome, Event, Observer};
use crate::hack::classic::receiver::PendingSpecialAck;

impl Connection {
    /// A damaged packet arrived whose header cannot be read: the peer is notified of their count.
    pub(crate) fn report_unreadable(&mut self) {
        if self.negotiated.v2 && self.state.is_synchronized() {
            self.pending.request_count();
        }
    }

    /// A segment arrived whose header was damaged and has been repaired. It may do what a corrupted
    /// segment may, but nothing is learnt from its header.
    pub(crate) fn handle_repaired<O: Observer>(&mut self, cx: &mut Context<'_, O>, segment: &Segment<'_>) {
        self.statistics.repaired += 1;
        self.take_damaged(cx, segment, true);
    }

    /// A corrupted segment of this connection arrived.
    pub(crate) fn handle_corrupted<O: Observer>(&mut self, cx: &mut Context<'_, O>, segment: &Segment<'_>) {
        if self.take_damaged(cx, segment, false) == Some(DamageOutcome::Requested) {
            self.record_header(cx.now, segment);
        }
    }

    /// Says what was made of it, if anything.
    fn take_damaged<O: Observer>(
        &mut self,
        cx: &mut Context<'_, O>,
        segment: &Segment<'_>,
        repaired: bool,
    ) -> Option<DamageOutcome> {
        let (seq, len) = (segment.tcp.seq, segment.payload.len() as u32);
        // The peer's first data may come damaged before the ACK of our SYN has: it is worth asking for.
        let open = self.state.is_synchronized() || self.state == State::SynReceived;
        if !self.negotiated.hack || !open || len == 0 {
            return None;
        }
        // What version 2 vouches for carries its option.
        if self.negotiated.v2 && segment.options.v2.is_none() {
            return None;
        }
        self.statistics.damaged_received += 1;
        cx.path.damaged_data += 1;
        self.statistics.congestion_marks += u32::from(segment.ip.ecn == Ecn::Ce);
        let outcome = self.judge_damage(cx, segment, len, repaired);
        if outcome == DamageOutcome::Implausible {
            self.statistics.damaged_implausible += 1;
        }
        cx.emit(|| Event::Damaged { seq, len, outcome });
        Some(outcome)
    }

    fn judge_damage<O: Observer>(
        &mut self,
        cx: &mut Context<'_, O>,
        segment: &Segment<'_>,
        len: u32,
        repaired: bool,
    ) -> DamageOutcome {
        let seq = segment.tcp.seq;
        let (nxt, edge) = (self.rcv.nxt(), self.rcv.nxt() + self.rcv.wnd());
        let floor = nxt - self.rcv.largest_window();
        if !(seq + len).gt(floor) || !seq.lt(edge) {
            return DamageOutcome::Implausible;
        }
        // With the peer's FIN everything is held, whatever the header says.
        let Some(missing) = self.rcv.first_missing(seq, len).filter(|_| !self.rcv.fin_reached()) else {
            self.rcv.ack_at_once();
            return DamageOutcome::AlreadyHeld;
        };
        if !missing.lt(edge) {
            return DamageOutcome::Implausible;
        }
        if missing == seq && self.keep_corrupted(cx, segment, repaired) {
            return DamageOutcome::Combined;
        }
        let special_ack = PendingSpecialAck {
            seq: if self.literal() { seq } else { missing },
            tsecr: segment.options.timestamps.map(|stamps| stamps.tsval),
        };
        // Or damage would hide congestion.
        self.record_mark(segment.ip.ecn);
        // An entry of s_buffer lives for the receiver's view of one retransmission timeout.
        let life = self.snd.rtt().timeout();
        self.pending.push_special_ack(special_ack, cx.now, life);
        DamageOutcome::Requested
    }
}
