//! The receiver's part: corrupted payloads are kept until the damaged blocks have arrived intact.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use headway_wire::SeqNumber;
use headway_wire::blocks::{self, blocks};
use headway_wire::crc::crc32c;
use headway_wire::patch;

use super::Proof;
use crate::send::recovery::MIN_PAYLOAD;

/// Bytes that are kept at most. What does not fit is asked for as a whole: to make room for it, payloads whose blocks are under way
/// would have to go.
const MAX_BYTES: usize = 1 << 20;
/// Payloads that are kept at most.
const MAX_ENTRIES: usize = 1024;
/// Transmissions of one segment that are kept at most: it, and the copy of a tail.
const MAX_SAME: usize = 2;
/// Payloads that an intact segment is put into at most: segments of one length overlap two, each perhaps with its copy.
const MAX_FILLED: usize = 8;

/// Blocks in which two transmissions of a segment differ at most: then 2^7 CRCs are tried.
const MOST_CHOICES: usize = 7;

/// A payload as it arrived, with what its header vouched for.
struct KeptPayload {
    seq: SeqNumber,
    payload: Box<[u8]>,
    proof: Proof,
    /// The header had to be repaired: only together with bytes that arrived intact is it believed.
    repaired: bool,
}

impl KeptPayload {
    fn end(&self) -> SeqNumber {
        self.seq + self.payload.len() as u32
    }

    fn is_sound(&self) -> bool {
        self.proof.holds(&self.payload)
    }
}

/// A payload that is what was sent.
pub(crate) struct Whole {
    pub(crate) seq: SeqNumber,
    pub(crate) payload: Box<[u8]>,
}

/// See the module's documentation.
#[derive(Default)]
pub(crate) struct CorruptedPayloads {
    /// Oldest first.
    entries: VecDeque<KeptPayload>,
    bytes: usize,
}

impl CorruptedPayloads {
    /// A payload arrived damaged. Together with an earlier transmission of it, damaged elsewhere, it may be
    /// whole by its CRC; otherwise it is kept, beside that one: either may be what the sender completes. (To test a tag takes longer: 128
    /// of them for a packet would be too many.)
    pub(crate) fn keep(
        &mut self,
        seq: SeqNumber,
        payload: &[u8],
        proof: Proof,
        repaired: bool,
    ) -> Vec<Whole> {
        if !(MIN_PAYLOAD..=MAX_BYTES).contains(&payload.len()) {
            return Vec::new();
        }
        let same = |entry: &KeptPayload| entry.seq == seq && entry.payload.len() == payload.len();
        let sound = self.entries.iter().filter(|entry| same(entry) && !entry.repaired && !repaired);
        let mut whole = sound.filter_map(|earlier| match (&earlier.proof, &proof) {
            (Proof::Crc(one), Proof::Crc(other)) if one == other => combine(&earlier.payload, payload, *one),
            _ => None,
        });
        if let Some(whole) = whole.next() {
            return self.drop_covered(alloc::vec![Whole { seq, payload: whole }]);
        }
        let oldest = self.entries.iter().position(same);
        if self.entries.iter().filter(|entry| same(entry)).count() >= MAX_SAME {
            oldest.and_then(|place| self.remove(place));
        }
        if self.bytes + payload.len() > MAX_BYTES || self.entries.len() >= MAX_ENTRIES {
            return Vec::new();
        }
        self.bytes += payload.len();
        self.entries.push_back(KeptPayload { seq, payload: payload.into(), proof, repaired });
        Vec::new()
    }

    fn remove(&mut self, place: usize) -> Option<KeptPayload> {
        let entry = self.entries.remove(place)?;
        self.bytes -= entry.payload.len();
        Some(entry)
    }

    /// The sums of the blocks of the newest payload that is kept for `seq`, in network byte order; empty if none is.
    pub(crate) fn report(&self, seq: SeqNumber) -> Vec<u8> {
        let entry = self.entries.iter().rev().find(|entry| entry.seq == seq);
        let sums = entry.into_iter().flat_map(|entry| blocks::sums((&entry.payload, &[])));
        sums.flat_map(|(_, sum)| sum.to_be_bytes()).collect()
    }

