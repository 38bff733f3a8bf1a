//! The part of the page that is about one experiment.

use headway_lab::{ClaimVerdict, Results, Summary, in_unit};
use maud::{Markup, PreEscaped, html};

use super::columns::{Column, table};
use super::figure::Figure;
use super::parameters::parameters;
use super::readings::{Finding, Standing};
use super::words::{count, number};
use super::{ReportKind, ReportedExperiment, judgement, links};
use crate::page::series;

/// An experiment that was run.
pub(super) fn experiment(entry: &ReportedExperiment, figure: &Figure) -> Markup {
    let manifest = &entry.results.manifest;
    html! {
        section.experiment id=(entry.name()) aria-label=(manifest.title) {
            h2 { (manifest.title) }
            p.note { code { (entry.name()) } @if !manifest.source.is_empty() { " \u{b7} " (manifest.source) } }
            @if !manifest.changes.is_empty() {
                p.note { "Changed: " code { "--set " (manifest.changes.join(" --set ")) } ". The claims are not judged." }
            }
            (parameters(manifest))
            (drawn(&entry.results, figure))
            @if !entry.judgements.is_empty() { (claims(entry)) }
            (links::section(entry))
            @if !manifest.reading.is_empty() {
                details {
                    summary { "How the source was read" }
                    (reading(&manifest.reading))
                }
            }
            (values(&entry.results))
        }
    }
}

/// An experiment that was not run, folded away. A link to it unfolds it.
pub(super) fn not_run(entry: &ReportedExperiment, kind: ReportKind) -> Markup {
    let manifest = &entry.results.manifest;
    html! {
        details.not-run {
            summary { code { (entry.name()) } " \u{b7} " (manifest.title) }
            div.folded id=(entry.name()) {
                @if !manifest.source.is_empty() { p.note { (manifest.source) } }
                @if kind == ReportKind::Papers { p { code { "headway paper run " (entry.name()) } " runs it." } }
                (parameters(manifest))
                @if !entry.judgements.is_empty() { (claims(entry)) }
                (reading(&manifest.reading))
            }
        }
    }
}

/// A verdict, or a number of equal ones.
pub(super) fn chip(verdict: ClaimVerdict, text: &str) -> Markup {
    let class = match verdict {
        ClaimVerdict::Reproduced | ClaimVerdict::Met => "verdict good",
        ClaimVerdict::Fitted | ClaimVerdict::DirectionOnly => "verdict half",
        ClaimVerdict::NotReproduced | ClaimVerdict::Missed => "verdict bad",
        ClaimVerdict::Undecided | ClaimVerdict::NotJudged | ClaimVerdict::NoResults => "verdict none",
    };
    html! { span class=(class) { (text) } }
}

fn reading(text: &str) -> Markup {
    html! { div.reading { @for paragraph in text.split("\n\n").filter(|text| !text.is_empty()) { p { (paragraph) } } } }
}

fn drawn(results: &Results, figure: &Figure) -> Markup {
    let class = match figure.columns() {
        3 => "panels three",
        2 => "panels",
        _ => "single",
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
            figcaption { @for note in &figure.notes { p { (with_code(note)) } } }
        }
    }
}

/// Words between backticks are code.
fn with_code(text: &str) -> Markup {
    html! {
        @for (place, part) in text.split('`').enumerate() {
            @if place % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

fn claims(entry: &ReportedExperiment) -> Markup {
    let aims = entry.judgements.iter().filter(|judgement| judgement.aim.is_some()).count();
    let expected = match aims {
        0 => "paper",
        aims if aims == entry.judgements.len() => "aim",
        _ => "paper or aim",
    };
    let mut columns = [
        Column::words("claim"),
        Column::labelled(expected),
        Column::labelled("ours"),
        Column::labelled("ratio"),
        Column::plain(html! { "verdict" }),
        Column::words("why"),
    ];
    let is_run = entry.figure.is_some();
    for (judgement, finding) in entry.judgements.iter().zip(&entry.findings) {
        let verdict = html! {
            // Of what was not run there is nothing to say.
            @if is_run {
                (chip(judgement.verdict, judgement::verdict(entry, judgement)))
                @if let Some(finding) = finding { (finding_note(finding)) }
            }
        };
        let cells = [
            html! { (judgement.says) },
            html! { (judgement::paper(judgement)) },
            html! { (judgement::ours(judgement)) },
            html! { (judgement::ratio(judgement)) },
            verdict,
            html! { (judgement::why(entry, judgement)) },
        ];
        for (column, cell) in columns.iter_mut().zip(cells) {
            column.push(cell);
        }
    }
    table("claims", &format!("Claims of {}", entry.name()), &columns, |_| false)
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
    let separator = if unit.is_empty() { "" } else { ", " };
    let measure = format!("{}{separator}{unit}", figure.measure.name());
    let drawn = manifest.draw.iter().flat_map(|draw| draw.keys.keys());
    let heads = manifest.axes.keys().chain(drawn).map(String::as_str);
    let heads = heads.chain([&*measure, "95 % interval", "runs", "unfinished"]);
    let mut columns: Vec<Column> = heads.map(Column::explained).collect();
    let mut unfinished_rows = Vec::new();
    for (cell, rows) in manifest.cells.iter().zip(&results.rows) {
        let unfinished = rows.iter().filter(|row| !row.metrics.finished).count();
        let measured = rows.iter().filter_map(|row| row.measure(figure.measure));
        let measured: Vec<f64> =
            measured.map(|value| in_unit(value, figure.measure, figure.unit.as_deref())).collect();
        let summary = Summary::of(&measured, figure.statistic);
        let (value, interval) = match &summary {
            Some(summary) if measured.len() > 1 => {
                let (low, high) = summary.interval;
                (
                    number(summary.value(figure.statistic)),
                    format!("{} \u{2013} {}", number(low), number(high)),
                )
            }
            Some(summary) => (number(summary.value(figure.statistic)), String::new()),
            None => ("not run".into(), String::new()),
        };
        let results = [
            html! { (value) },
            html! { (interval) },
            html! { (rows.len()) @if rows.len() < cell.keys.len() { " of " (cell.keys.len()) } },
            html! { @if unfinished > 0 { (unfinished) } },
        ];
        let values = cell.values.values().chain(cell.drawn.values());
        let cells = values.map(|value| html! { (value) }).chain(results);
        for (column, cell) in columns.iter_mut().zip(cells) {
            column.push(cell);
        }
        unfinished_rows.push(unfinished > 0);
    }
    html! {
        details {
            summary { "Every value: " (count(manifest.cells.len(), "cell", "cells")) }
            (table("numbers cards", &format!("Values of {}", manifest.name), &columns, |row| {
                unfinished_rows.get(row).copied().unwrap_or(false)
            }))
        }
    }
}
