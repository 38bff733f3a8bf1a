//! A judgement in the words of the pages and tables.

use headway_lab::{Aim, ClaimVerdict, Judgement};

use super::ReportedExperiment;
use super::words::{aim_text, number, share_of_places, with_unit};

/// What an aim wants, in this unit, and of which share of the cells if not of all.
pub fn aim(judgement: &Judgement, unit: &str) -> Option<String> {
    let aim = with_unit(&aim_text(judgement.aim?), unit);
    Some(match judgement.share {
        Some(share) => format!("{aim} in {}\u{a0}% of cells", 100.0 * share),
        None => aim,
    })
}

/// The paper's number, as the paper has it; or an aim.
pub(super) fn paper(judgement: &Judgement) -> String {
    if let Some(aim) = aim(judgement, &judgement.unit) {
        return aim;
    }
    judgement.paper.map_or(String::new(), |paper| with_unit(&paper.to_string(), &judgement.unit))
}

/// Our number; the share of places where the claim is an order.
pub(super) fn ours(judgement: &Judgement) -> String {
    let number_of_its_own = judgement.paper.or(judgement.aim.map(Aim::number));
    match (judgement.ours, number_of_its_own) {
        (Some(ours), Some(_)) => with_unit(&number(ours), &judgement.unit),
        (Some(share), None) => share_of_places(share),
        (None, _) => String::new(),
    }
}

/// Ours by the paper's.
pub(super) fn ratio(judgement: &Judgement) -> String {
    judgement.ratio.map_or(String::new(), |ratio| format!("{ratio:.2}"))
}

/// The verdict on the claim.
pub(super) fn verdict(entry: &ReportedExperiment, judgement: &Judgement) -> &'static str {
    if entry.figure.is_none() && judgement.verdict == ClaimVerdict::NoResults {
        return "not run";
    }
    judgement.verdict.name()
}

/// The cells that miss the aim, each with our number.
pub(super) fn missing(judgement: &Judgement) -> String {
    let cells = judgement.missing.iter().map(|missing| {
        let name = if missing.cell.is_empty() { "the only one" } else { &missing.cell };
        format!("{name}: {}", with_unit(&number(missing.ours), &judgement.unit))
    });
    cells.collect::<Vec<_>>().join("; ")
}

/// What the experiment's author says of the verdict, what it rests on, and what was fitted; nothing of what was not
/// run.
pub(super) fn why(entry: &ReportedExperiment, judgement: &Judgement) -> String {
    if entry.figure.is_none() {
        return String::new();
    }
    let fitted = judgement.fitted.as_ref().map_or(String::new(), |fitted| format!("fitted: {fitted}"));
    // The parts are joined by semicolons: the full stop of a sentence would stand before one.
    [judgement.why.trim().trim_end_matches('.'), judgement.basis.as_str(), &fitted]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("; ")
}
