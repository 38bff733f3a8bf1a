//! The data that each sender's first run had acknowledged, all of them over one time.

use maud::{Markup, PreEscaped, html};
use plotters::style::Color;

use super::{FirstRun, Results, looks};
use crate::error::ReportError;
use crate::page::axis::{Axis, logarithm};
use crate::page::canvas::{self, Chart, DrawingPoint, Margins, WIDTH};
use crate::page::layers::Steps;
use crate::page::sequence::{Unit, paint_axis_name};
use crate::page::series;
use crate::quantities::seconds_text;

const HEIGHT: u32 = 760;
const MARGINS: Margins = Margins { top: 84, right: 60, bottom: 76, left: 130 };
/// At most this many marks beside the first: their labels need room on a narrow page.
const MARKS: u32 = 5;
/// How wide a line is.
const STROKE: u32 = 4;

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
                    @for names in overlay.coinciding(&lines) {
                        " The lines of " (names.join(", ")) " coincide: that of " (names[names.len() - 1]) " is seen."
                    }
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
    first_runs
        .iter()
        .zip(looks(first_runs))
        .filter_map(|(first, look)| {
            let size = first.outcome.size;
            let acks = first.sequence.as_ref()?.acks().points();
            // A FIN counts as a byte, but is not content; nothing is acknowledged after the last byte.
            let done = acks.iter().position(|ack| ack.una >= size).map_or(acks.len(), |place| place + 1);
            let steps = acks[..done].iter().map(|ack| (ack.at.as_nanos() as f64 / 1e9, ack.una.min(size)));
            Some(Line {
                name: first.sender.to_string(),
                look,
                acknowledged: steps.collect(),
                finished: first.outcome.metrics.finished,
            })
        })
        .filter(|line| !line.acknowledged.is_empty())
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

    /// Groups of lines that lie on each other, by their names in the order in which they are drawn.
    fn coinciding(&self, lines: &[Line]) -> Vec<Vec<String>> {
        let mut groups: Vec<Vec<&Line>> = Vec::new();
        for line in lines {
            match groups.iter_mut().find(|group| self.coincide(group[0], line)) {
                Some(group) => group.push(line),
                None => groups.push(vec![line]),
            }
        }
        let groups = groups.into_iter().filter(|group| group.len() > 1);
        groups.map(|group| group.into_iter().map(|line| line.name.clone()).collect()).collect()
    }

    /// Whether what is drawn of two lines is nowhere further apart than a line is wide.
    fn coincide(&self, one: &Line, other: &Line) -> bool {
        [(one, other), (other, one)]
            .into_iter()
            .all(|(one, other)| one.acknowledged.iter().all(|point| self.is_on(other, *point)))
    }

    fn is_on(&self, line: &Line, (at, bytes): (f64, u64)) -> bool {
        let (first, latest) = self.times;
        let begin = if self.log { self.place(first) } else { 0.0 };
        let width = f64::from(WIDTH - MARGINS.left - MARGINS.right);
        let height = u64::from(HEIGHT - MARGINS.top - MARGINS.bottom);
        let aside = (self.place(latest) - begin) / width * f64::from(STROKE);
        let above = self.most * u64::from(STROKE) / height;
        let until = |x: f64| {
            let place = line.acknowledged.partition_point(|(at, _)| self.place(*at) <= x);
            place.checked_sub(1).map_or(0, |place| line.acknowledged[place].1)
        };
        let x = self.place(at);
        (until(x - aside).saturating_sub(above)..=until(x + aside) + above).contains(&bytes)
    }

    fn place(&self, at: f64) -> f64 {
        if self.log { logarithm(at) } else { at }
    }

    fn spot(&self, chart: &Chart<'_>, unit: &Unit, (at, bytes): (f64, u64)) -> DrawingPoint {
        chart.plotting_area().map_coordinate(&(self.place(at), bytes as f64 / unit.size()))
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
                canvas::line(area, path, series::ink(line.look).colour().stroke_width(STROKE))?;
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
