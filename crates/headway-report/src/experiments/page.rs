//! The page: a table of everything on top, then each experiment.

use headway_lab::{CODE, Results};
use maud::{Markup, html};

use super::columns::{Column, table};
use super::readings::{Line, TABLES, lines};
use super::section::{chip, experiment, not_run};
use super::tally::{Tally, verdicts};
use super::words::count;
use super::{ReportKind, ReportedExperiment};

/// Rules beside those that all pages have.
const STYLE: &str = include_str!("style.css");

/// All of it.
pub(super) fn page(entries: &[ReportedExperiment], kind: ReportKind, command: &str) -> String {
    let (title, lead) = match kind {
        ReportKind::Papers => (
            "The papers, run again",
            "Every figure and table of the papers as an experiment of this program: what they claim, and what \
             comes out here.",
        ),
        ReportKind::Own => ("Experiments", "What was run, what was measured, and what was claimed of it."),
    };
    let body = html! {
        header {
            h1 { (title) }
            p.lead { (lead) }
            p { (Tally::of(entries).sentence()) }
        }
        main {
            section aria-labelledby="summary" {
                h2 id="summary" { "Summary" }
                (summary(entries))
                p.note {
                    b { "reproduced" } ": within the tolerance that the experiment states, or in the claimed order everywhere; "
                    b { "fitted" } ": the same, with a parameter that was chosen to fit a number of the source; "
                    b { "direction only" } ": on the same side of 1 for a ratio, within a factor of 3 for a value, in the claimed "
                    "order in more than half of the places; "
                    b { "undecided" } ": the 95 % intervals allow two of these verdicts; "
                    b { "not reproduced" } ": neither. A claim that two are equal has no direction: neither may exceed the "
                    "other by more than the tolerance. "
                    b { "contradicted by every reading" } ": judged again under every reading of the source, and reproduced under none."
                    @if has_aims(entries) {
                        " " b { "met" } ": an aim that the median, or what else the experiment states, of every cell meets, or of the stated share of the cells; "
                        b { "missed" } ": more of the cells do not."
                    }
                }
            }
            @for (heading, lead, standing) in TABLES {
                @let lines = lines(entries, standing);
                @if !lines.is_empty() { (readings(heading, lead, &lines)) }
            }
            @for entry in entries {
                @if let Some(figure) = &entry.figure { (experiment(entry, figure)) }
            }
            @if entries.iter().any(|entry| entry.figure.is_none()) {
                section.experiment aria-labelledby="not-run" {
                    h2 id="not-run" { "Not run" }
                    @for entry in entries.iter().filter(|entry| entry.figure.is_none()) { (not_run(entry, kind)) }
                }
            }
        }
        footer {
            p { "Made by headway " (env!("CARGO_PKG_VERSION")) " (code " (CODE) ") with" }
            pre tabindex="0" { code { (command) "\n" (report_command(kind)) } }
            p {
                "Time is virtual and random numbers come from the seed: the same experiments give the same results, and the "
                "same page, on every machine."
            }
        }
    };
    crate::page::page_with_style(title, STYLE, &body)
}

fn has_aims(entries: &[ReportedExperiment]) -> bool {
    entries.iter().flat_map(|entry| &entry.judgements).any(|judgement| judgement.aim.is_some())
}

fn report_command(kind: ReportKind) -> &'static str {
    match kind {
        ReportKind::Papers => "headway paper report results",
        ReportKind::Own => "headway lab report results",
    }
}

/// A row for each experiment; those that were not run are folded away.
fn summary(entries: &[ReportedExperiment]) -> Markup {
    let (run, others): (Vec<&ReportedExperiment>, Vec<&ReportedExperiment>) =
        entries.iter().partition(|entry| entry.figure.is_some());
    html! {
        @if !run.is_empty() { (summary_table("Summary", &run)) }
        @if !others.is_empty() {
            details {
                summary { (count(others.len(), "experiment was", "experiments were")) " not run" }
                (summary_table("Experiments that were not run", &others))
            }
        }
    }
}

fn summary_table(name: &str, entries: &[&ReportedExperiment]) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label=(name) {
            table.summary {
                thead { tr { th scope="col" { "experiment" } th scope="col" { "shows" } th scope="col" { "runs" } th scope="col" { "claims" } } }
                tbody {
                    @for entry in entries {
                        tr {
                            th scope="row" { a href={ "#" (entry.name()) } { (entry.name()) } }
                            td {
                                (entry.results.manifest.title)
                                @if !entry.results.manifest.source.is_empty() { br; span.quiet { (entry.results.manifest.source) } }
                            }
                            td data-label="runs" { (runs(&entry.results)) }
                            td { (verdict_chips(entry)) }
                        }
                    }
                }
            }
        }
    }
}

/// Claims that were judged under every reading of their source.
fn readings(heading: &str, lead: &str, lines: &[Line<'_>]) -> Markup {
    let mut columns = [
        Column::names("experiment"),
        Column::words("claim"),
        Column::labelled("paper"),
        Column::labelled("ours"),
        Column::labelled("nearest"),
        Column::words("under"),
        Column::words("readings that give it"),
    ];
    for line in lines {
        let cells = [
            html! { a href={ "#" (line.experiment) } { (line.experiment) } },
            html! { (line.says) },
            html! { (line.paper) },
            html! { (line.ours) },
            html! { (line.nearest) },
            html! { (line.under) },
            html! {
                @if !line.of.is_empty() { (line.of.replace('`', "")) br; }
                span.quiet.says { (line.verdict) }
            },
        ];
        for (column, cell) in columns.iter_mut().zip(cells) {
            column.push(cell);
        }
    }
    html! {
        section aria-label=(heading) {
            h2 { (heading) }
            p.note { (lead) }
            (table("claims readings", heading, &columns, |_| false))
        }
    }
}

fn runs(results: &Results) -> Markup {
    let made = results.wanted() - results.missing();
    html! {
        @if made == 0 { span.verdict.none { "not run" } }
        @else {
            (made)
            @if results.missing() > 0 { br; span.warn { (results.missing()) " missing" } }
            @if results.unfinished() > 0 { br; span.warn { (results.unfinished()) " unfinished" } }
        }
    }
}

fn verdict_chips(entry: &ReportedExperiment) -> Markup {
    html! {
        @if entry.figure.is_some() {
            @for (verdict, number) in verdicts(entry) { (chip(verdict, &format!("{number} {}", verdict.name()))) " " }
            @if entry.judgements.is_empty() { span.quiet { "none" } }
        } @else if !entry.judgements.is_empty() {
            span.quiet { (count(entry.judgements.len(), "claim", "claims")) ", not judged" }
        } @else {
            span.quiet { "none" }
        }
    }
}
