//! The data that each sender's first run had acknowledged, all of them over one time.

use maud::{Markup, PreEscaped, html};
use plotters::style::Color;

use super::{FirstRun, Results};
use crate::error::ReportError;
use crate::page::axis::{Axis, logarithm};
use crate::page::canvas::{self, Chart, DrawingPoint, Margins};
use crate::page::layers::Steps;
use crate::page::sequence::{Unit, paint_axis_name};
use crate::page::series;
use crate::quantities::seconds_text;

const HEIGHT: u32 = 760;
const MARGINS: Margins = Margins { top: 84, right: 60, bottom: 76, left: 130 };
/// At most this many marks beside the first: their labels need room on a narrow page.
const MARKS: u32 = 5;

/// The line of one sender.
struct Line {
    name: String,
    look: usize,
    acknowledged: Steps,
    finished: bool,
}

/// The figure; nothing where there is nothing to lay over each other.
pub(super) fn figure(results: &Results) -> Result<Option<Markup>, ReportError> {
    let lines = lines(&results.first_runs);
    if lines.len() < 2 {
        return Ok(None);
    }
    let overlay = Overlay::of(&lines);
    let svg = overlay.draw(&lines)?;
    let mut keys =
        lines.iter().map(|line| series::line_key(&line.name, line.look)).collect::<Result<Vec<_>, _>>()?;
    if lines.iter().any(|line| !line.finished) {
        keys.push(series::ring_key("did not finish")?);
    }
    let ends: Vec<String> =
        lines.iter().map(|line| format!("{} {}", line.name, seconds_text(line.end()))).collect();
    Ok(Some(html! {
        figure id="overlay" {
            figcaption {
                h3 { "All senders on one time scale" }
                p {
                    "Data acknowledged in the first run of each sender; the mark is where the last ACK arrived."
                    @if overlay.log { " The time scale is logarithmic." }
                }
            }
            div.plot role="img" aria-label={ "Data acknowledged over time: last ACK of " (ends.join(", ")) } {
                (PreEscaped(svg))
            }
            (series::list(&keys))
        }
    }))
}

fn lines(first_runs: &[FirstRun]) -> Vec<Line> {
    let drawn: Vec<(&FirstRun, Steps)> = first_runs
        .iter()
        .filter_map(|first| {
            let size = first.outcome.size;
            let acks = first.sequence.as_ref()?.acks().points();
            // A FIN counts as a byte, but is not content; nothing is acknowledged after the last byte.
            let done = acks.iter().position(|ack| ack.una >= size).map_or(acks.len(), |place| place + 1);
            let steps = acks[..done].iter().map(|ack| (ack.at.as_nanos() as f64 / 1e9, ack.una.min(size)));
            Some((first, steps.collect::<Steps>()))
        })
        .filter(|(_, acknowledged)| !acknowledged.is_empty())
        .collect();
    let names: Vec<String> = drawn.iter().map(|(first, _)| first.sender.to_string()).collect();
    let looks = series::looks(&names);
    drawn
        .into_iter()
        .zip(names)
        .zip(looks)
        .map(|(((first, acknowledged), name), look)| Line {
            name,
            look,
            acknowledged,
            finished: first.outcome.metrics.finished,
        })
        .collect()
}

impl Line {
    /// When its last ACK arrived.
    fn end(&self) -> f64 {
        self.acknowledged.last().map_or(0.0, |(at, _)| *at)
    }
}

/// What all lines share.
struct Overlay {
    log: bool,
    /// The first ACK, and the last.
    times: (f64, f64),
    most: u64,
}

impl Overlay {
    fn of(lines: &[Line]) -> Self {
        let ends = || lines.iter().map(Line::end);
        let first =
            lines.iter().filter_map(|line| Some(line.acknowledged.first()?.0)).fold(f64::INFINITY, f64::min);
        let (soonest, latest) = (ends().fold(f64::INFINITY, f64::min), ends().fold(0.0, f64::max));
        let most = lines.iter().filter_map(|line| Some(line.acknowledged.last()?.1)).max().unwrap_or(0);
        // On a linear scale the quick ones would be one upright line.
        Self { log: first > 0.0 && latest > 10.0 * soonest, times: (first, latest), most }
    }

    fn axis(&self) -> Axis {
        let (first, latest) = self.times;
        if self.log {
            Axis::logarithmic_span(first, latest, MARKS as usize + 1, |seconds| format!("{seconds} s"))
        } else {
            Axis::linear(latest * 1.02, MARKS, " s")
        }
    }

    fn spot(&self, chart: &Chart<'_>, unit: &Unit, (at, bytes): (f64, u64)) -> DrawingPoint {
        let at = if self.log { logarithm(at) } else { at };
        chart.plotting_area().map_coordinate(&(at, bytes as f64 / unit.size()))
    }

    fn draw(&self, lines: &[Line]) -> Result<String, ReportError> {
        canvas::drawing(HEIGHT, |area| {
            let unit = Unit::of(self.most as f64);
            let axes = (self.axis(), Axis::linear(self.most as f64 / unit.size() * 1.03, 6, ""));
            let chart = canvas::chart(area, MARGINS, axes, true)?;
            paint_axis_name(area, &format!("data acknowledged, {}", unit.name()))?;
            for line in lines {
                let start = self.spot(&chart, &unit, (0.0, 0));
                let points = line.acknowledged.iter().map(|point| self.spot(&chart, &unit, *point));
                let path = canvas::steps(std::iter::once(start).chain(points));
                canvas::line(area, path, series::ink(line.look).colour().stroke_width(4))?;
            }
            for line in lines {
                if let Some(last) = line.acknowledged.last() {
                    let place = self.spot(&chart, &unit, *last);
                    series::mark(area, line.look, place)?;
                    if !line.finished {
                        series::ring(area, place)?;
                    }
                }
            }
            Ok(())
        })
    }
}
