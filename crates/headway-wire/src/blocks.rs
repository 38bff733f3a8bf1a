//! The blocks of partial recovery: parts of a payload, each with a sum of its own (`docs/protocol.md`, section 7).

use crate::crc::{crc16, crc16_append};
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

/// Each block with its CRC-16 ([`crc16`]). The payload is the two slices one after the other, as a ring
/// buffer has them.
pub fn sums<'a>(payload: (&'a [u8], &'a [u8])) -> impl Iterator<Item = (Range<usize>, u16)> + 'a {
    blocks(payload.0.len() + payload.1.len()).map(move |range| {
        let (before, behind) = part(payload, &range);
        (range, crc16_append(crc16(before), behind))
    })
}

/// A part of a payload that is two slices one after the other: what lies before the seam, and behind it.
pub(crate) fn part<'a>((first, second): (&'a [u8], &'a [u8]), range: &Range<usize>) -> (&'a [u8], &'a [u8]) {
    let before = range.start..cmp::min(range.end, first.len());
    let behind = range.start.saturating_sub(first.len())..range.end.saturating_sub(first.len());
    (first.get(before).unwrap_or_default(), second.get(behind).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    extern crate alloc;
    use super::*;
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
}
