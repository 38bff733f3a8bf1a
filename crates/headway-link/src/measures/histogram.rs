//! A histogram of times.

use headway_units::Duration;

/// Buckets for each power of two: values have a precision of 1/32.
const PRECISION: u32 = 5;
const STEPS: usize = 1 << PRECISION;

/// A histogram of times with a precision of 3 %.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    /// Up to the last bucket in use: most times of a link are far shorter than the longest possible.
    counts: Vec<u64>,
    total: u64,
    max: Duration,
}

/// Quantiles of a histogram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Quantiles {
    /// The number of times.
    pub count: u64,
    /// The median, with a precision of 3 %.
    pub median: Duration,
    /// The 95th percentile, with a precision of 3 %.
    pub p95: Duration,
    /// The 99th percentile, with a precision of 3 %.
    pub p99: Duration,
    /// The exact maximum.
    pub max: Duration,
}

impl Histogram {
    /// One more time.
    #[inline]
    pub fn add(&mut self, time: Duration) {
        let bucket = bucket(time.as_nanos());
        if bucket >= self.counts.len() {
            self.extend_to(bucket);
        }
        self.counts[bucket] += 1;
        self.total += 1;
        self.max = self.max.max(time);
    }

    #[inline(never)]
    fn extend_to(&mut self, bucket: usize) {
        self.counts.resize(bucket + 1, 0);
    }

    /// All times of another histogram.
    pub fn absorb(&mut self, other: &Self) {
        if other.counts.len() > self.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (count, more) in self.counts.iter_mut().zip(other.counts.iter()) {
            *count += more;
        }
        self.total += other.total;
        self.max = self.max.max(other.max);
    }

    /// The times that were added since this histogram was `earlier`; the maximum is that of all.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut later = self.clone();
        for (count, before) in later.counts.iter_mut().zip(earlier.counts.iter()) {
            *count -= before;
        }
        later.total -= earlier.total;
        later
    }

    /// Without any time.
    pub fn clear(&mut self) {
        self.counts.clear();
        self.total = 0;
        self.max = Duration::ZERO;
    }

    /// What the times are spread over.
    pub fn quantiles(&self) -> Quantiles {
        let [median, p95, p99] =
            self.below([self.total.div_ceil(2), self.total - self.total / 20, self.total - self.total / 100]);
        Quantiles { count: self.total, median, p95, p99, max: self.max }
    }

    /// The upper bounds of the `rank` shortest times, for each of some ranks in ascending order.
    fn below<const N: usize>(&self, ranks: [u64; N]) -> [Duration; N] {
        let (mut seen, mut counts) = (0, self.counts.iter().enumerate());
        let mut last = None;
        ranks.map(|rank| {
            while seen < rank
                && let Some((index, count)) = counts.next()
            {
                seen += count;
                last = Some(index);
            }
            last.map_or(Duration::ZERO, |index| Duration::from_nanos(largest_in(index)).min(self.max))
        })
    }
}

/// Values below [`STEPS`] have a bucket each; above, each power of two has [`STEPS`] of them.
fn bucket(value: u64) -> usize {
    let power = (63 - PRECISION).saturating_sub(value.leading_zeros());
    (power as usize) * STEPS + (value >> power) as usize
}

/// The largest value of a bucket.
fn largest_in(index: usize) -> u64 {
    let power = (index / STEPS).saturating_sub(1);
    let step = (index - power * STEPS) as u64;
    (step << power) + ((1 << power) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUCKETS: usize = (64 - PRECISION as usize + 1) * STEPS;

    #[test]
    fn buckets_are_exact_to_three_percent() {
        let mut last = 0;
        for exponent in 0..64 {
            for near in [0, 1, 2, 3] {
                for value in [(1_u64 << exponent).saturating_sub(near), (1_u64 << exponent) + near] {
                    let index = bucket(value);
                    assert!(index < BUCKETS, "{value}");
                    let largest = largest_in(index);
                    assert!(largest >= value && largest - value <= value / 32, "{value}: {largest}");
                    assert!(index == 0 || largest_in(index - 1) < value, "{value}");
                }
            }
            let first = bucket(1 << exponent);
            assert!(first >= last);
            last = first;
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn quantiles_are_those_of_the_times() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.quantiles(), Quantiles::default());
        for micros in 1..=1000 {
            histogram.add(Duration::from_micros(micros));
        }
        let found = histogram.quantiles();
        assert_eq!((found.count, found.max), (1000, Duration::from_millis(1)));
        for (found, exact) in [(found.median, 500_000), (found.p95, 950_000), (found.p99, 990_000)] {
            assert!((exact..=exact + exact / 32).contains(&found.as_nanos()), "{found}");
        }
        let mut twice = histogram.clone();
        twice.absorb(&histogram);
        assert_eq!(twice.quantiles().median, found.median);
        assert_eq!(twice.quantiles().count, 2000);
        assert_eq!(twice.since(&histogram).quantiles(), histogram.quantiles());
        twice.clear();
        assert_eq!(twice.quantiles(), Quantiles::default());
    }
}
