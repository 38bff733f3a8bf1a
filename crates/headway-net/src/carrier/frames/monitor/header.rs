//! What is before a frame on the air: the header of an 802.11 data frame (IEEE 802.11-2020, 9.3.2.1), and the frame's number.
//!
//! ```text
//! data frame | duration | broadcast | two addresses of the direction | sequence | number, three times | frame
//!          2 |        2 |         6 |                         6 and 6 |        2 |                   6 |
//! ```
//!
//! The driver sets duration and sequence. Of all this only the two addresses say whose frame it is, so that no other bit can be
//! wrong; all copies of a frame have its number, as several cards receive them.

use std::hash::Hasher as _;

use siphasher::sip128::{Hasher128 as _, SipHasher24};

use super::radiotap::Captured;

const HEADER: usize = 24;
/// Where the two addresses are.
const ADDRESSES: std::ops::Range<usize> = 10..22;
const NUMBER: usize = 6;
/// What is before a frame.
pub(super) const LEN: usize = HEADER + NUMBER;
/// The check sequence behind it.
pub(super) const FCS: usize = 4;
/// Of an address: to one station, locally administered (IEEE 802, 8.4).
const KIND: u8 = 0b11;
const LOCAL: u8 = 0b10;
/// Addresses with at most as many wrong bits are taken for what they should be. The two directions of a link differ in all 92
/// bits that are free, and addresses that are not of the link resemble one of them with a probability of 8e-11. Of headers in which
/// 8 % of the bits are wrong, 99.9 % are recognised; then no frame has anything that is of use.
const MOST_WRONG_BITS: u32 = 16;

/// The two addresses of frames in one direction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Direction([u8; 12]);

impl Direction {
    /// From the end with one name to that with the other. Names are different.
    pub(super) fn new(from: &[u8], to: &[u8]) -> Self {
        let is_reverse = from > to;
        let ends = if is_reverse { [to, from] } else { [from, to] };
        let mut hasher = SipHasher24::new();
        for name in ends {
            hasher.write(&(name.len() as u32).to_le_bytes());
            hasher.write(name);
        }
        let hash = hasher.finish128().as_bytes();
        let mut addresses = [0; 12];
        for (at, (byte, hashed)) in addresses.iter_mut().zip(hash).enumerate() {
            *byte = if is_reverse { !hashed } else { hashed };
            if at % 6 == 0 {
                *byte = *byte & !KIND | LOCAL;
            }
        }
        Self(addresses)
    }

    /// Appends what is before frame `number` to `out`.
    pub(super) fn write(&self, number: u16, out: &mut Vec<u8>) {
        out.extend([0x08, 0, 0, 0]);
        out.extend([0xff; 6]);
        out.extend(self.0);
        out.extend([0, 0]);
        out.extend([number.to_be_bytes(); 3].as_flattened());
    }

    fn resembles(&self, addresses: &[u8]) -> bool {
        let wrong = self.0.iter().zip(addresses).map(|(ours, theirs)| (ours ^ theirs).count_ones());
        wrong.sum::<u32>() <= MOST_WRONG_BITS
    }
}

/// A frame as one card received it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reception<'a> {
    pub(super) number: u16,
    /// By its check sequence.
    pub(super) is_intact: bool,
    /// All of it, with the 802.11 header and the check sequence if the card hands that up.
    pub(super) bytes: &'a [u8],
    pub(super) has_fcs: bool,
}

impl<'a> Reception<'a> {
    /// What the card captured, if it may be a frame of `direction`.
    pub(super) fn new(captured: Captured<'a>, direction: &Direction) -> Option<Self> {
        let Captured { frame: bytes, has_fcs, is_bad } = captured;
        let numbers = bytes.get(HEADER..LEN)?.as_chunks().0;
        let [a, b, c] = *numbers else { return None };
        let [a, b, c] = [a, b, c].map(u16::from_be_bytes);
        if !direction.resembles(&bytes[ADDRESSES]) || bytes.len() < LEN + if has_fcs { FCS } else { 0 } {
            return None;
        }
        Some(Self {
            // Each bit as most of the three have it.
            number: a & b | a & c | b & c,
            is_intact: if has_fcs { wrong_bits_of_fcs(bytes) == 0 } else { !is_bad },
            bytes,
            has_fcs,
        })
    }

    /// What the other end sent.
    pub(super) fn frame(&self) -> &'a [u8] {
        frame_of(self.bytes, self.has_fcs)
    }
}

