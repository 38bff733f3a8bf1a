//! Random numbers that are the same on every machine.

use headway_units::{Duration, Share};

/// SplitMix64.
#[derive(Clone, Debug)]
pub struct Rng(u64);

/// A type of number that an [`Rng`] gives.
pub trait Number: Copy {
    /// The number, which fits.
    fn from_u64(number: u64) -> Self;
    /// The number, which is not negative.
    fn to_u64(self) -> u64;
}

macro_rules! numbers {
    ($($type:ty)*) => {$(
        impl Number for $type {
            fn from_u64(number: u64) -> Self {
                number as Self
            }
            fn to_u64(self) -> u64 {
                self as u64
            }
        }
    )*};
}
numbers!(u8 u16 u32 u64 usize i32);

impl Rng {
    /// Everything that it gives follows from `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A sequence of its own: drawing more from one changes nothing in the other.
    pub fn fork(&mut self) -> Self {
        Self(self.next())
    }

    /// Any number.
    #[expect(clippy::should_implement_trait, reason = "it never ends")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Less than `n`; 0 if `n` is 0.
    pub fn below<T: Number>(&mut self, n: T) -> T {
        T::from_u64(((u128::from(self.next()) * u128::from(n.to_u64())) >> 64) as u64)
    }

    /// From `low` to `high`, both included.
    pub fn between<T: Number>(&mut self, low: T, high: T) -> T {
        T::from_u64(low.to_u64() + self.below(high.to_u64() - low.to_u64() + 1))
    }

    /// True once in `n` cases.
    pub fn one_in(&mut self, n: u32) -> bool {
        self.below(n) == 0
    }

    /// True in that many of 1000 cases.
    pub fn permille(&mut self, share: u32) -> bool {
        self.below(1000) < share
    }

    /// True in half of all cases.
    pub fn coin(&mut self) -> bool {
        self.permille(500)
    }

    /// One of `choices`.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// Fills `bytes`.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let random = self.next().to_le_bytes();
            chunk.copy_from_slice(&random[..chunk.len()]);
        }
    }

    /// Flips one bit, if there is one.
    pub fn flip_bit(&mut self, bytes: &mut [u8]) {
        let bit = self.below(bytes.len() * 8);
        if let Some(byte) = bytes.get_mut(bit / 8) {
            *byte ^= 1 << (bit % 8);
        }
    }

    /// A time between two numbers of milliseconds.
    pub fn millis(&mut self, low: u64, high: u64) -> Duration {
        Duration::from_micros(self.between(low * 1000, high * 1000))
    }

    /// A share of at most `limit` thousandths.
    pub fn share(&mut self, limit: u64) -> Share {
        Share::new(self.between(0, limit) as f64 / 1000.0).expect("a part of one")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_in_their_range() {
        let mut rng = Rng::new(1);
        let mut seen = [false; 5];
        for _ in 0..1000 {
            seen[rng.below(5_usize)] = true;
            assert!((7..=9).contains(&rng.between(7_u8, 9)));
        }
        assert_eq!((seen, rng.below(0)), ([true; 5], 0));
    }
}
