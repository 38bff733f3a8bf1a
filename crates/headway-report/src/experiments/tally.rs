//! What a report amounts to.

use headway_lab::{CODE, ClaimVerdict};

use super::ReportedExperiment;
use super::readings::{Finding, Standing};
use super::words::count;

/// Counts over all experiments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    experiments: usize,
    not_run: usize,
    claims: usize,
    verdicts: [usize; VERDICTS.len()],
    runs: usize,
    missing: usize,
    unfinished: usize,
    damaged: usize,
    contradicted: usize,
    outdated: usize,
}

/// In the order in which they are shown.
const VERDICTS: [ClaimVerdict; 9] = [
    ClaimVerdict::Reproduced,
    ClaimVerdict::Fitted,
    ClaimVerdict::DirectionOnly,
    ClaimVerdict::Undecided,
    ClaimVerdict::NotReproduced,
    ClaimVerdict::Met,
    ClaimVerdict::Missed,
    ClaimVerdict::NotJudged,
    ClaimVerdict::NoResults,
];

impl Tally {
    pub(super) fn of(entries: &[ReportedExperiment]) -> Self {
        let mut tally = Self { experiments: entries.len(), ..Self::default() };
        for entry in entries {
            tally.not_run += usize::from(entry.figure.is_none());
            tally.claims += entry.judgements.len();
            for (verdict, number) in verdicts(entry) {
                let place = VERDICTS.iter().position(|other| *other == verdict);
                tally.verdicts[place.unwrap_or(VERDICTS.len() - 1)] += number;
            }
            let contradicted = |finding: &&Finding| finding.standing() == Standing::Contradicted;
            tally.contradicted += entry.findings.iter().flatten().filter(contradicted).count();
            tally.outdated += entry.results.outdated;
            let rows = entry.results.rows.iter().flatten();
            tally.runs += rows.clone().count();
            tally.damaged += rows.filter(|row| row.metrics.damaged_bytes_delivered > 0).count();
            tally.missing += if entry.figure.is_some() { entry.results.missing() } else { 0 };
            tally.unfinished += entry.results.unfinished();
        }
        tally
    }

    /// In a sentence or two.
    pub(super) fn sentence(&self) -> String {
        let mut text = count(self.experiments, "experiment", "experiments");
        if self.not_run > 0 {
            text.push_str(&format!(", {} not run", self.not_run));
        }
        text.push_str(&format!("; {}", count(self.claims, "claim", "claims")));
        let counts: Vec<String> = VERDICTS
            .iter()
            .zip(self.verdicts)
            .filter(|(_, number)| *number > 0)
            .map(|(verdict, number)| format!("{number} {}", verdict.name()))
            .collect();
        if !counts.is_empty() {
            text.push_str(&format!(": {}", counts.join(", ")));
        }
        text.push('.');
        if self.contradicted > 0 {
            let claims = count(self.contradicted, "claim is", "claims are");
            text.push_str(&format!(" {claims} contradicted by every reading."));
        }
        let runs = count(self.runs, "run", "runs");
        text.push_str(&match (self.missing, self.unfinished) {
            (0, 0) => format!(" {runs}, all of them finished"),
            (0, unfinished) => format!(" {runs}, {unfinished} of them unfinished"),
            (missing, 0) => format!(" {missing} of {} runs are still to be made", self.runs + missing),
            (missing, unfinished) => format!(
                " {missing} of {} runs are still to be made, and {unfinished} of the others did not finish",
                self.runs + missing
            ),
        });
        if self.damaged > 0 {
            let runs = count(self.damaged, "run", "runs");
            text.push_str(&format!("; {runs} delivered damaged bytes that every check had passed"));
        }
        text.push('.');
        if self.outdated > 0 {
            let runs = count(self.outdated, "run was", "runs were");
            text.push_str(&format!(" {runs} made by other code than this program's ({CODE})."));
        }
        text
    }
}

/// How often each verdict was given, those that were.
pub(super) fn verdicts(entry: &ReportedExperiment) -> Vec<(ClaimVerdict, usize)> {
    let number = |verdict| entry.judgements.iter().filter(|judgement| judgement.verdict == verdict).count();
    VERDICTS.into_iter().map(|verdict| (verdict, number(verdict))).filter(|(_, number)| *number > 0).collect()
}
