//! Results and claims for people at a terminal.

use std::collections::BTreeMap;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use headway_lab::{ClaimVerdict, FigureKind, LINK_AXIS, Results, Row, Summary, in_unit, judge};
use headway_report::experiments::{WorstLink, aim, number, quantiles, worst_links};
use headway_report::foot_notes;

/// A row for each cell, of drawn links for all of them together: axes, the figure's measure, runs that did not finish.
pub(super) fn results(results: &Results) -> String {
    let manifest = &results.manifest;
    let figure = &manifest.figure;
    let unit = figure.unit_name();
    let measure = figure.measure.name();
    let is_of_link = |axis: &str| axis == LINK_AXIS && manifest.draw.is_some();
    let mut rows: Vec<(Vec<&String>, Vec<&Row>)> = Vec::new();
    let mut places = BTreeMap::new();
    for (cell, runs) in manifest.cells.iter().zip(&results.rows) {
        let values = cell.values.iter().filter(|(axis, _)| !is_of_link(axis));
        let values: Vec<&String> = values.map(|(_, value)| value).collect();
        let place = *places.entry(values.clone()).or_insert_with(|| {
            rows.push((values, Vec::new()));
            rows.len() - 1
        });
        rows[place].1.extend(runs);
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    let axes = manifest.axes.keys().filter(|axis| !is_of_link(axis)).cloned();
    let columns = [format!("{measure} {unit}").trim_end().to_owned(), "95 %".into(), "runs".into()];
    table.set_header(axes.chain(columns));
    for (place, rows) in rows {
        let values: Vec<f64> = rows
            .iter()
            .filter_map(|row| row.measure(figure.measure))
            .map(|value| in_unit(value, figure.measure, figure.unit.as_deref()))
            .collect();
        let finished = rows.iter().filter(|row| row.metrics.finished).count();
        let (value, interval) = match Summary::of(&values, figure.statistic) {
            Some(summary) => {
                let (least, most) = summary.interval;
                // One run does not show how far runs differ.
                let interval = match values.len() {
                    1 => "-".into(),
                    _ => format!("{} .. {}", number(least), number(most)),
                };
                (number(summary.value(figure.statistic)), interval)
            }
            None => ("-".into(), "-".into()),
        };
        let runs = if finished == rows.len() {
            finished.to_string()
        } else {
            format!("{} of {} unfinished", rows.len() - finished, rows.len())
        };
        table.add_row(place.into_iter().cloned().chain([value, interval, runs]));
    }
    let axes = manifest.axes.keys().filter(|axis| !is_of_link(axis)).count();
    for column in table.column_iter_mut().skip(axes) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let drawn = match figure.kind {
        FigureKind::TimeSequence | FigureKind::ThroughputOverTime => " (drawn over time in the report)",
        _ => "",
    };
    let terms = manifest.axes.keys().map(String::as_str).chain([measure]);
    let notes: String = foot_notes(terms).into_iter().map(|note| format!("{note}\n")).collect();
    format!("{}{drawn}\n{table}\n{notes}\n", manifest.title)
}

/// A line for each claim; of drawn links also where the values lie, and the worst of them.
pub(super) fn claims(results: &Results) -> String {
    let name = &results.manifest.name;
    let mut text = String::new();
    // The worst links of claims that differ in their aim alone are named once.
    let mut known = Vec::new();
    for judgement in judge(results) {
        let numbers = match (judgement.verdict, judgement.paper, judgement.ours) {
            (ClaimVerdict::NoResults, ..) => String::new(),
            (_, None, Some(ours)) if judgement.aim.is_some() => {
                let aim = aim(&judgement, "").unwrap_or_default();
                let place =
                    if judgement.basis.is_empty() { String::new() } else { format!("; {}", judgement.basis) };
                format!(" (aim {aim}, ours {}{place})", number(ours))
            }
            (_, Some(paper), Some(ours)) => format!(" (paper {}, ours {})", number(paper), number(ours)),
            (ClaimVerdict::Undecided, None, Some(_)) => format!(" ({})", judgement.basis),
            (_, None, Some(share)) => format!(" (in {:.0} % of the places)", 100.0 * share),
            _ => String::new(),
        };
        text.push_str(&format!("{name:<14} {:<15} {}{numbers}\n", judgement.verdict.name(), judgement.says));
        if let Some(spread) = &judgement.spread {
            let [worst, twentieth, quarter, half, mean] = quantiles(&judgement, spread);
            text.push_str(&format!(
                "    {} cells of seed {}: worst {worst}, 5 % {twentieth}, 25 % {quarter}, 50 % {half}, mean {mean}\n",
                spread.cells, results.manifest.seed
            ));
            if known.contains(spread) {
                continue;
            }
            for WorstLink { ours, link, drawn, commands } in worst_links(results, &judgement, spread) {
                text.push_str(&format!("    {ours}: {link}: {drawn}\n"));
                commands.iter().for_each(|command| text.push_str(&format!("        {command}\n")));
            }
            known.push(spread.clone());
        }
    }
    text
}
