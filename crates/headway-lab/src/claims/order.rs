//! Claims of an order, or of a change along an axis.

use super::compare::Compared;
use super::value::AxisValues;
use super::{ClaimVerdict, Outcome, Question};
use crate::results::Results;

pub(super) fn judge(results: &Results, question: &Question<'_>, order: &[String]) -> Outcome {
    let axis = axis_of(question);
    let at = |place: &AxisValues, value: &String| {
        let mut of = place.clone();
        of.insert(axis.into(), value.clone());
        of
    };
    let judged = |place: &AxisValues| {
        let pairs: Option<Vec<Compared>> = order
            .windows(2)
            .map(|pair| question.compare(results, &at(place, &pair[0]), &at(place, &pair[1])))
            .collect();
        pairs.map(|pairs| whole(&pairs))
    };
    let outcomes: Vec<Compared> = places(results, axis, &question.of).iter().filter_map(judged).collect();
    if outcomes.is_empty() {
        return Outcome::no_runs();
    }
    let number = |wanted: Compared| outcomes.iter().filter(|&&outcome| outcome == wanted).count();
    let (holding, open) = (number(Compared::Greater), number(Compared::Open));
    let mut basis = format!("the order holds in {holding} of {} places", outcomes.len());
    if open > 0 {
        basis.push_str(&format!(" and is undecided in {open}"));
    }
    Outcome {
        ours: Some(holding as f64 / outcomes.len() as f64),
        ratio: None,
        verdict: verdict(holding, open, outcomes.len()),
        basis,
        missing: Vec::new(),
        spread: None,
    }
}

/// An order holds if all its pairs do, and fails if one does.
fn whole(pairs: &[Compared]) -> Compared {
    if pairs.contains(&Compared::NotGreater) {
        Compared::NotGreater
    } else if pairs.contains(&Compared::Open) {
        Compared::Open
    } else {
        Compared::Greater
    }
}

/// What can be said whatever the open places are.
fn verdict(holding: usize, open: usize, places: usize) -> ClaimVerdict {
    let with = |holding: usize| match holding {
        all if all == places => ClaimVerdict::Reproduced,
        most if 2 * most > places => ClaimVerdict::DirectionOnly,
        _ => ClaimVerdict::NotReproduced,
    };
    let (least, most) = (with(holding), with(holding + open));
    if least == most { least } else { ClaimVerdict::Undecided }
}

/// The axis along which the order runs.
pub(super) fn axis_of<'a>(question: &Question<'a>) -> &'a str {
    question.claim.axis.as_deref().unwrap_or("variant")
}

/// Every combination of the other axes is a place in which the order may hold.
fn places(results: &Results, axis: &str, limits: &AxisValues) -> Vec<AxisValues> {
    let mut places: Vec<AxisValues> = Vec::new();
    for cell in &results.manifest.cells {
        let mut place = cell.values.clone();
        place.shift_remove(axis);
        let counts = limits
            .iter()
            .all(|(limit, value)| limit == axis || cell.value(limit).is_none_or(|own| own == value));
        if counts && !places.contains(&place) {
            places.push(place);
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_open_decides_nothing() {
        use ClaimVerdict::{DirectionOnly, NotReproduced, Reproduced, Undecided};
        let cases = [
            ((9, 0), Reproduced),
            ((8, 0), DirectionOnly),
            ((8, 1), Undecided),
            ((5, 1), DirectionOnly),
            ((5, 4), Undecided),
            ((4, 1), Undecided),
            ((4, 0), NotReproduced),
            ((2, 2), NotReproduced),
            ((0, 9), Undecided),
        ];
        for ((holding, open), expected) in cases {
            assert_eq!(verdict(holding, open, 9), expected, "{holding} hold, {open} are open");
        }
    }
}
