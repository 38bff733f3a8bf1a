//! Damage reports: a reported segment is missing in the order of sending, and the cause is damage.

use headway_units::Duration;
use headway_wire::patch::Choice;

use super::Rack;
use crate::send::recovery::{DamageReport, RecoveryContext, patch};
use crate::send::sent_queue::Marks;

/// Bytes of a connection that are retransmitted although their report came in less than half of a round trip: four
/// initial windows, as each segment is reported whole first, and what is left of it in parts again and again.
const MAX_BELIEVED_EARLY: u32 = 64 << 10;

impl Rack {
    /// A special ACK reports a segment, and may say what of it arrived. Says whether it reports a
    /// transmission that none reported before.
    pub(super) fn take_report(&mut self, cx: &mut RecoveryContext<'_>, report: &DamageReport<'_>) -> bool {
        let Some(index) = cx.queue.index_of(report.seq) else { return false };
        if !self.mark_reported(cx, report, index) {
            return false;
        }
        let sent = cx.queue.get(index);
        // "The sender compares the sums with those of [...] the same bytes in the same segment."
        let theirs = report.blocks.filter(|_| sent.seq == report.seq);
        let offset = (sent.seq - cx.buffer_start) as usize;
        let chosen = theirs
            .map_or(Choice::NONE, |theirs| patch::choose(sent, theirs, |len| cx.buffer.slices(offset, len)));
        cx.queue.set_patch(index, chosen);
        true
    }

    fn mark_reported(
        &mut self,
        cx: &mut RecoveryContext<'_>,
        report: &DamageReport<'_>,
        index: usize,
    ) -> bool {
        let sent = cx.queue.get(index).clone();
        if sent.has(Marks::SACKED) || sent.is_missing() {
            return false;
        }
        // A report of a transmission cannot be back before a round trip is over. (The half leaves room for a
        // path that became shorter; and a sample of one tick says that the round trip took one at most,
        // perhaps next to nothing.) A peer that foresees timestamps must not have us send each segment
        // as often as it asks. But the first sample, of the handshake, may be of timeouts: some are believed.
        let age = cx.now.saturating_since(sent.sent_at);
        let min = cx.rtt.min().unwrap_or(Duration::ZERO);
        let is_early =
            age < Duration::from_nanos(min.as_nanos().saturating_sub(cx.rtt.granularity().as_nanos())) / 2;
        if is_early && self.believed_early + sent.bytes() > MAX_BELIEVED_EARLY {
            return false;
        }
        if !report.means_latest(cx.queue, index, cx.rtt, cx.now) {
            return false;
        }
        // RFC 8985, 6.2, step 2: what arrived in less than the minimum round-trip time was another transmission.
        let is_this = age + cx.rtt.granularity() >= min;
        // Its TSecr says which transmission it was, and it is never delayed: where hardly a packet arrives intact, there are no other
        // samples of the round trip. A patch is shorter, and waits less than others. No report shortens the minimum: a peer that
        // foresees timestamps would report sooner and sooner.
        if report.vouched && report.tsecr.is_some() && is_this && sent.patch().is_none() {
            cx.sample_path(age, sent.bytes());
        }
        cx.advance_ledger();
        if let Some(ledger) = &mut cx.ledger {
            if ledger.is_exhausted() {
                return false;
            }
            ledger.on_reported(sent.bytes());
        }
        if is_early {
            self.believed_early += sent.bytes();
        }
        cx.queue.mark_corrupted(index, cx.now);
        cx.report_damage(sent.bytes());
        if report.vouched || is_this {
            self.detector.on_corrupted((sent.order, sent.sent_at), report.vouched, cx.now);
        }
        true
    }
}
