//! The table of claims, for documents.

use headway_lab::{Aim, CODE, Judgement, Verdict};

use super::readings::{CONTRADICTED, Line, Standing, TABLES, lines};
use super::tally::Tally;
use super::words::{aim_text, number, share_of_places, with_unit};
use super::{Entry, Kind};

/// A row for each claim; experiments without one, and without results, have a row too.
pub(super) fn table(entries: &[Entry], kind: Kind, command: &str) -> String {
    let (title, report) = match kind {
        Kind::Papers => ("The papers' claims", "headway paper report results --markdown FILE"),
        Kind::Own => ("Claims", "headway lab report results --markdown FILE"),
    };
    let mut text = format!(
        "# {title}\n\nMade with headway {} (code {CODE}) by\n\n```\n{command}\n{report}\n```\n\n{}\n\n",
        env!("CARGO_PKG_VERSION"),
        Tally::of(entries).sentence()
    );
    let expected = match kind {
        Kind::Papers => "paper",
        Kind::Own => "paper or aim",
    };
    text.push_str(&format!("| experiment | claim | {expected} | ours | ratio | verdict | why |\n"));
    text.push_str("|---|---|--:|--:|--:|---|---|\n");
    for entry in entries {
        let manifest = &entry.results.manifest;
        let source =
            if manifest.source.is_empty() { String::new() } else { format!(" ({})", manifest.source) };
        let name = format!("`{}`{source}", entry.name());
        for (judgement, finding) in entry.judgements.iter().zip(&entry.findings) {
            let is_contradicted =
                finding.as_ref().is_some_and(|finding| finding.standing() == Standing::Contradicted);
            let mark = if is_contradicted { format!("; {CONTRADICTED}") } else { String::new() };
            let verdict = format!("{}{mark}", verdict(entry, judgement));
            row(&mut text, &[&name, &judgement.says, &paper(judgement), &ours(judgement), &ratio(judgement)]);
            finish(&mut text, &verdict, &why(entry, judgement));
        }
        if entry.judgements.is_empty() {
            row(&mut text, &[&name, &manifest.title, "", "", ""]);
            finish(&mut text, if entry.figure.is_some() { "no claim" } else { "not run" }, "");
        }
    }
    for (heading, lead, standing) in TABLES {
        let lines = lines(entries, standing);
        if !lines.is_empty() {
            text.push_str(&format!("\n## {heading}\n\n{lead}\n\n"));
            readings(&mut text, &lines);
        }
    }
    text
}

fn readings(text: &mut String, lines: &[Line<'_>]) {
    text.push_str("| experiment | claim | paper | ours | nearest of all readings | under | readings that give it | verdict |\n");
    text.push_str("|---|---|--:|--:|--:|---|---|---|\n");
    for line in lines {
        let name = format!("`{}`", line.experiment);
        row(text, &[&name, line.says, &line.paper, &line.ours, &line.nearest, &line.under, &line.of]);
        text.push_str(&format!("| {} |\n", escaped(&line.verdict)));
    }
}

fn row(text: &mut String, cells: &[&str]) {
    for cell in cells {
        text.push_str(&format!("| {} ", escaped(cell)));
    }
}

fn finish(text: &mut String, verdict: &str, why: &str) {
    text.push_str(&format!("| {verdict} | {} |\n", escaped(why)));
}

/// A bar would end the cell, and so would a line.
pub(super) fn escaped(cell: &str) -> String {
    cell.replace('|', "\\|").replace('\n', " ")
}

/// The paper's number, as the paper has it; or an aim.
pub(super) fn paper(judgement: &Judgement) -> String {
    if let Some(aim) = judgement.aim {
        return with_unit(&aim_text(aim), &judgement.unit);
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
pub(super) fn verdict(entry: &Entry, judgement: &Judgement) -> &'static str {
    if entry.figure.is_none() && judgement.verdict == Verdict::NoResults {
        return "not run";
    }
    judgement.verdict.name()
}

/// What the verdict rests on, and what the experiment's author says of it.
pub(super) fn why(entry: &Entry, judgement: &Judgement) -> String {
    let basis = if entry.figure.is_none() { "" } else { &judgement.basis };
    [judgement.why.trim(), basis].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
}
