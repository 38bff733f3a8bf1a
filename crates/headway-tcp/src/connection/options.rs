//! The options of segments after the SYN.

use headway_wire::{SeqList, SeqNumber, TcpOptions, Timestamps, V2, V2Ack, V2Offsets};

use super::{Connection, Context};
use crate::hack::classic::receiver::PendingSpecialAck;

/// Room for options in a TCP header (RFC 9293, 3.1).
pub(super) const OPTION_SPACE: usize = 40;

/// The options of a special ACK.
pub(super) struct SpecialAckOptions {
    pub(super) options: TcpOptions,
    /// How many segments they report.
    pub(super) count: usize,
}

impl Connection {
    pub(super) fn ack_options<O>(&mut self, cx: &Context<'_, O>) -> TcpOptions {
        let mut options = self.fixed_options(cx, false);
        self.add_sack_blocks(&mut options, OPTION_SPACE);
        options
    }

    /// Paper 003, section 4.2.2 (3): "Its option contains all the sequence numbers that have been
    /// saved in the s_buffer".
    pub(super) fn special_ack_options<O>(
        &mut self,
        cx: &Context<'_, O>,
        special_ack: PendingSpecialAck,
    ) -> SpecialAckOptions {
        let seq = special_ack.seq;
        let mut options = self.fixed_options(cx, false);
        // The echo names the transmission that was hit, not TS.Recent.
        if let (Some(timestamps), Some(tsecr)) = (&mut options.timestamps, special_ack.tsecr) {
            timestamps.tsecr = tsecr;
        }
        let count = if self.negotiated.v2 {
            // As below: the newest SACK block goes before repeated numbers.
            let room = OPTION_SPACE - options.encoded_len() - self.reserved_for_sack(8);
            let numbers = self.special_acks_list(cx, seq, (room / 4).max(1));
            let offsets = V2Ack::offsets_from(self.rcv.nxt(), numbers.as_slice().iter().copied());
            options.v2 = Some(V2::ack(cx.path.damaged_data as u16, offsets));
            numbers.len()
        } else if self.negotiated.xhack {
            // One SACK block, the newest, goes before repeated numbers: the sender's pipe depends
            // on it, and every special ACK repeats the numbers. Two bytes for the option itself,
            // two to align it; likewise for SACK.
            let room = OPTION_SPACE - options.encoded_len() - self.reserved_for_sack(12);
            options.xhack_ack = self.special_acks_list(cx, seq, room.saturating_sub(4) / 4);
            options.xhack_ack.len()
        } else {
            options.hack_ack = Some(seq);
            1
        };
        self.add_sack_blocks(&mut options, OPTION_SPACE);
        SpecialAckOptions { options, count }
    }

    /// `bytes` for a SACK block, if there is one to report.
    fn reserved_for_sack(&self, bytes: usize) -> usize {
        if self.negotiated.sack && self.rcv.has_sack_news() { bytes } else { 0 }
    }

    /// Up to `room` numbers for a special ACK, `first` and then the newest.
    fn special_acks_list<O>(&mut self, cx: &Context<'_, O>, first: SeqNumber, room: usize) -> SeqList {
        let special_acks = self.pending.special_acks();
        special_acks.prune(cx.now, |seq| self.rcv.holds(seq));
        special_acks.list(first, room)
    }

    /// The options of a segment without SACK blocks; `data`: it carries some.
    pub(super) fn fixed_options<O>(&self, cx: &Context<'_, O>, data: bool) -> TcpOptions {
        let v2 = || {
            if data { V2::data() } else { V2::ack(cx.path.damaged_data as u16, V2Offsets::default()) }
        };
        TcpOptions {
            timestamps: self
                .negotiated
                .timestamps
                .then(|| Timestamps { tsval: self.tsval(cx.now), tsecr: self.rcv.ts_recent() }),
            // Paper 000, section 3.1: every data segment; the value is computed when it is built.
            hack: (data && self.negotiated.hack && !self.negotiated.v2).then_some(0),
            v2: self.negotiated.v2.then(v2),
            ..TcpOptions::default()
        }
    }

    #[inline]
    pub(super) fn add_sack_blocks(&mut self, options: &mut TcpOptions, space: usize) {
        if self.negotiated.sack && self.rcv.has_sack_news() {
            // The option of v2 on an ACK ends with half a word, which SACK's kind and length fill.
            let start = if options.v2.as_ref().is_some_and(|v2| v2.as_ack().is_some()) { 0 } else { 4 };
            let room = space.saturating_sub(options.encoded_len() + start) / 8;
            options.sack = self.rcv.sack_blocks(room.min(4));
        }
    }

    /// Bytes that SACK blocks would take from a new data segment: one block's worth while there
    /// is something to report.
    pub(super) fn sack_room_beside_data(&self) -> usize {
        self.reserved_for_sack(12)
    }
}
