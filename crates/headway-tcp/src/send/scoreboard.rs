//! What SACK blocks say about the sent queue (RFC 2018, RFC 6675, section 4).

use headway_wire::SeqNumber;

use super::sent_queue::{Marks, SentQueue};

/// Blocks remembered from the last ACK, so that only their growth is walked.
const REMEMBERED: usize = 4;

/// The receiver side of SACK at the sender: which part of the queue has been examined.
#[derive(Default)]
pub(crate) struct Scoreboard {
    /// The end of the highest block.
    highest: Option<SeqNumber>,
    /// Everything below has been judged by [`Scoreboard::mark_lost`].
    judged: Option<SeqNumber>,
    seen: [Option<(SeqNumber, SeqNumber)>; REMEMBERED],
    /// D-SACK reports (RFC 2883).
    duplicates: u64,
    /// The one that came with the last ACK.
    duplicate: Option<(SeqNumber, SeqNumber)>,
}

impl Scoreboard {
    /// The end of the highest block, if any lies above `SND.UNA`.
    pub(crate) fn highest(&self) -> Option<SeqNumber> {
        self.highest
    }

    /// D-SACK reports (RFC 2883) in all.
    pub(crate) fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// Whether the last ACK brought one.
    pub(crate) fn has_duplicate(&self) -> bool {
        self.duplicate.is_some()
    }

    /// The one that the last ACK brought.
    pub(crate) fn take_duplicate(&mut self) -> Option<(SeqNumber, SeqNumber)> {
        self.duplicate.take()
    }

    /// Takes no notice of it where `is_known` says so of its end: there was another reason to send it twice.
    pub(crate) fn ignore_duplicate(&mut self, is_known: impl FnOnce(SeqNumber) -> bool) {
        self.duplicate = self.duplicate.filter(|&(_, end)| !is_known(end));
    }

    /// Forgets everything.
    pub(crate) fn reset(&mut self) {
        *self = Self { duplicates: self.duplicates, ..Self::default() };
    }

    /// `SND.UNA` moved.
    pub(crate) fn advance(&mut self, una: SeqNumber) {
        if self.highest.is_some_and(|highest| highest.le(una)) {
            // What the same ACK reports as a duplicate is still to be judged.
            let duplicate = self.duplicate;
            self.reset();
            self.duplicate = duplicate;
        }
    }

    /// Segments from `seq` on may be judged again.
    pub(crate) fn rejudge(&mut self, seq: SeqNumber) {
        if self.judged.is_some_and(|judged| seq.lt(judged)) {
            self.judged = Some(seq);
        }
    }

    /// Marks what `blocks` cover and returns how many bytes are newly covered.
    ///
    /// Segments that a block covers only in part stay unmarked. Blocks outside
    /// `[una, nxt]` are ignored; a first block below `una`, or inside the second, is a D-SACK
    /// (RFC 2883, section 4).
    pub(crate) fn update(
        &mut self,
        queue: &mut SentQueue,
        blocks: &[(SeqNumber, SeqNumber)],
        una: SeqNumber,
        nxt: SeqNumber,
    ) -> u32 {
        let before = queue.sacked();
        self.duplicate = None;
        let mut kept = [None; REMEMBERED];
        for (position, &(start, end)) in blocks.iter().enumerate() {
            if position == 0 && is_duplicate_report(blocks, una) {
                self.duplicates += 1;
                // What was never sent cannot have arrived twice.
                self.duplicate = (start.lt(end) && end.le(nxt)).then_some((start, end));
                continue;
            }
            // Numbers from the network may be half of the space apart: only ranges say something.
            let len = end - start;
            if len <= 0 || !start.in_range(una, nxt) || len > nxt - start {
                continue;
            }
            let block = (start, end);
            match self.seen.iter().flatten().find(|seen| start.lt(seen.1) && seen.0.lt(end)).copied() {
                Some((from, to)) => {
                    mark(queue, block, start, from.min(end));
                    mark(queue, block, to.max(start), end);
                }
                None => mark(queue, block, start, end),
            }
            if self.highest.is_none_or(|highest| end.gt(highest)) {
                self.highest = Some(end);
            }
            if let Some(slot) = kept.get_mut(position) {
                *slot = Some((start, end));
            }
        }
        if kept.iter().any(Option::is_some) {
            self.seen = kept;
        }
        queue.sacked() - before
    }

