//! Claims of a least or a greatest value: aims. Every cell counts for itself, and all or a share of them are to meet it.

use super::spread::{reached_by, share_of};
use super::value::{AxisValues, in_unit, value_of};
use super::{ClaimVerdict, MissingCell, Outcome, Question, Spread, WorstCell};
use crate::experiment::Aim;
use crate::results::{ManifestCell, Results};

pub(super) fn judge(results: &Results, question: &Question<'_>, aim: Aim) -> Outcome {
    let manifest = &results.manifest;
    let is_meant = |cell: &ManifestCell| question.of.iter().all(|(name, own)| cell.value(name) == Some(own));
    let cells: Vec<usize> =
        (0..manifest.cells.len()).filter(|&place| is_meant(&manifest.cells[place])).collect();
    let value = |place: usize| {
        let ours = value_at(results, question, aim, &manifest.cells[place].values)?;
        Some(WorstCell { place, beside: None, ours })
    };
    let mut judged: Vec<WorstCell> = cells.iter().filter_map(|&place| value(place)).collect();
    // Of those that are alike the last is named.
    judged.reverse();
    judged.sort_by(|one, other| badness(aim, other.ours).total_cmp(&badness(aim, one.ours)));
    let share = question.claim.share_of_cells();
    let wanted = share_of(share, judged.len());
    let Some(decisive) = reached_by(share, &judged) else { return Outcome::no_runs() };
    let name = |place: usize| {
        let own = manifest.cells[place].values.iter().filter(|(axis, _)| !question.of.contains_key(*axis));
        own.map(|(axis, value)| format!("{axis} {value}")).collect::<Vec<_>>().join(", ")
    };
    let mut missing: Vec<&WorstCell> = judged.iter().filter(|cell| !aim.is_met(cell.ours)).collect();
    let met = judged.len() - missing.len();
    let without_runs = cells.len() - judged.len();
    let verdict = match met {
        met if met < wanted => ClaimVerdict::Missed,
        _ if without_runs > 0 => ClaimVerdict::NoResults,
        _ => ClaimVerdict::Met,
    };
    let mut basis = if judged.len() == 1 {
        "one cell".into()
    } else {
        let wanted = if share < 1.0 { format!(" ({wanted} wanted)") } else { String::new() };
        format!("met in {met} of {} cells{wanted}; worst: {}", judged.len(), name(judged[0].place))
    };
    if without_runs > 0 {
        basis.push_str(&format!("; {without_runs} without runs"));
    }
    // Where some may miss it, none is at fault.
    missing.retain(|_| share >= 1.0);
    missing.sort_by_key(|cell| cell.place);
    let mut spread = manifest.draw.as_ref().and_then(|_| Spread::of(&judged));
    for cell in spread.iter_mut().flat_map(|spread| &mut spread.worst_cells) {
        let beside = beside(question, &manifest.cells[cell.place].values);
        cell.beside = beside.and_then(|values| manifest.cells.iter().position(|cell| cell.values == values));
    }
    let ratio = Some(decisive / aim.number()).filter(|ratio| ratio.is_finite());
    Outcome {
        ours: Some(decisive),
        ratio,
        verdict,
        basis,
        missing: missing
            .into_iter()
            .map(|cell| MissingCell { cell: name(cell.place), ours: cell.ours })
            .collect(),
        spread,
    }
}

/// The value of one cell in the unit of the claim, or as a ratio to that of the cell that differs from it
/// in what the claim says.
fn value_at(results: &Results, question: &Question<'_>, aim: Aim, place: &AxisValues) -> Option<f64> {
    let (figure, measure) = (question.figure, question.measure());
    let value = |of: &AxisValues| value_of(results, of, measure, question.statistic());
    let own = value(place)?;
    Some(match beside(question, place) {
        Some(other) => match (own, value(&other)?, aim) {
            // Nothing is not more than nothing.
            (0.0, 0.0, Aim::AtMost(_)) => 1.0,
            (own, other, _) => own / other,
        },
        None => in_unit(own, measure, figure.unit.as_deref().filter(|_| measure == figure.measure)),
    })
}

/// What the claim compares a cell with.
fn beside(question: &Question<'_>, place: &AxisValues) -> Option<AxisValues> {
    let mut other = place.clone();
    other.extend(question.over.clone()?);
    Some(other)
}

/// The greater, the further from the aim. Nothing as a ratio to nothing is no number, and is not at least anything.
fn badness(aim: Aim, value: f64) -> f64 {
    match aim {
        _ if value.is_nan() => f64::INFINITY,
        Aim::AtLeast(_) => -value,
        Aim::AtMost(_) => value,
    }
}
