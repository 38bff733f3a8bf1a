//! Draws the figure of an experiment, of each kind.

use headway_lab::{FigureKind, Results};

use super::chart::Frame;
use super::figure::{Drawing, Figure};
use super::grid::Grid;
use super::over_time;
use super::panels::{self, Panel};
use super::words::{count, spoken};
use crate::error::ReportError;
use crate::page::series;

/// The figure of these results.
pub(super) fn draw(results: &Results) -> Result<Figure, ReportError> {
    let panels = panels::panels(results);
    let mut figure = match results.manifest.figure.kind {
        FigureKind::TimeSequence | FigureKind::ThroughputOverTime => over_time::figure(results)?,
        FigureKind::Table => Figure {
            grids: panels.iter().map(|panel| Grid::of(&results.manifest, panel)).collect(),
            notes: vec![interval_note(results)],
            ..Figure::default()
        },
        FigureKind::Lines | FigureKind::Bars => charts(results, &panels)?,
    };
    add_notes(&mut figure.notes, results, &panels);
    Ok(figure)
}

fn charts(results: &Results, panels: &[Panel]) -> Result<Figure, ReportError> {
    let manifest = &results.manifest;
    let frame = Frame::of(&manifest.figure, panels);
    let lines = manifest.figure.kind == FigureKind::Lines;
    // A bar on a logarithmic scale would begin anywhere.
    let dots = !lines && manifest.figure.log;
    let mut figure = Figure { notes: vec![interval_note(results)], ..Figure::default() };
    for panel in panels {
        let title = match (&manifest.figure.panels, &panel.value) {
            (Some(axis), Some(value)) => format!("{} {value}", spoken(axis)),
            _ => String::new(),
        };
        let of = if title.is_empty() { String::new() } else { format!(", {title}") };
        let label = format!("{}{of}; the values are in the table below", manifest.title);
        figure.drawings.push(Drawing { title, svg: frame.draw(panel)?, label, markup: None });
    }
    let named = panels.first().map_or(&[][..], |panel| &panel.series);
    for series in named.iter().filter(|series| !series.name.is_empty()) {
        let key = match (lines, dots) {
            (true, _) => series::line_key,
            (false, true) => series::dot_key,
            (false, false) => series::bar_key,
        };
        figure.legend.push(key(&series.name, series.look)?);
    }
    let unfinished = results.unfinished() > 0;
    if unfinished && (lines || dots) {
        figure.legend.push(series::ring_key("some runs did not finish")?);
    } else if unfinished {
        figure.notes.push("Pale bars: some of the runs did not finish.".into());
    }
    Ok(figure)
}

/// Runs that are missing or did not finish are counted, never dropped.
fn add_notes(notes: &mut Vec<String>, results: &Results, panels: &[Panel]) {
    let merged = panels::merged(&results.manifest);
    if !merged.is_empty() {
        notes.push(format!("Taken together: all values of {}.", merged.join(", ")));
    }
    if results.missing() > 0 {
        let runs = count(results.missing(), "run is", "runs are");
        notes.push(format!("{runs} still missing, of {}.", results.wanted()));
    }
    if results.unfinished() > 0 {
        let made = results.wanted() - results.missing();
        let unfinished = results.unfinished();
        let mut text = format!("{unfinished} of {made} runs did not finish");
        let worst = panels
            .iter()
            .flat_map(|panel| panel.series.iter().map(move |series| (panel, series)))
            .flat_map(|(panel, series)| series.points.iter().map(move |point| (panel, series, point)))
            .max_by_key(|(_, _, point)| point.unfinished);
        if let Some((panel, series, point)) = worst {
            let named = [Some(series.name.as_str()), Some(point.x.as_str()), panel.value.as_deref()];
            let place: Vec<&str> = named.into_iter().flatten().filter(|name| !name.is_empty()).collect();
            text.push_str(&format!(
                "; most of them at {}: {} of {}",
                place.join(", "),
                point.unfinished,
                point.runs
            ));
        }
        text.push_str(". Their values, as far as they came, are among the others.");
        notes.push(text);
    }
    let damaged = results.rows.iter().flatten().filter(|row| row.metrics.damaged_bytes_delivered > 0).count();
    if damaged > 0 {
        let runs = count(damaged, "run", "runs");
        notes.push(format!("{runs} delivered damaged bytes: every checksum had passed them."));
    }
}

fn interval_note(results: &Results) -> String {
    let manifest = &results.manifest;
    let statistic = manifest.figure.statistic.name();
    match manifest.runs {
        1 => "One run of each cell.".into(),
        runs => format!("The {statistic} of {runs} runs of each cell with its 95 % interval (bootstrap)."),
    }
}
