//! Frames on a serial line that damages bytes, loses some and adds some.
//!
//! ```text
//! 0 0 0 0 | value, up to 254 bytes | value, up to 254 bytes | ... | 0 0 0 0
//! ```
//!
//! Four bytes of zero are before and after each frame, and two in a row are enough: no damaged byte makes or removes a mark.
//! What is between them has no zeros. It is in blocks, each behind a value that the block does not contain and that stands
//! for zero in it. So each byte has its place whatever the others are, and a damaged one damages no other, except a value,
//! which damages the block's zeros. (With escapes, as in KISS, a damaged byte may move all that follow.)
//!
//! The bytes in the blocks are the frame, with its length before and behind it (2 bytes each, big-endian, changed by a constant). Where bytes are missing
//! or were added the frame gets its length back, so that what is before that place, or behind it, arrives as it was sent.

use super::framing::{Framing, SHORTEST};

/// Bytes of zero before and after a frame.
const MARK: [u8; 4] = [0; 4];
/// Zeros in a row that are a mark.
const ENOUGH: usize = 2;
/// The bytes of a block.
const BLOCK: usize = 254;
/// The bytes of a length.
const LENGTH: usize = 2;
/// What the lengths before and behind a frame are changed by: then they have no zeros, as a rule, and no byte in common, which
/// a damaged value would damage.
const CHANGES: [u16; 2] = [0xa5a5, 0x5a5a];
/// A length is believed if it differs by at most so much from what arrived.
const MOST_MISSING: usize = 16;

/// Finds and makes frames between marks.
pub(super) struct Marks {
    longest: usize,
    /// What was received since the last mark.
    bytes: Vec<u8>,
    /// Zeros in a row that were received last.
    zeros: usize,
    /// More came than the longest frame has.
    is_too_long: bool,
    /// They were read as a frame.
    has_frame: bool,
    frame: Vec<u8>,
}

impl Marks {
    /// For frames of at most `longest` bytes.
    pub(super) fn new(longest: usize) -> Self {
        Self { longest, bytes: Vec::new(), zeros: 0, is_too_long: false, has_frame: false, frame: Vec::new() }
    }

    /// What is between two marks, at most.
    fn most(&self) -> usize {
        // The other end may have longer frames.
        let longest = self.longest.max(2048) + 2 * LENGTH;
        longest + longest.div_ceil(BLOCK) + MOST_MISSING
    }

    fn take(&mut self, byte: u8) {
        if self.bytes.len() < self.most() {
            self.bytes.push(byte);
        } else {
            self.is_too_long = true;
        }
    }

    /// The frame of what is between two marks.
    fn decode(&mut self) -> Option<&[u8]> {
        self.frame.clear();
        for block in self.bytes.chunks(1 + BLOCK) {
            match block {
                // No block is empty: it is the last byte, and one was added before it.
                [last] => self.frame.push(*last),
                [value, bytes @ ..] => {
                    self.frame.extend(bytes.iter().map(|byte| if byte == value { 0 } else { *byte }));
                }
                [] => {}
            }
        }
        let end = self.frame.len().checked_sub(LENGTH)?;
        let arrived = end.checked_sub(LENGTH)?;
        let [first, last] = [(0, CHANGES[0]), (end, CHANGES[1])].map(|(at, change)| {
            let bytes = self.frame[at..].first_chunk().copied().unwrap_or_default();
            usize::from(u16::from_be_bytes(bytes) ^ change)
        });
        let [missing_by_first, missing_by_last] = [first, last].map(|len| len.abs_diff(arrived));
        let start = if missing_by_first.min(missing_by_last) > MOST_MISSING {
            self.frame.truncate(end);
            LENGTH
        } else if missing_by_first <= missing_by_last {
            self.frame.resize(LENGTH + first, 0);
            LENGTH
        } else {
            // The first length is wrong, so bytes are missing or were added near it.
            self.frame.truncate(end);
            let missing = last.saturating_sub(end);
            self.frame.splice(0..0, std::iter::repeat_n(0, missing));
            self.frame.len() - last
        };
        self.frame.get(start..).filter(|frame| frame.len() >= SHORTEST)
    }
}