/// What was sent, of `bytes` that are a [`Reception`]'s.
pub(super) fn frame_of(bytes: &[u8], has_fcs: bool) -> &[u8] {
    &bytes[LEN..bytes.len() - if has_fcs { FCS } else { 0 }]
}

/// How the check sequence at the end of `bytes` differs from what it should be (9.2.4.8: CRC-32, in the order of Ethernet's).
pub(super) fn wrong_bits_of_fcs(bytes: &[u8]) -> u32 {
    let Some((rest, fcs)) = bytes.split_last_chunk() else { return 0 };
    crc32fast::hash(rest) ^ u32::from_le_bytes(*fcs)
}

#[cfg(test)]
mod tests {
    use headway_test_fixture::rng::Rng;

    use super::*;

    fn bytes(direction: &Direction, number: u16) -> Vec<u8> {
        let mut bytes = Vec::new();
        direction.write(number, &mut bytes);
        bytes.extend([5; 100]);
        bytes
    }

    fn read<'a>(bytes: &'a [u8], direction: &Direction) -> Option<Reception<'a>> {
        Reception::new(Captured { frame: bytes, has_fcs: false, is_bad: false }, direction)
    }

    #[test]
    fn a_direction_is_seen_with_wrong_bits_and_others_are_not() {
        let (near, far) = (&[10, 77, 2, 1][..], &[10, 77, 2, 2][..]);
        let directions = [Direction::new(near, far), Direction::new(far, near)];
        let mut rng = Rng::new(80_211);
        for (own, other) in [(0, 1), (1, 0)] {
            let sound = bytes(&directions[own], 7);
            assert_eq!(sound[4..10], [0xff; 6]);
            assert!([10, 16].iter().all(|&at| sound[at] & KIND == LOCAL), "{sound:?}");
            for _ in 0..200 {
                let mut hit = sound.clone();
                (0..MOST_WRONG_BITS).for_each(|_| rng.flip_bit(&mut hit[ADDRESSES]));
                // The rest of the header, whatever becomes of it.
                rng.fill(&mut hit[..ADDRESSES.start]);
                assert!(read(&hit, &directions[own]).is_some() && read(&hit, &directions[other]).is_none());
            }
        }
        let mut hit = bytes(&directions[0], 7);
        hit[ADDRESSES.start] ^= 0xff;
        hit[ADDRESSES.start + 1] ^= 0xff;
        assert!(read(&hit, &directions[0]).is_some(), "16 wrong bits");
        hit[ADDRESSES.start + 2] ^= 1;
        assert!(read(&hit, &directions[0]).is_none(), "17");
        // The second two names have the same bytes one after the other.
        for foreign in
            [Direction::new(near, &[10, 77, 2, 3]), Direction::new(&[10, 77, 2, 1, 10], &[77, 2, 2])]
        {
            assert!(directions.iter().all(|ours| read(&bytes(&foreign, 7), ours).is_none()));
        }
    }

    #[test]
    fn a_number_is_that_of_most_and_what_is_too_short_is_no_frame() {
        let direction = Direction::new(b"a", b"b");
        let mut sound = bytes(&direction, 0xa55a);
        sound[HEADER] ^= 0xff;
        sound[HEADER + 3] ^= 0xff;
        assert_eq!(
            read(&sound, &direction).map(|it| (it.number, it.frame().to_vec())),
            Some((0xa55a, vec![5; 100]))
        );
        for len in 0..LEN + FCS {
            let captured = Captured { frame: &sound[..len], has_fcs: true, is_bad: false };
            assert_eq!(Reception::new(captured, &direction), None, "{len} bytes");
        }
    }

    #[test]
    fn a_check_sequence_says_more_than_the_flag() {
        let direction = Direction::new(b"a", b"b");
        let mut sound = bytes(&direction, 9);
        let fcs = crc32fast::hash(&sound);
        sound.extend(fcs.to_le_bytes());
        let is_intact = |frame: &[u8], is_bad, has_fcs| {
            Reception::new(Captured { frame, has_fcs, is_bad }, &direction).map(|it| it.is_intact)
        };
        assert_eq!(is_intact(&sound, false, true), Some(true));
        assert_eq!([false, true].map(|is_bad| is_intact(&sound, is_bad, false)), [Some(true), Some(false)]);
        sound[0] ^= 1;
        assert_eq!(is_intact(&sound, false, true), Some(false));
    }
}
