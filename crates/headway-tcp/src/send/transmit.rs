//! Taking segments to send: retransmissions and new data.

use alloc::vec::Vec;

use headway_units::{Duration, Instant};
use headway_wire::SeqNumber;
use headway_wire::patch::{self, Choice};

use super::SendSide;
use super::marks::Marks;
use super::recovery::{Allowance, Retransmission};
use super::transmissions::Transmission;
use crate::event::RetransmitReason;

/// A segment of new data that may be sent, as far as the peer's window goes.
#[derive(Clone, Copy)]
pub(crate) struct NextSegment {
    pub(crate) len: u32,
    pub(crate) fin: bool,
    /// Bytes written and never sent, it included.
    pub(crate) unsent: u32,
    /// What the peer's window admits.
    pub(crate) usable: u32,
    /// The largest payload beside the options.
    pub(crate) mss: u32,
}

impl NextSegment {
    /// Whether there is anything to send.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0 && !self.fin
    }
}

/// A segment with data, or FIN, that is about to be sent.
#[derive(Clone, Copy)]
pub(crate) struct DataSegment {
    pub(crate) seq: SeqNumber,
    /// Where its payload begins in the send buffer.
    pub(crate) offset: usize,
    pub(crate) len: u32,
    pub(crate) fin: bool,
    pub(crate) push: bool,
    /// Only this of it; none: all of it.
    pub(crate) patch: Choice,
}

impl DataSegment {
    /// Bytes behind its header.
    pub(crate) fn bytes(&self) -> u32 {
        if self.patch.is_none() {
            return self.len;
        }
        self.patch.patch_len(self.len as usize) as u32
    }
}

impl SendSide {
    // --- what there is to send ----------------------------------------------------------------------

    /// Bytes written and never sent.
    pub(crate) fn unsent(&self) -> u32 {
        if self.nxt == self.iss {
            return self.buffer.len() as u32;
        }
        // With FIN acknowledged the difference covers nothing of the (empty) buffer.
        let sent = ((self.nxt - self.buffer_start()) as u32).saturating_sub(u32::from(self.fin_sent));
        (self.buffer.len() as u32).saturating_sub(sent)
    }

    /// Bytes that the peer's window still admits (RFC 9293, 3.8.6.2.1: the usable window).
    pub(crate) fn usable_window(&self) -> u32 {
        let edge = self.una + self.window.size();
        let usable = edge - self.nxt;
        usable.max(0) as u32
    }

    /// Whether data or FIN waits to be sent for the first time.
    pub(crate) fn has_unsent(&self) -> bool {
        self.unsent() > 0 || (self.fin_queued && !self.fin_sent)
    }

    /// Whether data waits to be sent, for the first time or again.
    pub(crate) fn has_data_to_send(&self) -> bool {
        self.unsent() > 0 || self.queue.any_missing()
    }

    /// The next segment of new data, beside `reserved` bytes of further options.
    pub(crate) fn next_segment(&self, reserved: u32) -> NextSegment {
        let unsent = self.unsent();
        let usable = self.usable_window();
        let mss = self.mss - reserved;
        let len = unsent.min(usable).min(mss);
        // FIN goes with the last data, or alone; it needs a sequence number within the window.
        let fin = self.fin_queued && !self.fin_sent && len == unsent && usable > len;
        NextSegment { len, fin, unsent, usable, mss }
    }

    /// The segment that probes a closed window. RFC 9293, 3.8.6.1: "the transmitting TCP peer regularly
    /// transmits at least one octet of new data (if available)".
    pub(crate) fn window_probe(next: NextSegment) -> NextSegment {
        NextSegment { len: next.unsent.min(1), fin: next.unsent == 0, ..next }
    }

    // --- whether it may go --------------------------------------------------------------------------

    /// Whether recovery lets new data go, the congestion window permitting.
    #[inline]
    pub(crate) fn may_send_new(&self) -> bool {
        self.recovery.may_send_new()
    }

    /// Whether retransmissions go before all new data.
    #[inline]
    pub(crate) fn holds_new_data_back(&mut self) -> bool {
        self.recovery.holds_new_data_back(&self.queue)
    }

    /// A small segment may go now, although silly-window avoidance would hold it.
    pub(crate) fn override_silly_window(&mut self) {
        self.override_sws = true;
    }

    pub(crate) fn overrides_silly_window(&self) -> bool {
        self.override_sws
    }

    /// What may be sent with this congestion window, and `pipe` in the network.
    #[inline]
    pub(crate) fn allowance(&self, window: u32, pipe: u32) -> Allowance {
        self.recovery.allowance(window, pipe, self.mss)
    }

    // --- what goes ----------------------------------------------------------------------------------

    /// The first segment is lost: it was left behind.
    pub(crate) fn mark_head_lost(&mut self) {
        self.queue.mark_lost(0);
    }

    /// Whether recovery may want a segment retransmitted.
    pub(crate) fn may_retransmit(&self) -> bool {
        self.recovery.may_retransmit(&self.queue)
    }

