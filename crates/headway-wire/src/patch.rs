//! Patches: what is retransmitted of a segment that arrived damaged (`docs/protocol.md`, section 7).
//!
//! A block and its sum are a code word of the CRC-16, whose least distance is 4 up to 4095 bytes: one flipped bit can be corrected.
//! So of a block in which one bit is wrong the right sum is enough.

use core::ops::Range;

use crate::blocks::{self, SUM_LEN, blocks};
use crate::crc::{crc16, crc16_append, crc16_flip};

/// What a patch has of a segment's blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// A bit for each block that it has, the lowest for the first.
    whole: u64,
    /// The same for those of which it has the sum alone.
    sums: u64,
}

/// What a patch has of one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The block, and its sum.
    Block,
    /// Its sum.
    Sum,
}

impl Choice {
    /// Nothing.
    pub const NONE: Self = Self { whole: 0, sums: 0 };

    /// These blocks, the lowest bit for the first; of those in `sums` their sums alone.
    pub const fn new(whole: u64, sums: u64) -> Self {
        Self { whole, sums: sums & !whole }
    }

    /// What a receiver lacks whose report of the blocks of `sent` is `report`. A block whose sum it does not have counts as one that differs.
    /// The sum alone is enough where one flipped bit explains it, if at most half of the blocks differ.
    pub fn by_report(sent: (&[u8], &[u8]), report: &[u8]) -> Self {
        let (reported, _) = report.as_chunks::<SUM_LEN>();
        let mut reported = reported.iter().map(|sum| u16::from_be_bytes(*sum));
        // How the sum of each block differs; `None` where the report has none.
        let mut differences = [Some(0); blocks::MOST];
        let (mut blocks, mut differing) = (0, 0);
        for (difference, (_, sum)) in differences.iter_mut().zip(blocks::sums(sent)) {
            *difference = reported.next().map(|theirs| sum ^ theirs);
            differing |= u64::from(*difference != Some(0)) << blocks;
            blocks += 1;
        }
        if is_dense(differing.count_ones(), blocks) {
            return Self::new(differing, 0);
        }
        let ranges = self::blocks(sent.0.len() + sent.1.len()).zip(differences).enumerate();
        let sums = ranges.filter(|(_, (range, difference))| {
            difference.is_some_and(|difference| crc16_flip(range.len(), difference).is_some())
        });
        let sums = sums.fold(0, |sums, (place, _)| sums | 1 << place);
        Self::new(differing & !sums, sums)
    }

    /// With at least one block: if it has none, the first of those of which it has the sum, or the first of all.
    #[must_use]
    pub const fn with_a_block(self) -> Self {
        if self.whole != 0 {
            return self;
        }
        let first = if self.sums == 0 { 1 } else { self.sums & self.sums.wrapping_neg() };
        Self::new(first, self.sums & !first)
    }

    /// The blocks of which it has the sum alone.
    #[must_use]
    pub const fn sums_as_blocks(self) -> Self {
        Self::new(self.sums, 0)
    }

    /// Whether it is [`Self::NONE`].
    pub const fn is_none(self) -> bool {
        self.whole | self.sums == 0
    }

    /// What a patch for a payload of `payload_len` bytes has of which part of it, in order.
    pub fn parts(self, payload_len: usize) -> impl Iterator<Item = (Range<usize>, Part)> {
        blocks(payload_len).enumerate().filter_map(move |(place, range)| {
            let chosen = |bits: u64| bits >> place & 1 == 1;
            match (chosen(self.whole), chosen(self.sums)) {
                (true, _) => Some((range, Part::Block)),
                (false, true) => Some((range, Part::Sum)),
                (false, false) => None,
            }
        })
    }

    /// How long a patch with it is for a payload of `payload_len` bytes: it stands at the beginning and at the end.
    pub fn patch_len(self, payload_len: usize) -> usize {
        let part =
            |(range, part): (Range<usize>, Part)| SUM_LEN + if part == Part::Block { range.len() } else { 0 };
        2 * self.encoded_len(payload_len) + self.parts(payload_len).map(part).sum::<usize>()
    }

