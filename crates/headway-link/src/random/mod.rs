//! Chance: independent streams of random numbers, and events of a given probability.

mod gaps;

pub(crate) use gaps::Gaps;
use headway_units::Share;
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{Rng, SeedableRng},
};

/// One stream of random numbers, the same on every machine.
#[derive(Clone, Debug)]
pub(crate) struct Stream(Xoshiro256PlusPlus);

/// One stream for each kind of chance, so that none disturbs another.
#[derive(Clone, Debug)]
pub(crate) struct Streams {
    pub(crate) hit: Stream,
    pub(crate) place: Stream,
    pub(crate) loss: Stream,
    pub(crate) jitter: Stream,
    pub(crate) duplicate: Stream,
    pub(crate) reorder: Stream,
    pub(crate) queue: Stream,
}

impl Streams {
    pub(crate) fn new(seed: u64) -> Self {
        let mut source = Xoshiro256PlusPlus::seed_from_u64(seed);
        // Each jump passes over 2^128 numbers, so that the streams never overlap.
        let mut next = || {
            let stream = Stream(source.clone());
            source.jump();
            stream
        };
        Self {
            hit: next(),
            place: next(),
            loss: next(),
            jitter: next(),
            duplicate: next(),
            reorder: next(),
            queue: next(),
        }
    }
}

impl Stream {
    /// A number from 0 to `end - 1`, or 0 if `end` is 0. Uniform, with a bias below `end` / 2^64.
    #[inline]
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(end)) >> 64) as u64
    }

    /// A number of 32 bits.
    #[inline]
    pub(crate) fn number(&mut self) -> u32 {
        (self.0.next_u64() >> 32) as u32
    }

    /// A number above 0 and up to 1, a multiple of 2^-53.
    #[inline]
    pub(crate) fn above_zero(&mut self) -> f64 {
        const STEP: f64 = 1.0 / (1u64 << 53) as f64;
        ((self.0.next_u64() >> 11) + 1) as f64 * STEP
    }
}

/// An event of a given probability.
///
/// The threshold is out of 2^63, so that certainty has one too.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(probability: Share) -> Self {
        Self((probability.value() * (1u64 << 63) as f64) as u64)
    }

    /// Whether the event happens. One that never does draws no number.
    #[inline]
    pub(crate) fn happens(self, stream: &mut Stream) -> bool {
        self.0 != 0 && (stream.0.next_u64() >> 1) < self.0
    }

    #[inline]
    pub(crate) fn is_never(self) -> bool {
        self.0 == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_and_always_are_exact() {
        let mut stream = Streams::new(1).hit;
        let (never, always) = (Chance::new(Share::ZERO), Chance::new(Share::ONE));
        assert!(never.is_never());
        assert!((0..10_000).all(|_| !never.happens(&mut stream) && always.happens(&mut stream)));
    }

    #[test]
    fn streams_differ() {
        let mut streams = Streams::new(1);
        let first = [
            &mut streams.hit,
            &mut streams.place,
            &mut streams.loss,
            &mut streams.jitter,
            &mut streams.duplicate,
            &mut streams.reorder,
            &mut streams.queue,
        ]
        .map(|stream| stream.below(u64::MAX));
        for (i, number) in first.iter().enumerate() {
            assert!(!first[..i].contains(number));
        }
    }

    #[test]
    fn below_reaches_both_ends() {
        let mut stream = Streams::new(1).hit;
        let mut seen = [0u32; 5];
        for _ in 0..10_000 {
            seen[stream.below(5) as usize] += 1;
        }
        assert!(seen.iter().all(|&n| (1_800..2_200).contains(&n)), "{seen:?}");
        assert_eq!(stream.below(0), 0);
    }
}
