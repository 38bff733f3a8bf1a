//! *Corrupted segments*: the header is valid, the payload is damaged (`docs/protocol.md`, 5.2; paper 000,
//! section 3.2; paper 003, section 4.2.2).
//!
//! The header may still be wrong: the 16-bit sum misses some errors. So such a segment only asks
//! for a retransmission; it never delivers data by itself and never moves the receive window, `SND.UNA` or
//! `TS.Recent`. And anyone can send one: it counts only if its numbers are those of the connection.

use headway_units::Instant;
use headway_wire::{Ecn, Segment, SeqNumber, TcpFlags, TcpHeader};

use super::{Connection, Context, State};
use crate::event::{DamageOutcome, Event, Observer};
use crate::hack::classic::receiver::PendingSpecialAck;
use crate::hack::partial::Evidence;

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
        self.take_damaged(cx, segment, Evidence::Repaired);
    }

    /// A corrupted segment of this connection arrived. Says whether it may have been the peer who sent it.
    pub(crate) fn handle_corrupted<O: Observer>(
        &mut self,
        cx: &mut Context<'_, O>,
        segment: &Segment<'_>,
        evidence: Evidence<'_>,
    ) -> bool {
        if self.state == State::SynReceived && self.negotiated.v2 {
            self.open_by_header(cx, segment);
        }
        let outcome = self.take_damaged(cx, segment, evidence);
        if outcome == Some(DamageOutcome::Requested) {
            self.record_header(cx.now, segment);
        }
        outcome.is_some_and(|outcome| outcome != DamageOutcome::Implausible)
    }

    /// Where hardly a packet arrives intact, the ACK of our SYN is lost, and the data behind it comes damaged. Its header is
    /// protected by a CRC-32C, and opens the connection as an ACK without data would.
    fn open_by_header<O: Observer>(&mut self, cx: &mut Context<'_, O>, segment: &Segment<'_>) {
        let flags = segment.tcp.flags;
        let is_usual = flags.contains(TcpFlags::ACK) && !flags.intersects(TcpFlags::SYN | TcpFlags::RST);
        if segment.options.v2.is_some() && is_usual {
            let tcp = TcpHeader { flags: TcpFlags::ACK, ..segment.tcp };
            let mut header = Segment { tcp, payload: &[], ..*segment };
            // Data may be a retransmission: its echo is no sample of the round trip of our SYN.
            if let Some(timestamps) = &mut header.options.timestamps {
                timestamps.tsecr = self.tsval(cx.now).wrapping_add(1);
            }
            // One that does not acknowledge our SYN opens nothing, and is not worth a RST.
            let _ = self.after_syn(cx, &header);
        }
    }

    /// Says what was made of it, if anything.
    fn take_damaged<O: Observer>(
        &mut self,
        cx: &mut Context<'_, O>,
        segment: &Segment<'_>,
        evidence: Evidence<'_>,
    ) -> Option<DamageOutcome> {
        // Of the segment that a patch is for, only the beginning is known.
        let len = if segment.is_patch() { 1 } else { segment.payload.len() as u32 };
        let seq = segment.tcp.seq;
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
        self.statistics.congestion_marks += u32::from(segment.ip.ecn == Ecn::Ce);
        let outcome = if self.is_plausible(cx.now, segment, len) {
            cx.path.damaged_data += 1;
            self.answer_damage(cx, segment, len, evidence)
        } else {
            self.statistics.damaged_implausible += 1;
            DamageOutcome::Implausible
        };
        let len = (segment.payload.len() + segment.blocks.len()) as u32;
        cx.emit(|| Event::Damaged { seq, len, outcome });
        Some(outcome)
    }

    /// Whether the peer may have sent this header. What an intact segment would have to pass (the sequence
    /// number, RFC 9293; the ACK number, RFC 5961, 5.2; the timestamp, RFC 7323, 5.3) it has to pass too, and more:
    /// its data need not be new, but both of its timestamps must be possible.
    fn is_plausible(&self, now: Instant, segment: &Segment<'_>, len: u32) -> bool {
        let tcp = &segment.tcp;
        let floor = self.rcv.nxt() - self.rcv.largest_window();
        if !(tcp.seq + len).gt(floor) || !tcp.seq.lt(self.right_edge()) {
            return false;
        }
        let missing = self.rcv.first_missing(tcp.seq, len).filter(|_| !self.rcv.fin_reached());
        if missing.is_some_and(|missing| !missing.lt(self.right_edge())) {
            return false;
        }
        if !self.profile.checks_damaged {
            return true;
        }
        if !tcp.flags.contains(TcpFlags::ACK) || tcp.flags.intersects(TcpFlags::SYN | TcpFlags::RST) {
            return false;
        }
        let timestamps_are_possible = !self.negotiated.timestamps
            || segment.options.timestamps.is_some_and(|timestamps| {
                self.rcv.is_timestamp_possible(timestamps.tsval, now) && self.echo_age(now, segment).is_some()
            });
        self.snd.is_ack_acceptable(tcp.ack) && timestamps_are_possible
    }

    fn right_edge(&self) -> SeqNumber {
        self.rcv.nxt() + self.rcv.wnd()
    }

    fn answer_damage<O: Observer>(
        &mut self,
        cx: &mut Context<'_, O>,
        segment: &Segment<'_>,
        len: u32,
        evidence: Evidence<'_>,
    ) -> DamageOutcome {
        let seq = segment.tcp.seq;
        // Or damage would hide congestion. What lies below the window is no mark, as in an intact segment.
        if (seq + len).gt(self.rcv.nxt()) {
            self.record_mark(segment.ip.ecn);
        }
        // With the peer's FIN everything is held, whatever the header says.
        let Some(missing) = self.rcv.first_missing(seq, len).filter(|_| !self.rcv.fin_reached()) else {
            self.rcv.ack_at_once();
            return DamageOutcome::AlreadyHeld;
        };
        let is_whole = missing == seq
            && if segment.is_patch() {
                self.take_patch(cx, segment, matches!(evidence, Evidence::Repaired))
            } else {
                self.keep_corrupted(cx, segment, evidence)
            };
        if is_whole {
            return DamageOutcome::Combined;
        }
        self.ask_for(cx.now, if self.literal() { seq } else { missing }, segment);
        DamageOutcome::Requested
    }

    /// A special ACK is to report the segment at `seq`, and the transmission `segment`.
    pub(super) fn ask_for(&mut self, now: Instant, seq: SeqNumber, segment: &Segment<'_>) {
        let tsecr = segment.options.timestamps.map(|timestamps| timestamps.tsval);
        // An entry of s_buffer lives for the receiver's view of one retransmission timeout.
        let life = self.snd.rtt().timeout();
        self.pending.push_special_ack(PendingSpecialAck { seq, tsecr }, now, life);
    }
}
