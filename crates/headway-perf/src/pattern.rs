//! The bytes of data connections, which both ends know.

use std::io;
use std::sync::LazyLock;

use headway_sim::{Content, ContentReader};

/// Bytes after which they repeat: a prime number, so that data that is missing or in a wrong place is noticed, unless by a multiple
/// of this.
const PERIOD: u64 = 262_139;

static CONTENT: LazyLock<Content> = LazyLock::new(|| Content::generated(PERIOD));

/// A place in them.
pub(super) struct Pattern(ContentReader);

impl Pattern {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self(CONTENT.open().map_err(io::Error::other)?))
    }

    /// The bytes that come next, at least one.
    pub(super) fn next(&mut self) -> io::Result<&[u8]> {
        if self.0.is_at_end() {
            *self = Self::new()?;
        }
        Ok(self.0.chunk())
    }

    pub(super) fn advance(&mut self, n: usize) {
        self.0.advance(n);
    }

    /// Passes as many bytes as these; the number of those that are not the same.
    pub(super) fn differing(&mut self, mut arrived: &[u8]) -> io::Result<u64> {
        let mut differing = 0;
        while !arrived.is_empty() {
            let expected = self.next()?;
            let len = expected.len().min(arrived.len());
            let (now, later) = arrived.split_at(len);
            let expected = &expected[..len];
            if now != expected {
                differing += now.iter().zip(expected).filter(|(one, other)| one != other).count() as u64;
            }
            self.advance(len);
            arrived = later;
        }
        Ok(differing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes from the start, taken in pieces.
    fn bytes(len: usize) -> Vec<u8> {
        let (mut all, mut pattern) = (Vec::new(), Pattern::new().expect("bytes in memory"));
        while all.len() < len {
            let next = pattern.next().expect("bytes in memory");
            let piece = next.len().min(1000).min(len - all.len());
            all.extend_from_slice(&next[..piece]);
            pattern.advance(piece);
        }
        all
    }

    #[test]
    fn bytes_that_differ_are_counted_wherever_they_are() {
        let mut arrived = bytes(600_000);
        let compare = |arrived: &[u8], piece: usize| -> u64 {
            let mut pattern = Pattern::new().expect("bytes in memory");
            arrived.chunks(piece).map(|piece| pattern.differing(piece).expect("bytes in memory")).sum()
        };
        assert_eq!(compare(&arrived, 65_536), 0);
        for place in [0, 262_138, 262_139, 599_999] {
            arrived[place] ^= 1;
        }
        assert_eq!([1, 4096, 600_000].map(|piece| compare(&arrived, piece)), [4; 3]);
        // A byte that is missing moves all others.
        arrived.remove(300_000);
        assert!(compare(&arrived, 4096) > 200_000);
    }
}
