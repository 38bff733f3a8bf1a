//! Holding the claims of a source against the results.

use indexmap::IndexMap;
use serde::Serialize;

use crate::experiment::{Claim, Measure, Statistic};
use crate::results::Results;
use crate::statistics::Summary;

/// How a claim came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Within the tolerance; or in that order everywhere.
    Reproduced,
    /// On the same side; or in that order in most places.
    DirectionOnly,
    /// Neither.
    NotReproduced,
    /// Runs are missing.
    NoResults,
}

impl Verdict {
    /// As it is shown.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::DirectionOnly => "direction only",
            Self::NotReproduced => "not reproduced",
            Self::NoResults => "no results",
        }
    }
}

/// A claim with what came out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judgement {
    /// The sentence.
    pub says: String,
    /// The source's number.
    pub paper: Option<f64>,
    /// Ours: a value, a ratio, or the share of places in which the order holds.
    pub ours: Option<f64>,
    /// The unit of both: "×" where the claim is about a ratio.
    pub unit: String,
    /// Ours by the paper's.
    pub ratio: Option<f64>,
    /// How it came out.
    pub verdict: Verdict,
    /// What the verdict rests on: the distance and the tolerance, or in how many places the order holds.
    pub basis: String,
    /// One line on why.
    pub why: String,
}

/// A value may be off by this factor and still show the direction.
const SAME_DIRECTION: f64 = 3.0;

/// Judges every claim of the results' experiment.
pub fn judge(results: &Results) -> Vec<Judgement> {
    results
        .manifest
        .claims
        .iter()
        .map(|claim| match &claim.order {
            Some(order) => {
                let order: Vec<String> = order.iter().map(ToString::to_string).collect();
                judge_order(results, claim, &order)
            }
            None => judge_number(results, claim),
        })
        .collect()
}

fn judge_number(results: &Results, claim: &Claim) -> Judgement {
    let figure = &results.manifest.figure;
    let measure = claim.measure.unwrap_or(figure.measure);
    let value = |of: &IndexMap<String, _>| value_of(results, &texts(of), measure, figure.statistic);
    let own = value(&claim.of);
    let ours = match &claim.over {
        Some(over) => own.zip(value(over)).map(|(of, over)| of / over),
        None => {
            own.map(|own| in_unit(own, measure, figure.unit.as_deref().filter(|_| measure == figure.measure)))
        }
    };
    let ratio = ours.zip(claim.paper).map(|(ours, paper)| ours / paper);
    let verdict = match (ours, claim.paper, ratio) {
        (Some(ours), Some(paper), Some(ratio)) => {
            let near = (ratio - 1.0).abs() <= claim.tolerance;
            let direction = if claim.over.is_some() {
                (ours > 1.0) == (paper > 1.0)
            } else {
                (1.0 / SAME_DIRECTION..=SAME_DIRECTION).contains(&ratio)
            };
            match (near, direction) {
                (true, _) => Verdict::Reproduced,
                (false, true) => Verdict::DirectionOnly,
                (false, false) => Verdict::NotReproduced,
            }
        }
        _ => Verdict::NoResults,
    };
    let basis = match ratio {
        Some(ratio) => number_basis(ratio, verdict, claim),
        None => NO_RUNS.into(),
    };
    Judgement {
        says: claim.says.clone(),
        paper: claim.paper,
        ours,
        unit: if claim.over.is_some() {
            "\u{d7}".into()
        } else if measure == figure.measure {
            figure.unit_name().into()
        } else {
            measure.units()[0].into()
        },
        ratio,
        verdict,
        basis,
        why: claim.why.clone(),
    }
}

const NO_RUNS: &str = "no runs to judge by";