    /// A patch for the payload at `seq` arrived, perhaps damaged; its header may have been `repaired`. Its blocks take the places of what
    /// was kept. Gives the payloads that are whole by that.
    pub(crate) fn patch(&mut self, seq: SeqNumber, patch: &[u8], repaired: bool) -> Vec<Whole> {
        let mut whole = Vec::new();
        let (mut place, mut tried) = (0, 0);
        while tried < MAX_FILLED
            && let Some(entry) = self.entries.get_mut(place)
        {
            place += 1;
            if entry.seq != seq {
                continue;
            }
            tried += 1;
            if patch::apply(patch, &mut entry.payload) {
                // What arrived under a header that was not repaired fits no other place.
                entry.repaired &= repaired;
            }
            if !entry.repaired && entry.is_sound() {
                place -= 1;
                whole
                    .extend(self.remove(place).map(|entry| Whole { seq: entry.seq, payload: entry.payload }));
            }
        }
        self.drop_covered(whole)
    }

    /// Drops what lies within `whole`: other transmissions of the same bytes.
    fn drop_covered(&mut self, whole: Vec<Whole>) -> Vec<Whole> {
        for Whole { seq, payload } in &whole {
            let end = *seq + payload.len() as u32;
            self.prune(|at, len| at.ge(*seq) && (at + len).le(end));
        }
        whole
    }

    /// Bytes arrived intact: they take the places of what was kept. Gives the payloads that are whole by that.
    pub(crate) fn fill(&mut self, seq: SeqNumber, data: &[u8]) -> Vec<Whole> {
        let end = seq + data.len() as u32;
        let mut whole = Vec::new();
        let (mut place, mut filled) = (0, 0);
        while filled < MAX_FILLED
            && let Some(entry) = self.entries.get_mut(place)
        {
            let (from, to) = (seq.max(entry.seq), end.min(entry.end()));
            place += 1;
            if !from.lt(to) {
                continue;
            }
            filled += 1;
            let theirs = (from - seq) as usize..(to - seq) as usize;
            let ours = (from - entry.seq) as usize..(to - entry.seq) as usize;
            entry.payload[ours].copy_from_slice(&data[theirs]);
            if entry.is_sound() {
                place -= 1;
                whole
                    .extend(self.remove(place).map(|entry| Whole { seq: entry.seq, payload: entry.payload }));
            }
        }
        self.drop_covered(whole)
    }

