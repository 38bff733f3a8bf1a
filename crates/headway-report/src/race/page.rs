//! The results as a page: one file that needs nothing else, the same bytes for the same results.

use headway_sim::race::{Spread, Summary};
use maud::{Markup, PreEscaped, html};

use super::dots::{Dots, Layout, Row};
use super::{Results, graphs, overlay, runs, scenario, summary, zoom};
use crate::error::ReportError;
use crate::page::{self, series};
use crate::quantities::{rate_text, seconds_text, short_rate};
use crate::terms::explained;

/// The page. `command` is the command that asked for it.
///
/// # Errors
///
/// A figure cannot be drawn.
pub fn page(results: &Results, summaries: &[Summary], command: &str) -> Result<String, ReportError> {
    let count = summaries.first().map_or(0, |summary| summary.runs);
    let times = times(results, summaries);
    let goodputs = goodputs(results, summaries);
    let body = html! {
        header {
            h1 { "headway race" }
            p.lead { (explained(&scenario::sentence(results, count))) }
            @if let Some(text) = headline(summaries) { p { (text) } }
        }
        main {
            section aria-labelledby="comparison" {
                h2 id="comparison" { "Time and goodput" }
                (comparison(
                    &times,
                    "Time",
                    "Until the last byte arrived; less is better",
                    "Median time of each sender",
                )?)
                (comparison(
                    &goodputs,
                    "Goodput",
                    "Content delivered per second; more is better",
                    "Median goodput of each sender",
                )?)
            }
            section aria-labelledby="results" {
                h2 id="results" { "Results" }
                (result_table(results, summaries))
                @for note in summary::notes(results, summaries) { p.note { (note) } }
            }
            section aria-labelledby="graphs" {
                h2 id="graphs" { "Time-sequence graphs" }
                p {
                    "What the sender did in its first run: time runs to the right, the data upwards. "
                    "Each segment stands where it was sent; the line follows what was acknowledged. "
                    "Beneath, over the same time, the congestion window. The graph of each sender has its own time scale. "
                    a href="#zoom" { "Zoom in" } " shows them in detail."
                }
                @if let Some(overlay) = overlay::figure(results)? { (overlay) }
                (graphs::figures(results)?)
            }
            (zoom::section(&results.first_runs))
            section aria-labelledby="runs" {
                h2 id="runs" { "Every run" }
                (runs::table(results))
            }
            section aria-labelledby="scenario" {
                h2 id="scenario" { "Scenario" }
                div.pair { (scenario::table(results)) }
            }
        }
        footer {
            p { "Made by headway " (env!("CARGO_PKG_VERSION")) " with" }
            pre tabindex="0" { code { (command) } }
            p {
                "Time is virtual and random numbers come from the seed: "
                "the same content and options give the same results on every machine."
             }
        }
        (zoom::script(&results.first_runs))
    };
    let title = format!("headway race: {}", summary::names(summaries));
    Ok(page::page_with_style(&title, &zoom::style(&results.first_runs), &body))
}

/// The outcome in a sentence, where there is something to compare and all of it is known.
fn headline(summaries: &[Summary]) -> Option<String> {
    if summaries.len() < 2 || summaries.iter().any(|summary| summary.finished < summary.runs) {
        return None;
    }
    let mean = |summary: &Summary| summary.seconds.map(|spread| spread.mean);
    let by_time = |a: &&Summary, b: &&Summary| mean(a).unwrap_or(0.0).total_cmp(&mean(b).unwrap_or(0.0));
    let (fastest, slowest) = (summaries.iter().min_by(by_time)?, summaries.iter().max_by(by_time)?);
    let (least, most) = (mean(fastest)?, mean(slowest)?);
    // Less than a tenth is no difference worth a sentence.
    (least > 0.0 && most > 1.1 * least).then(|| {
        format!(
            "Fastest: {}, {} on average. Slowest: {}, {}, {:.1} times as long.",
            fastest.sender,
            seconds_text(least),
            slowest.sender,
            seconds_text(most),
            most / least,
        )
    })
}

fn result_table(results: &Results, summaries: &[Summary]) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Results" {
            table.numbers.cards {
                thead { tr { @for name in summary::COLUMNS { th scope="col" { (explained(&name.replace("-\n", "").replace('\n', " "))) } } } }
                @for group in summary::groups(summaries) {
                    tbody { @for summary in group { (result_row(results, summary)) } }
                }
            }
        }
    }
}

