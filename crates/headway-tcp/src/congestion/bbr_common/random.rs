//! Pseudo-random numbers for the times of probing: they set connections apart, and a seed gives the same ones again.

/// A generator (SplitMix64).
#[derive(Debug)]
pub(in super::super) struct Random(pub(in super::super) u64);

impl Random {
    /// A number below `bound`.
    pub(in super::super) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_set_the_times_of_probing_apart() {
        let waits = |seed| {
            let mut random = Random(seed);
            [0; 4].map(|_| random.below(1_000_001))
        };
        assert_eq!(waits(1), waits(1));
        assert_ne!(waits(1), waits(2));
    }
}
