//! Sequence numbers of one direction, extended to 64 bits.

use headway_wire::SeqNumber;

/// The first number, so that bytes before the first packet have numbers too.
const START: u64 = 1 << 32;

/// Counts the sequence numbers of one direction from its first byte of data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sequence {
    /// The highest number so far; sequence numbers are interpreted relative to it.
    reference: u64,
    /// The number of the first byte of data.
    base: u64,
}

impl Sequence {
    /// A direction whose first byte of data has the number `first`.
    pub(super) fn new(first: SeqNumber) -> Self {
        let base = START + u64::from(first.0);
        Self { reference: base, base }
    }

    /// The 64-bit number of `seq`, less than 2^31 from the highest number so far.
    pub(super) fn count(&self, seq: SeqNumber) -> u64 {
        let distance = seq - SeqNumber(self.reference as u32);
        self.reference.saturating_add_signed(i64::from(distance))
    }

    /// [`Sequence::count`], and updates the highest number so far.
    pub(super) fn take(&mut self, seq: SeqNumber) -> u64 {
        let count = self.count(seq);
        self.reference = self.reference.max(count);
        count
    }

    /// The offset of `count` from the first byte of data; 0 for the SYN, and for bytes before the first
    /// packet of a connection whose SYN was not captured.
    pub(super) fn offset(&self, count: u64) -> u64 {
        count.saturating_sub(self.base)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_over_wraps_and_back() {
        let mut sequence = Sequence::new(SeqNumber(u32::MAX - 1));
        assert_eq!(sequence.offset(sequence.count(SeqNumber(u32::MAX - 2))), 0);
        let mut seq = SeqNumber(u32::MAX - 1);
        for n in 1..20 {
            seq += 1 << 30;
            let count = sequence.take(seq);
            assert_eq!(sequence.offset(count), n << 30);
            assert_eq!(sequence.count(seq - 5), count - 5);
        }
        assert_eq!(Sequence::new(SeqNumber(0)).count(SeqNumber(1 << 31)), START - (1 << 31));
    }
}
