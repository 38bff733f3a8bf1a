//! The results themselves as tables, for documents: a row for each combination of the axes but that of the
//! series, which runs across.

use headway_lab::{Results, Row, Summary, in_unit};

use super::ReportedExperiment;
use super::judgement::{ours, paper, verdict};
use super::markdown::escaped;
use super::panels::values;
use super::words::{number, spoken};

/// Lines of a document between which the tables stand; what is around them stays.
pub const MARKS: [&str; 2] = ["<!-- tables -->", "<!-- /tables -->"];

/// The document `text` with the tables in the place that it has for them, if it has one.
pub(super) fn placed(entries: &[ReportedExperiment], command: &str, text: &str) -> Option<String> {
    match MARKS.map(|mark| text.find(mark)) {
        [Some(start), Some(end)] if start < end => {
            let (before, after) = (&text[..start + MARKS[0].len()], &text[end..]);
            Some(format!("{before}\n\n{}\n{}\n", tables(entries, command), after.trim_end()))
        }
        _ => None,
    }
}

fn tables(entries: &[ReportedExperiment], command: &str) -> String {
    let mut text = format!("Made by `{command}` and `headway lab report results --tables FILE`.\n");
    for entry in entries {
        text.push_str(&table(&entry.results));
        text.push_str(&claims(entry));
    }
    text
}

/// What became of the claims, if there are any.
fn claims(entry: &ReportedExperiment) -> String {
    if entry.judgements.is_empty() {
        return String::new();
    }
    let mut text = String::from("\n| claim | expected | measured | verdict |\n|---|--:|--:|---|\n");
    for judgement in &entry.judgements {
        let (expected, ours, verdict) = (paper(judgement), ours(judgement), verdict(entry, judgement));
        let says = escaped(&judgement.says);
        text.push_str(&format!("| {says} | {expected} | {ours} | {verdict} |\n"));
    }
    text
}

fn table(results: &Results) -> String {
    let manifest = &results.manifest;
    let figure = &manifest.figure;
    let across = figure.series.as_deref();
    let down: Vec<&str> =
        manifest.axes.keys().map(String::as_str).filter(|axis| Some(*axis) != across).collect();
    let names = values(manifest, across);
    let unit = figure.unit_name();
    let measure = format!("{}{}{unit}", figure.measure.name(), if unit.is_empty() { "" } else { ", " });
    let heads = down.iter().map(|axis| spoken(axis)).chain(names.iter().map(|name| (*name).to_owned()));
    let heads: Vec<String> = heads.collect();
    let rules: Vec<&str> = down.iter().map(|_| "---").chain(names.iter().map(|_| "--:")).collect();
    let mut text = format!(
        "\n**{}** (`{}`): {} of {measure} over {} runs, minimum and maximum in parentheses.\n\n| {} |\n|{}|\n",
        manifest.title,
        manifest.name,
        figure.statistic.name(),
        manifest.runs,
        heads.join(" | "),
        rules.join("|")
    );
    let mut places: Vec<Vec<&str>> = Vec::new();
    for cell in &manifest.cells {
        let place = down.iter().map(|axis| cell.values.get(*axis).map_or("", String::as_str)).collect();
        if !places.contains(&place) {
            places.push(place);
        }
    }
    for place in places {
        let row = names.iter().map(|name| {
            let mut cells = manifest.cells.iter().zip(&results.rows).filter(|(cell, _)| {
                let mut axes =
                    down.iter().copied().zip(place.iter().copied()).chain(across.map(|axis| (axis, *name)));
                axes.all(|(axis, value)| cell.values.get(axis).is_some_and(|own| own == value))
            });
            cells.next().map_or("\u{2013}".into(), |(_, rows)| value(results, rows))
        });
        let fields: Vec<String> = place.iter().map(|value| (*value).to_owned()).chain(row).collect();
        text.push_str(&format!("| {} |\n", fields.join(" | ")));
    }
    text
}

fn value(results: &Results, rows: &[Row]) -> String {
    let figure = &results.manifest.figure;
    let unit = figure.unit.as_deref();
    let measured = rows.iter().filter_map(|row| row.measure(figure.measure));
    let values: Vec<f64> = measured.map(|value| in_unit(value, figure.measure, unit)).collect();
    let Some(summary) = Summary::of(&values, figure.statistic) else { return "not run".into() };
    let shown = number(summary.value(figure.statistic));
    let (least, most) = values
        .iter()
        .fold((f64::INFINITY, 0.0_f64), |(least, most), value| (least.min(*value), most.max(*value)));
    let unfinished = rows.iter().filter(|row| !row.metrics.finished).count();
    let unfinished =
        if unfinished == 0 { String::new() } else { format!(", {unfinished} of {} unfinished", rows.len()) };
    let spread =
        if values.len() > 1 { format!(" ({} to {})", number(least), number(most)) } else { String::new() };
    format!("{shown}{spread}{unfinished}")
}
