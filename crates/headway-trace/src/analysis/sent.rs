//! What one side has sent: new data, retransmissions, filled gaps, and the time until each segment was
//! acknowledged.

use std::collections::BTreeMap;

use headway_units::{Duration, Instant};

use super::spread::Spread;

/// The maximum number of pieces. Beyond a window of 16,384 segments this is reached only if ACKs or data
/// are missing from the capture.
const MAX_PIECES: usize = 1 << 14;

/// A range of bytes that were sent together, or have been acknowledged since.
#[derive(Clone, Copy, Debug)]
struct Piece {
    /// The byte after the last.
    end: u64,
    /// When it was last sent.
    at: Instant,
    /// How many times it was retransmitted.
    retransmitted: u32,
    is_acked: bool,
}

/// What a segment added to what was sent before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Added {
    /// How many of its bytes were retransmitted.
    pub(super) again: u64,
    /// Whether it fills a gap before bytes that were sent earlier.
    pub(super) out_of_order: bool,
}

/// How segments were acknowledged and retransmitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Acknowledged {
    /// RTT samples: from a segment to the ACK of its end, for segments that were sent once and before
    /// which nothing was retransmitted later.
    pub rtt: Spread,
    /// RTT samples discarded because the segment had been sent more than once (Karn's algorithm).
    pub ambiguous: u64,
    /// RTT samples discarded because a preceding segment was retransmitted later: the ACK waited for it.
    pub after_loss: u64,
    /// Segments covered by the ACK of a later segment.
    pub cumulative: u64,
    /// The maximum number of retransmissions of one segment.
    pub max_retransmissions: u32,
    /// Times from a transmission of a segment to its next retransmission.
    pub retransmission_gap: Spread,
}

/// The bytes that one side has sent.
#[derive(Clone, Debug, Default)]
pub(super) struct Sent {
    /// By first byte, not overlapping.
    pieces: BTreeMap<u64, Piece>,
    /// All bytes before this one count as sent.
    floor: u64,
    /// The highest cumulative ACK.
    una: u64,
    /// When the latest byte below `una` was sent.
    newest_below_una: Option<Instant>,
    /// A piece below `una` was sent since the last ACK.
    has_late: bool,
    pub(super) acknowledged: Acknowledged,
}

impl Sent {
    /// Records that the bytes from `start` to before `end` were sent.
    pub(super) fn add(&mut self, start: u64, end: u64, at: Instant) -> Added {
        let mut added = Added::default();
        let mut start = start;
        if start < self.floor {
            added.again += end.min(self.floor) - start;
            start = self.floor;
        }
        while start < end {
            // The piece that contains `start`, or else the next one.
            let within = self.pieces.range(..=start).next_back().filter(|(_, piece)| piece.end > start);
            let next = within.or_else(|| self.pieces.range(start..).next());
            let Some((&first, &piece)) = next else {
                self.insert(start, end, at);
                break;
            };
            if start < first {
                // Before what was sent earlier: out of order, unless it covers that piece. Then it is
                // several segments retransmitted as one.
                added.out_of_order |= end < piece.end;
                let gap_end = end.min(first);
                self.insert(start, gap_end, at);
                start = gap_end;
                continue;
            }
            self.retransmit(first, at);
            let common = end.min(piece.end);
            added.again += common - start;
            start = common;
        }
        self.limit();
        added
    }

    fn insert(&mut self, start: u64, end: u64, at: Instant) {
        self.has_late |= start < self.una;
        self.pieces.insert(start, Piece { end, at, retransmitted: 0, is_acked: false });
    }

    fn retransmit(&mut self, first: u64, at: Instant) {
        let Some(piece) = self.pieces.get_mut(&first) else { return };
        piece.retransmitted = piece.retransmitted.saturating_add(1);
        if piece.is_acked {
            self.newest_below_una = self.newest_below_una.max(Some(at));
        } else {
            self.acknowledged.retransmission_gap.add(at.saturating_since(piece.at));
            self.acknowledged.max_retransmissions =
                self.acknowledged.max_retransmissions.max(piece.retransmitted);
        }
        piece.at = at;
    }

    /// Clears the bytes and keeps the statistics.
    pub(super) fn restart(&mut self) {
        *self = Self { acknowledged: self.acknowledged, ..Self::default() };
    }

    /// Processes a cumulative ACK. Returns the RTT sample, if there is one.
    pub(super) fn acknowledge(&mut self, ack: u64, at: Instant) -> Option<Duration> {
        if ack <= self.una && !self.has_late {
            return None;
        }
        let from = if core::mem::take(&mut self.has_late) { 0 } else { self.una };
        // The piece around `from` was not covered before.
        let from = match self.pieces.range(..from).next_back() {
            Some((&first, piece)) if piece.end > from => first,
            _ => from,
        };
        self.una = self.una.max(ack);
        let mut sample = None;
        let mut newest = self.newest_below_una;
        for piece in self.pieces.range_mut(from..ack).map(|(_, piece)| piece) {
            if piece.end > ack {
                break;
            }
            newest = newest.max(Some(piece.at));
            if core::mem::replace(&mut piece.is_acked, true) {
                continue;
            }
            if piece.end != ack {
                self.acknowledged.cumulative += 1;
            } else if newest > Some(piece.at) {
                self.acknowledged.after_loss += 1;
            } else if piece.retransmitted > 0 {
                // "When an acknowledgement arrives for a packet that has been sent more than once ...
                // ignore any round-trip measurement based on this packet" (Karn and Partridge 1987).
                self.acknowledged.ambiguous += 1;
            } else {
                sample = Some(at.saturating_since(piece.at));
            }
        }
        self.newest_below_una = newest;
        self.join(from, ack);
        if let Some(rtt) = sample {
            self.acknowledged.rtt.add(rtt);
        }
        sample
    }

