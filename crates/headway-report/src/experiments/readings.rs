//! Claims that did not come out as the source has them, under every reading of the source.

use std::collections::BTreeMap;

use headway_lab::{ClaimVerdict, Evidence, EvidenceError, Judgement, Reading, Results, weigh};

use super::words::{number, share_of_places, spoken, with_unit};
use super::{ReportedExperiment, judgement};

/// What the sweep that a claim names says of it.
pub(super) enum Finding {
    /// There are no results of the sweep.
    NotRun { sweep: String },
    /// The sweep has no such cells.
    Unanswered(EvidenceError),
    /// It was judged.
    Weighed(Evidence),
}

/// What became of a claim under all readings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// No faithful reading gives it.
    Contradicted,
    /// It is reproduced under some; or, an order, holds in most places under some.
    Holds,
    /// That cannot be said.
    Unknown,
}

/// How it is marked.
pub(super) const CONTRADICTED: &str = "contradicted by every reading";

impl Finding {
    pub(super) fn standing(&self) -> Standing {
        match self {
            Self::Weighed(evidence) if evidence.is_contradiction() => Standing::Contradicted,
            Self::Weighed(evidence) if evidence.holding > 0 || evidence.holds_in_part() => Standing::Holds,
            _ => Standing::Unknown,
        }
    }

    /// In words.
    pub(super) fn verdict(&self) -> String {
        match self {
            Self::NotRun { sweep } => format!("{sweep} was not run"),
            Self::Unanswered(error) => error.to_string(),
            Self::Weighed(evidence) => match (self.standing(), &evidence.best) {
                (Standing::Contradicted, _) => match &evidence.at_odds {
                    None => CONTRADICTED.into(),
                    Some(other) => format!(
                        "{CONTRADICTED}; against what the source states it would hold under {}",
                        name(other)
                    ),
                },
                (Standing::Holds, Some(best)) if evidence.holding == 0 => {
                    format!("holds in most places under reading {}", name(best))
                }
                (Standing::Holds, Some(best)) => format!("holds under reading {}", name(best)),
                _ if evidence.undecided > 0 => {
                    let readings = if evidence.undecided == 1 { "reading" } else { "readings" };
                    format!("undecided under {} {readings}", evidence.undecided)
                }
                _ if evidence.excluded > 0 => "no reading gives what is given".into(),
                _ => "no runs to judge by".into(),
            },
        }
    }

    fn best(&self) -> Option<&Reading> {
        match self {
            Self::Weighed(evidence) => evidence.best.as_ref(),
            _ => None,
        }
    }
}

/// For each claim of the results that is not reproduced and names a sweep.
pub(super) fn findings(
    results: &Results,
    judgements: &[Judgement],
    all: &BTreeMap<&str, &Results>,
) -> Vec<Option<Finding>> {
    let figure = &results.manifest.figure;
    let find = |(claim, judgement): (&headway_lab::Claim, &Judgement)| {
        let missed = matches!(judgement.verdict, ClaimVerdict::NotReproduced | ClaimVerdict::DirectionOnly);
        let source = claim.evidence.as_ref().filter(|_| missed)?;
        let Some(sweep) = all.get(source.sweep.as_str()).filter(|sweep| sweep.missing() < sweep.wanted())
        else {
            return Some(Finding::NotRun { sweep: source.sweep.clone() });
        };
        match weigh(claim, figure, sweep) {
            Ok(evidence) => evidence.map(Finding::Weighed),
            Err(error) => Some(Finding::Unanswered(error)),
        }
    };
    results.manifest.claims.iter().zip(judgements).map(find).collect()
}

/// A claim with what its sweep says of it, as it stands in a table.
pub(super) struct Line<'a> {
    pub(super) experiment: &'a str,
    pub(super) says: &'a str,
    pub(super) paper: String,
    /// In its own experiment.
    pub(super) ours: String,
    /// The nearest that any reading comes.
    pub(super) nearest: String,
    /// Which reading that is.
    pub(super) under: String,
    /// How many readings there were, and in which sweep.
    pub(super) of: String,
    pub(super) verdict: String,
}

/// The claims of this standing.
pub(super) fn lines(entries: &[ReportedExperiment], standing: Standing) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    for entry in entries {
        for (judgement, finding) in entry.judgements.iter().zip(&entry.findings) {
            if let Some(finding) = finding.as_ref().filter(|finding| finding.standing() == standing) {
                lines.push(line(entry, judgement, finding));
            }
        }
    }
    lines
}

fn line<'a>(entry: &'a ReportedExperiment, judgement: &'a Judgement, finding: &Finding) -> Line<'a> {
    let nearest = |best: &Reading| match judgement.paper {
        Some(_) => with_unit(&number(best.ours), &judgement.unit),
        None => share_of_places(best.ours),
    };
    let of = match finding {
        Finding::Weighed(evidence) => {
            let excluded = match evidence.excluded {
                0 => String::new(),
                excluded => format!("; {excluded} do not count"),
            };
            format!("{} of {} in `{}`{excluded}", evidence.holding, evidence.judged, evidence.sweep)
        }
        _ => String::new(),
    };
    Line {
        experiment: entry.name(),
        says: &judgement.says,
        paper: judgement::paper(judgement),
        ours: judgement::ours(judgement),
        nearest: finding.best().map_or(String::new(), nearest),
        under: finding.best().map_or(String::new(), name),
        of,
        verdict: finding.verdict(),
    }
}

/// A reading by its values.
fn name(reading: &Reading) -> String {
    // A value such as burst:5%:5 says itself what it is.
    let value = |(axis, value): (&String, &String)| {
        if value.starts_with(axis) { value.clone() } else { format!("{} {value}", spoken(axis)) }
    };
    reading.values.iter().map(value).collect::<Vec<_>>().join(", ")
}

/// The tables of a report: heading, what stands under it, and the standing of the claims in it.
pub(super) const TABLES: [(&str, &str, Standing); 3] = [
    (
        "Claims that every reading contradicts",
        "Each was judged again under every reading of its source: whether bursts are counted in packets or in \
         time, how much was sent, whether a delay is one way or of the round trip, how many headers are hit, \
         all else alike; what the source states is not open. No such reading gives what the source says; the one \
         that comes nearest is named.",
        Standing::Contradicted,
    ),
    (
        "Claims that hold under another reading",
        "Not reproduced in their own experiment, but under the readings that are counted; the one that comes \
         nearest is named. It is not always one that the source's other sentences allow.",
        Standing::Holds,
    ),
    (
        "Claims that the readings do not decide",
        "The sweep over the readings of these claims has no results that answer them, or too few runs to decide.",
        Standing::Unknown,
    ),
];
