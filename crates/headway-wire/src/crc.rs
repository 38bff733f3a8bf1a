//! Cyclic redundancy checks: CRC-32C over payloads and headers, CRC-16 over parts of payloads.
//!
//! Both are computed from tables, eight bytes a round. With the feature `std` CRC-32C uses the
//! instruction that x86-64 (SSE 4.2) and AArch64 have for it; the results are the same.

/// The CRC-32C (Castagnoli; RFC 9260, Appendix A) of `bytes`.
#[inline]
pub fn crc32c(bytes: &[u8]) -> u32 {
    crc32c_append(0, bytes)
}

/// The CRC-32C of what `crc` is the CRC-32C of, followed by `bytes`. That of nothing is 0.
#[inline]
pub fn crc32c_append(crc: u32, bytes: &[u8]) -> u32 {
    #[cfg(feature = "std")]
    return crc32c::crc32c_append(crc, bytes);
    #[cfg(not(feature = "std"))]
    !CASTAGNOLI.update(!crc, bytes)
}

/// The CRC-16 of HDLC and PPP (X.25; RFC 1662, C.2: FCS-16) of `bytes`.
///
/// Unlike 16 bits of a CRC-32C it has a degree of 16 itself, so up to 4095 bytes it sees every
/// damage of one, two or three bits and every burst of at most 16.
#[inline]
pub fn crc16(bytes: &[u8]) -> u16 {
    crc16_append(0, bytes)
}

/// The CRC-16 of what `crc` is the CRC-16 of, followed by `bytes`. That of nothing is 0.
#[inline]
pub fn crc16_append(crc: u16, bytes: &[u8]) -> u16 {
    // A register of 32 bits whose upper half stays zero.
    !(X25.update(u32::from(!crc), bytes) as u16)
}

/// Which bit flips if one flipped bit of a message of `len` bytes changes its CRC-16 by `difference`: its byte, and the bit in that as a
/// mask. Up to 4095 bytes no other bit does, nor do any two.
pub(crate) fn crc16_flip(len: usize, difference: u16) -> Option<(usize, u8)> {
    // The polynomial is a multiple of x + 1: one bit changes an odd number of the sum's.
    if difference.count_ones().is_multiple_of(2) {
        return None;
    }
    // The last bit that is sent is the highest of the last byte.
    let (mut register, last) = (X25_POLYNOMIAL, len.checked_mul(8)?);
    for behind in 0..last {
        if register == u32::from(difference) {
            return Some((len - 1 - behind / 8, 0x80 >> (behind % 8)));
        }
        register = step(register, X25_POLYNOMIAL);
    }
    None
}

/// The polynomial of CRC-32C, least significant bit first.
pub(crate) const CASTAGNOLI_POLYNOMIAL: u32 = 0x82f6_3b78;
/// x^16 + x^12 + x^5 + 1, least significant bit first.
const X25_POLYNOMIAL: u32 = 0x8408;

#[cfg(any(not(feature = "std"), test))]
static CASTAGNOLI: Tables = Tables::new(CASTAGNOLI_POLYNOMIAL);
static X25: Tables = Tables::new(X25_POLYNOMIAL);

/// What each value of a byte does to the register, with no to seven bytes of zeros behind it
/// (Kounavis and Berry, "A Systematic Approach to Building High Performance Software-based CRC
/// Generators", 2005: slicing by eight).
struct Tables([[u32; 256]; 8]);

impl Tables {
    const fn new(polynomial: u32) -> Self {
        let mut tables = [[0; 256]; 8];
        let mut byte = 0;
        while byte < 256 {
            let mut register = byte as u32;
            let mut zeros = 0;
            while zeros < 8 {
                let mut bit = 0;
                while bit < 8 {
                    register = step(register, polynomial);
                    bit += 1;
                }
                tables[zeros][byte] = register;
                zeros += 1;
            }
            byte += 1;
        }
        Self(tables)
    }

