//! Reassembly: bytes are stored where they will be read from, whatever the order of arrival.

use alloc::vec::Vec;

use headway_wire::{SackBlocks, SeqList, SeqNumber};

use crate::ring::Ring;

/// Islands beyond a hole that are remembered at most; what would make another is dropped, and
/// the peer sends it again: one for each such share of the buffer, within these bounds. Where much is
/// damaged, every other segment may begin an island, and what is dropped for want of room looks like
/// congestion to the peer.
const BYTES_FOR_AN_ISLAND: usize = 1024;
const MIN_ISLANDS: usize = 1024;
const MAX_ISLANDS: usize = 1 << 16;

/// Islands whose recency is known, for the order of SACK blocks.
const RECENT: usize = 8;

/// What became of a segment's payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Placed {
    /// RCV.NXT moved by that much.
    pub(crate) advanced: u32,
    /// Some of it was held already: that part.
    pub(crate) duplicate: Option<(SeqNumber, SeqNumber)>,
    /// It filled, or partly filled, a hole, or made one.
    pub(crate) out_of_order: bool,
    /// It begins where all that had arrived, beyond holes, ended.
    pub(crate) follows: bool,
    /// Something was held beyond a hole before.
    pub(crate) had_holes: bool,
    /// It was dropped: too many islands.
    pub(crate) dropped: bool,
}

pub(crate) struct Assembler {
    ring: Ring,
    nxt: SeqNumber,
    /// Received runs beyond `nxt`, ascending, disjoint and not adjacent.
    islands: Vec<(SeqNumber, SeqNumber)>,
    /// Bytes in them.
    held: u32,
    /// One sequence number in each of the islands that changed last, the latest first.
    recent: SeqList,
    duplicate: Option<(SeqNumber, SeqNumber)>,
}

