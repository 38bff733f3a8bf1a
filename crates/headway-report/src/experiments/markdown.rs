//! The table of claims, for documents.

use headway_lab::CODE;

use super::judgement::{missing, ours, paper, ratio, verdict, why};
use super::links;
use super::readings::{CONTRADICTED, Line, Standing, TABLES, lines};
use super::tally::Tally;
use super::{ReportKind, ReportedExperiment};

/// A row for each claim; experiments without one, and without results, have a row too.
pub(super) fn table(entries: &[ReportedExperiment], kind: ReportKind, command: &str) -> String {
    let (title, report) = match kind {
        ReportKind::Papers => ("The papers' claims", "headway paper report results --markdown FILE"),
        ReportKind::Own => ("Claims", "headway lab report results --markdown FILE"),
    };
    let mut text = format!(
        "# {title}\n\nMade with headway {} (code {CODE}) by\n\n```\n{command}\n{report}\n```\n\n{}\n\n",
        env!("CARGO_PKG_VERSION"),
        Tally::of(entries).sentence()
    );
    let expected = match kind {
        ReportKind::Papers => "paper",
        ReportKind::Own => "paper or aim",
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
    missing_cells(&mut text, entries);
    links::tables(&mut text, entries);
    for (heading, lead, standing) in TABLES {
        let lines = lines(entries, standing);
        if !lines.is_empty() {
            text.push_str(&format!("\n## {heading}\n\n{lead}\n\n"));
            readings(&mut text, &lines);
        }
    }
    text
}

/// Every cell that misses an aim, by name.
fn missing_cells(text: &mut String, entries: &[ReportedExperiment]) {
    let judgements = entries.iter().flat_map(|entry| entry.judgements.iter().map(move |of| (entry, of)));
    let mut missed = judgements.filter(|(_, judgement)| !judgement.missing.is_empty()).peekable();
    if missed.peek().is_none() {
        return;
    }
    text.push_str("\n## Cells that miss their aim\n\n| experiment | claim | aim | cells | why |\n|---|---|--:|---|---|\n");
    for (entry, judgement) in missed {
        let name = format!("`{}`", entry.name());
        row(text, &[&name, &judgement.says, &paper(judgement), &missing(judgement), judgement.why.trim()]);
        text.push_str("|\n");
    }
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

pub(super) fn row(text: &mut String, cells: &[&str]) {
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