    /// As a patch has it: a field with a bit for each block, in whole bytes in network byte order, another one for the sums if it has sums,
    /// and the sum of these bytes.
    pub fn encode(self, payload_len: usize) -> impl Iterator<Item = u8> {
        let skipped = size_of::<u64>() - field_len(payload_len);
        let fields = [Some(self.whole), Some(self.sums).filter(|sums| *sums != 0)];
        let bytes =
            fields.into_iter().flatten().flat_map(move |field| field.to_be_bytes().into_iter().skip(skipped));
        let sum = bytes.clone().fold(0, |sum, byte| crc16_append(sum, &[byte]));
        bytes.chain(sum.to_be_bytes())
    }

    fn encoded_len(self, payload_len: usize) -> usize {
        let fields = if self.sums == 0 { 1 } else { 2 };
        fields * field_len(payload_len) + SUM_LEN
    }

    /// What [`Self::encode`] made of it, with one field or two. One flipped bit is corrected.
    fn decode(bytes: &[u8], fields: usize) -> Option<Self> {
        let (bytes, sum) = bytes.split_last_chunk()?;
        let mut corrected = [0; 2 * size_of::<u64>()];
        let corrected = corrected.get_mut(..bytes.len())?;
        corrected.copy_from_slice(bytes);
        let is_right = correct(corrected, u16::from_be_bytes(*sum));
        let field = |bytes: &[u8]| bytes.iter().fold(0, |all, byte| all << 8 | u64::from(*byte));
        let (whole, sums) = corrected.split_at(corrected.len() / fields);
        is_right.then(|| Self { whole: field(whole), sums: field(sums) })
    }
}

/// A field with a bit for each block.
fn field_len(payload_len: usize) -> usize {
    blocks(payload_len).count().div_ceil(8)
}

/// Gives the patch with `choice` of a payload, which is the two slices one after the other, in pieces to `append`.
pub fn write(payload: (&[u8], &[u8]), choice: Choice, mut append: impl FnMut(&[u8])) {
    let len = payload.0.len() + payload.1.len();
    let place = |append: &mut dyn FnMut(&[u8])| choice.encode(len).for_each(|byte| append(&[byte]));
    place(&mut append);
    for (range, part) in choice.parts(len) {
        let (before, behind) = blocks::part(payload, &range);
        if part == Part::Block {
            append(before);
            append(behind);
        }
        append(&crc16_append(crc16(before), behind).to_be_bytes());
    }
    place(&mut append);
}

/// What a patch for a payload of `payload_len` bytes has: the choice, and the parts behind each other. `None` if it has another
/// length, or if neither place of the choice is readable.
pub fn read(patch: &[u8], payload_len: usize) -> Option<(Choice, &[u8])> {
    [1, 2].into_iter().find_map(|fields| {
        let len = fields * field_len(payload_len) + SUM_LEN;
        let (first, rest) = patch.split_at_checked(len)?;
        let (parts, last) = rest.split_at_checked(rest.len().checked_sub(len)?)?;
        let fits = |choice: &Choice| {
            choice.encoded_len(payload_len) == len && choice.patch_len(payload_len) == patch.len()
        };
        let choice = |bytes| Choice::decode(bytes, fields).filter(fits);
        choice(first).or_else(|| choice(last)).map(|choice| (choice, parts))
    })
}

/// Puts a patch, which may be damaged, into the payload that was kept, in which it corrects one flipped bit of each block of which the patch
/// has the sum alone. A block that does not agree with its sum is left out; one flipped bit in it is corrected if most agree. Says whether
/// a block was put.
pub fn apply(patch: &[u8], payload: &mut [u8]) -> bool {
    let len = payload.len();
    let Some((choice, parts)) = read(patch, len) else { return false };
    let (mut damaged, mut count) = (0, 0);
    for_each_part(choice, parts, len, |_, block, sum| {
        count += u32::from(block.is_some());
        damaged += u32::from(block.is_some_and(|block| crc16(block) != sum));
    });
    let mut has_put = false;
    for_each_part(choice, parts, len, |range, block, sum| {
        let Some(kept) = payload.get_mut(range) else { return };
        let Some(block) = block else {
            correct(kept, sum);
            return;
        };
        if crc16(block) == sum || !is_dense(damaged, count) && is_explained(block, sum) {
            kept.copy_from_slice(block);
            correct(kept, sum);
            has_put = true;
        }
    });
    has_put
}

