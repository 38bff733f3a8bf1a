//! The sums against the definition.

use headway_wire::checksum::{Sum, copy_and_sum, sum, update};
use proptest::{collection::vec, prelude::*};

/// RFC 1071, 4.1, word by word in network byte order.
fn definition(bytes: &[u8]) -> u16 {
    let mut sum = 0_u64;
    for pair in bytes.chunks(2) {
        sum += u64::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]));
    }
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// "Consider the sum of the sequence 00 01 f2 03 f4 f5 f6 f7 [...] ddf2" (RFC 1071, 3).
#[test]
fn example_of_the_rfc() {
    assert_eq!(sum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]).fold(), 0xddf2);
}

/// "HC' = ~(~HC + ~m + m') = ~(0x22D0 + ~0x5555 + 0x3285) = 0x0000" (RFC 1624, 4).
#[test]
fn example_of_the_update() {
    assert_eq!(update(0xdd2f, 0x5555, 0x3285), 0x0000);
}

#[test]
fn every_length_of_extreme_bytes() {
    for byte in [0x00, 0xff, 0x80, 0x01] {
        let bytes = vec![byte; 700];
        for len in 0..=bytes.len() {
            assert_eq!(sum(&bytes[..len]).fold(), definition(&bytes[..len]), "{len} bytes of {byte:#x}");
        }
    }
}

/// Of this sum even the second addition of both halves has a carry.
#[test]
fn a_carry_of_a_carry_counts() {
    let bytes = 0xffff_ffff_0001_0000_u64.to_ne_bytes();
    assert_eq!(sum(&bytes).fold(), definition(&bytes));
}

/// The accumulator is full: the carry goes around.
#[test]
fn a_sum_never_overflows() {
    let mut total = Sum::default();
    total.add_u16(1);
    for _ in 0..200 {
        let double = total;
        total.add(double);
    }
    // 2^200 modulo 65535, and 2^16 = 1.
    assert_eq!(total.fold(), 1 << (200 % 16));
}

#[test]
#[should_panic(expected = "length")]
fn copying_between_different_lengths_panics() {
    copy_and_sum(&mut [0; 3], &[1; 4]);
}

proptest! {
    #[test]
    fn sums_follow_the_definition(bytes in vec(any::<u8>(), 0..2000)) {
        prop_assert_eq!(sum(&bytes).fold(), definition(&bytes));
        prop_assert_eq!(sum(&bytes).complement(), !definition(&bytes));
    }

    /// Words that carry in every way there is, into full and into empty accumulators.
    #[test]
    fn every_carry_counts(words in vec(prop_oneof![Just(0), Just(1_u64), Just(u64::MAX), Just(u64::MAX - 1)], 0..64)) {
        let bytes: Vec<_> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        prop_assert_eq!(sum(&bytes).fold(), definition(&bytes));
    }

    #[test]
    fn copying_copies_and_sums(bytes in vec(any::<u8>(), 0..300)) {
        let mut copy = vec![0; bytes.len()];
        prop_assert_eq!(copy_and_sum(&mut copy, &bytes).fold(), definition(&bytes));
        prop_assert_eq!(copy, bytes);
    }

    #[test]
    fn pieces_sum_like_the_whole(pieces in vec(vec(any::<u8>(), 0..40), 0..6)) {
        let mut total = Sum::default();
        let mut at = 0;
        for piece in &pieces {
            total.add_bytes_at(at % 2 == 1, piece);
            at += piece.len();
        }
        prop_assert_eq!(total.fold(), definition(&pieces.concat()));
    }

    #[test]
    fn words_sum_like_bytes(words in vec(any::<u32>(), 1..10), last in any::<u16>()) {
        let mut total = Sum::default();
        let mut bytes = Vec::new();
        for word in words {
            total.add_u32(word);
            bytes.extend(word.to_be_bytes());
        }
        total.add_u16(last);
        bytes.extend(last.to_be_bytes());
        prop_assert_eq!(total.fold(), definition(&bytes));
        let mut same = Sum::default();
        same.add_bytes(&bytes);
        prop_assert_eq!(same.fold(), total.fold());
    }

    #[test]
    fn an_update_is_as_good_as_a_new_sum(
        mut words in vec(any::<u16>(), 2..20), place in any::<prop::sample::Index>(), new in any::<u16>(),
    ) {
        // A header is never all zeros, which is the one case where the two zeros of one's
        // complement could be distinguished.
        words.push(0x4500);
        let bytes = |words: &[u16]| words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<_>>();
        let place = place.index(words.len() - 1);
        let check = sum(&bytes(&words)).complement();
        let updated = update(check, words[place], new);
        words[place] = new;
        prop_assert_eq!(updated, sum(&bytes(&words)).complement());
    }
}