    /// Marks lost, below the highest block, every segment that is not yet marked and above which
    /// `threshold` bytes are covered (RFC 6675's `IsLost`, with `DupThresh - 1` segments), and
    /// says whether there was one. Segments that are known to be damaged are passed over. `mark` says
    /// what becomes of a transmission that was retransmitted before.
    pub(crate) fn mark_lost(
        &mut self,
        queue: &mut SentQueue,
        threshold: u32,
        mark: fn(&mut SentQueue, usize),
    ) -> bool {
        let Some(highest) = self.highest else { return false };
        // Walk down from the top until more than the threshold is covered.
        let mut edge = queue.first_from(highest);
        let mut covered = 0;
        while edge > 0 {
            let sent = queue.get(edge - 1);
            if sent.has(Marks::SACKED) {
                covered += sent.len;
                if covered > threshold {
                    break;
                }
            }
            edge -= 1;
        }
        let from = self.judged.map_or(0, |judged| queue.first_from(judged));
        let mut found = false;
        for index in from..edge {
            let sent = queue.get(index);
            if !sent.has(Marks::SACKED) && !sent.has(Marks::LOST) {
                mark(queue, index);
                found = true;
            }
        }
        if edge > from {
            self.judged = Some(queue.get(edge - 1).end());
        }
        found
    }

    /// Segments from the first hole that a loss detector may see up to the highest block
    /// (Linux's `fackets_out`); 0 if there is none.
    pub(crate) fn forward_distance(&self, queue: &SentQueue) -> usize {
        let Some(highest) = self.highest else { return 0 };
        let top = queue.first_from(highest);
        match open_hole(queue, top) {
            Some(hole) => top - hole,
            None => 0,
        }
    }

    /// Whether a hole lies below the highest block that no damage report explains.
    pub(crate) fn has_open_hole(&self, queue: &SentQueue) -> bool {
        self.forward_distance(queue) > 0
    }
}

/// The first segment below `top` that is neither covered nor known to be damaged.
pub(crate) fn open_hole(queue: &SentQueue, top: usize) -> Option<usize> {
    if !queue.any_damaged() {
        return (top > 0).then_some(0);
    }
    (0..top).find(|&index| {
        let sent = queue.get(index);
        !sent.has(Marks::SACKED) && !sent.has(Marks::DAMAGED)
    })
}

/// RFC 2883, section 4: the first block reports a duplicate if it lies below the cumulative
/// acknowledgement or within the second block.
fn is_duplicate_report(blocks: &[(SeqNumber, SeqNumber)], una: SeqNumber) -> bool {
    let (start, end) = blocks[0];
    end.le(una) || blocks.get(1).is_some_and(|&(from, to)| from.le(start) && end.le(to))
}

