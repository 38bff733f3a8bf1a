//! A claim judged under every reading of its source.
//!
//! Papers leave things open: whether a burst is counted in packets or in time, what a delay is the delay
//! of. A *sweep of readings* is an experiment some of whose axes ([`Manifest::readings`]) are such
//! readings. A claim that names the sweep is judged again in each combination of them, all else alike;
//! where it holds in none, no faithful reading saves it.

use indexmap::IndexMap;

use super::number::Claimed;
use super::order::axis_of;
use super::value::{AxisValues, texts};
use super::{ClaimVerdict, Outcome, Question};
use crate::experiment::{Claim, EvidenceSource, Figure, Given, Scalar};
use crate::results::{Manifest, Results};

/// How a claim fares under the readings of its source.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    /// The name of the sweep.
    pub sweep: String,
    /// Whether the claim is an order.
    pub is_order: bool,
    /// Faithful readings under which it was judged: those that are not at odds with what the source states.
    pub judged: usize,
    /// Faithful readings that do not count, since what is given does not hold under them.
    pub excluded: usize,
    /// Faithful readings under which it is reproduced.
    pub holding: usize,
    /// Faithful readings under which the runs do not decide an order.
    pub undecided: usize,
    /// The faithful reading that comes nearest to the source; none if there were no runs to judge by.
    pub best: Option<Reading>,
    /// The nearest of the readings at odds with what the source states, if the claim is reproduced under it.
    pub at_odds: Option<Reading>,
}

/// What was measured under one reading.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The reading: a value for each axis of readings.
    pub values: IndexMap<String, String>,
    /// Ours, in the unit of the claim: a value, a ratio, or the share of places in which the order holds.
    pub ours: f64,
    /// The verdict under it.
    pub verdict: ClaimVerdict,
}

impl Evidence {
    /// Whether no faithful reading gives the claim, and none leaves it open: neither its number, nor its
    /// order in most places.
    pub fn is_contradiction(&self) -> bool {
        self.judged > 0 && self.holding == 0 && self.undecided == 0 && !self.holds_in_part()
    }

    /// Whether the claim is an order that holds in most places, but nowhere in all.
    pub fn holds_in_part(&self) -> bool {
        let in_part = |best: &Reading| best.verdict == ClaimVerdict::DirectionOnly;
        self.is_order && self.best.as_ref().is_some_and(in_part)
    }
}

/// Why a claim cannot be judged by a sweep.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EvidenceError {
    /// The claim names a value that the sweep does not have.
    #[error("{sweep}: {axis} = {value:?}: expected {expected}")]
    NoSuchCells {
        /// The sweep.
        sweep: String,
        /// The axis.
        axis: String,
        /// Its value.
        value: String,
        /// What there is.
        expected: String,
    },
    /// No axis of it is a reading.
    #[error("{sweep}: no axis of it is a reading: expected `readings`, a list of axes")]
    NoReadings {
        /// The sweep.
        sweep: String,
    },
}

/// Judges `claim`, of an experiment with this `figure`, under every reading of a sweep. `None` if it
/// names no sweep.
///
/// # Errors
///
/// The sweep has no cells of the kind that the claim speaks of.
pub fn weigh(claim: &Claim, figure: &Figure, sweep: &Results) -> Result<Option<Evidence>, EvidenceError> {
    let Some(source) = &claim.evidence else { return Ok(None) };
    let manifest = &sweep.manifest;
    let question = Question {
        claim,
        figure,
        of: own_or(source.of.as_ref(), &claim.of, manifest),
        over: source.over.as_ref().or(claim.over.as_ref()).map(|over| own_or(None, over, manifest)),
        minus: claim.minus.as_ref().map(|minus| own_or(None, minus, manifest)),
    };
    check(&question, source, manifest)?;
    let mut evidence = Evidence {
        sweep: manifest.name.clone(),
        is_order: claim.is_order(),
        judged: 0,
        excluded: 0,
        holding: 0,
        undecided: 0,
        best: None,
        at_odds: None,
    };
    // No reading has an answer, and there may be thousands.
    if sweep.rows.iter().all(Vec::is_empty) {
        return Ok(Some(evidence));
    }
    let (mut nearest, mut nearest_at_odds) = (f64::INFINITY, f64::INFINITY);
    for reading in readings(manifest) {
        let Outcome { ours, verdict, .. } = question.under(&reading).ask(sweep);
        let Some(ours) = ours else { continue };
        let is_faithful = is_faithful(source, &reading);
        if let Some(given) = &source.given {
            match holds(given, &question, &reading, sweep) {
                None => continue,
                Some(false) => {
                    evidence.excluded += usize::from(is_faithful);
                    continue;
                }
                Some(true) => {}
            }
        }
        let distance = distance(ours, claim);
        if !is_faithful {
            if verdict == ClaimVerdict::Reproduced && distance < nearest_at_odds {
                nearest_at_odds = distance;
                evidence.at_odds = Some(Reading { values: reading, ours, verdict });
            }
            continue;
        }
        evidence.judged += 1;
        evidence.holding += usize::from(verdict == ClaimVerdict::Reproduced);
        // What is undecided of a number is its direction; the number itself is not given.
        evidence.undecided += usize::from(evidence.is_order && verdict == ClaimVerdict::Undecided);
        if distance < nearest || evidence.best.is_none() {
            nearest = distance;
            evidence.best = Some(Reading { values: reading, ours, verdict });
        }
    }
    Ok(Some(evidence))
}