/// Whether bits are wrong so densely that three in a block would look like one in too many blocks.
fn is_dense(damaged: u32, blocks: u32) -> bool {
    2 * damaged > blocks + 1
}

/// The parts of a patch, which lie behind each other in `bytes`: of the range of the payload the block, if it has that, and the sum.
fn for_each_part(
    choice: Choice,
    mut bytes: &[u8],
    payload_len: usize,
    mut take: impl FnMut(Range<usize>, Option<&[u8]>, u16),
) {
    for (range, part) in choice.parts(payload_len) {
        let len = if part == Part::Block { range.len() } else { 0 };
        let Some((block, rest)) = bytes.split_at_checked(len) else { return };
        let Some((sum, rest)) = rest.split_first_chunk() else { return };
        bytes = rest;
        take(range, Some(block).filter(|_| part == Part::Block), u16::from_be_bytes(*sum));
    }
}

/// Corrects one flipped bit in `block` or in its `sum`. Says whether the block is right by that, and leaves it as it is otherwise.
fn correct(block: &mut [u8], sum: u16) -> bool {
    if let Some((byte, bit)) = crc16_flip(block.len(), crc16(block) ^ sum)
        && let Some(byte) = block.get_mut(byte)
    {
        *byte ^= bit;
        return true;
    }
    is_explained(block, sum)
}

/// Whether no flipped bit explains how `block` and its `sum` differ, or one, of either.
fn is_explained(block: &[u8], sum: u16) -> bool {
    let difference = crc16(block) ^ sum;
    difference.count_ones() <= 1 || crc16_flip(block.len(), difference).is_some()
}

#[cfg(test)]
mod tests {
    extern crate alloc;
    use alloc::vec::Vec;

    use super::*;

    const LEN: usize = 1436;

    fn sent() -> Vec<u8> {
        (0..LEN).map(|at| (at * 31 % 251) as u8).collect()
    }

    fn report(payload: &[u8]) -> Vec<u8> {
        blocks::sums((payload, &[])).flat_map(|(_, sum)| sum.to_be_bytes()).collect()
    }

    #[test]
    fn of_a_block_with_one_wrong_bit_the_sum_is_enough() {
        let (sent, mut received) = (sent(), sent());
        received[0] ^= 0x80;
        received[70] ^= 0x81;
        received[LEN - 1] ^= 1;
        let choice = Choice::by_report((&sent, &[]), &report(&received));
        assert_eq!(choice, Choice { whole: 1 << 2, sums: 1 | 1 << 44 });
        assert_eq!(choice.patch_len(LEN), 2 * 14 + 34 + 2 + 2);
        assert_eq!(Choice::new(4, 0).patch_len(LEN), 2 * 8 + 34);
        // A report that was cut leaves the rest in doubt.
        let cut = Choice::by_report((&sent, &[]), &report(&received)[..5]);
        assert_eq!(cut, Choice { whole: (1 << 45) - 3, sums: 0 }, "of most blocks nothing is known");
        assert!(Choice::by_report((&sent, &[]), &report(&sent)).is_none());
    }

