//! The graphs of a measurement: goodput and latency over one time axis.

use std::collections::BTreeSet;

use maud::{Markup, PreEscaped, html};
use plotters::element::Circle;
use plotters::style::Color;

use super::{Interval, Results};
use crate::error::ReportError;
use crate::page::axis::{Axis, logarithm};
use crate::page::canvas::{self, Area, Chart, Error, Margins};
use crate::page::palette::Ink;
use crate::page::sequence::paint_axis_name;
use crate::page::series;
use crate::quantities::rate_text;

const HEIGHT: u32 = 460;
const MARGINS: Margins = Margins { top: 84, right: 60, bottom: 76, left: 170 };
/// At most this many marks: their labels need room on a narrow page.
const TIME_MARKS: u32 = 6;
const VALUE_MARKS: u32 = 4;
/// The radius of a dot.
const RADIUS: i32 = 5;
/// Dots this close to each other, in steps of the drawing, are drawn once.
const GRAIN: i32 = 3;

/// The graphs of all that was measured.
pub(super) fn figures(results: &Results) -> Result<Markup, ReportError> {
    let time = Time::of(results);
    let rates = [
        ("Goodput up", "arrived at the server", &results.up, 2),
        ("Goodput down", "arrived at the client", &results.down, 1),
    ];
    // Both directions have one scale.
    let highest = results.up.iter().chain(&results.down).map(|interval| interval.rate).fold(0.0, f64::max);
    let mut drawn = Vec::new();
    for (title, what, intervals, look) in
        rates.into_iter().filter(|(_, _, intervals, _)| !intervals.is_empty())
    {
        let svg = time.rates(intervals, highest, look)?;
        let most = intervals.iter().map(|interval| interval.rate).fold(0.0, f64::max);
        drawn.push((
            title,
            format!(
                "Data that {what}, averaged over each interval. What waited behind a missing segment counts when it is \
                 delivered: an interval may have more than the link carries in it."
            ),
            format!("{title} over time, {} at most", rate_text(most)),
            svg,
        ));
    }
    if !results.latencies.is_empty() {
        let text = if time.is_logarithmic(results) { " The scale is logarithmic." } else { "" };
        let longest = results.latencies.iter().map(|(_, latency)| *latency).fold(0.0, f64::max);
        let text = format!("From each request to its answer.{text}");
        let label = format!("Latency over time, {:.1} ms at most", longest * 1e3);
        drawn.push(("Latency", text, label, time.latencies(results)?));
    }
    Ok(html! {
        @for (title, text, label, svg) in &drawn {
            figure {
                figcaption { h3 { (title) } p { (text) @if results.load.is_some() { " Upright lines: the load begins and ends." } } }
                div.plot role="img" aria-label=(label) { (PreEscaped(svg)) }
            }
        }
    })
}

/// The time axis that the graphs share.
struct Time {
    end: f64,
    load: Option<(f64, f64)>,
}

impl Time {
    fn of(results: &Results) -> Self {
        let ends = results.up.iter().chain(&results.down).map(|interval| interval.end);
        let sent = results.latencies.iter().map(|(at, _)| *at);
        Self { end: ends.chain(sent).fold(0.0, f64::max), load: results.load }
    }

    fn axis(&self) -> Axis {
        Axis::linear(self.end * 1.02, TIME_MARKS, " s")
    }

    fn rates(&self, intervals: &[Interval], highest: f64, look: usize) -> Result<String, ReportError> {
        let (unit, name) = match highest {
            rate if rate >= 1e9 => (1e9, "Gbit/s"),
            rate if rate >= 1e6 => (1e6, "Mbit/s"),
            _ => (1e3, "kbit/s"),
        };
        canvas::drawing(HEIGHT, |area| {
            let axes = (self.axis(), Axis::linear(highest / unit * 1.05, VALUE_MARKS, ""));
            let chart = canvas::chart(area, MARGINS, axes, true)?;
            paint_axis_name(area, name)?;
            self.paint_load(area, &chart)?;
            let spot = |at: f64, rate: f64| chart.plotting_area().map_coordinate(&(at, rate / unit));
            let steps = intervals.iter().flat_map(|one| [spot(one.start, one.rate), spot(one.end, one.rate)]);
            canvas::line(area, canvas::steps(steps), series::ink(look).colour().stroke_width(4))
        })
    }

    /// The shortest latency and the longest, in milliseconds.
    fn extent(results: &Results) -> (f64, f64) {
        let millis = results.latencies.iter().map(|(_, latency)| latency * 1e3);
        millis.fold((f64::INFINITY, 0.0), |(low, high), one| (low.min(one), high.max(one)))
    }

    fn is_logarithmic(&self, results: &Results) -> bool {
        let (low, high) = Self::extent(results);
        low > 0.0 && high > 10.0 * low
    }

    fn latencies(&self, results: &Results) -> Result<String, ReportError> {
        let (low, high) = Self::extent(results);
        let log = self.is_logarithmic(results);
        let values = if log {
            Axis::logarithmic_span(low, high, VALUE_MARKS as usize + 1, |millis| format!("{millis}"))
        } else {
            Axis::linear(high * 1.05, VALUE_MARKS, "")
        };
        canvas::drawing(HEIGHT, |area| {
            let chart = canvas::chart(area, MARGINS, (self.axis(), values), true)?;
            paint_axis_name(area, "ms")?;
            self.paint_load(area, &chart)?;
            let mut taken = BTreeSet::new();
            for (at, latency) in &results.latencies {
                let millis = if log { logarithm(latency * 1e3) } else { latency * 1e3 };
                let (x, y) = chart.plotting_area().map_coordinate(&(*at, millis));
                if taken.insert((x / GRAIN, y / GRAIN)) {
                    canvas::put(area, Circle::new((x, y), RADIUS, series::ink(3).colour().filled()))?;
                }
            }
            Ok(())
        })
    }

    fn paint_load(&self, area: &Area<'_>, chart: &Chart<'_>) -> Result<(), Error> {
        for at in self.load.into_iter().flat_map(|(from, until)| [from, until]) {
            let (x, bottom) = chart.plotting_area().map_coordinate(&(at, f64::NEG_INFINITY));
            let (_, top) = chart.plotting_area().map_coordinate(&(at, f64::INFINITY));
            canvas::line(area, vec![(x, top), (x, bottom)], Ink::Bound.colour().stroke_width(3))?;
        }
        Ok(())
    }
}
