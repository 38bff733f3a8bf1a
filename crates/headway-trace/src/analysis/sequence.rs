//! Sequence numbers of one direction as numbers that do not wrap.

use headway_wire::SeqNumber;

/// Where counting starts, so that what came before the first packet has numbers too.
const START: u64 = 1 << 32;

/// Counts the sequence numbers of one direction from its first byte of data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sequence {
    /// The furthest number so far, which further ones are taken to be near to.
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

    /// The count of `seq`, which is taken to lie less than 2^31 from the furthest number so far.
    pub(super) fn count(&self, seq: SeqNumber) -> u64 {
        let distance = seq - SeqNumber(self.reference as u32);
        self.reference.saturating_add_signed(i64::from(distance))
    }

    /// [`Sequence::count`], and from now on this number is among those seen.
    pub(super) fn take(&mut self, seq: SeqNumber) -> u64 {
        let count = self.count(seq);
        self.reference = self.reference.max(count);
        count
    }

    /// How far `count` is from the first byte of data; 0 for the SYN, and for what comes before the
    /// first packet of a connection whose SYN was not captured.
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
