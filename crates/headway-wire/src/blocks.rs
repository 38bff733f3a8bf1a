//! The blocks of partial recovery: parts of a payload, each with a sum of its own (`docs/protocol.md`, section 7).

use crate::crc::crc16_append;
use core::{cmp, ops::Range};

/// The length of a block where [`MOST`] of them are enough, in bytes. Fitted: on the frames of an OFDM modem blocks of 32 bytes carry 2 to
/// 12 % more than those of 48 where damage is dense, and as much where it is not.
pub const SHORTEST: usize = 32;
/// How many blocks a payload has at most.
pub const MOST: usize = 64;
/// What a block takes in a report, in bytes.
pub const SUM_LEN: usize = 2;

/// The blocks of a payload of `payload_len` bytes, as ranges of it: equal parts, of which the last may be shorter.
#[inline]
pub fn blocks(payload_len: usize) -> impl Iterator<Item = Range<usize>> {
    let each = cmp::max(SHORTEST, payload_len.div_ceil(MOST));
    (0..payload_len).step_by(each).map(move |start| start..cmp::min(start + each, payload_len))
}

/// Each block with its CRC-16 ([`crc16`](crate::crc::crc16)). The payload is the two slices one after the other, as a ring
/// buffer has them.
pub fn sums<'a>(payload: (&'a [u8], &'a [u8])) -> impl Iterator<Item = (Range<usize>, u16)> + 'a {
    let (first, second) = payload;
    blocks(first.len() + second.len()).map(move |range| {
        // What lies before and behind the seam.
        let before = first.get(range.start..cmp::min(range.end, first.len())).unwrap_or_default();
        let behind = range.start.saturating_sub(first.len())..range.end.saturating_sub(first.len());
        let sum = crc16_append(crc16_append(0, before), second.get(behind).unwrap_or_default());
        (range, sum)
    })
}

/// Which blocks of `sent` arrived with another sum, by a report of their sums in network byte order. A block whose sum the
/// report does not have counts as one that differs.
pub fn differing<'a>(
    sent: (&'a [u8], &'a [u8]),
    report: &'a [u8],
) -> impl Iterator<Item = (Range<usize>, bool)> + 'a {
    let (reported, _) = report.as_chunks::<SUM_LEN>();
    let reported = reported.iter().map(|sum| Some(u16::from_be_bytes(*sum))).chain(core::iter::repeat(None));
    sums(sent).zip(reported).map(|((range, sum), theirs)| (range, theirs != Some(sum)))
}

/// The blocks of a payload of `payload_len` bytes that `chosen` names: the lowest bit is the first block's.
pub fn chosen(payload_len: usize, chosen: u64) -> impl Iterator<Item = Range<usize>> {
    blocks(payload_len).enumerate().filter(move |(place, _)| chosen >> place & 1 == 1).map(|(_, range)| range)
}

/// What says in a patch which blocks it has: eight bytes with a bit for each, the first block's lowest, and their sum.
pub const CHOICE_LEN: usize = 8 + SUM_LEN;

/// The choice as a patch has it, at its beginning and at its end: without it the patch is lost.
pub fn choice(chosen: u64) -> [u8; CHOICE_LEN] {
    let mut bytes = [0; CHOICE_LEN];
    let (bits, sum) = bytes.split_at_mut(8);
    bits.copy_from_slice(&chosen.to_be_bytes());
    sum.copy_from_slice(&crc16_append(0, bits).to_be_bytes());
    bytes
}

/// How long a patch is: the choice, the blocks, each with its sum behind it, and the choice again.
pub fn patch_len(payload_len: usize, choice: u64) -> usize {
    2 * CHOICE_LEN + chosen(payload_len, choice).map(|range| range.len() + SUM_LEN).sum::<usize>()
}

/// Which blocks a patch has, and these with their sums. `None` if that is damaged.
pub fn read_patch(patch: &[u8]) -> Option<(u64, &[u8])> {
    let (first, rest) = patch.split_first_chunk::<CHOICE_LEN>()?;
    let (blocks, last) = rest.split_last_chunk::<CHOICE_LEN>()?;
    [first, last].into_iter().find_map(|bytes| {
        let chosen = u64::from_be_bytes(*bytes.first_chunk()?);
        (choice(chosen) == *bytes).then_some((chosen, blocks))
    })
}

#[cfg(test)]
mod tests {
    extern crate alloc;
    use super::*;
    use crate::crc::crc16;
    use alloc::vec::Vec;

    #[test]
    fn blocks_cover_the_payload_once() {
        for len in (0..200).chain([1448, 8948, 65_495]) {
            let mut next = 0;
            for block in blocks(len) {
                assert_eq!(block.start, next, "{len} bytes");
                assert!(
                    !block.is_empty() && (block.len() >= SHORTEST || block.end == len),
                    "{block:?} of {len}"
                );
                next = block.end;
            }
            assert_eq!(next, len);
            assert!(blocks(len).count() <= MOST);
        }
        assert_eq!(blocks(1448).count(), 46);
        assert_eq!(blocks(1448).last(), Some(1440..1448));
    }

    #[test]
    fn sums_do_not_depend_on_the_seam() {
        let payload: Vec<u8> = (0..150).map(|i| (i * 7) as u8).collect();
        for len in [0, 1, 31, 32, 33, 150] {
            let payload = &payload[..len];
            let expected: Vec<_> = blocks(len).map(|block| (block.clone(), crc16(&payload[block]))).collect();
            for at in 0..=len {
                assert!(sums(payload.split_at(at)).eq(expected.iter().cloned()), "{at} of {len}");
            }
        }
    }

    #[test]
    fn a_damaged_block_is_told_from_the_others() {
        let mut payload: Vec<u8> = (0..150).collect();
        let sent = payload.clone();
        payload[70] ^= 0x81;
        let report: Vec<u8> = sums((&payload, &[])).flat_map(|(_, sum)| sum.to_be_bytes()).collect();
        let which = |report: &[u8]| -> Vec<bool> {
            differing((&sent, &[]), report).map(|(_, differs)| differs).collect()
        };
        assert_eq!(which(&report), [false, false, true, false, false]);
        // A report that was cut leaves the rest in doubt.
        assert_eq!(which(&report[..5]), [false, false, true, true, true]);
        assert_eq!(which(&[]), [true; 5]);
    }
}
