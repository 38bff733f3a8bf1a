//! What the peer reports of damaged packets: special ACKs (papers 000 and 003), and the count of HACK v2.

use headway_wire::{Segment, SeqList, V2, V2Ack};

use super::{Connection, Context};
use crate::event::{Event, Observer};
use crate::send::recovery::DamageReport;

impl Connection {
    /// Paper 000, section 3.3 and paper 003, section 4.2.3: what a special ACK reports is to be
    /// retransmitted. Says whether it reports a transmission that none reported before.
    #[inline(never)]
    pub(super) fn special_ack<O: Observer>(
        &mut self,
        cx: &mut Context<'_, O>,
        segment: &Segment<'_>,
    ) -> bool {
        self.statistics.special_acks_received += 1;
        let tsecr = segment
            .options
            .timestamps
            .filter(|_| self.negotiated.timestamps)
            .map(|timestamps| timestamps.tsecr);
        let blocks = Some(segment.blocks).filter(|report| self.negotiated.partial && !report.is_empty());
        let reported = self.reported_by(segment);
        let (mut accepted, mut first_is_new) = (0, false);
        let vouched = self.negotiated.v2;
        let latest = reported.first().map(|&seq| self.snd.unbundled(seq, tsecr));
        let (recovery, mut work) = self.recovery(cx);
        for (place, &seq) in reported.as_slice().iter().enumerate() {
            // docs/protocol.md, 6.1, rule 5: "for the further numbers of a list, to which the TSecr does not
            // belong, the number is acted upon only if the latest transmission is older than one round trip".
            let newest = place == 0;
            let report = DamageReport {
                seq: latest.filter(|_| newest).unwrap_or(seq),
                newest,
                vouched,
                tsecr: tsecr.filter(|_| newest),
                // Those of a bundle are not the segment's.
                blocks: blocks.filter(|_| newest && latest == Some(seq)),
            };
            let is_new = recovery.on_damage_report(&mut work, &report);
            accepted += u8::from(is_new);
            first_is_new |= newest && is_new;
        }
        let (seq, count) = (reported.first().copied().unwrap_or_default(), reported.len() as u8);
        cx.emit(|| Event::SpecialAckReceived { seq, count, accepted });
        first_is_new
    }

    /// The numbers that a special ACK lists, the newest first.
    fn reported_by(&self, segment: &Segment<'_>) -> SeqList {
        let options = &segment.options;
        let mut numbers = SeqList::default();
        if let Some(v2) = options.v2.as_ref().and_then(V2::as_ack).filter(|_| self.negotiated.v2) {
            v2.named(segment.tcp.ack).for_each(|seq| {
                numbers.push(seq);
            });
            return numbers;
        }
        if let Some(seq) = options.hack_ack {
            numbers.push(seq);
        }
        options.xhack_ack.as_slice().iter().for_each(|&seq| {
            numbers.push(seq);
        });
        numbers
    }

    /// The peer's count of damaged packets that it could not read (HACK v2).
    pub(super) fn record_damage_count<O>(&mut self, cx: &mut Context<'_, O>, segment: &Segment<'_>) {
        if !self.profile.features.ledger {
            return;
        }
        if let Some(delay) = self.snd.rtt().delay() {
            cx.path.ledger.advance(cx.now, delay);
        }
        if !self.negotiated.v2 {
            return;
        }
        let count = segment.options.v2.as_ref().and_then(V2::as_ack).map(|ack: &V2Ack| ack.damaged);
        if let Some(count) = count {
            let sent = u16::try_from(cx.path.transmissions_since_begin()).unwrap_or(u16::MAX);
            cx.path.ledger.on_count(cx.now, count, sent);
        }
    }
}
