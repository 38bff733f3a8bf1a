//! What one side has sent, as the capture saw it: what is new, what is sent again, what fills a gap,
//! and how long it took until it was acknowledged.

use std::collections::BTreeMap;

use headway_units::{Duration, Instant};

use super::spread::Spread;

/// The most pieces that are kept apart. More than a window of 16,384 segments needs it only where
/// the capture lacks the ACKs, or data.
const MAX_PIECES: usize = 1 << 14;

/// A run of bytes that were sent together, or have been acknowledged since.
#[derive(Clone, Copy, Debug)]
struct Piece {
    /// The byte behind the last.
    end: u64,
    /// When it was sent last.
    at: Instant,
    /// How many times it was sent again.
    retransmitted: u32,
    is_acked: bool,
}

/// What a segment added to what was sent before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Added {
    /// How many of its bytes had been sent before.
    pub(super) again: u64,
    /// Whether it fills a gap, in front of bytes that were sent earlier.
    pub(super) out_of_order: bool,
}

/// How segments were acknowledged and sent again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acknowledged {
    /// Round-trip times: from a segment to the ACK that ends where it ends, for segments that were
    /// sent once and none of whose predecessors was sent again after them.
    pub rtt: Spread,
    /// Round-trip times that were not taken because the segment had been sent more than once
    /// (Karn's algorithm).
    pub ambiguous: u64,
    /// Round-trip times that were not taken because a segment before was sent again later: the ACK
    /// waited for that one.
    pub after_loss: u64,
    /// Segments that a later segment's ACK covered.
    pub cumulative: u64,
    /// The most times that a segment was sent again.
    pub max_retransmissions: u32,
    /// Times from a segment to its next copy.
    pub retransmission_gap: Spread,
}

/// The bytes that one side has sent.
#[derive(Clone, Debug, Default)]
pub(super) struct Sent {
    /// By their first byte, not overlapping.
    pieces: BTreeMap<u64, Piece>,
    /// What lies before is no longer known apart: all of it counts as sent.
    floor: u64,
    /// The highest number that was acknowledged.
    una: u64,
    /// When the latest byte below `una` was sent.
    newest_below_una: Option<Instant>,
    /// A piece below `una` has come since the last ACK.
    has_late: bool,
    pub(super) acknowledged: Acknowledged,
}

impl Sent {
    /// A segment of the bytes from `start` to before `end` was sent.
    pub(super) fn add(&mut self, start: u64, end: u64, at: Instant) -> Added {
        let mut added = Added::default();
        let mut start = start;
        if start < self.floor {
            added.again += end.min(self.floor) - start;
            start = self.floor;
        }
        while start < end {
            // The piece that `start` is in, or else the next one.
            let within = self.pieces.range(..=start).next_back().filter(|(_, piece)| piece.end > start);
            let next = within.or_else(|| self.pieces.range(start..).next());
            let Some((&first, &piece)) = next else {
                self.insert(start, end, at);
                break;
            };
            if start < first {
                // In front of what was sent earlier. It is out of order unless it goes as far: then
                // it is several segments sent again as one.
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

    /// Forgets the bytes, not what is known of times.
    pub(super) fn restart(&mut self) {
        *self = Self { acknowledged: self.acknowledged, ..Self::default() };
    }

    /// Everything before `ack` has been received. Returns the round-trip time, if this ACK gives one.
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

    /// Makes one of acknowledged pieces that touch, from the one in front of `from` to `to`.
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

    /// Forgets the oldest pieces where there are too many.
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
    fn tells_new_from_again_and_from_out_of_order() {
        let mut sent = Sent::default();
        assert_eq!(sent.add(0, 100, at(0)), added(0, false));
        assert_eq!(sent.add(200, 300, at(1)), added(0, false));
        assert_eq!(sent.add(0, 100, at(2)), added(100, false));
        // The gap.
        assert_eq!(sent.add(100, 200, at(3)), added(0, true));
        // Half of it again, and half of it new.
        assert_eq!(sent.add(250, 350, at(4)), added(50, false));
        // Three segments as one, and some more.
        assert_eq!(sent.add(0, 400, at(5)), added(350, false));
        assert_eq!(sent.add(500, 600, at(6)), added(0, false));
        // From the gap into what was sent before: out of order, and again.
        assert_eq!(sent.add(450, 550, at(7)), added(50, true));
    }

    #[test]
    fn takes_a_round_trip_time_only_where_it_is_one() {
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
        // Sent once, but what is acknowledged with it came later.
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
            // A gap behind each.
            sent.add(n * 10, n * 10 + 5, at(n));
        }
        assert_eq!(sent.pieces.len(), MAX_PIECES);
        // Long forgotten: as good as sent.
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
