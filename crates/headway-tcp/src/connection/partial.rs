//! Partial recovery ([`crate::hack::partial`]): of a segment whose payload arrived damaged, only the
//! damaged blocks are retransmitted.

use alloc::vec::Vec;

use headway_wire::blocks::SUM_LEN;
use headway_wire::{Segment, SeqNumber, TcpFlags, V2};

use super::{Connection, Context, State};
use crate::event::{Event, Observer};
use crate::hack::partial::receiver::Whole;
use crate::hack::partial::{Evidence, Proof};

impl Connection {
    /// Keeps the payload of a corrupted segment, of which nothing is held. Says whether it is whole by
    /// what an earlier copy brought.
    pub(super) fn keep_corrupted<O: Observer>(
        &mut self,
        cx: &mut Context<'_, O>,
        segment: &Segment<'_>,
        evidence: Evidence<'_>,
    ) -> bool {
        let data = segment.options.v2.as_ref().and_then(V2::as_data);
        let Some(data) = data.filter(|_| self.negotiated.partial && self.takes_text()) else { return false };
        // FIN would have to come again in any case.
        if segment.tcp.flags.contains(TcpFlags::FIN) {
            return false;
        }
        let proof = match evidence {
            Evidence::Tagged(tag) => Proof::Tag(tag.clone()),
            // Anyone can compute a CRC.
            _ if self.profile.tagged_payloads => return false,
            Evidence::Valid | Evidence::Repaired => Proof::Crc(data.payload_crc),
        };
        let repaired = matches!(evidence, Evidence::Repaired);
        let payloads = self.corrupted_payloads.get_or_insert_default();
        let completed = payloads.keep(segment.tcp.seq, segment.payload, proof, repaired);
        completed.iter().for_each(|whole| self.take_whole(cx, whole));
        !completed.is_empty()
    }

    /// An intact segment arrived: corrupted payloads may be whole with it.
    pub(super) fn fill_corrupted<O: Observer>(&mut self, cx: &mut Context<'_, O>, segment: &Segment<'_>) {
        let Some(payloads) = &mut self.corrupted_payloads else { return };
        let whole = payloads.fill(segment.tcp.seq, segment.payload);
        self.take_all(cx, segment, &whole);
    }

    /// A patch arrived intact. What is still not whole by it is reported again: the sums of some blocks agreed by chance, or what
    /// was kept has been discarded.
    #[inline(never)]
    pub(super) fn take_intact_patch<O: Observer>(&mut self, cx: &mut Context<'_, O>, segment: &Segment<'_>) {
        let seq = segment.tcp.seq;
        if !self.negotiated.partial || self.rcv.fin_reached() || self.rcv.first_missing(seq, 1).is_none() {
            self.rcv.ack_at_once();
        } else if !self.take_patch(cx, segment, false) {
            cx.path.damaged_data += 1;
            self.ask_for(cx.now, seq, segment);
        }
    }

    /// A patch arrived of a segment that is kept; says whether it is whole by that. If the patch itself is not intact, each block counts
    /// by its own sum; its header may be `repaired`.
    pub(super) fn take_patch<O: Observer>(
        &mut self,
        cx: &mut Context<'_, O>,
        segment: &Segment<'_>,
        repaired: bool,
    ) -> bool {
        if !self.negotiated.partial || !self.takes_text() {
            return false;
        }
        let Some(payloads) = &mut self.corrupted_payloads else { return false };
        let whole = payloads.patch(segment.tcp.seq, segment.blocks, repaired);
        self.take_all(cx, segment, &whole);
        if !whole.is_empty() && self.profile.features.autotune {
            self.tune_receive_buffer(cx, segment);
        }
        self.pending.on_data(cx.now, |seq| self.rcv.holds(seq));
        !whole.is_empty()
    }

    /// What `segment` has completed is delivered.
    fn take_all<O: Observer>(&mut self, cx: &mut Context<'_, O>, segment: &Segment<'_>, whole: &[Whole]) {
        let tsval =
            segment.options.timestamps.filter(|_| self.negotiated.timestamps).map(|times| times.tsval);
        for whole in whole {
            // RFC 7323, 4.3 (C): "the timestamp from the latest segment (which filled the hole) MUST be echoed". What filled
            // this one may begin behind its start.
            if let Some(tsval) = tsval {
                self.rcv.update_ts_recent(whole.seq, tsval, cx.now);
            }
            self.take_whole(cx, whole);
        }
        let nxt = self.rcv.nxt();
        if let Some(payloads) = &mut self.corrupted_payloads {
            payloads.prune(|seq, len| (seq + len).le(nxt));
            if payloads.is_empty() {
                self.corrupted_payloads = None;
            }
        }
    }

    fn takes_text(&self) -> bool {
        matches!(self.state, State::Established | State::FinWait1 | State::FinWait2)
    }

    /// The payload CRC, or the tag, holds for the whole payload: it is delivered as if it had arrived intact.
    fn take_whole<O: Observer>(&mut self, cx: &mut Context<'_, O>, whole: &Whole) {
        let (seq, len) = (whole.seq, whole.payload.len() as u32);
        if self.rcv.first_missing(seq, len).is_none() {
            return;
        }
        self.statistics.completed += 1;
        cx.emit(|| Event::Completed { seq, len });
        let placed = self.rcv.place(seq, &whole.payload, false, self.longest_segment());
        self.statistics.bytes_received += u64::from(placed.advanced);
        self.rcv.ack_at_once();
        self.tell_reader(cx, &placed);
    }

    /// What a special ACK says of the segment at `seq`, in at most `room` bytes: the sums of its blocks, if it is kept.
    pub(super) fn block_report(&self, seq: SeqNumber, room: usize) -> Vec<u8> {
        let Some(payloads) = &self.corrupted_payloads else { return Vec::new() };
        let mut report = payloads.report(seq);
        report.truncate(room - room % SUM_LEN);
        report
    }
}