    /// The segment to retransmit now, if any.
    pub(crate) fn next_retransmit(&mut self, allowance: Allowance) -> Option<Retransmission> {
        self.recovery.next_retransmit(&mut self.queue, allowance)
    }

    /// No new data can go: the segment to retransmit instead, if any.
    pub(crate) fn next_without_new_data(&mut self, allowance: Allowance) -> Option<Retransmission> {
        let unsent = self.unsent();
        let sendable = unsent.min(self.usable_window()).min(self.mss);
        let queues = (&mut self.queue, &self.sacks);
        self.recovery.next_without_new_data(queues, allowance, unsent, sendable)
    }

    /// The last segment, if it may serve as a tail loss probe.
    pub(crate) fn last_unsacked(&self) -> Option<usize> {
        self.queue.last_unsacked()
    }

    /// The latest transmission of segment `index`, where transmissions are logged.
    pub(crate) fn transmission_of(&self, index: usize) -> Option<Transmission> {
        self.queue.transmission_of(index)
    }

    /// A tail loss probe was sent; it repeats a transmission if it carries no new data.
    pub(crate) fn on_probe_sent(&mut self, repeats: Option<Transmission>) {
        self.recovery.on_probe_sent(self.nxt, repeats.map(|sent| sent.missing(self.mss, Duration::ZERO)));
    }

    /// The payload of segment `index`.
    pub(crate) fn payload_len(&self, index: usize) -> u32 {
        self.queue.get(index).payload_len()
    }

    /// How many segments with at least that payload have not arrived, of those sent up to a round trip before `SND.UNA` moved, or
    /// later.
    pub(crate) fn unanswered(&self, payload: u32) -> usize {
        let round_trip = self.rtt.min().unwrap_or_default();
        self.queue
            .iter()
            .filter(|sent| sent.payload_len() >= payload && !sent.has(Marks::SACKED))
            .filter(|sent| sent.sent_at + round_trip >= self.last_advance)
            .count()
    }

    /// Whether a probe of the path's MTU may be lost without being taken for congestion.
    pub(crate) fn spares_probes(&self) -> bool {
        self.recovery.spares_probes()
    }

    /// Cuts segment `index`, which is longer than others: a probe of the path's MTU that was lost. Its pieces are to be
    /// retransmitted.
    pub(crate) fn cut_probe(&mut self, index: usize) {
        self.recovery.cut(&mut self.queue, index, self.mss);
    }

    /// The longest payload that has arrived, intact or not, since this was last asked for.
    #[inline]
    pub(crate) fn take_longest_arrived(&mut self) -> u32 {
        self.queue.take_longest_arrived()
    }

    /// Takes segment `index` to be retransmitted.
    pub(crate) fn retransmit(
        &mut self,
        (index, reason): (usize, RetransmitReason),
        now: Instant,
        tsval: u32,
    ) -> DataSegment {
        self.queue.retransmit(index, now, tsval);
        self.recovery.on_retransmitted(&self.queue, index, reason);
        self.segment_at(index)
    }

    /// The segment at `index` of the queue, as it was sent.
    pub(super) fn segment_at(&self, index: usize) -> DataSegment {
        let sent = self.queue.get(index);
        DataSegment {
            seq: sent.seq,
            offset: (sent.seq - self.buffer_start()) as usize,
            len: sent.payload_len(),
            fin: sent.has(Marks::FIN),
            push: sent.has(Marks::PUSH),
            patch: sent.patch(),
        }
    }

    /// Takes `next` to be sent.
    pub(crate) fn send(&mut self, next: &NextSegment, now: Instant, tsval: u32) -> DataSegment {
        let &NextSegment { len, fin, unsent, .. } = next;
        let (seq, push) = (self.nxt, len == unsent);
        let offset = self.buffer.len() - unsent as usize;
        if self.queue.is_empty() {
            self.last_advance = now;
        }
        self.override_sws = false;
        let marks = if fin { Marks::FIN } else { Marks::NONE };
        self.queue.push(seq, len + u32::from(fin), marks, now, tsval);
        if push {
            self.queue.push_last();
        }
        self.nxt = seq + (len + u32::from(fin));
        self.fin_sent |= fin;
        self.recovery.on_sent(len);
        DataSegment { seq, offset, len, fin, push, patch: Choice::NONE }
    }

    /// What a patch for `segment` carries.
    pub(crate) fn patch(&self, segment: &DataSegment) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(segment.bytes() as usize);
        let payload = self.payload(segment.offset, segment.len as usize);
        patch::write(payload, segment.patch, |piece| bytes.extend_from_slice(piece));
        bytes
    }

    /// The payload of a segment, in the one or two pieces in which it lies.
    #[inline]
    pub(crate) fn payload(&self, offset: usize, len: usize) -> (&[u8], &[u8]) {
        self.buffer.slices(offset, len)
    }
}