impl Assembler {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            ring: Ring::new(limit),
            nxt: SeqNumber::default(),
            islands: Vec::new(),
            held: 0,
            recent: SeqList::default(),
            duplicate: None,
        }
    }

    pub(crate) fn start(&mut self, nxt: SeqNumber) {
        self.nxt = nxt;
    }

    pub(crate) fn nxt(&self) -> SeqNumber {
        self.nxt
    }

    pub(crate) fn has_holes(&self) -> bool {
        !self.islands.is_empty()
    }

    /// The runs below the last island that have not arrived, ascending.
    pub(crate) fn holes(&self) -> impl Iterator<Item = (SeqNumber, SeqNumber)> {
        let starts = core::iter::once(self.nxt).chain(self.islands.iter().map(|island| island.1));
        starts.zip(self.islands.iter().map(|island| island.0))
    }

    /// The runs that stand behind holes, ascending.
    pub(super) fn islands(&self) -> impl Iterator<Item = (SeqNumber, SeqNumber)> {
        self.islands.iter().copied()
    }

    /// Bytes that stand behind holes.
    pub(crate) fn held(&self) -> u32 {
        self.held
    }

    /// From `nxt` to the end of what stands behind holes.
    pub(crate) fn span(&self) -> u32 {
        self.islands.last().map_or(0, |&(_, end)| (end - self.nxt) as u32)
    }

    pub(crate) fn owes_duplicate_report(&self) -> bool {
        self.duplicate.is_some()
    }

    pub(crate) fn readable(&self) -> usize {
        self.ring.len()
    }

    /// Bytes from `nxt` on that can be stored.
    pub(crate) fn room(&self) -> usize {
        self.ring.limit() - self.ring.len()
    }

    pub(crate) fn peek(&self) -> (&[u8], &[u8]) {
        self.ring.slices(0, self.ring.len())
    }

    /// What stands behind holes, ascending: each island's distance from the first unread byte, and its bytes.
    pub(crate) fn beyond(&self) -> impl Iterator<Item = (usize, (&[u8], &[u8]))> {
        self.islands.iter().map(|&(start, end)| {
            let offset = self.ring.len() + (start - self.nxt) as usize;
            (offset, self.ring.written(offset, (end - start) as usize))
        })
    }

    pub(crate) fn consume(&mut self, n: usize) {
        self.ring.consume(n);
        if self.ring.is_empty() && self.islands.is_empty() {
            self.ring.rewind();
        }
    }

    pub(crate) fn release(&mut self) {
        if self.ring.is_empty() && self.islands.is_empty() {
            self.ring.release();
            self.islands = Vec::new();
        }
    }

    pub(crate) fn buffer(&self) -> usize {
        self.ring.allocated()
    }

    pub(crate) fn bookkeeping(&self) -> usize {
        self.islands.capacity() * size_of::<(SeqNumber, SeqNumber)>()
    }

    /// Stores `[seq, seq + data.len())` as far as it lies before `edge` and is new.
    pub(crate) fn insert(&mut self, seq: SeqNumber, data: &[u8], edge: SeqNumber) -> Placed {
        let mut placed = Placed::default();
        if data.is_empty() {
            return placed;
        }
        let end = (seq + data.len() as u32).min(edge);
        if seq.lt(self.nxt) {
            placed.duplicate = Some((seq, (seq + data.len() as u32).min(self.nxt)));
        }
        let start = seq.max(self.nxt);
        if !start.lt(end) {
            return placed;
        }
        let data = &data[(start - seq) as usize..(end - seq) as usize];
        let offset = self.ring.len() + (start - self.nxt) as usize;
        if offset + data.len() > self.ring.limit() {
            placed.dropped = true;
            return placed;
        }
        if self.islands.is_empty() && start == self.nxt {
            self.ring.write_at(offset, data);
            self.ring.extend(data.len());
            self.nxt = end;
            placed.advanced = data.len() as u32;
            return placed;
        }
        self.insert_beside_holes(start, end, offset, data, &mut placed);
        placed
    }

    fn max_islands(&self) -> usize {
        (self.ring.limit() / BYTES_FOR_AN_ISLAND).clamp(MIN_ISLANDS, MAX_ISLANDS)
    }

    fn insert_beside_holes(
        &mut self,
        start: SeqNumber,
        end: SeqNumber,
        offset: usize,
        data: &[u8],
        placed: &mut Placed,
    ) {
        placed.out_of_order = true;
        placed.follows = self.islands.last().is_some_and(|island| island.1 == start);
        // Islands from `first` up to `last` touch or overlap the new run.
        let first = self.islands.partition_point(|island| island.1.lt(start));
        let last = self.islands.partition_point(|island| island.0.le(end));
        let touched = &self.islands[first..last];
        if let Some(held) = touched.iter().find(|island| island.0.lt(end) && start.lt(island.1)) {
            placed.duplicate.get_or_insert((held.0.max(start), held.1.min(end)));
        }
        if first == last && start != self.nxt && self.islands.len() >= self.max_islands() {
            placed.dropped = true;
            return;
        }
        // Bytes held already are not written again: the first copy that passed every check counts.
        let mut from = start;
        for island in touched {
            if from.lt(island.0) {
                let to = island.0.min(end);
                write(&mut self.ring, offset, start, data, from, to);
            }
            from = from.max(island.1);
        }
        if from.lt(end) {
            write(&mut self.ring, offset, start, data, from, end);
        }
        let merged_before: u32 = touched.iter().map(|island| (island.1 - island.0) as u32).sum();
        let merged =
            touched.iter().fold((start, end), |run, island| (run.0.min(island.0), run.1.max(island.1)));
        if merged.0.le(self.nxt) {
            let advance = (merged.1 - self.nxt) as u32;
            self.islands.drain(first..last);
            self.held -= merged_before;
            if self.islands.is_empty() {
                self.islands = Vec::new();
            }
            self.ring.extend(advance as usize);
            self.nxt = merged.1;
            placed.advanced = advance;
        } else {
            self.islands.splice(first..last, [merged]);
            self.held += (merged.1 - merged.0) as u32 - merged_before;
            self.record_recent(merged);
        }
    }

    /// The first byte of `[seq, seq + len)` that has not arrived.
    pub(crate) fn first_missing(&self, seq: SeqNumber, len: u32) -> Option<SeqNumber> {
        let end = seq + len;
        let first = seq.max(self.nxt);
        // Islands are not adjacent, so what follows one is missing.
        let candidate = self.island_of(first).map_or(first, |island| island.1);
        candidate.lt(end).then_some(candidate)
    }

    fn record_recent(&mut self, island: (SeqNumber, SeqNumber)) {
        let mut kept = SeqList::default();
        kept.push(island.0);
        let others = self.recent.iter().filter(|seq| !seq.in_range(island.0, island.1));
        for &seq in others.take(RECENT - 1) {
            kept.push(seq);
        }
        self.recent = kept;
    }

    pub(crate) fn report_duplicate(&mut self, start: SeqNumber, end: SeqNumber) {
        self.duplicate = Some((start, end));
    }

    pub(crate) fn sack_blocks(&mut self, room: usize) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        if room == 0 {
            return blocks;
        }
        if let Some((start, end)) = self.duplicate.take() {
            blocks.push((start, end));
        }
        if self.islands.is_empty() {
            return blocks;
        }
        // RFC 2883, 4: the block that holds the duplicate, which changed last, follows it, also where it is no
        // larger.
        let mut listed: [Option<SeqNumber>; RECENT] = [None; RECENT];
        for (slot, &seq) in listed.iter_mut().zip(self.recent.iter()) {
            if blocks.len() >= room {
                return blocks;
            }
            let Some(island) = self.island_of(seq) else { continue };
            *slot = Some(island.0);
            blocks.push(island);
        }
        for &(start, end) in self.islands.iter().rev() {
            if blocks.len() >= room {
                break;
            }
            if !listed.contains(&Some(start)) {
                blocks.push((start, end));
            }
        }
        blocks
    }

    fn island_of(&self, seq: SeqNumber) -> Option<(SeqNumber, SeqNumber)> {
        let index = self.islands.partition_point(|island| island.0.le(seq)).checked_sub(1)?;
        let island = self.islands[index];
        seq.lt(island.1).then_some(island)
    }
}

