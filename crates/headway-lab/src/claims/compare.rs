//! Which of two is greater, as far as the runs decide it.

use super::Question;
use super::value::{AxisValues, sample_of};
use crate::results::Results;
use crate::statistics::{Term, interval};

/// Whether something is greater than something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compared {
    /// The 95 % interval of the difference is above zero.
    Greater,
    /// It is not above zero anywhere.
    NotGreater,
    /// It has zero in it, or there are too few runs for an interval.
    Open,
}

impl Question<'_> {
    /// Whether the cells of `high` are greater than those of `low`, each less those of [`Question::minus`]
    /// beside them. What is greater by less than the slack in the wrong direction is equal. `None` without
    /// runs.
    pub(super) fn compare(&self, results: &Results, low: &AxisValues, high: &AxisValues) -> Option<Compared> {
        let sample = |place: &AxisValues| sample_of(results, place, self.measure());
        let mut terms = vec![
            Term { factor: 1.0 + self.claim.slack, sample: sample(high)? },
            Term { factor: -1.0, sample: sample(low)? },
        ];
        if let Some(minus) = &self.minus {
            let beside = |place: &AxisValues| {
                let mut place = place.clone();
                place.extend(minus.clone());
                sample(&place)
            };
            terms.push(Term { factor: -1.0, sample: beside(high)? });
            terms.push(Term { factor: 1.0, sample: beside(low)? });
        }
        Some(match interval(&terms, self.statistic()) {
            Some((least, _)) if least > 0.0 => Compared::Greater,
            Some((_, most)) if most <= 0.0 => Compared::NotGreater,
            _ => Compared::Open,
        })
    }
}