impl Framing for Marks {
    fn push(&mut self, byte: u8) -> Option<&[u8]> {
        if std::mem::take(&mut self.has_frame) {
            self.bytes.clear();
        }
        if byte > 0 {
            // One zero is a damaged byte, or at the beginning of a frame the rest of a damaged mark.
            if self.zeros == 1 && self.bytes.len() < MARK.len() {
                self.bytes.clear();
            } else if self.zeros == 1 {
                self.take(0);
            }
            self.zeros = 0;
            self.take(byte);
            return None;
        }
        self.zeros += 1;
        if self.zeros != ENOUGH {
            return None;
        }
        let is_too_long = std::mem::take(&mut self.is_too_long);
        self.has_frame = true;
        if is_too_long { None } else { self.decode() }
    }

    fn encode(&mut self, frame: &[u8], out: &mut Vec<u8>) {
        let len = u16::try_from(frame.len()).unwrap_or(u16::MAX);
        let [first, last] = CHANGES.map(|change| (len ^ change).to_be_bytes());
        let whole = [&first, frame, &last].concat();
        out.extend_from_slice(&MARK);
        for block in whole.chunks(BLOCK) {
            // Of 255 values one at least is not among 254 bytes.
            let value = (1..=u8::MAX).find(|value| !block.contains(value)).unwrap_or(u8::MAX);
            out.push(value);
            out.extend(block.iter().map(|byte| if *byte == 0 { value } else { *byte }));
        }
        out.extend_from_slice(&MARK);
    }

    fn reset(&mut self) {
        self.bytes.clear();
        (self.zeros, self.is_too_long, self.has_frame) = (0, false, false);
    }
}

#[cfg(test)]
mod tests {
    use headway_test_fixture::rng::Rng;

    use super::*;

    /// The frames in a received stream.
    fn received(bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut marks = Marks::new(1500);
        bytes.iter().filter_map(|byte| marks.push(*byte).map(<[u8]>::to_vec)).collect()
    }

    fn sent(frames: &[Vec<u8>]) -> Vec<u8> {
        let (mut marks, mut bytes) = (Marks::new(1500), Vec::new());
        frames.iter().for_each(|frame| marks.encode(frame, &mut bytes));
        bytes
    }

    fn differing(a: &[u8], b: &[u8]) -> usize {
        assert_eq!(a.len(), b.len());
        a.iter().zip(b).filter(|(a, b)| a != b).count()
    }

    /// Three frames of any bytes.
    fn frames(rng: &mut Rng) -> Vec<Vec<u8>> {
        [700, 254 * 3 - 4, 20].map(|len| (0..len).map(|_| rng.next() as u8 & 0x7f).collect()).to_vec()
    }

    #[test]
    fn a_wrong_byte_damages_one_byte_or_the_zeros_of_a_block() {
        let frames = frames(&mut Rng::new(11));
        let bytes = sent(&frames);
        assert_eq!(received(&bytes), frames);
        for at in 0..bytes.len() {
            for wrong in [0, 1, 0x7f, 0xff] {
                let mut bytes = bytes.clone();
                bytes[at] = wrong;
                let received = received(&bytes);
                assert_eq!(received.len(), 3, "byte {at} is {wrong}");
                let wrong: Vec<usize> = received.iter().zip(&frames).map(|(a, b)| differing(a, b)).collect();
                assert!(wrong.iter().filter(|wrong| **wrong > 0).count() <= 1, "byte {at}: {wrong:?}");
                assert!(wrong.iter().sum::<usize>() < 40, "byte {at}: {wrong:?}");
            }
        }
    }

    #[test]
    fn a_missing_or_added_byte_damages_one_side_of_one_frame() {
        let frames = frames(&mut Rng::new(12));
        let bytes = sent(&frames);
        for at in 0..bytes.len() {
            let (mut missing, mut added) = (bytes.clone(), bytes.clone());
            missing.remove(at);
            added.insert(at, 0x55);
            for bytes in [missing, added] {
                let received = received(&bytes);
                let lens: Vec<usize> = received.iter().map(Vec::len).collect();
                assert_eq!(lens, [700, 758, 20], "at {at} of {}", bytes.len());
                let wrong = received.iter().zip(&frames).filter(|(a, b)| differing(a, b) > 0).count();
                assert!(wrong <= 1, "at {at}");
                // What was before it.
                let first = at.saturating_sub(16).min(600);
                assert!(at > 700 || received[0].starts_with(&frames[0][..first]), "at {at}");
            }
        }
    }
}
