//! Redundant bundling: a small segment also carries the small ones before it that are in flight, so that the loss of
//! one costs the time until the next, and not a round trip and more (Evensen, Petlund, Griwodz, Halvorsen:
//! "Redundant Bundling in TCP to Reduce Perceived Latency for Time-Dependent Thin Streams", 2008).
//!
//! The peer sees a segment that begins earlier, as RFC 9293 allows. Here only the new part counts as sent: what
//! it repeats keeps its times and marks.

use headway_units::{Duration, Instant};
use headway_wire::SeqNumber;

use super::SendSide;
use super::marks::Marks;
use super::transmit::DataSegment;

/// The longest payload of a segment that repeats others. A header and this take less than half of an Ethernet frame, and
/// what a bulk transfer leaves at its end is longer as a rule.
pub(crate) const LONGEST: u32 = 512;
/// The segments that are repeated at most: with six copies one of 15,000 is lost where one packet of five is.
const MOST: usize = 5;
/// A stream is thin, and repeats, only if it sends no sooner than this after the segment before, and no more often than
/// [`A_ROUND`] times in a round trip: repeating costs a connection 410 kbit/s at most.
const THIN: Duration = Duration::from_millis(10);
const A_ROUND: u32 = 64;
/// How long a D-SACK may be under way, in sequence numbers.
pub(super) const REACH: u32 = 1 << 30;

/// Whose repetition a D-SACK can report.
#[derive(Clone, Copy)]
pub(super) struct Bundled(SeqNumber);

impl Bundled {
    pub(super) fn none(iss: SeqNumber) -> Self {
        Self(iss)
    }

    /// Whether the peer may have this twice because a bundle repeated it.
    pub(super) fn covers(self, end: SeqNumber) -> bool {
        end.le(self.0)
    }

    /// `SND.UNA` moved: numbers wrap.
    pub(super) fn advance(&mut self, una: SeqNumber) {
        if self.0.lt(una - REACH) {
            self.0 = una - REACH;
        }
    }
}

impl SendSide {
    /// `segment`, which was taken last, with the small ones before it that the peer is not known to have.
    pub(crate) fn bundle(&mut self, segment: DataSegment, now: Instant) -> DataSegment {
        let longest = LONGEST.min(self.mss);
        if segment.len == 0 || segment.len >= longest || !self.is_thin(now) {
            return segment;
        }
        let (mut all, mut repeated) = (0, 0);
        for index in (0..self.queue.len() - 1).rev().take(MOST) {
            let before = self.queue.get(index);
            all += before.len;
            if before.has(Marks::SYN) || segment.len + all > longest {
                break;
            }
            if !before.has(Marks::SACKED) {
                repeated = all;
            }
        }
        if repeated == 0 {
            return segment;
        }
        self.bundled.0 = segment.seq;
        DataSegment {
            seq: segment.seq - repeated,
            offset: segment.offset - repeated as usize,
            len: segment.len + repeated,
            ..segment
        }
    }

    /// Whether the segment before the last was sent long enough ago.
    fn is_thin(&self, now: Instant) -> bool {
        let before = self.queue.len().checked_sub(2).map(|index| self.queue.get(index).sent_at);
        let apart = THIN.max(self.rtt.smoothed() / A_ROUND);
        before.is_some_and(|sent_at| now.saturating_since(sent_at) >= apart)
    }

    /// The number of the segment that a special ACK means, which gives that of the packet. With a bundle these differ;
    /// its TSval is that of its last segment.
    pub(crate) fn unbundled(&self, seq: SeqNumber, tsecr: Option<u32>) -> SeqNumber {
        let Some(tsecr) = tsecr.filter(|_| seq.lt(self.bundled.0)) else { return seq };
        let first = self.queue.first_from(seq);
        (first..self.queue.len())
            .take(MOST + 1)
            .map(|index| self.queue.get(index))
            .take_while(|sent| sent.end().le(seq + LONGEST))
            .find(|sent| sent.tsval() == tsecr)
            .map_or(seq, |sent| sent.seq)
    }
}

#[cfg(test)]
mod tests {
    use alloc::sync::Arc;

    use super::*;
    use crate::Profile;
    use crate::send::NextSegment;

    /// Sends 100 bytes of new data; the segment as the peer sees it.
    fn send(side: &mut SendSide, at: u64) -> (u32, u32) {
        side.write(&[0; 100]);
        let now = Instant::from_nanos(at * 1_000_000);
        let next = NextSegment { len: 100, fin: false, unsent: 100, usable: 10_000, mss: 1000 };
        let segment = side.send(&next, now, 0);
        let segment = side.bundle(segment, now);
        (segment.seq.0, segment.len)
    }

    #[test]
    fn a_duplicate_that_a_bundle_explains_is_no_sign() {
        let mut side = SendSide::new(SeqNumber(0), &Arc::new(Profile::modern()), Instant::ZERO);
        (side.una, side.nxt, side.mss) = (SeqNumber(1), SeqNumber(1), 1000);
        assert_eq!([send(&mut side, 0), send(&mut side, 20)], [(1, 100), (1, 200)]);
        assert_eq!(send(&mut side, 21), (201, 100), "no thin stream");
        let duplicates = [(1, 101), (101, 201), (201, 301)].map(|(start, end)| {
            side.take_sack_blocks(&[(SeqNumber(start), SeqNumber(end))], SeqNumber(301));
            side.sacks.has_duplicate()
        });
        assert_eq!(duplicates, [false, true, true], "the first was repeated, the others were not");
    }

    #[test]
    fn what_was_bundled_long_ago_explains_nothing_new() {
        let mut bundled = Bundled(SeqNumber(1000));
        for una in (0..8_u32).map(|turn| SeqNumber(1000) + turn * (1 << 29)) {
            bundled.advance(una);
            assert!(!bundled.covers(una + 1), "{una:?}");
        }
    }
}
