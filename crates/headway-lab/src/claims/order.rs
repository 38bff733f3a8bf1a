//! Claims of an order.

use super::value::{Place, value_of};
use super::{NO_RUNS, Outcome, Question, Verdict};
use crate::results::Results;

pub(super) fn judge(results: &Results, question: &Question<'_>, order: &[String]) -> Outcome {
    let claim = question.claim;
    let axis = axis_of(question);
    let holds = |place: &Place| {
        let values: Option<Vec<f64>> = order
            .iter()
            .map(|value| {
                let mut of = place.clone();
                of.insert(axis.into(), value.clone());
                value_of(results, &of, question.measure(), question.statistic())
            })
            .collect();
        values.map(|values| values.windows(2).all(|pair| pair[0] <= pair[1] * (1.0 + claim.slack)))
    };
    let outcomes: Vec<bool> = places(results, axis, &question.of).iter().filter_map(holds).collect();
    if outcomes.is_empty() {
        return Outcome { ours: None, ratio: None, verdict: Verdict::NoResults, basis: NO_RUNS.into() };
    }
    let holding = outcomes.iter().filter(|&&holds| holds).count();
    let share = holding as f64 / outcomes.len() as f64;
    let verdict = match share {
        1.0 => Verdict::Reproduced,
        share if share > 0.5 => Verdict::DirectionOnly,
        _ => Verdict::NotReproduced,
    };
    let basis = format!("the order holds in {holding} of {} places", outcomes.len());
    Outcome { ours: Some(share), ratio: None, verdict, basis }
}

/// The axis along which the order runs.
pub(super) fn axis_of<'a>(question: &Question<'a>) -> &'a str {
    question.claim.axis.as_deref().unwrap_or("variant")
}

/// Every combination of the other axes is a place in which the order may hold.
fn places(results: &Results, axis: &str, limits: &Place) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    for cell in &results.manifest.cells {
        let mut place = cell.values.clone();
        place.shift_remove(axis);
        let counts = limits.iter().all(|(limit, value)| place.get(limit).is_none_or(|own| own == value));
        if counts && !places.contains(&place) {
            places.push(place);
        }
    }
    places
}
