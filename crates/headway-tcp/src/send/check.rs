//! What always holds of the send side.

use alloc::format;
use alloc::string::String;

use super::SendSide;
use super::sent_queue::{Marks, SentQueue};

impl SendSide {
    pub(crate) fn check(&self) -> Result<(), String> {
        let (una, nxt) = (self.una(), self.nxt());
        if una.gt(nxt) {
            return Err(format!("SND.UNA {} is beyond SND.NXT {}", una.0, nxt.0));
        }
        let sent = self.queue.check()?;
        if let Some((first, end)) = sent
            && (first != una || end.gt(nxt))
        {
            return Err(format!(
                "segments from {} to {} are kept, of {} to {}",
                first.0, end.0, una.0, nxt.0
            ));
        }
        Ok(())
    }
}

impl SentQueue {
    /// Where the first segment begins and the last one ends.
    fn check(&self) -> Result<Option<(headway_wire::SeqNumber, headway_wire::SeqNumber)>, String> {
        let mut counts = [0_u32; 6];
        let mut end = None;
        for at in 0..self.len() {
            let sent = self.get(at);
            if end.is_some_and(|end| end != sent.seq) {
                return Err(format!(
                    "segment {at} begins at {}, and not where the one before ends",
                    sent.seq.0
                ));
            }
            end = Some(sent.end());
            // The first is what the peer waits for: if it has said that it has that, it reneges (RFC 2018, 8), or lies.
            let is_again = sent.has(Marks::RETRANSMITTED) && at > 0;
            if sent.has(Marks::SACKED) && (sent.has(Marks::LOST) || is_again) {
                return Err(format!("segment {at} has arrived and is thought lost or under way"));
            }
            let missing = sent.marks.is_missing();
            let is = [
                (sent.has(Marks::SACKED), sent.len),
                (sent.has(Marks::LOST), sent.len),
                (sent.has(Marks::RETRANSMITTED), sent.bytes()),
                (sent.has(Marks::DAMAGED), 1),
                (missing, 1),
                (sent.marks.is_unexplained(), 1),
            ];
            counts.iter_mut().zip(is).for_each(|(count, (is, by))| *count += if is { by } else { 0 });
        }
        let kept = self.counts();
        if counts != kept {
            return Err(format!(
                "{kept:?} counted, {counts:?} there: SACKed, lost and retransmitted bytes, damaged, missing and unexplained segments"
            ));
        }
        Ok(self.head().zip(end).map(|(head, end)| (head.seq, end)))
    }
}