    /// The register after `bytes`.
    fn update(&self, mut register: u32, bytes: &[u8]) -> u32 {
        let [t0, t1, t2, t3, t4, t5, t6, t7] = &self.0;
        let at = |table: &[u32; 256], word: u32, shift: u32| table[usize::from((word >> shift) as u8)];
        let (rounds, rest) = bytes.as_chunks::<8>();
        for [b0, b1, b2, b3, b4, b5, b6, b7] in rounds {
            let low = register ^ u32::from_le_bytes([*b0, *b1, *b2, *b3]);
            let high = u32::from_le_bytes([*b4, *b5, *b6, *b7]);
            register = at(t7, low, 0) ^ at(t6, low, 8) ^ at(t5, low, 16) ^ at(t4, low, 24);
            register ^= at(t3, high, 0) ^ at(t2, high, 8) ^ at(t1, high, 16) ^ at(t0, high, 24);
        }
        for byte in rest {
            register = register >> 8 ^ at(t0, register ^ u32::from(*byte), 0);
        }
        register
    }
}

/// The register one bit of zero later.
pub(crate) const fn step(register: u32, polynomial: u32) -> u32 {
    register >> 1 ^ if register & 1 == 1 { polynomial } else { 0 }
}

#[cfg(test)]
mod tests {
    extern crate alloc;
    use super::*;
    use alloc::vec::Vec;

    /// Bit by bit, by the definition.
    fn reference(mut register: u32, polynomial: u32, bytes: &[u8]) -> u32 {
        for byte in bytes {
            for bit in 0..8 {
                let is_one = register & 1 != u32::from(byte >> bit & 1);
                register = register >> 1 ^ if is_one { polynomial } else { 0 };
            }
        }
        register
    }

    fn bytes(len: usize) -> Vec<u8> {
        (0..len).map(|i| (i * 37 + i / 13 + 5) as u8).collect()
    }

    #[test]
    fn known_values() {
        // The catalogue's check values.
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc16(b"123456789"), 0x906e);
        // RFC 3720, B.4, which shows the bytes as they are sent, least significant first.
        let ascending: Vec<u8> = (0..32).collect();
        let descending: Vec<u8> = (0..32).rev().collect();
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        assert_eq!(crc32c(&ascending), 0x46dd_794e);
        assert_eq!(crc32c(&descending), 0x113f_db5c);
        assert_eq!((crc32c(&[]), crc16(&[])), (0, 0));
    }

    #[test]
    fn the_flipped_bit_is_found_and_no_other_damage_is_taken_for_one() {
        for len in [1, 2, 3, 32, 141] {
            let sent = bytes(len);
            for at in 0..8 * len {
                let mut received = sent.clone();
                received[at / 8] ^= 1 << (at % 8);
                let difference = crc16(&sent) ^ crc16(&received);
                assert_eq!(crc16_flip(len, difference), Some((at / 8, 1 << (at % 8))));
                // Another flipped bit, of the message or of the sum.
                assert_eq!(crc16_flip(len, difference ^ 1 << (at % 16)), None);
                let other = (at * 7 + 3) % (8 * len);
                received[other / 8] ^= 1 << (other % 8);
                assert_eq!(
                    crc16_flip(len, crc16(&sent) ^ crc16(&received)),
                    None,
                    "bits {at} and {other} of {len}"
                );
            }
            assert_eq!(crc16_flip(len, 0), None);
        }
        assert_eq!(crc16_flip(0, 1), None);
    }

    #[test]
    fn every_length_and_every_split_agrees_with_the_definition() {
        let bytes = bytes(120);
        for len in 0..=bytes.len() {
            let whole = &bytes[..len];
            let castagnoli = !reference(!0, CASTAGNOLI_POLYNOMIAL, whole);
            let x25 = !reference(0xffff, X25_POLYNOMIAL, whole) as u16;
            assert_eq!(!CASTAGNOLI.update(!0, whole), castagnoli);
            for at in 0..=len {
                let (first, second) = whole.split_at(at);
                assert_eq!(crc32c_append(crc32c(first), second), castagnoli, "{at} of {len}");
                assert_eq!(crc16_append(crc16(first), second), x25, "{at} of {len}");
            }
        }
        let long = self::bytes(9001);
        assert_eq!(crc32c(&long), !reference(!0, CASTAGNOLI_POLYNOMIAL, &long));
        assert_eq!(crc32c(&long), !CASTAGNOLI.update(!0, &long), "the instruction and the tables");
    }
}
