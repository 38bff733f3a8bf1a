//! Sequence numbers, which wrap.

use core::ops::{Add, AddAssign, Sub};

/// A TCP sequence number.
///
/// "It is essential to remember that the actual sequence number space is finite, though large.
/// This space ranges from 0 to 2**32 - 1. Since the space is finite, all arithmetic dealing with
/// sequence numbers must be performed modulo 2**32." (RFC 9293, 3.4)
///
/// So there is no total order (and no `Ord`): the comparisons here go by the signed distance, and
/// mean something for two numbers less than 2^31 apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SeqNumber(pub u32);

impl SeqNumber {
    /// Whether `self` comes before `other`.
    #[inline]
    pub const fn lt(self, other: Self) -> bool {
        self.distance(other) < 0
    }

    /// Whether `self` comes before `other` or is the same.
    #[inline]
    pub const fn le(self, other: Self) -> bool {
        self.distance(other) <= 0
    }

    /// Whether `self` comes after `other`.
    #[inline]
    pub const fn gt(self, other: Self) -> bool {
        self.distance(other) > 0
    }

    /// Whether `self` comes after `other` or is the same.
    #[inline]
    pub const fn ge(self, other: Self) -> bool {
        self.distance(other) >= 0
    }

    /// The later of the two.
    #[inline]
    #[must_use]
    pub const fn max(self, other: Self) -> Self {
        if self.lt(other) { other } else { self }
    }

    /// The earlier of the two.
    #[inline]
    #[must_use]
    pub const fn min(self, other: Self) -> Self {
        if other.lt(self) { other } else { self }
    }

    /// Whether `self` is one of the numbers from `start` up to and without `end`. Right for ranges
    /// of any length, those of 2^31 and more included.
    #[inline]
    pub const fn in_range(self, start: Self, end: Self) -> bool {
        self.0.wrapping_sub(start.0) < end.0.wrapping_sub(start.0)
    }

    /// How far `self` is past `other`, negative if it comes before.
    #[inline]
    const fn distance(self, other: Self) -> i32 {
        self.0.wrapping_sub(other.0) as i32
    }
}

impl Add<u32> for SeqNumber {
    type Output = Self;
    #[inline]
    fn add(self, bytes: u32) -> Self {
        Self(self.0.wrapping_add(bytes))
    }
}

impl AddAssign<u32> for SeqNumber {
    #[inline]
    fn add_assign(&mut self, bytes: u32) {
        *self = *self + bytes;
    }
}

impl Sub<u32> for SeqNumber {
    type Output = Self;
    #[inline]
    fn sub(self, bytes: u32) -> Self {
        Self(self.0.wrapping_sub(bytes))
    }
}

/// How far the left one is past the right one, negative if it comes before.
impl Sub for SeqNumber {
    type Output = i32;
    #[inline]
    fn sub(self, other: Self) -> i32 {
        self.distance(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAST: SeqNumber = SeqNumber(u32::MAX);
    const ZERO: SeqNumber = SeqNumber(0);

    #[test]
    fn compares_across_the_wrap() {
        assert!(LAST.lt(ZERO) && LAST.le(ZERO) && !LAST.gt(ZERO) && !LAST.ge(ZERO));
        assert!(ZERO.gt(LAST) && ZERO.ge(LAST) && !ZERO.lt(LAST) && !ZERO.le(LAST));
        assert!(ZERO.le(ZERO) && ZERO.ge(ZERO) && !ZERO.lt(ZERO) && !ZERO.gt(ZERO));
        assert_eq!((LAST.max(ZERO), LAST.min(ZERO)), (ZERO, LAST));
        assert_eq!((ZERO.max(LAST), ZERO.min(LAST)), (ZERO, LAST));
    }

    #[test]
    fn counts_across_the_wrap() {
        assert_eq!(LAST + 2, SeqNumber(1));
        assert_eq!(SeqNumber(1) - 2, LAST);
        assert_eq!(SeqNumber(1) - LAST, 2);
        assert_eq!(LAST - SeqNumber(1), -2);
        let mut seq = LAST;
        seq += 1;
        assert_eq!(seq, ZERO);
    }

    #[test]
    fn ranges_are_half_open() {
        assert!(LAST.in_range(LAST, SeqNumber(1)) && ZERO.in_range(LAST, SeqNumber(1)));
        assert!(!SeqNumber(1).in_range(LAST, SeqNumber(1)));
        assert!(!ZERO.in_range(ZERO, ZERO));
        assert!(SeqNumber(0xf000_0000).in_range(ZERO, LAST));
    }
}
