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

/// The values of some runs, with the seeds of the runs.
pub(crate) struct Sample {
    seeds: Vec<u64>,
    values: Vec<f64>,
}

impl Sample {
    /// Of runs with these seeds and values; `None` if there are none.
    pub(crate) fn new(seeds: Vec<u64>, values: Vec<f64>) -> Option<Self> {
        (!values.is_empty()).then_some(Self { seeds, values })
    }

    /// Whether several runs gave one value: nothing in them is random.
    fn is_constant(&self) -> bool {
        self.values.len() > 1 && self.values.iter().all(|value| *value == self.values[0])
    }
}

/// A part of a sum of statistics.
pub(crate) struct Term {
    /// What the statistic is multiplied with.
    pub(crate) factor: f64,
    pub(crate) sample: Sample,
}

/// Fewer runs than these have no interval, unless nothing is random.
const FEWEST_RUNS: usize = 5;

/// The 95 % interval of a sum of statistics, by bootstrap. Samples of runs with the same seeds are resampled
/// together: these runs met the same channel, so that what it did to all of them cancels. `None` if there
/// are too few runs.
///
/// The percentiles of a bootstrap are too near for few runs; the interval is widened as Student's t is wider
/// than the normal distribution.
pub(crate) fn interval(terms: &[Term], statistic: Statistic) -> Option<(f64, f64)> {
    let sum = |value: &mut dyn FnMut(&Term) -> Option<f64>| {
        terms.iter().map(|term| Some(term.factor * value(term)?)).sum::<Option<f64>>()
    };
    let estimate = sum(&mut |term| statistic_of(term.sample.values.clone(), statistic))?;
    if terms.iter().all(|term| term.sample.is_constant()) {
        return Some((estimate, estimate));
    }
    let fewest = terms.iter().map(|term| term.sample.values.len()).min()?;
    if fewest < FEWEST_RUNS {
        return None;
    }
    let mut chance = Xoshiro256PlusPlus::seed_from_u64(fewest as u64);
    let mut draws: Vec<(&[u64], Vec<usize>)> = Vec::new();
    for term in terms {
        if !draws.iter().any(|(seeds, _)| *seeds == term.sample.seeds) {
            draws.push((&term.sample.seeds, vec![0; term.sample.seeds.len()]));
        }
    }
    let mut estimates = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        for (seeds, draw) in &mut draws {
            draw.fill_with(|| (chance.next_u64() % seeds.len() as u64) as usize);
        }
        estimates.push(sum(&mut |term| {
            let (_, draw) = draws.iter().find(|(seeds, _)| *seeds == term.sample.seeds)?;
            statistic_of(draw.iter().map(|&at| term.sample.values[at]).collect(), statistic)
        })?);
    }
    estimates.sort_by(f64::total_cmp);
    let wider = student(fewest - 1) / NORMAL * (fewest as f64 / (fewest - 1) as f64).sqrt();
    let limit = |q| Some(estimate + wider * (quantile(&estimates, q)? - estimate));
    Some((limit(0.025)?, limit(0.975)?))
}

/// The 97.5 % quantile of the normal distribution.
const NORMAL: f64 = 1.959_964;

/// That of Student's t, by its expansion (Abramowitz and Stegun, 26.7.5); within 2 % from four degrees on.
fn student(degrees: usize) -> f64 {
    let degrees = degrees as f64;
    NORMAL + 2.372_271 / degrees + 2.822_503 / (degrees * degrees)
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

    /// Values around a centre, each seed with a part that all samples of the seed share.
    fn sample(seeds: std::ops::Range<u64>, shared: f64, centre: f64, salt: u64) -> Sample {
        let unit = |seed: u64| {
            let mut chance = Xoshiro256PlusPlus::seed_from_u64(seed);
            (chance.next_u64() >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
        };
        let values = seeds.clone().map(|seed| centre + shared * unit(seed) + unit(seed ^ salt)).collect();
        Sample::new(seeds.collect(), values).expect("values")
    }

    fn difference(high: Sample, low: Sample) -> Option<(f64, f64)> {
        let terms = [Term { factor: 1.0, sample: high }, Term { factor: -1.0, sample: low }];
        interval(&terms, Statistic::Mean)
    }

    #[test]
    fn what_the_channel_does_to_both_cancels_where_they_share_it() {
        let high = || sample(0..50, 100.0, 1.0, 1 << 40);
        let (least, most) = difference(high(), sample(0..50, 100.0, 0.0, 1 << 50)).expect("an interval");
        assert!(least > 0.5 && most < 1.5, "{least} to {most}");
        let (least, most) = difference(high(), sample(50..100, 100.0, 0.0, 1 << 50)).expect("an interval");
        assert!(least < 0.0 && most - least > 10.0, "{least} to {most}");
    }

    #[test]
    fn few_runs_decide_only_what_is_not_random() {
        let of = |centre| sample(0..4, 0.0, centre, 1 << 40);
        assert_eq!(difference(of(9.0), of(0.0)), None);
        let constant = |value| Sample::new(vec![1, 2], vec![value; 2]).expect("values");
        assert_eq!(difference(constant(3.0), constant(1.0)), Some((2.0, 2.0)));
        let once = |value| Sample::new(vec![1], vec![value]).expect("a value");
        assert_eq!(
            difference(once(3.0), once(1.0)),
            None,
            "one run does not show whether anything is random"
        );
    }

    /// Of intervals of differences that are in truth zero, 95 % hold zero; with few runs too.
    #[test]
    fn intervals_hold_the_truth_as_often_as_they_say() {
        for runs in [5, 10, 50] {
            let misses = (0..1000_u64)
                .filter(|trial| {
                    let first = trial * 1000;
                    let of = |salt| sample(first..first + runs, 3.0, 0.0, salt);
                    let (least, most) = difference(of(1 << 40), of(1 << 50)).expect("an interval");
                    !(least..=most).contains(&0.0)
                })
                .count();
            assert!((25..=80).contains(&misses), "{misses} of 1000 with {runs} runs");
        }
    }

    #[test]
    fn quantiles_of_t_are_those_of_the_tables() {
        for (degrees, table) in [(4, 2.776), (9, 2.262), (29, 2.045), (199, 1.972)] {
            assert!((student(degrees) / table - 1.0).abs() < 0.02, "{degrees}: {}", student(degrees));
        }
    }
}