    /// Joins adjacent acknowledged pieces, from the piece before `from` up to `to`.
    fn join(&mut self, from: u64, to: u64) {
        let first = self.pieces.range(..from).next_back().map_or(from, |(&first, _)| first);
        let mut last: Option<(u64, Piece)> = None;
        while let Some((&start, &piece)) =
            self.pieces.range(last.map_or(first, |(start, _)| start + 1)..to).next()
        {
            match &mut last {
                Some((joined, before)) if before.is_acked && piece.is_acked && before.end == start => {
                    before.end = piece.end;
                    before.at = before.at.max(piece.at);
                    before.retransmitted = piece.retransmitted;
                    self.pieces.remove(&start);
                    self.pieces.insert(*joined, *before);
                }
                _ => last = Some((start, piece)),
            }
        }
    }

    /// Removes the oldest pieces beyond the limit.
    fn limit(&mut self) {
        while self.pieces.len() > MAX_PIECES {
            if let Some((_, piece)) = self.pieces.pop_first() {
                self.floor = self.floor.max(piece.end);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(millis: u64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }

    fn added(again: u64, out_of_order: bool) -> Added {
        Added { again, out_of_order }
    }

    #[test]
    fn separates_new_retransmitted_and_out_of_order() {
        let mut sent = Sent::default();
        assert_eq!(sent.add(0, 100, at(0)), added(0, false));
        assert_eq!(sent.add(200, 300, at(1)), added(0, false));
        assert_eq!(sent.add(0, 100, at(2)), added(100, false));
        // The gap.
        assert_eq!(sent.add(100, 200, at(3)), added(0, true));
        // Half retransmitted, half new.
        assert_eq!(sent.add(250, 350, at(4)), added(50, false));
        // Three segments as one, and some more.
        assert_eq!(sent.add(0, 400, at(5)), added(350, false));
        assert_eq!(sent.add(500, 600, at(6)), added(0, false));
        // From the gap into what was sent before: out of order, and in part retransmitted.
        assert_eq!(sent.add(450, 550, at(7)), added(50, true));
    }

    #[test]
    fn takes_only_valid_rtt_samples() {
        let mut sent = Sent::default();
        for n in 0..6 {
            sent.add(n * 100, n * 100 + 100, at(n));
        }
        assert_eq!(sent.acknowledge(100, at(50)), Some(Duration::from_millis(50)));
        assert_eq!(sent.acknowledge(100, at(51)), None);
        // Two segments with one ACK: the time of the later.
        assert_eq!(sent.acknowledge(300, at(60)), Some(Duration::from_millis(58)));
        sent.add(300, 400, at(70));
        assert_eq!(sent.acknowledge(400, at(90)), None);
        // Sent once, but acknowledged together with a later retransmission.
        sent.add(400, 500, at(91));
        assert_eq!(sent.acknowledge(600, at(120)), None);
        let acknowledged = sent.acknowledged;
        assert_eq!((acknowledged.ambiguous, acknowledged.after_loss, acknowledged.cumulative), (1, 1, 2));
        assert_eq!((acknowledged.rtt.count(), acknowledged.max_retransmissions), (2, 1));
        assert_eq!(acknowledged.retransmission_gap.max(), Some(Duration::from_millis(87)));
    }

    #[test]
    fn an_ack_inside_a_segment_leaves_it_open() {
        let mut sent = Sent::default();
        sent.add(0, 1000, at(0));
        assert_eq!(sent.acknowledge(400, at(10)), None);
        assert_eq!(sent.acknowledge(1000, at(20)), Some(Duration::from_millis(20)));
    }

    #[test]
    fn is_bounded_without_acks() {
        let mut sent = Sent::default();
        for n in 0..2 * MAX_PIECES as u64 {
            // A gap after each.
            sent.add(n * 10, n * 10 + 5, at(n));
        }
        assert_eq!(sent.pieces.len(), MAX_PIECES);
        // Removed: counts as sent.
        assert_eq!(sent.add(7, 9, at(0)), added(2, false));
        assert_eq!(sent.add(MAX_PIECES as u64 * 20, MAX_PIECES as u64 * 20 + 5, at(0)), added(0, false));
    }

    proptest! {
        /// Against a flag for each byte.
        #[test]
        fn counts_every_byte(segments in proptest::collection::vec((0_u64..300, 1_u64..60, any::<bool>()), 1..80)) {
            let mut sent = Sent::default();
            let mut known = [false; 400];
            for (n, (start, len, acks)) in segments.into_iter().enumerate() {
                let bytes = &mut known[start as usize..(start + len) as usize];
                let again = bytes.iter().filter(|byte| **byte).count() as u64;
                bytes.fill(true);
                prop_assert_eq!(sent.add(start, start + len, at(n as u64)).again, again);
                if acks {
                    sent.acknowledge(start + len, at(n as u64));
                }
                let mut before = 0;
                for (&first, piece) in &sent.pieces {
                    prop_assert!(before <= first && first < piece.end);
                    before = piece.end;
                }
            }
            let held: u64 = sent.pieces.iter().map(|(first, piece)| piece.end - first).sum();
            prop_assert_eq!(held, known.iter().filter(|byte| **byte).count() as u64);
        }
    }
}