    #[test]
    fn one_place_of_the_choice_is_enough() {
        for len in [65, 256, 257, LEN, 2048, 9000] {
            let count = blocks(len).count();
            let all = u64::MAX >> (64 - count);
            for choice in [
                Choice::new(1, 0),
                Choice::new(all, 0),
                Choice::new(0, all),
                Choice::new(all & !0b1010, 0b1010),
            ] {
                let encoded: Vec<u8> = choice.encode(len).collect();
                let parts = alloc::vec![7; choice.patch_len(len) - 2 * encoded.len()];
                let patch = [&encoded[..], &parts, &encoded].concat();
                assert_eq!(read(&patch, len), Some((choice, &parts[..])));
                for hit in 0..encoded.len() {
                    let mut patch = patch.clone();
                    let last = patch.len() - 1;
                    patch[hit] ^= 0x01;
                    patch[last - hit] ^= 0x10;
                    assert_eq!(read(&patch, len), Some((choice, &parts[..])), "one bit of each is corrected");
                    (patch[hit], patch[last - hit]) = (patch[hit] ^ 0x01, patch[last - hit] ^ 0x10);
                    patch[hit] ^= 0x11;
                    assert_eq!(read(&patch, len), Some((choice, &parts[..])));
                    patch[last - hit] ^= 0x11;
                    assert_eq!(read(&patch, len), None);
                }
                assert_eq!(read(&patch[1..], len), None);
            }
        }
        for len in 0..40 {
            assert_eq!(read(&alloc::vec![0xff; len], LEN), None);
        }
    }

    #[test]
    fn a_patch_is_put_and_one_bit_of_each_block_corrected_if_most_are_right() {
        let sent = sent();
        // A damaged payload, and a patch with four blocks and two sums.
        let damaged = || {
            let mut kept = sent.clone();
            (0..6).for_each(|block| kept[32 * block] ^= if block < 4 { 0x81 } else { 0x80 });
            kept
        };
        let mut patch = Vec::new();
        write((&sent, &[]), Choice::new(0b1111, 0b11_0000), |piece| patch.extend_from_slice(piece));
        assert_eq!(patch.len(), 2 * 14 + 4 * 34 + 2 * 2);
        // Bits of the patch, and the blocks that are wrong then.
        let block = |number: usize| (14 + 34 * number) * 8;
        for (flipped, wrong) in [
            (&[][..], &[][..]),
            (&[block(0)], &[]),
            (&[block(0) + 3, block(2) + 256], &[]),
            (&[block(0), block(0) + 1, block(2)], &[0]),
            (&[block(0), block(1), block(2)], &[0, 1, 2]),
            (&[block(4), block(4) + 17], &[4, 5]),
        ] {
            let (mut patch, mut kept) = (patch.clone(), damaged());
            flipped.iter().for_each(|bit: &usize| patch[bit / 8] ^= 1 << (bit % 8));
            assert!(apply(&patch, &mut kept));
            let is_wrong = |range: &Range<usize>| kept[range.clone()] != sent[range.clone()];
            let found: Vec<_> = blocks(LEN)
                .enumerate()
                .filter(|(_, range)| is_wrong(range))
                .map(|(number, _)| number)
                .collect();
            assert_eq!(found, wrong, "{flipped:?}");
        }
        let mut kept = damaged();
        assert!(!apply(&patch[1..], &mut kept));
        write((&sent, &[]), Choice::new(0, 1 << 4), |piece| patch.extend_from_slice(piece));
        assert!(!apply(&patch[2 * 14 + 4 * 34 + 2 * 2..], &mut kept), "a sum is no block");
        assert_eq!(kept[32 * 4..32 * 5], sent[32 * 4..32 * 5]);
    }

    #[test]
    fn one_flipped_bit_of_a_block_or_of_its_sum_is_corrected_and_two_are_not() {
        let (sent, sum) = (&sent()[..32], crc16(&sent()[..32]));
        // The places of a block and its sum in one.
        let flip = |bits: &[usize]| {
            let (mut block, mut sum) = (sent.to_vec(), sum);
            for bit in bits {
                match bit.checked_sub(256) {
                    Some(bit) => sum ^= 1 << bit,
                    None => block[bit / 8] ^= 1 << (bit % 8),
                }
            }
            let received = block.clone();
            (correct(&mut block, sum), block, received)
        };
        for one in 0..272 {
            let (is_right, block, _) = flip(&[one]);
            assert!(is_right && block == sent, "bit {one}");
            for other in 0..one {
                let (is_right, block, received) = flip(&[one, other]);
                assert!(!is_right && block == received, "bits {one} and {other}");
            }
        }
    }
}
