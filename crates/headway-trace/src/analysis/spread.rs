//! Minimum, maximum, mean and standard deviation of times.

use headway_units::Duration;

/// Statistics of a series of times. Sums are whole nanoseconds: the result depends neither on the order
/// of the times nor on the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spread {
    count: u64,
    sum: u128,
    /// The sum of squares: 2^64 times of three hours each fit.
    squares: u128,
    least: u64,
    most: u64,
}

impl Spread {
    pub(super) fn add(&mut self, time: Duration) {
        let nanos = time.as_nanos();
        self.least = if self.count == 0 { nanos } else { self.least.min(nanos) };
        self.most = self.most.max(nanos);
        self.count += 1;
        self.sum += u128::from(nanos);
        self.squares = self.squares.saturating_add(u128::from(nanos).pow(2));
    }

    /// The number of times.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The minimum.
    pub fn min(&self) -> Option<Duration> {
        (self.count > 0).then(|| Duration::from_nanos(self.least))
    }

    /// The maximum.
    pub fn max(&self) -> Option<Duration> {
        (self.count > 0).then(|| Duration::from_nanos(self.most))
    }

    /// The mean, in seconds.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64 / 1e9)
    }

    /// The sample standard deviation, in seconds, of at least two times.
    pub fn deviation(&self) -> Option<f64> {
        if self.count < 2 {
            return None;
        }
        let count = u128::from(self.count);
        // Exact integers, since it is the difference of two nearly equal numbers.
        let spread = count.saturating_mul(self.squares).saturating_sub(self.sum.saturating_mul(self.sum));
        let variance = spread as f64 / (count as f64 * (count - 1) as f64);
        Some(libm::sqrt(variance) / 1e9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_none_without_times() {
        let none = Spread::default();
        assert_eq!((none.min(), none.max(), none.mean(), none.deviation()), (None, None, None, None));
    }

    #[test]
    fn is_exact() {
        let mut spread = Spread::default();
        for millis in [30, 10, 20] {
            spread.add(Duration::from_millis(millis));
        }
        assert_eq!(spread.min(), Some(Duration::from_millis(10)));
        assert_eq!(spread.max(), Some(Duration::from_millis(30)));
        assert_eq!(spread.mean(), Some(0.02));
        assert_eq!(spread.deviation(), Some(0.01));
    }
}
