//! The blocks of partial recovery: seven parts of a payload, each with a sum of its own.

use crate::crc::crc16_append;
use core::ops::Range;

/// How many blocks a payload has: as many 16-bit sums as fit beside timestamps.
pub const COUNT: usize = 7;

/// Where block `block` of a payload of `payload_len` bytes is, counted from the payload's first
/// byte. Blocks are equal parts, rounded up to whole bytes, so the last ones may be shorter or
/// empty; so is what is beyond the last.
#[inline]
pub const fn block_range(payload_len: usize, block: usize) -> Range<usize> {
    let each = payload_len.div_ceil(COUNT);
    let start = min(each.saturating_mul(block), payload_len);
    start..min(start.saturating_add(each), payload_len)
}

/// The CRC-16 of each block ([`crc16`](crate::crc::crc16)). The payload is the two slices one after
/// the other, as a ring buffer has them.
pub fn block_sums(payload: (&[u8], &[u8])) -> [u16; COUNT] {
    let (first, second) = payload;
    core::array::from_fn(|block| {
        let range = block_range(first.len() + second.len(), block);
        // What lies before and behind the seam.
        let before = first.get(range.start..min(range.end, first.len())).unwrap_or_default();
        let behind = range.start.saturating_sub(first.len())..range.end.saturating_sub(first.len());
        crc16_append(crc16_append(0, before), second.get(behind).unwrap_or_default())
    })
}

const fn min(a: usize, b: usize) -> usize {
    if a < b { a } else { b }
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
            for block in 0..COUNT {
                let range = block_range(len, block);
                assert_eq!(range.start, next, "block {block} of {len}");
                assert!(range.len() <= len.div_ceil(COUNT));
                next = range.end;
            }
            assert_eq!(next, len);
            assert!(block_range(len, COUNT).is_empty());
        }
        assert_eq!(block_range(1448, 0), 0..207);
        assert_eq!(block_range(1448, 6), 1242..1448);
        // Five bytes have five blocks, and two empty ones.
        assert_eq!((block_range(5, 4), block_range(5, 5)), (4..5, 5..5));
        assert!(block_range(usize::MAX, usize::MAX).is_empty());
    }

    #[test]
    fn sums_do_not_depend_on_the_seam() {
        let payload: Vec<u8> = (0..150).map(|i| (i * 7) as u8).collect();
        for len in [0, 1, 6, 7, 8, 150] {
            let payload = &payload[..len];
            let expected: [u16; COUNT] =
                core::array::from_fn(|block| crc16(&payload[block_range(len, block)]));
            for at in 0..=len {
                assert_eq!(block_sums(payload.split_at(at)), expected, "{at} of {len}");
            }
        }
    }

    #[test]
    fn a_damaged_block_is_told_from_the_others() {
        let mut payload: Vec<u8> = (0..100).collect();
        let sent = block_sums((&payload, &[]));
        payload[31] ^= 0x81;
        let got = block_sums((&payload, &[]));
        let damaged: Vec<usize> = (0..COUNT).filter(|&block| sent[block] != got[block]).collect();
        assert_eq!(damaged, [2]);
    }
}