    /// Drops what `held` says has all arrived.
    pub(crate) fn prune(&mut self, held: impl Fn(SeqNumber, u32) -> bool) {
        let mut bytes = 0;
        self.entries.retain(|entry| {
            let stays = !held(entry.seq, entry.payload.len() as u32);
            bytes += if stays { entry.payload.len() } else { 0 };
            stays
        });
        self.bytes = bytes;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn allocated(&self) -> usize {
        size_of::<Self>() + self.entries.capacity() * size_of::<KeptPayload>() + self.bytes
    }
}

/// Each block of one copy or of the other, so that the CRC holds for the whole. Where they differ in more than [`MOST_CHOICES`], no
/// choice is tried.
fn combine(one: &[u8], other: &[u8], crc: u32) -> Option<Box<[u8]>> {
    let blocks: Vec<_> =
        blocks(one.len()).filter(|block| one[block.clone()] != other[block.clone()]).collect();
    if blocks.len() > MOST_CHOICES {
        return None;
    }
    let mut payload: Box<[u8]> = one.into();
    for chosen in 1_u32..1 << blocks.len() {
        for (bit, block) in blocks.iter().enumerate() {
            let from = if chosen >> bit & 1 == 1 { other } else { one };
            payload[block.clone()].copy_from_slice(&from[block.clone()]);
        }
        if crc32c(&payload) == crc {
            return Some(payload);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use alloc::sync::Arc;
    use core::ops::Range;

    use headway_wire::patch::Choice;

    use super::*;
    use crate::hack::PayloadTag;
    use proptest::prelude::*;

    const LEN: usize = 1436;

    fn sent() -> Vec<u8> {
        (0..LEN).map(|at| (at * 31 % 251) as u8).collect()
    }

    fn damaged(bits: &[usize]) -> Vec<u8> {
        let mut payload = sent();
        bits.iter().for_each(|bit| payload[bit / 8] ^= 1 << (bit % 8));
        payload
    }

    fn block_at(block: usize) -> Range<usize> {
        blocks(LEN).nth(block).expect("a block")
    }

    fn report_of(payload: &[u8]) -> Vec<u8> {
        blocks::sums((payload, &[])).flat_map(|(_, sum)| sum.to_be_bytes()).collect()
    }

    /// A patch of what was sent.
    fn patch_of(choice: Choice) -> Vec<u8> {
        let mut patch = Vec::new();
        patch::write((&sent(), &[]), choice, |piece| patch.extend_from_slice(piece));
        patch
    }

    fn blocks_of(chosen: u64) -> Vec<u8> {
        patch_of(Choice::new(chosen, 0))
    }

    /// What was repaired is whole only with a block under a header that was not.
    #[test]
    fn a_patch_makes_it_whole() {
        let seq = SeqNumber(u32::MAX - 700);
        for (kept_repaired, patch_repaired) in [(false, false), (false, true), (true, false), (true, true)] {
            let mut payloads = CorruptedPayloads::default();
            payloads.keep(seq, &damaged(&[100, 8000]), Proof::Crc(crc32c(&sent())), kept_repaired);
            assert!(payloads.patch(seq, &blocks_of(1), patch_repaired).is_empty());
            assert_eq!(payloads.report(seq), report_of(&damaged(&[8000])));
            assert!(
                payloads.patch(seq + 1, &blocks_of(1 << 31), patch_repaired).is_empty(),
                "another segment"
            );
            assert!(
                payloads.patch(seq, &blocks_of(1 << 31)[1..], patch_repaired).is_empty(),
                "another length"
            );
            let whole = payloads.patch(seq, &blocks_of(1 << 31), patch_repaired);
            assert_eq!(whole.len(), usize::from(!kept_repaired || !patch_repaired));
        }
    }

    #[test]
    fn the_sum_of_a_block_with_one_wrong_bit_makes_it_whole() {
        let seq = SeqNumber(7);
        for repaired in [false, true] {
            let mut payloads = CorruptedPayloads::default();
            payloads.keep(seq, &damaged(&[100, 600, 601, 8000]), Proof::Crc(crc32c(&sent())), repaired);
            assert!(payloads.patch(seq, &patch_of(Choice::new(0, 1 | 1 << 31)), false).is_empty());
            assert_eq!(payloads.report(seq), report_of(&damaged(&[600, 601])));
            // Two wrong bits are none that a sum corrects.
            assert!(payloads.patch(seq, &patch_of(Choice::new(0, 1 << 2)), false).is_empty());
            assert_eq!(payloads.report(seq), report_of(&damaged(&[600, 601])));
            assert_eq!(payloads.patch(seq, &patch_of(Choice::new(1 << 2, 0)), false).len(), 1);
        }
        // Sums alone are not what a repaired header needs.
        let mut payloads = CorruptedPayloads::default();
        payloads.keep(seq, &damaged(&[100]), Proof::Crc(crc32c(&sent())), true);
        assert!(payloads.patch(seq, &patch_of(Choice::new(0, 1)), false).is_empty());
        assert_eq!(payloads.patch(seq, &blocks_of(1), false).len(), 1);
    }

    #[test]
    fn blocks_that_came_again_make_it_whole() {
        let mut payloads = CorruptedPayloads::default();
        let crc = crc32c(&sent());
        assert!(
            payloads
                .keep(SeqNumber(u32::MAX - 700), &damaged(&[100, 8000]), Proof::Crc(crc), false)
                .is_empty()
        );
        let report = payloads.report(SeqNumber(u32::MAX - 700));
        let ours = sent();
        assert_eq!(Choice::by_report((&ours, &[]), &report), Choice::new(0, 1 | 1 << 31));
        let send = |payloads: &mut CorruptedPayloads, block: usize| {
            let range = block_at(block);
            let seq = SeqNumber(u32::MAX - 700) + range.start as u32;
            payloads.fill(seq, &sent()[range])
        };
        assert!(send(&mut payloads, 0).is_empty());
        let whole = send(&mut payloads, 31);
        assert_eq!(whole.len(), 1);
        assert_eq!((whole[0].seq, &whole[0].payload[..]), (SeqNumber(u32::MAX - 700), &sent()[..]));
        assert!(payloads.is_empty() && payloads.bytes == 0);
    }

    #[test]
    fn two_copies_make_one() {
        let mut payloads = CorruptedPayloads::default();
        let crc = crc32c(&sent());
        assert!(payloads.keep(SeqNumber(7), &damaged(&[100, 5000]), Proof::Crc(crc), false).is_empty());
        let whole = payloads.keep(SeqNumber(7), &damaged(&[3000, 11_000]), Proof::Crc(crc), false);
        assert_eq!(&whole[0].payload[..], &sent()[..]);
        assert!(payloads.is_empty());
        // Damaged in the same block: nothing fits, and the two newest stay.
        for bit in [100, 150, 200] {
            assert!(payloads.keep(SeqNumber(7), &damaged(&[bit]), Proof::Crc(crc), false).is_empty());
        }
        assert_eq!(payloads.entries.len(), 2);
        assert_eq!(payloads.report(SeqNumber(7)), report_of(&damaged(&[200])));
        // A header that had to be repaired delivers nothing by itself.
        assert!(payloads.keep(SeqNumber(7), &damaged(&[3000]), Proof::Crc(crc), true).is_empty());
        assert!(payloads.keep(SeqNumber(7), &sent(), Proof::Crc(crc), true).is_empty());
        assert_eq!(payloads.fill(SeqNumber(7), &sent()[..1]).len(), 1, "with an intact byte it does");
    }

    #[test]
    fn memory_is_bounded() {
        let mut payloads = CorruptedPayloads::default();
        for n in 0..5000 {
            payloads.keep(SeqNumber(n * 2000), &damaged(&[n as usize]), Proof::Crc(1), false);
            assert!(payloads.bytes <= MAX_BYTES && payloads.entries.len() <= MAX_ENTRIES);
        }
        assert!(
            !payloads.report(SeqNumber(0)).is_empty() && payloads.report(SeqNumber(4999 * 2000)).is_empty()
        );
        assert_eq!(payloads.bytes, payloads.entries.iter().map(|entry| entry.payload.len()).sum::<usize>());
        for len in [0, MIN_PAYLOAD - 1, MAX_BYTES + 1] {
            payloads.keep(SeqNumber(1), &alloc::vec![0; len], Proof::Crc(1), false);
            assert!(payloads.report(SeqNumber(1)).is_empty(), "{len}");
        }
        payloads.prune(|_, _| true);
        assert!(payloads.is_empty() && payloads.bytes == 0);
    }

    /// What is kept may overlap in any way, and each intact byte tests what it is put into.
    #[test]
    fn work_is_bounded() {
        let mut payloads = CorruptedPayloads::default();
        for n in 0..500 {
            payloads.keep(SeqNumber(n), &damaged(&[100]), Proof::Crc(1), false);
        }
        payloads.fill(SeqNumber(600), &[0xFF]);
        let filled = payloads
            .entries
            .iter()
            .filter(|entry| entry.payload[(SeqNumber(600) - entry.seq) as usize] == 0xFF);
        assert_eq!(filled.count(), MAX_FILLED);
    }

    /// A tag that cannot be forged: what was sent.
    #[derive(Debug)]
    struct TagOf(Vec<u8>);

    impl PayloadTag for TagOf {
        fn has_authentic_header(&self) -> bool {
            true
        }

        fn holds(&self, payload: &[u8]) -> bool {
            payload == self.0
        }
    }

    fn tag() -> Proof {
        Proof::Tag(Arc::new(TagOf(sent())))
    }

    /// A segment and the copy of a tail, damaged in different blocks: the sender completes the one that was reported first.
    #[test]
    fn either_of_two_is_completed() {
        let hit = [2_usize, 5];
        for proof in [tag(), Proof::Crc(crc32c(&sent()))] {
            for completed in hit {
                let mut payloads = CorruptedPayloads::default();
                for block in hit {
                    // Beside its own block, so that the two do not make one.
                    let bits = [block_at(block).start * 8, block_at(6).start * 8 + block];
                    assert!(payloads.keep(SeqNumber(7), &damaged(&bits), proof.clone(), false).is_empty());
                }
                let fill = |payloads: &mut CorruptedPayloads, block: usize| {
                    let range = block_at(block);
                    payloads.fill(SeqNumber(7) + range.start as u32, &sent()[range])
                };
                assert!(fill(&mut payloads, completed).is_empty());
                let whole = fill(&mut payloads, 6);
                assert_eq!(whole.len(), 1);
                assert_eq!(whole[0].payload[..], sent()[..]);
                payloads.prune(|_, _| true);
                assert_eq!(payloads.bytes, 0);
            }
        }
    }

    /// Segments of other boundaries have tags of their own, and each is completed for itself.
    #[test]
    fn overlapping_payloads_are_completed_apart() {
        let mut payloads = CorruptedPayloads::default();
        let whole = sent();
        let part = |range: Range<usize>| Proof::Tag(Arc::new(TagOf(whole[range].to_vec())));
        let mut first = whole[..1000].to_vec();
        let mut second = whole[400..].to_vec();
        first[500] ^= 1;
        second[100] ^= 1;
        second[1000] ^= 1;
        payloads.keep(SeqNumber(0), &first, part(0..1000), false);
        payloads.keep(SeqNumber(400), &second, part(400..LEN), false);
        let completed = payloads.fill(SeqNumber(450), &whole[450..600]);
        assert_eq!(completed.iter().map(|whole| whole.seq).collect::<Vec<_>>(), [SeqNumber(0)]);
        assert_eq!(completed[0].payload[..], whole[..1000]);
        let completed = payloads.fill(SeqNumber(1399), &whole[1399..]);
        assert_eq!(completed[0].payload[..], whole[400..]);
        assert!(payloads.is_empty());
    }

    proptest! {
        /// Whatever is damaged, and whatever comes again, in whatever pieces: what is given out as
        /// whole is what was sent.
        #[test]
        fn nothing_wrong_is_given_out(
            copies in prop::collection::vec(
                (prop::collection::vec(0..LEN * 8, 1..40), any::<bool>()), 1..6,
            ),
            pieces in prop::collection::vec((0..LEN, 1..600_usize), 0..30),
            patches in prop::collection::vec(
                (any::<u64>(), any::<u64>(), prop::collection::vec(0..20_000_usize, 0..30), any::<bool>()), 0..6,
            ),
            tagged in any::<bool>(),
        ) {
            let mut payloads = CorruptedPayloads::default();
            let proof = if tagged { tag() } else { Proof::Crc(crc32c(&sent())) };
            let base = SeqNumber(u32::MAX - 500);
            let (mut pieces, mut patches) = (pieces.into_iter(), patches.into_iter());
            for (bits, repaired) in copies {
                let bits: Vec<usize> = bits;
                for whole in payloads.keep(base, &damaged(&bits), proof.clone(), repaired) {
                    prop_assert_eq!(&whole.payload[..], &sent()[..]);
                }
                prop_assert!(payloads.entries.len() <= MAX_SAME);
                for (whole, sums, hits, repaired) in patches.by_ref().take(1) {
                    let mut patch = patch_of(Choice::new(whole, sums));
                    let bits = patch.len() * 8;
                    for bit in hits {
                        patch[bit % bits / 8] ^= 1 << (bit % 8);
                    }
                    for whole in payloads.patch(base, &patch, repaired) {
                        prop_assert_eq!(&whole.payload[..], &sent()[..]);
                    }
                }
                for (start, len) in pieces.by_ref().take(5) {
                    let end = (start + len).min(LEN);
                    for whole in payloads.fill(base + start as u32, &sent()[start..end]) {
                        prop_assert_eq!(&whole.payload[..], &sent()[..]);
                    }
                }
            }
        }
    }
}