fn result_row(results: &Results, summary: &Summary) -> Markup {
    let label =
        |place: usize| summary::COLUMNS.get(place).map(|name| name.replace("-\n", "").replace('\n', " "));
    html! {
        tr.unfinished[summary.finished < summary.runs] {
            @for (place, cell) in summary::row(results, summary).iter().enumerate() {
                @if place == 0 { th scope="row" { (cell) } }
                @else {
                    td data-label=[label(place)] { @for (line, text) in cell.lines().enumerate() { @if line > 0 { br; } (text) } }
                }
            }
        }
    }
}

fn times(results: &Results, summaries: &[Summary]) -> Dots<'static> {
    Dots {
        rows: rows(
            (results, summaries),
            |summary| summary.seconds,
            seconds_text,
            "> ",
            |one, other| one < other,
        ),
        bound: None,
        whiskers: whiskers(summaries),
        unit: (1.0, " s"),
        mark: |seconds| format!("{seconds} s"),
    }
}

fn goodputs(results: &Results, summaries: &[Summary]) -> Dots<'static> {
    let bound = results.scenario.bound().filter(|bound| *bound > 0.0);
    let highest = summaries.iter().filter_map(|summary| summary.goodput_bps).map(|spread| spread.p90);
    let highest = highest.chain(bound).fold(0.0, f64::max);
    Dots {
        rows: rows(
            (results, summaries),
            |summary| summary.goodput_bps,
            rate_text,
            "",
            |one, other| one > other,
        ),
        bound: bound.map(|bound| (bound, format!("bound {}", rate_text(bound)))),
        whiskers: whiskers(summaries),
        unit: if highest >= 1e6 { (1e6, " Mbit/s") } else { (1e3, " kbit/s") },
        mark: short_rate,
    }
}

/// A single run has no percentiles.
fn whiskers(summaries: &[Summary]) -> bool {
    summaries.iter().any(|summary| summary.runs > 1)
}

fn rows(
    (results, summaries): (&Results, &[Summary]),
    value: fn(&Summary) -> Option<Spread>,
    text: fn(f64) -> String,
    prefix_of_incomplete: &str,
    is_better: fn(f64, f64) -> bool,
) -> Vec<Row> {
    let spreads = || {
        let rivals = summaries.iter().filter(|summary| summary.sender.tcp().is_some());
        rivals.filter_map(|summary| Some((summary.finished == summary.runs, value(summary)?.median)))
    };
    // One sender is not the best of anything, and a time that was cut off is no result.
    let best = spreads()
        .filter(|(is_complete, _)| *is_complete && spreads().count() > 1)
        .map(|(_, median)| median)
        .reduce(|best, other| if is_better(other, best) { other } else { best });
    let row = |summary: &Summary| {
        let spread = value(summary)?;
        let incomplete = summary.finished < summary.runs;
        let prefix = if incomplete { prefix_of_incomplete } else { "" };
        let is_best = !incomplete && summary.sender.tcp().is_some() && best == Some(spread.median);
        Some(Row {
            name: summary.sender.to_string(),
            look: results.look(summary.sender),
            label: format!("{prefix}{}{}", text(spread.median), if is_best { ", best" } else { "" }),
            spread,
            incomplete,
        })
    };
    summaries.iter().filter_map(row).collect()
}

fn comparison(dots: &Dots<'_>, title: &str, explained: &str, label: &str) -> Result<Markup, ReportError> {
    let values: Vec<String> = dots.rows.iter().map(|row| format!("{} {}", row.name, row.label)).collect();
    let label = format!("{label}: {}", values.join(", "));
    let mut keys = Vec::new();
    if dots.rows.iter().any(|row| row.incomplete) {
        keys.push(series::ring_key("some of the runs did not finish")?);
    }
    Ok(html! {
        figure {
            figcaption {
                h3 { (title) }
                p {
                    (explained) ". Marks: medians"
                    @if dots.whiskers { "; whiskers: from the 10th to the 90th percentile" }
                    "."
                    @if dots.is_logarithmic() { " The scale is logarithmic." }
                }
            }
            div.plot.wide role="img" aria-label=(label) { (PreEscaped(dots.draw(Layout::Wide)?)) }
            div.plot.panel.narrow role="img" aria-label=(label) { (PreEscaped(dots.draw(Layout::Narrow)?)) }
            (series::list(&keys))
        }
    })
}
