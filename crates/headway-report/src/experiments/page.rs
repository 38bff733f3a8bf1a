//! The page: a table of everything on top, then each experiment.

use headway_lab::{CODE, Results, Summary, Verdict, in_unit};
use maud::{Markup, PreEscaped, html};

use super::figure::Figure;
use super::readings::{Finding, Line, Standing, TABLES, lines};
use super::tally::{Tally, verdicts};
use super::words::{count, number};
use super::{Entry, Kind, judgement};
use crate::page::series;

/// Rules beside those that all pages have.
const STYLE: &str = include_str!("style.css");

/// All of it.
pub(super) fn page(entries: &[Entry], kind: Kind, command: &str) -> String {
    let (title, lead) = match kind {
        Kind::Papers => (
            "The papers, run again",
            "Every figure and table of the papers as an experiment of this program: what they claim, and what \
             comes out here.",
        ),
        Kind::Own => ("Experiments", "What was run, what was measured, and what was claimed of it."),
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
                        " " b { "met" } ": an aim that the median, or what else the experiment states, of every cell meets; "
                        b { "missed" } ": some cell does not."
                    }
                }
            }
            @for (heading, lead, standing) in TABLES {
                @let lines = lines(entries, standing);
                @if !lines.is_empty() { (readings(heading, lead, &lines)) }
            }
            @for entry in entries { (experiment(entry, kind)) }
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

fn has_aims(entries: &[Entry]) -> bool {
    entries.iter().flat_map(|entry| &entry.judgements).any(|judgement| judgement.aim.is_some())
}

fn report_command(kind: Kind) -> &'static str {
    match kind {
        Kind::Papers => "headway paper report results",
        Kind::Own => "headway lab report results",
    }
}

