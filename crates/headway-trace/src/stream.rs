//! Sequence numbers as byte offsets of the stream.

use headway_wire::SeqNumber;

/// Counts the bytes of one direction of a connection from its first byte of data, over any number
/// of wraps of the sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stream {
    /// The byte after the highest one sent, as a sequence number and as an offset.
    end: (SeqNumber, u64),
}

impl Stream {
    /// A stream whose first byte has this sequence number.
    pub(crate) fn new(first: SeqNumber) -> Self {
        Self { end: (first, 0) }
    }

    /// The byte after the highest one sent.
    pub(crate) fn end(&self) -> u64 {
        self.end.1
    }

    /// The offset of the byte with this sequence number, if it is less than 2^31 bytes from the end of
    /// the stream (RFC 7323, 2.3, keeps all that is outstanding within 2^30) and not before its start.
    pub(crate) fn byte(&self, seq: SeqNumber) -> Option<u64> {
        let (end_seq, end) = self.end;
        end.checked_add_signed(i64::from(seq - end_seq))
    }

    /// Records that `len` bytes from `seq` on were sent. Returns the offset of the first if any is new.
    pub(crate) fn extend(&mut self, seq: SeqNumber, len: u32) -> Option<u64> {
        let first = self.byte(seq)?;
        let end = first + u64::from(len);
        if end <= self.end() {
            return None;
        }
        self.end = (seq + len, end);
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn retransmissions_are_not_new() {
        let mut stream = Stream::new(SeqNumber(100));
        assert_eq!(stream.extend(SeqNumber(100), 50), Some(0));
        assert_eq!(stream.extend(SeqNumber(100), 50), None);
        assert_eq!(stream.extend(SeqNumber(120), 40), Some(20));
        assert_eq!(stream.end(), 60);
        assert_eq!(stream.byte(SeqNumber(99)), None);
        assert_eq!(stream.byte(SeqNumber(100)), Some(0));
        assert_eq!(stream.byte(SeqNumber(170)), Some(70));
    }

    proptest! {
        #[test]
        fn counts_over_wraps(
            first in any::<u32>(),
            sizes in proptest::collection::vec(1_u32..1 << 30, 1..40),
            back in 0_u32..1 << 30,
        ) {
            let mut stream = Stream::new(SeqNumber(first));
            let mut seq = SeqNumber(first);
            let mut count = 0_u64;
            for size in sizes {
                prop_assert_eq!(stream.extend(seq, size), Some(count));
                seq += size;
                count += u64::from(size);
            }
            prop_assert_eq!(stream.end(), count);
            prop_assert_eq!(stream.byte(seq - back), count.checked_sub(u64::from(back)));
        }
    }
}