/// Writes the part `[from, to)` of `data`, which starts at `start` and belongs at `offset`.
fn write(ring: &mut Ring, offset: usize, start: SeqNumber, data: &[u8], from: SeqNumber, to: SeqNumber) {
    let (a, b) = ((from - start) as usize, (to - start) as usize);
    ring.write_at(offset + a, &data[a..b]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn assembler() -> Assembler {
        let mut assembler = Assembler::new(64 << 10);
        assembler.start(SeqNumber(u32::MAX - 500));
        assembler
    }

    fn at(offset: u32) -> SeqNumber {
        SeqNumber(u32::MAX - 500) + offset
    }

    #[test]
    fn blocks_come_latest_first() {
        let mut a = assembler();
        for offset in [100, 300, 500, 700, 900] {
            a.insert(at(offset), &[1; 50], at(5000));
        }
        a.insert(at(350), &[1; 50], at(5000));
        let blocks = a.sack_blocks(3);
        assert_eq!(blocks.as_slice(), &[(at(300), at(400)), (at(900), at(950)), (at(700), at(750))]);
        let blocks = a.sack_blocks(4);
        assert_eq!(blocks.as_slice()[3], (at(500), at(550)));
    }

    #[test]
    fn what_follows_the_last_island_makes_and_fills_no_hole() {
        let mut a = assembler();
        let follows =
            [0, 200, 250, 350, 100, 300, 400].map(|offset| a.insert(at(offset), &[1; 50], at(5000)).follows);
        assert_eq!(follows, [false, false, true, false, false, false, true]);
    }

    #[test]
    fn the_edge_cuts_and_islands_are_bounded() {
        let mut a = assembler();
        assert_eq!(a.insert(at(0), &[1; 100], at(60)).advanced, 60);
        assert_eq!(a.insert(at(60), &[1; 100], at(60)), Placed::default());
        for i in 0..MIN_ISLANDS as u32 {
            assert!(!a.insert(at(100 + 2 * i), &[1], at(60_000)).dropped);
        }
        assert!(a.insert(at(50_000), &[1], at(60_000)).dropped);
        assert!(!a.insert(at(60), &[1; 40], at(60_000)).dropped);
        let mut large = Assembler::new(16 << 20);
        large.start(at(0));
        for i in 0..5000 {
            assert!(!large.insert(at(2000 * i + 1000), &[1; 1000], at(16 << 20)).dropped);
        }
    }

    proptest! {
        #[test]
        fn any_order_gives_the_stream(
            pieces in prop::collection::vec((0..2000u32, 1..300u32), 1..80),
        ) {
            let content: Vec<u8> = (0..2300u32).map(|i| (i * 7 % 251) as u8).collect();
            let mut a = assembler();
            let mut held = alloc::vec![false; content.len()];
            for (offset, len) in pieces {
                let range = offset as usize..(offset + len) as usize;
                let before = a.nxt();
                let placed = a.insert(at(offset), &content[range.clone()], at(5000));
                let any_held = held[range.clone()].iter().any(|&h| h);
                prop_assert_eq!(placed.duplicate.is_some(), any_held);
                held[range].fill(true);
                let contiguous = held.iter().take_while(|&&h| h).count() as u32;
                prop_assert_eq!(a.nxt(), at(contiguous));
                prop_assert_eq!((a.nxt() - before) as u32, placed.advanced);
                let behind = &held[contiguous as usize..];
                prop_assert_eq!(a.held() as usize, behind.iter().filter(|&&h| h).count());
                let span = behind.iter().rposition(|&h| h).map_or(0, |last| last + 1);
                prop_assert_eq!(a.span() as usize, span);
                for probe in [0, offset, offset + len / 2, 2200] {
                    let missing = (probe..probe + 50).find(|&i| !held[i as usize]);
                    prop_assert_eq!(a.first_missing(at(probe), 50), missing.map(at));
                }
                let blocks = a.sack_blocks(4);
                for (i, block) in blocks.as_slice().iter().enumerate() {
                    prop_assert!(!blocks.as_slice()[..i].contains(block));
                }
                for &(start, end) in blocks.as_slice() {
                    let (from, to) = ((start - at(0)) as usize, (end - at(0)) as usize);
                    prop_assert!(held[from..to].iter().all(|&h| h));
                    prop_assert!(!held[from - 1] && !held[to]);
                }
            }
            let mut behind = held.clone();
            let contiguous = held.iter().take_while(|&&h| h).count();
            behind[..contiguous].fill(false);
            for (offset, (x, y)) in a.beyond() {
                let island: Vec<u8> = x.iter().chain(y).copied().collect();
                prop_assert_eq!(&island[..], &content[offset..offset + island.len()]);
                behind[offset..offset + island.len()].fill(false);
            }
            prop_assert!(!behind.contains(&true));
            let (x, y) = a.peek();
            let stream: Vec<u8> = x.iter().chain(y).copied().collect();
            prop_assert_eq!(&stream[..], &content[..stream.len()]);
        }
    }
}