/// Marks the segments that lie wholly in `block`, of those that touch `[from, to)`.
fn mark(queue: &mut SentQueue, block: (SeqNumber, SeqNumber), from: SeqNumber, to: SeqNumber) {
    let mut index = queue.first_from(from);
    // A segment that was covered in part before may be covered as a whole now.
    if index > 0 && queue.get(index - 1).end().gt(from) {
        index -= 1;
    }
    while index < queue.len() && queue.get(index).seq.lt(to) {
        let sent = queue.get(index);
        if sent.seq.ge(block.0) && sent.end().le(block.1) {
            queue.mark_sacked(index);
        }
        index += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_units::Instant;

    fn queue(segments: u32) -> SentQueue {
        let mut queue = SentQueue::default();
        for i in 0..segments {
            queue.push(SeqNumber(i * 1000), 1000, Marks::NONE, Instant::ZERO, 0);
        }
        queue
    }

    fn sacked(queue: &SentQueue) -> alloc::vec::Vec<u32> {
        queue.iter().filter(|s| s.has(Marks::SACKED)).map(|s| s.seq.0 / 1000).collect()
    }

    fn block(from: u32, to: u32) -> (SeqNumber, SeqNumber) {
        (SeqNumber(from * 1000), SeqNumber(to * 1000))
    }

    #[test]
    fn blocks_mark_whole_segments_and_grow() {
        let (mut queue, mut board) = (queue(10), Scoreboard::default());
        let nxt = SeqNumber(10_000);
        assert_eq!(board.update(&mut queue, &[block(3, 4)], SeqNumber(0), nxt), 1000);
        assert_eq!(board.update(&mut queue, &[block(3, 6)], SeqNumber(0), nxt), 2000);
        assert_eq!(board.update(&mut queue, &[block(8, 9), block(2, 6)], SeqNumber(0), nxt), 2000);
        assert_eq!(sacked(&queue), [2, 3, 4, 5, 8]);
        let part = (SeqNumber(6500), SeqNumber(7900));
        assert_eq!(board.update(&mut queue, &[part], SeqNumber(0), nxt), 0);
        assert_eq!(board.update(&mut queue, &[block(9, 11)], SeqNumber(0), nxt), 0, "beyond SND.NXT");
    }

    #[test]
    fn a_segment_covered_in_two_steps_is_marked() {
        let nxt = SeqNumber(10_000);
        let half = (SeqNumber(3000), SeqNumber(4500));
        let (mut queue_up, mut board) = (queue(10), Scoreboard::default());
        assert_eq!(board.update(&mut queue_up, &[half], SeqNumber(0), nxt), 1000);
        assert_eq!(board.update(&mut queue_up, &[block(3, 6)], SeqNumber(0), nxt), 2000);
        assert_eq!(sacked(&queue_up), [3, 4, 5]);
        let half = (SeqNumber(3500), SeqNumber(5000));
        let (mut queue_down, mut board) = (queue(10), Scoreboard::default());
        assert_eq!(board.update(&mut queue_down, &[half], SeqNumber(0), nxt), 1000);
        assert_eq!(board.update(&mut queue_down, &[block(2, 5)], SeqNumber(0), nxt), 2000);
        assert_eq!(sacked(&queue_down), [2, 3, 4]);
    }

    #[test]
    fn blocks_half_of_the_space_away_are_ignored() {
        let (mut queue, mut board) = (queue(10), Scoreboard::default());
        let far = SeqNumber(1 << 31);
        for far in [(far - 1, far + 20_000), (far - 20_000, far), (SeqNumber(9000), far + 9000)] {
            assert_eq!(board.update(&mut queue, &[far], SeqNumber(0), SeqNumber(10_000)), 0);
        }
        assert_eq!(board.highest(), None);
    }

    #[test]
    fn duplicate_reports_are_counted_not_marked() {
        let (mut queue, mut board) = (queue(10), Scoreboard::default());
        let nxt = SeqNumber(10_000);
        board.update(&mut queue, &[block(4, 5), block(3, 6)], SeqNumber(0), nxt);
        assert_eq!(board.duplicates, 1);
        assert_eq!(sacked(&queue), [3, 4, 5]);
    }

    #[test]
    fn a_duplicate_is_reported_with_what_acknowledges_all_else_too() {
        let (mut queue, mut board) = (queue(10), Scoreboard::default());
        let nxt = SeqNumber(10_000);
        board.update(&mut queue, &[block(3, 10)], SeqNumber(0), nxt);
        board.update(&mut queue, &[block(1, 2)], nxt, nxt);
        board.advance(nxt);
        assert_eq!(board.take_duplicate(), Some(block(1, 2)));
        for never_sent in [block(10, 11), block(2, 2), block(3, 2)] {
            board.update(&mut queue, &[never_sent, block(1, 12)], SeqNumber(0), nxt);
            assert_eq!(board.take_duplicate(), None);
        }
    }

    #[test]
    fn is_lost_needs_more_than_two_segments_above() {
        let (mut queue, mut board) = (queue(10), Scoreboard::default());
        let nxt = SeqNumber(10_000);
        board.update(&mut queue, &[block(5, 7)], SeqNumber(0), nxt);
        assert!(!board.mark_lost(&mut queue, 2000, SentQueue::mark_lost));
        board.update(&mut queue, &[block(5, 8)], SeqNumber(0), nxt);
        queue.mark_damaged(1);
        assert!(board.mark_lost(&mut queue, 2000, SentQueue::mark_lost));
        let lost: alloc::vec::Vec<u32> =
            queue.iter().filter(|s| s.has(Marks::LOST)).map(|s| s.seq.0 / 1000).collect();
        assert_eq!(lost, [0, 1, 2, 3, 4]);
        assert!(!board.mark_lost(&mut queue, 2000, SentQueue::mark_lost), "judged once");
        assert_eq!(board.forward_distance(&queue), 8);
        board.update(&mut queue, &[block(5, 9)], SeqNumber(0), nxt);
        assert!(!board.mark_lost(&mut queue, 2000, SentQueue::mark_lost), "what has arrived is not lost");
    }

    #[test]
    fn damage_explains_holes() {
        let (mut queue, mut board) = (queue(6), Scoreboard::default());
        board.update(&mut queue, &[block(1, 6)], SeqNumber(0), SeqNumber(6_000));
        assert!(board.has_open_hole(&queue));
        queue.mark_damaged(0);
        assert!(!board.has_open_hole(&queue));
    }
}
