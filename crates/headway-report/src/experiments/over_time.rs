//! Figures over time: one run of each series is made again and captured. Virtual time makes it quick.

use headway_lab::{FigureKind, LabError, Results};
use maud::{Markup, html};
use plotters::style::Color;

use super::captured::Captured;
use super::chart::{Format, name_axes};
use super::figure::{Drawing, Figure};
use super::panels::{cells_at, values};
use super::words::spoken;
use crate::error::ReportError;
use crate::page::axis::Axis;
use crate::page::canvas;
use crate::page::layers::Layers;
use crate::page::sequence::Graph;
use crate::page::sequence_figure;
use crate::page::series::{self, looks};
use crate::quantities::seconds_text;

/// A run that was made again.
struct Recorded {
    name: String,
    look: usize,
    captured: Captured,
}

/// A figure of the kinds over time.
pub(super) fn figure(results: &Results) -> Result<Figure, ReportError> {
    let mut figure = Figure::default();
    let axis = results.manifest.figure.panels.as_deref();
    let panels = values(&results.manifest, axis);
    for panel in panels {
        let title = axis.map_or(String::new(), |axis| format!("{} {panel}", spoken(axis)));
        let runs = record(results, panel, &mut figure.notes)?;
        if results.manifest.figure.kind == FigureKind::TimeSequence {
            for run in &runs {
                sequence(&mut figure, &title, run)?;
            }
        } else {
            throughput(&mut figure, &title, &runs)?;
        }
    }
    let note = "The first run of each sender, made again and captured at the sender; drawn is what `headway trace` \
                reads from the capture. The times are from the first packet to the ACK of the last byte; the \
                values below are of all runs.";
    figure.notes.push(note.into());
    Ok(figure)
}

/// The first run of each series, where it was made. One that cannot be made again is noted: the rest of
/// the report does not depend on it.
fn record(results: &Results, panel: &str, notes: &mut Vec<String>) -> Result<Vec<Recorded>, ReportError> {
    let figure = &results.manifest.figure;
    let mut recorded = Vec::new();
    let names = values(&results.manifest, figure.series.as_deref());
    for (look, name) in looks(&names).into_iter().zip(names) {
        let place_of = [(figure.panels.as_deref(), panel), (figure.series.as_deref(), name)];
        let first = cells_at(results, &place_of).find_map(|(cell, rows)| Some((cell, rows.first()?)));
        let Some((cell, row)) = first else { continue };
        let captured = match Captured::record(&results.manifest, cell, row.seed) {
            Ok(captured) => captured,
            Err(ReportError::Lab(
                error @ (LabError::NotReplayable { .. } | LabError::NoConnection { .. }),
            )) => {
                let place = format!("{name} {panel}");
                notes.push(format!("Not drawn: {}: {error}.", place.trim()));
                continue;
            }
            Err(error) => return Err(error),
        };
        recorded.push(Recorded { name: name.to_owned(), look, captured });
    }
    Ok(recorded)
}

fn sequence(figure: &mut Figure, title: &str, run: &Recorded) -> Result<(), ReportError> {
    let (captured, outcome) = (&run.captured, &run.captured.outcome);
    let seconds = run.seconds();
    let layers = Layers::captured(captured.data(), captured.answers(), captured.start());
    let graph = Graph::new(&layers, outcome.size, seconds);
    let svg = graph.draw_sequence()?;
    let name = if run.name.is_empty() { outcome.sender.to_string() } else { run.name.clone() };
    let title = if title.is_empty() { name } else { format!("{name}, {title}") };
    let ended = if outcome.metrics.finished { "" } else { ", unfinished" };
    let label = format!("{title}: {}{ended}", seconds_text(seconds));
    let markup: Markup = html! {
        h4 { (label) }
        (sequence_figure::graphs(&title, &graph)?)
    };
    figure.drawings.push(Drawing { title: label.clone(), svg, label, markup: Some(markup) });
    Ok(())
}

/// The largest number of intervals over which throughput is averaged.
const SPANS: f64 = 120.0;