fn summary(entries: &[Entry]) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Summary" {
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
    html! {
        section aria-label=(heading) {
            h2 { (heading) }
            p.note { (lead) }
            div.scroll tabindex="0" role="region" aria-label=(heading) {
                table.claims.readings {
                    thead {
                        tr {
                            th scope="col" { "experiment" } th scope="col" { "claim" } th scope="col" { "paper" }
                            th scope="col" { "ours" } th scope="col" { "nearest" } th scope="col" { "under" }
                            th scope="col" { "readings that give it" }
                        }
                    }
                    tbody {
                        @for line in lines {
                            tr {
                                th scope="row" { a href={ "#" (line.experiment) } { (line.experiment) } }
                                td.says { (line.says) }
                                td data-label="paper" { (line.paper) }
                                td data-label="ours" { (line.ours) }
                                td data-label="nearest" { (line.nearest) }
                                td.says data-label="under" { (line.under) }
                                td.says data-label="readings" {
                                    @if !line.of.is_empty() { (line.of.replace('`', "")) br; }
                                    span.quiet.says { (line.verdict) }
                                }
                            }
                        }
                    }
                }
            }
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

fn verdict_chips(entry: &Entry) -> Markup {
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

fn chip(verdict: Verdict, text: &str) -> Markup {
    let class = match verdict {
        Verdict::Reproduced | Verdict::Met => "verdict good",
        Verdict::Fitted | Verdict::DirectionOnly => "verdict half",
        Verdict::NotReproduced | Verdict::Missed => "verdict bad",
        Verdict::Undecided | Verdict::NotJudged | Verdict::NoResults => "verdict none",
    };
    html! { span class=(class) { (text) } }
}

fn experiment(entry: &Entry, kind: Kind) -> Markup {
    let manifest = &entry.results.manifest;
    html! {
        section.experiment id=(entry.name()) aria-label=(manifest.title) {
            h2 { (manifest.title) }
            p.note { code { (entry.name()) } @if !manifest.source.is_empty() { " \u{b7} " (manifest.source) } }
            @if !manifest.changes.is_empty() {
                p.note { "Changed: " code { "--set " (manifest.changes.join(" --set ")) } ". The claims are not judged." }
            }
            @match &entry.figure {
                Some(figure) => { (drawn(&entry.results, figure)) }
                None => {
                    p.missing {
                        "Not run. "
                        @if kind == Kind::Papers { code { "headway paper run " (entry.name()) } " runs it." }
                    }
                }
            }
            @if !entry.judgements.is_empty() { (claims(entry)) }
            @if !manifest.reading.is_empty() {
                details {
                    summary { "How the source was read" }
                    div.reading { @for paragraph in manifest.reading.split("\n\n") { p { (paragraph) } } }
                }
            }
            @if entry.figure.is_some() { (values(&entry.results)) }
        }
    }
}

fn drawn(results: &Results, figure: &Figure) -> Markup {
    let class = if figure.is_small() {
        if figure.drawings.len() == 3 { "panels three" } else { "panels" }
    } else {
        "single"
    };
    let plot = if figure.is_small() { "plot panel" } else { "plot" };
    html! {
        figure id={ "figure-" (results.manifest.name) } {
            div class=(class) {
                @for drawing in &figure.drawings {
                    div {
                        @if let Some(markup) = &drawing.markup { (markup) }
                        @else {
                            @if !drawing.title.is_empty() { h3 { (drawing.title) } }
                            div class=(plot) role="img" aria-label=(drawing.label) { (PreEscaped(&drawing.svg)) }
                        }
                    }
                }
            }
            @for grid in &figure.grids { (grid.markup()) }
            (series::list(&figure.legend))
            figcaption { @for note in &figure.notes { p { (note) } } }
        }
    }
}

fn claims(entry: &Entry) -> Markup {
    let aims = entry.judgements.iter().filter(|judgement| judgement.aim.is_some()).count();
    let expected = match aims {
        0 => "paper",
        aims if aims == entry.judgements.len() => "aim",
        _ => "paper or aim",
    };
    html! {
        div.scroll tabindex="0" role="region" aria-label={ "Claims of " (entry.name()) } {
            table.claims {
                thead {
                    tr {
                        th scope="col" { "claim" } th scope="col" { (expected) } th scope="col" { "ours" }
                        th scope="col" { "ratio" } th scope="col" { "verdict" } th scope="col" { "why" }
                    }
                }
                tbody {
                    @for (judgement, finding) in entry.judgements.iter().zip(&entry.findings) {
                        tr {
                            td.says { (judgement.says) }
                            td data-label=(expected) { (judgement::paper(judgement)) }
                            td data-label="ours" { (judgement::ours(judgement)) }
                            td data-label="ratio" { (judgement::ratio(judgement)) }
                            td {
                                (chip(judgement.verdict, judgement::verdict(entry, judgement)))
                                @if let Some(finding) = finding { (finding_note(finding)) }
                            }
                            td.says { (judgement::why(entry, judgement)) }
                        }
                    }
                }
            }
        }
    }
}

/// What the readings of the source make of a claim.
fn finding_note(finding: &Finding) -> Markup {
    html! {
        @if finding.standing() == Standing::Contradicted { br; span.verdict.bad { (finding.verdict()) } }
        @else { br; span.quiet.says { (finding.verdict()) } }
    }
}

/// Every cell with its value, folded away until it is wanted.
fn values(results: &Results) -> Markup {
    let manifest = &results.manifest;
    let figure = &manifest.figure;
    let unit = figure.unit_name();
    html! {
        details {
            summary { "Every value: " (count(manifest.cells.len(), "cell", "cells")) }
            div.scroll tabindex="0" role="region" aria-label={ "Values of " (manifest.name) } {
                table.numbers {
                    thead {
                        tr {
                            @for axis in manifest.axes.keys() { th scope="col" { (axis) } }
                            th scope="col" { (figure.measure.name()) @if !unit.is_empty() { ", " (unit) } }
                            th scope="col" { "95 % interval" }
                            th scope="col" { "runs" }
                            th scope="col" { "unfinished" }
                        }
                    }
                    tbody {
                        @for (cell, rows) in manifest.cells.iter().zip(&results.rows) {
                            @let unfinished = rows.iter().filter(|row| !row.metrics.finished).count();
                            @let measured: Vec<f64> = rows.iter().filter_map(|row| row.measure(figure.measure))
                                .map(|value| in_unit(value, figure.measure, figure.unit.as_deref())).collect();
                            @let summary = Summary::of(&measured, figure.statistic);
                            tr.unfinished[unfinished > 0] {
                                @for value in cell.values.values() { td { (value) } }
                                @match summary {
                                    Some(summary) => {
                                        td { (number(summary.value(figure.statistic))) }
                                        td { @if measured.len() > 1 { (number(summary.interval.0)) " \u{2013} " (number(summary.interval.1)) } }
                                    }
                                    None => { td { "not run" } td {} }
                                }
                                td { (rows.len()) @if rows.len() < cell.keys.len() { " of " (cell.keys.len()) } }
                                td { @if unfinished > 0 { (unfinished) } }
                            }
                        }
                    }
                }
            }
        }
    }
}
