//! Holding the claims of a source against the results.

mod aim;
mod compare;
mod evidence;
mod number;
mod order;
mod spread;
mod value;

use indexmap::IndexMap;
use serde::Serialize;

pub use evidence::{Evidence, EvidenceError, Reading, weigh};
pub use spread::{Mean, Spread, WorstCell};
pub use value::in_unit;

use crate::experiment::{Aim, Change, Claim, Figure, Measure, Statistic};
use crate::results::Results;
use value::AxisValues;

/// The verdict on a claim.
///
/// A number is held against the tolerance first. Beyond it, a ratio still shows the *direction* if it
/// lies on the same side of 1 as the source's, with its 95 % interval, and a value if it is within a factor
/// of three. A ratio of 1 ("comparable") has no direction that could be right where the size is wrong: it is
/// reproduced if neither of the two exceeds the other by more than the tolerance, whichever is ahead, and
/// not reproduced otherwise. So which of the two stands above the line never matters.
///
/// An order is judged pair by pair, by the 95 % interval of the difference, which is taken run by run where
/// both met the same channel. A pair whose interval includes zero is open; an order is undecided where the
/// verdict depends on the open pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimVerdict {
    /// Within the tolerance; or in that order everywhere.
    Reproduced,
    /// The same, but with a parameter that was chosen to fit a number of the source.
    Fitted,
    /// On the same side of 1, or within a factor of three; or in that order in most places.
    DirectionOnly,
    /// The runs do not distinguish two of these verdicts.
    Undecided,
    /// Neither.
    NotReproduced,
    /// An aim that every cell meets, or the share of the cells that it is about.
    Met,
    /// An aim that more of the cells miss.
    Missed,
    /// The experiment was run under other conditions than those that the claim is about.
    NotJudged,
    /// Runs are missing.
    NoResults,
}

impl ClaimVerdict {
    /// As it is shown.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::Fitted => "fitted",
            Self::DirectionOnly => "direction only",
            Self::Undecided => "undecided",
            Self::NotReproduced => "not reproduced",
            Self::Met => "met",
            Self::Missed => "missed",
            Self::NotJudged => "not judged",
            Self::NoResults => "no results",
        }
    }
}

/// A claim with what was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judgement {
    /// The sentence.
    pub says: String,
    /// The source's number.
    pub paper: Option<f64>,
    /// What every cell should meet.
    pub aim: Option<Aim>,
    /// The share of the cells that should meet the aim, where that is not all of them.
    pub share: Option<f64>,
    /// Ours: a value, a ratio, or the share of places in which the order holds; beside an aim, of the
    /// cell that is worst, or of the worst in that share of them.
    pub ours: Option<f64>,
    /// The unit of both: "×" where the claim is about a ratio.
    pub unit: String,
    /// Ours by the paper's, or by the aim.
    pub ratio: Option<f64>,
    /// The verdict.
    pub verdict: ClaimVerdict,
    /// What the verdict rests on: the distance and the tolerance, in how many places the order holds, or
    /// which cell is the worst.
    pub basis: String,
    /// The cells that miss the aim, where all of them should meet it.
    pub missing: Vec<MissingCell>,
    /// Where the values of the aim lie on links that are drawn.
    pub spread: Option<Spread>,
    /// Which parameter was chosen to fit what, if the claim rests on one.
    pub fitted: Option<String>,
    /// One line on why.
    pub why: String,
}

/// A cell that misses an aim.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MissingCell {
    /// Its values on the axes that the claim leaves open, "queue 1bdp, aqm codel"; empty if there is none.
    pub cell: String,
    /// Ours, in the unit of the claim.
    pub ours: f64,
}

/// Judges every claim of the results' experiment.
pub fn judge(results: &Results) -> Vec<Judgement> {
    let figure = &results.manifest.figure;
    results.manifest.claims.iter().map(|claim| judge_one(results, figure, claim)).collect()
}

fn judge_one(results: &Results, figure: &Figure, claim: &Claim) -> Judgement {
    let question = Question::own(claim, figure);
    let Outcome { mut ours, mut ratio, mut verdict, mut basis, mut missing, spread } = question.ask(results);
    let changes = &results.manifest.changes;
    let mut why = claim.why.clone();
    if !changes.is_empty() {
        // The verdict and its reason belong to the conditions of the file.
        (ours, ratio, verdict) = (None, None, ClaimVerdict::NotJudged);
        basis = format!("run with --set {}", changes.join(" --set "));
        missing.clear();
        why.clear();
    }
    Judgement {
        says: claim.says.clone(),
        paper: if claim.is_order() { None } else { claim.paper },
        aim: claim.aim(),
        share: claim.share.filter(|share| *share < 1.0),
        ours,
        unit: question.unit().into(),
        ratio,
        verdict: match verdict {
            ClaimVerdict::Reproduced if claim.fitted.is_some() => ClaimVerdict::Fitted,
            verdict => verdict,
        },
        basis,
        missing,
        spread,
        fitted: claim.fitted.clone(),
        why,
    }
}

/// What a claim asks of results, be they its own experiment's or those of a sweep over readings.
struct Question<'a> {
    claim: &'a Claim,
    /// The figure of the claim's own experiment: measure, unit and statistic are its.
    figure: &'a Figure,
    of: AxisValues,
    over: Option<AxisValues>,
    minus: Option<AxisValues>,
}

/// What was measured.
struct Outcome {
    ours: Option<f64>,
    ratio: Option<f64>,
    verdict: ClaimVerdict,
    basis: String,
    missing: Vec<MissingCell>,
    spread: Option<Spread>,
}

impl Outcome {
    fn no_runs() -> Self {
        let basis = "no runs to judge by".into();
        let verdict = ClaimVerdict::NoResults;
        Self { ours: None, ratio: None, verdict, basis, missing: Vec::new(), spread: None }
    }
}

impl<'a> Question<'a> {
    /// As the claim's own experiment asks it.
    fn own(claim: &'a Claim, figure: &'a Figure) -> Self {
        let [over, minus] = [&claim.over, &claim.minus].map(|other| other.as_ref().map(value::texts));
        Self { claim, figure, of: value::texts(&claim.of), over, minus }
    }

    fn measure(&self) -> Measure {
        self.claim.measure.unwrap_or(self.figure.measure)
    }

    fn statistic(&self) -> Statistic {
        self.claim.statistic.unwrap_or(self.figure.statistic)
    }

    /// The unit of the answer.
    fn unit(&self) -> &str {
        if self.claim.is_order() {
            ""
        } else if self.over.is_some() {
            "\u{d7}"
        } else if self.measure() == self.figure.measure {
            self.figure.unit_name()
        } else {
            self.measure().unit().names()[0]
        }
    }

    fn ask(&self, results: &Results) -> Outcome {
        match (self.order(&results.manifest.axes), self.claim.aim()) {
            (Some(order), _) => order::judge(results, self, &order),
            (None, Some(aim)) => aim::judge(results, self, aim),
            (None, None) => number::judge(results, self),
        }
    }

    /// The values that should ascend in the measure, if that is what is claimed.
    fn order(&self, axes: &IndexMap<String, Vec<String>>) -> Option<Vec<String>> {
        if let Some(order) = &self.claim.order {
            return Some(order.iter().map(ToString::to_string).collect());
        }
        let mut values = axes.get(order::axis_of(self)).cloned().unwrap_or_default();
        match self.claim.change? {
            Change::Increases => {}
            Change::Decreases => values.reverse(),
        }
        Some(values)
    }
}