/// A drawing of each sender, all of a panel on the same scales.
fn throughput(figure: &mut Figure, title: &str, runs: &[Recorded]) -> Result<(), ReportError> {
    let lines: Vec<Vec<(f64, f64)>> = runs.iter().map(averages).collect();
    let scales = Scales {
        end: runs.iter().map(Recorded::seconds).fold(0.0, f64::max),
        highest: lines.iter().flatten().map(|(_, rate)| *rate).fold(0.0, f64::max),
    };
    if figure.drawings.is_empty() {
        figure.across = Some(runs.len());
        let note = "Throughput is averaged over spans of a round trip or more; the mark on the axis is where \
                    the last byte was acknowledged. The drawings of a row have the same scales.";
        figure.notes.push(note.into());
    }
    for (run, line) in runs.iter().zip(&lines) {
        let ended = if run.captured.outcome.metrics.finished { "" } else { " (unfinished)" };
        let time = format!("{} {}{ended}", run.name, seconds_text(run.seconds()));
        let names = [run.name.as_str(), title].into_iter().filter(|name| !name.is_empty());
        figure.drawings.push(Drawing {
            title: names.collect::<Vec<_>>().join(", "),
            svg: scales.draw(run, line)?,
            label: format!("Throughput over time, {title}: {time}"),
            markup: None,
        });
    }
    Ok(())
}

/// What the drawings of a panel share.
struct Scales {
    /// Seconds.
    end: f64,
    /// Bit/s.
    highest: f64,
}

impl Scales {
    fn draw(&self, run: &Recorded, line: &[(f64, f64)]) -> Result<String, ReportError> {
        const FORMAT: Format = Format::Strip;
        let (unit, name) = if self.highest >= 1e6 { (1e6, "Mbit/s") } else { (1e3, "kbit/s") };
        canvas::sized_drawing(FORMAT.size(), |area| {
            let axes =
                (Axis::linear(self.end * 1.02, 5, " s"), Axis::linear(self.highest / unit * 1.05, 4, ""));
            let chart = canvas::chart(area, FORMAT.margins(), axes, true)?;
            name_axes(area, FORMAT, "time", &format!("throughput, {name}"))?;
            let spot = |at: f64, rate: f64| chart.plotting_area().map_coordinate(&(at, rate / unit));
            let path = canvas::steps(line.iter().map(|(at, rate)| spot(*at, *rate)));
            canvas::line(area, path, series::ink(run.look).colour().stroke_width(3))?;
            // Where it was done.
            let done = spot(run.seconds(), 0.0);
            series::mark(area, run.look, done)?;
            if run.captured.outcome.metrics.finished { Ok(()) } else { series::ring(area, done) }
        })
    }
}

impl Recorded {
    /// How long it took, by the capture.
    fn seconds(&self) -> f64 {
        self.captured.duration().as_secs_f64()
    }
}

/// The rate at which data was acknowledged, bit/s, from the start of each span.
fn averages(run: &Recorded) -> Vec<(f64, f64)> {
    let end = run.seconds();
    let acks: Vec<(f64, u64)> = run.captured.acks().map(|(at, una)| (at.as_secs_f64(), una)).collect();
    // The first ACK of data comes after two round trips: the handshake's and its own.
    let first = acks.iter().find(|(_, acknowledged)| *acknowledged > 0);
    let span = (end / SPANS).max(first.map_or(0.0, |(at, _)| at / 2.0));
    if !(span > 0.0 && span.is_finite()) {
        return Vec::new();
    }
    let count = (end / span).ceil() as usize;
    let mut line = Vec::with_capacity(count + 1);
    let (mut next, mut before, mut acknowledged) = (0, 0_u64, 0_u64);
    for number in 0..count {
        let (from, to) = (number as f64 * span, (number + 1) as f64 * span);
        while let Some(&(_, una)) = acks.get(next).filter(|(at, _)| *at <= to) {
            acknowledged = una;
            next += 1;
        }
        line.push((from, (acknowledged - before) as f64 * 8.0 / span));
        before = acknowledged;
    }
    let last = line.last().map_or(0.0, |(_, rate)| *rate);
    line.push((end, last));
    line.push((end, 0.0));
    line
}
