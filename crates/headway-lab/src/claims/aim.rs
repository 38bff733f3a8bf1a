//! Claims of a least or a greatest value: aims. Every cell counts for itself.

use super::value::{Place, in_unit, value_of};
use super::{MissingCell, Outcome, Question, Verdict};
use crate::experiment::Aim;
use crate::results::Results;

pub(super) fn judge(results: &Results, question: &Question<'_>, aim: Aim) -> Outcome {
    let cells: Vec<&Place> = results
        .manifest
        .cells
        .iter()
        .map(|cell| &cell.values)
        .filter(|place| question.of.iter().all(|(axis, value)| place.get(axis) == Some(value)))
        .collect();
    let judged: Vec<(f64, &Place)> =
        cells.iter().filter_map(|place| Some((value_at(results, question, place)?, *place))).collect();
    let Some(&(ours, worst)) =
        judged.iter().max_by(|one, other| badness(aim, one.0).total_cmp(&badness(aim, other.0)))
    else {
        return Outcome::no_runs();
    };
    let name = |place: &Place| {
        let own = place.iter().filter(|(axis, _)| !question.of.contains_key(*axis));
        own.map(|(axis, value)| format!("{axis} {value}")).collect::<Vec<_>>().join(", ")
    };
    let missing: Vec<MissingCell> = judged
        .iter()
        .filter(|(value, _)| !aim.is_met(*value))
        .map(|&(ours, place)| MissingCell { cell: name(place), ours })
        .collect();
    let met = judged.len() - missing.len();
    let without_runs = cells.len() - judged.len();
    let verdict = match met {
        met if met < judged.len() => Verdict::Missed,
        _ if without_runs > 0 => Verdict::NoResults,
        _ => Verdict::Met,
    };
    let mut basis = if judged.len() == 1 {
        "one cell".into()
    } else {
        format!("met in {met} of {} cells; worst: {}", judged.len(), name(worst))
    };
    if without_runs > 0 {
        basis.push_str(&format!("; {without_runs} without runs"));
    }
    let ratio = Some(ours / aim.number()).filter(|ratio| ratio.is_finite());
    Outcome { ours: Some(ours), ratio, verdict, basis, missing }
}

/// The value of one cell in the unit of the claim, or as a ratio to that of the cell that differs from it
/// in what the claim says.
fn value_at(results: &Results, question: &Question<'_>, place: &Place) -> Option<f64> {
    let (figure, measure) = (question.figure, question.measure());
    let value = |of: &Place| value_of(results, of, measure, question.statistic());
    let own = value(place)?;
    Some(match &question.over {
        Some(over) => {
            let mut other = place.clone();
            other.extend(over.clone());
            own / value(&other)?
        }
        None => in_unit(own, measure, figure.unit.as_deref().filter(|_| measure == figure.measure)),
    })
}

/// The greater, the further from the aim. Nothing as a ratio to nothing is no number, and meets no aim.
fn badness(aim: Aim, value: f64) -> f64 {
    match aim {
        _ if value.is_nan() => f64::INFINITY,
        Aim::AtLeast(_) => -value,
        Aim::AtMost(_) => value,
    }
}
