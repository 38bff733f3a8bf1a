//! The bytes that streams carry: a function of their place, so that each one that is missing, comes twice
//! or comes in the wrong place shows.

/// The content of one stream; another salt gives another content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern(pub u32);

impl Pattern {
    /// The byte at a place of the stream.
    pub fn byte(self, at: usize) -> u8 {
        ((at as u32 ^ self.0).wrapping_mul(0x9e37_79b1) >> 23) as u8
    }

    /// Fills `buffer` with what stands from `at` on.
    pub fn fill(self, at: usize, buffer: &mut [u8]) {
        for (i, byte) in buffer.iter_mut().enumerate() {
            *byte = self.byte(at + i);
        }
    }

    /// `len` bytes from `at` on.
    pub fn bytes(self, at: usize, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.fill(at, &mut bytes);
        bytes
    }

    /// The first place of the stream where `bytes`, which stand from `at` on, are others.
    pub fn difference(self, at: usize, bytes: &[u8]) -> Option<usize> {
        // A block at a time: four times as fast.
        const BLOCK: usize = 512;
        let mut expected = [0; BLOCK];
        let mut blocks = (at..).step_by(BLOCK).zip(bytes.chunks(BLOCK));
        blocks.find_map(|(at, block)| {
            let expected = &mut expected[..block.len()];
            self.fill(at, expected);
            if block == expected {
                return None;
            }
            block.iter().zip(expected).position(|(byte, expected)| byte != expected).map(|place| at + place)
        })
    }

    /// Compares every byte.
    #[track_caller]
    pub fn check(self, at: usize, bytes: &[u8]) {
        if let Some(at) = self.difference(at, bytes) {
            panic!("byte {at} of the stream is not what was sent");
        }
    }

    /// Compares every byte of a whole stream.
    #[track_caller]
    pub fn check_all(self, len: usize, bytes: &[u8]) {
        assert_eq!(bytes.len(), len, "the length of the stream");
        self.check(0, bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_change_shows() {
        let pattern = Pattern(7);
        let sound = pattern.bytes(0, 5000);
        assert_eq!(pattern.difference(0, &sound), None);
        assert_eq!(pattern.difference(1000, &sound[1000..]), None);
        let mut changed = sound.clone();
        changed[4321] ^= 1;
        assert_eq!(pattern.difference(0, &changed), Some(4321));
        for shift in 1..4000 {
            assert!(pattern.difference(0, &sound[shift..]).is_some_and(|at| at < 8), "{shift}");
        }
        assert_ne!(Pattern(8).difference(0, &sound), None);
    }
}
