//! What several runs amount to.

use headway_sim::statistics::{mean, quantile};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use serde::Serialize;

use crate::experiment::Statistic;

/// Resamples of a bootstrap.
const RESAMPLES: usize = 1000;

/// Where the values of several runs lie.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// How many values.
    pub count: usize,
    /// Arithmetic mean.
    pub mean: f64,
    /// Median.
    pub median: f64,
    /// First quartile.
    pub q1: f64,
    /// Third quartile.
    pub q3: f64,
    /// 95 % interval of the statistic asked for, by bootstrap.
    pub interval: (f64, f64),
}

impl Summary {
    /// Of `values`, with the interval of `statistic`; `None` if there are none.
    pub fn of(values: &[f64], statistic: Statistic) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        Some(Self {
            count: values.len(),
            mean: mean(&sorted)?,
            median: quantile(&sorted, 0.5)?,
            q1: quantile(&sorted, 0.25)?,
            q3: quantile(&sorted, 0.75)?,
            interval: bootstrap(&sorted, statistic)?,
        })
    }

    /// The statistic asked for.
    pub fn value(&self, statistic: Statistic) -> f64 {
        match statistic {
            Statistic::Mean => self.mean,
            Statistic::Median => self.median,
        }
    }
}

/// The statistic alone, of values in any order; `None` if there are none.
pub(crate) fn statistic_of(mut values: Vec<f64>, statistic: Statistic) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    match statistic {
        Statistic::Mean => mean(&values),
        Statistic::Median => quantile(&values, 0.5),
    }
}

/// The percentile interval of resampled values. Its seed is the same each time, so that the same
/// results give the same report.
fn bootstrap(values: &[f64], statistic: Statistic) -> Option<(f64, f64)> {
    let mut chance = Xoshiro256PlusPlus::seed_from_u64(values.len() as u64);
    let mut sample = vec![0.0; values.len()];
    let mut estimates = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        sample.fill_with(|| values[(chance.next_u64() % values.len() as u64) as usize]);
        estimates.push(match statistic {
            Statistic::Mean => mean(&sample)?,
            Statistic::Median => {
                sample.sort_by(f64::total_cmp);
                quantile(&sample, 0.5)?
            }
        });
    }
    estimates.sort_by(f64::total_cmp);
    Some((quantile(&estimates, 0.025)?, quantile(&estimates, 0.975)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_covers_the_mean_and_narrows() {
        let few: Vec<f64> = (0..10).map(f64::from).collect();
        let many: Vec<f64> = (0..1000).map(|i| f64::from(i % 10)).collect();
        let (few, many) = (
            Summary::of(&few, Statistic::Mean).expect("values"),
            Summary::of(&many, Statistic::Mean).expect("values"),
        );
        assert!((few.mean - 4.5).abs() < 1e-9 && (few.median - 4.5).abs() < 1e-9);
        assert!(few.interval.0 < 4.5 && 4.5 < few.interval.1);
        assert!(many.interval.1 - many.interval.0 < (few.interval.1 - few.interval.0) / 5.0);
        assert!(Summary::of(&[], Statistic::Mean).is_none());
    }
}