/// Whether a reading is what the source states, where it states anything.
fn is_faithful(source: &EvidenceSource, reading: &AxisValues) -> bool {
    source.stated.iter().all(|(axis, values)| {
        reading.get(axis).is_none_or(|own| values.iter().any(|value| value.to_string() == *own))
    })
}

/// How far from the source, as a factor; for an order, the share of places in which it fails.
fn distance(ours: f64, claim: &Claim) -> f64 {
    match (claim.is_order(), claim.paper) {
        (false, Some(paper)) => {
            let ratio = ours / paper;
            ratio.max(1.0 / ratio)
        }
        _ => 1.0 - ours,
    }
}

/// What the claim speaks of in the sweep: what the source says of it, else its own cells. The axes of
/// readings are not the claim's to fix.
fn own_or(
    stated: Option<&IndexMap<String, Scalar>>,
    own: &IndexMap<String, Scalar>,
    manifest: &Manifest,
) -> AxisValues {
    let mut place = texts(stated.unwrap_or(own));
    place.retain(|axis, _| !manifest.readings.contains(axis));
    place
}

/// Every combination of the axes of readings.
fn readings(manifest: &Manifest) -> Vec<AxisValues> {
    let mut readings: Vec<AxisValues> = Vec::new();
    for cell in &manifest.cells {
        let reading: AxisValues = manifest
            .readings
            .iter()
            .filter_map(|axis| Some((axis.clone(), cell.values.get(axis)?.clone())))
            .collect();
        if !readings.contains(&reading) {
            readings.push(reading);
        }
    }
    readings
}

/// Whether what is given holds under a reading; `None` without runs.
fn holds(given: &Given, question: &Question<'_>, reading: &AxisValues, sweep: &Results) -> Option<bool> {
    let place = |of: &IndexMap<String, Scalar>| own_or(None, of, &sweep.manifest);
    let mut claim = question.claim.clone();
    (claim.order, claim.change, claim.paper, claim.tolerance) =
        (None, None, Some(given.paper), given.tolerance);
    let asked = Question {
        claim: &claim,
        figure: question.figure,
        of: place(&given.of),
        over: given.over.as_ref().map(place),
        minus: None,
    };
    let ours = asked.under(reading).ask(sweep).ours?;
    let claimed = Claimed { paper: given.paper, tolerance: given.tolerance, is_ratio: given.over.is_some() };
    Some(claimed.judge(ours).0 == ClaimVerdict::Reproduced)
}

impl<'a> Question<'a> {
    /// The same question of the cells of one reading.
    fn under(&self, reading: &AxisValues) -> Self {
        let within = |place: &AxisValues| {
            let mut place = place.clone();
            place.extend(reading.clone());
            place
        };
        Self {
            claim: self.claim,
            figure: self.figure,
            of: within(&self.of),
            over: self.over.as_ref().map(within),
            minus: self.minus.as_ref().map(within),
        }
    }
}

fn check(question: &Question<'_>, source: &EvidenceSource, manifest: &Manifest) -> Result<(), EvidenceError> {
    let sweep = || manifest.name.clone();
    if manifest.readings.is_empty() {
        return Err(EvidenceError::NoReadings { sweep: sweep() });
    }
    let given = source.given.iter().flat_map(|given| [Some(&given.of), given.over.as_ref()]).flatten();
    let given = given.map(|of| own_or(None, of, manifest));
    let order = question.claim.order.iter().flatten();
    let order = order.map(|value| AxisValues::from([(axis_of(question).to_owned(), value.to_string())]));
    let stated = source.stated.iter().flat_map(|(axis, values)| {
        values.iter().map(|value| AxisValues::from([(axis.clone(), value.to_string())]))
    });
    let named = [Some(question.of.clone()), question.over.clone(), question.minus.clone()];
    let named = named.into_iter().flatten();
    let named = named.chain(given).chain(order).chain(stated);
    for (axis, value) in named.flatten() {
        match manifest.axes.get(&axis) {
            Some(values) if values.contains(&value) => {}
            Some(values) => {
                let expected = format!("one of {}", values.join(", "));
                return Err(EvidenceError::NoSuchCells { sweep: sweep(), axis, value, expected });
            }
            None => {
                let axes: Vec<&str> = manifest.axes.keys().map(String::as_str).collect();
                let expected = format!("an axis: one of {}", axes.join(", "));
                return Err(EvidenceError::NoSuchCells { sweep: sweep(), axis, value, expected });
            }
        }
    }
    Ok(())
}