fn number_basis(ratio: f64, verdict: Verdict, claim: &Claim) -> String {
    let tolerance = 100.0 * claim.tolerance;
    let allowed = format!("{:+.0} %, \u{b1}{tolerance:.0} % allowed", 100.0 * (ratio - 1.0));
    match (verdict, claim.over.is_some()) {
        (Verdict::DirectionOnly, true) => format!("{allowed}; the same side of 1"),
        (Verdict::DirectionOnly, false) => format!("{allowed}; within a factor of {SAME_DIRECTION}"),
        (Verdict::NotReproduced, true) => format!("{allowed}; the other side of 1"),
        (Verdict::NotReproduced, false) => format!("{allowed}; off by a factor above {SAME_DIRECTION}"),
        _ => allowed,
    }
}

fn judge_order(results: &Results, claim: &Claim, order: &[String]) -> Judgement {
    let manifest = &results.manifest;
    let measure = claim.measure.unwrap_or(manifest.figure.measure);
    let axis = claim.axis.as_deref().unwrap_or("variant");
    let limits = texts(&claim.of);
    // Every combination of the other axes is a place in which the order may hold.
    let mut places: Vec<IndexMap<String, String>> = Vec::new();
    for cell in &manifest.cells {
        let mut place = cell.values.clone();
        place.shift_remove(axis);
        let counts = limits.iter().all(|(limit, value)| place.get(limit).is_none_or(|own| own == value));
        if counts && !places.contains(&place) {
            places.push(place);
        }
    }
    let holds = |place: &IndexMap<String, String>| {
        let values: Option<Vec<f64>> = order
            .iter()
            .map(|value| {
                let mut of = place.clone();
                of.insert(axis.into(), value.clone());
                value_of(results, &of, measure, manifest.figure.statistic)
            })
            .collect();
        values.map(|values| values.windows(2).all(|pair| pair[0] <= pair[1] * (1.0 + claim.slack)))
    };
    let outcomes: Vec<bool> = places.iter().filter_map(holds).collect();
    let holding = outcomes.iter().filter(|&&holds| holds).count();
    let share = holding as f64 / outcomes.len() as f64;
    let verdict = match share {
        _ if outcomes.is_empty() => Verdict::NoResults,
        1.0 => Verdict::Reproduced,
        share if share > 0.5 => Verdict::DirectionOnly,
        _ => Verdict::NotReproduced,
    };
    Judgement {
        says: claim.says.clone(),
        paper: None,
        ours: (!outcomes.is_empty()).then_some(share),
        unit: String::new(),
        ratio: None,
        verdict,
        basis: if outcomes.is_empty() {
            NO_RUNS.into()
        } else {
            format!("the order holds in {holding} of {} places", outcomes.len())
        },
        why: claim.why.clone(),
    }
}

fn texts<T: ToString>(of: &IndexMap<String, T>) -> IndexMap<String, String> {
    of.iter().map(|(axis, value)| (axis.clone(), value.to_string())).collect()
}

/// The statistic over all runs of the cells that match.
fn value_of(
    results: &Results,
    of: &IndexMap<String, String>,
    measure: Measure,
    statistic: Statistic,
) -> Option<f64> {
    let matches = |values: &IndexMap<String, String>| {
        of.iter().all(|(axis, value)| values.get(axis).is_some_and(|own| own == value))
    };
    let values: Vec<f64> = results
        .manifest
        .cells
        .iter()
        .zip(&results.rows)
        .filter(|(cell, _)| matches(&cell.values))
        .flat_map(|(_, rows)| rows.iter().filter_map(|row| row.measure(measure)))
        .collect();
    Some(Summary::of(&values, statistic)?.value(statistic))
}

/// A measure in the unit that a figure asks for.
pub fn in_unit(value: f64, measure: Measure, unit: Option<&str>) -> f64 {
    match (measure, unit) {
        (Measure::Goodput, Some("kbit/s")) => value / 1e3,
        (Measure::Goodput, Some("Mbit/s")) => value / 1e6,
        (Measure::Goodput, Some("KB/s")) => value / 8e3,
        (Measure::Goodput, Some("B/s")) => value / 8.0,
        (Measure::ShareOfBound, Some("%")) => value * 100.0,
        _ => value,
    }
}
