//! Lines and bars: the values of a panel over an axis, with the intervals of their statistic.

use headway_lab::{Figure, FigureKind};
use plotters::element::{Rectangle, Text};
use plotters::style::Color;
use plotters::style::text_anchor::{HPos, VPos};

use super::panels::{Panel, Point, Series};
use super::words::{short, spoken};
use crate::error::ReportError;
use crate::page::axis::{Axis, logarithm};
use crate::page::canvas::{self, Area, Chart, DrawingPoint, Error, Margins, WIDTH};
use crate::page::palette::Ink;
use crate::page::series;

/// How large a chart is, in steps of its grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// Alone.
    Wide,
    /// Beside others of its kind.
    Panel,
    /// One of many, in rows.
    Strip,
}

impl Format {
    /// Of a figure with this number of charts.
    pub(super) const fn of(charts: usize) -> Self {
        if charts > 1 { Self::Panel } else { Self::Wide }
    }

    /// Width and height.
    pub(super) const fn size(self) -> (u32, u32) {
        match self {
            Self::Wide => (WIDTH, 800),
            Self::Panel => (WIDTH / 2, 620),
            Self::Strip => (WIDTH / 2, 460),
        }
    }

    /// A narrow page enlarges the letters of a wide chart.
    pub(super) const fn margins(self) -> Margins {
        match self {
            Self::Wide => Margins { top: 84, right: 40, bottom: 124, left: 150 },
            Self::Panel | Self::Strip => Margins { top: 60, right: 24, bottom: 92, left: 104 },
        }
    }

    /// How many marks there is room for along x.
    const fn marks(self) -> u32 {
        match self {
            Self::Wide => 16,
            Self::Panel | Self::Strip => 10,
        }
    }
}

/// What all charts of a figure share, so that they can be compared.
pub(super) struct Frame<'a> {
    figure: &'a Figure,
    format: Format,
    along: Along,
    /// The least value above zero, and the greatest.
    extent: (f64, f64),
}

/// Where the values along x lie.
struct Along {
    places: Vec<f64>,
    range: (f64, f64),
    labels: Vec<String>,
}

impl<'a> Frame<'a> {
    /// For these panels.
    pub(super) fn of(figure: &'a Figure, panels: &[Panel]) -> Self {
        let points = || panels.iter().flat_map(|panel| &panel.series).flat_map(|series| &series.points);
        let values = points().flat_map(|point| {
            let interval = point.summary.as_ref().map(|summary| summary.interval);
            [point.value, interval.map(|(low, _)| low), interval.map(|(_, high)| high)]
        });
        let (low, high) = values
            .flatten()
            .filter(|value| *value > 0.0 && value.is_finite())
            .fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
        let extent = if low.is_finite() { (low, high) } else { (1.0, 1.0) };
        let first = panels.first().and_then(|panel| panel.series.first());
        let names: Vec<&str> =
            first.map_or(Vec::new(), |series| series.points.iter().map(|point| point.x.as_str()).collect());
        let along =
            if figure.kind == FigureKind::Lines { Along::line(&names) } else { Along::evenly(&names) };
        Self { figure, format: Format::of(panels.len()), along, extent }
    }

    /// A panel, as SVG.
    pub(super) fn draw(&self, panel: &Panel) -> Result<String, ReportError> {
        canvas::sized_drawing(self.format.size(), |area| {
            let (low, high) = self.extent;
            let y = if self.figure.log {
                Axis::logarithmic(low, high, 8, |value| format!("{value}"))
            } else {
                Axis::linear(high * 1.05, 6, "")
            };
            let marks: Vec<(f64, String)> =
                self.along.places.iter().copied().zip(self.along.labels.iter().cloned()).collect();
            let x = Axis::marked(self.along.range, &marks, self.format.marks());
            let chart = canvas::chart(area, self.format.margins(), (x, y), true)?;
            let y_name = format!("{}, {}", self.figure.measure.name(), self.figure.unit_name());
            self.name_axes(area, y_name.trim_end_matches(", "))?;
            match self.figure.kind {
                FigureKind::Lines => self.paint_lines(area, &chart, panel),
                _ => self.paint_bars(area, &chart, panel),
            }
        })
    }

    fn name_axes(&self, area: &Area<'_>, y: &str) -> Result<(), Error> {
        let x = match (&self.figure.x_label, &self.figure.x) {
            (Some(label), _) => label.clone(),
            (None, Some(axis)) => spoken(axis),
            (None, None) => String::new(),
        };
        name_axes(area, self.format, &x, y)
    }

    /// Where a value lies in the chart.
    fn spot(&self, chart: &Chart<'_>, x: f64, value: f64) -> DrawingPoint {
        let place = if self.figure.log { logarithm(value) } else { value };
        chart.plotting_area().map_coordinate(&(x, place))
    }

    fn paint_lines(&self, area: &Area<'_>, chart: &Chart<'_>, panel: &Panel) -> Result<(), Error> {
        for series in &panel.series {
            let ink = series::ink(series.look);
            let drawn: Vec<(&Point, DrawingPoint)> = self
                .along
                .places
                .iter()
                .zip(&series.points)
                .filter_map(|(x, point)| Some((point, self.spot(chart, *x, point.value?))))
                .collect();
            let path: Vec<DrawingPoint> = drawn.iter().map(|(_, place)| *place).collect();
            canvas::line(area, path, ink.colour().stroke_width(4))?;
        }
        // Whiskers and marks above all lines.
        for series in &panel.series {
            let ink = series::ink(series.look);
            for (x, point) in self.along.places.iter().zip(&series.points) {
                let (Some(value), Some(summary)) = (point.value, &point.summary) else { continue };
                let place = self.spot(chart, *x, value);
                if summary.count > 1 {
                    let (low, high) = summary.interval;
                    let ends = (self.spot(chart, *x, low).1, self.spot(chart, *x, high).1);
                    series::upright(area, place.0, ends, 9, ink)?;
                }
                series::mark(area, series.look, place)?;
                if point.unfinished > 0 {
                    series::ring(area, place)?;
                }
            }
        }
        Ok(())
    }

    fn paint_bars(&self, area: &Area<'_>, chart: &Chart<'_>, panel: &Panel) -> Result<(), Error> {
        let floor = chart.plotting_area().map_coordinate(&(0.0, f64::NEG_INFINITY)).1;
        for (group, x) in self.along.places.iter().enumerate() {
            for (place, series) in panel.series.iter().enumerate() {
                if let Some(point) = series.points.get(group) {
                    self.paint_bar(
                        area,
                        chart,
                        (series, point),
                        bar_span(*x, place, panel.series.len()),
                        floor,
                    )?;
                }
            }
        }
        Ok(())
    }

    fn paint_bar(
        &self,
        area: &Area<'_>,
        chart: &Chart<'_>,
        (series, point): (&Series, &Point),
        (left, right): (f64, f64),
        floor: i32,
    ) -> Result<(), Error> {
        let (Some(value), Some(summary)) = (point.value, &point.summary) else { return Ok(()) };
        if self.figure.log {
            return self.paint_dot(
                area,
                (series, point),
                self.spot(chart, (left + right) / 2.0, value),
                |value| self.spot(chart, 0.0, value).1,
            );
        }
        let ((left, top), (right, _)) = (self.spot(chart, left, value), self.spot(chart, right, value));
        // Where some of the runs were cut off the value is no result: its bar is pale.
        let fill = series::ink(series.look).colour().mix(if point.unfinished > 0 { 0.35 } else { 1.0 });
        canvas::put(area, Rectangle::new([(left, top), (right, floor)], fill.filled()))?;
        if summary.count > 1 {
            let middle = (left + right) / 2;
            let (low, high) = summary.interval;
            let ends = (self.spot(chart, 0.0, low).1, self.spot(chart, 0.0, high).1);
            series::upright(area, middle, ends, 7.min((right - left) / 3), Ink::Text)?;
        }
        Ok(())
    }

    /// A bar on a logarithmic scale would begin anywhere: its end alone says what is measured.
    fn paint_dot(
        &self,
        area: &Area<'_>,
        (series, point): (&Series, &Point),
        place: DrawingPoint,
        height: impl Fn(f64) -> i32,
    ) -> Result<(), Error> {
        if let Some(summary) = point.summary.as_ref().filter(|summary| summary.count > 1) {
            let (low, high) = summary.interval;
            series::upright(area, place.0, (height(low), height(high)), 9, series::ink(series.look))?;
        }
        series::mark(area, series.look, place)?;
        if point.unfinished > 0 { series::ring(area, place) } else { Ok(()) }
    }
}

/// The names of both axes.
pub(super) fn name_axes(area: &Area<'_>, format: Format, x: &str, y: &str) -> Result<(), Error> {
    canvas::put(area, Text::new(y.to_owned(), (0, 4), canvas::text(Ink::Text, HPos::Left, VPos::Top)))?;
    let (width, height) = format.size();
    let middle = (format.margins().left + width - format.margins().right) / 2;
    let style = canvas::text(Ink::Text, HPos::Center, VPos::Bottom);
    canvas::put(area, Text::new(x.to_owned(), (middle as i32, height as i32 - 8), style))
}

/// The share of a group's width that its bars take.
const BARS: f64 = 0.8;

/// From where to where the bar at `place` of `count` goes, in the group about `x`.
fn bar_span(x: f64, place: usize, count: usize) -> (f64, f64) {
    let width = BARS / count.max(1) as f64;
    let left = x - BARS / 2.0 + width * place as f64;
    (left, left + width * if count > 1 { 0.92 } else { 1.0 })
}

impl Along {
    /// Numbers lie where they belong, anything else at even distances.
    fn line(names: &[&str]) -> Self {
        let Some(places) = numbers(names) else { return Self::evenly(names) };
        let (low, high) = places.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), place| {
            (low.min(*place), high.max(*place))
        });
        let room = if high > low { (high - low) * 0.05 } else { 1.0 };
        // The labels run from left to right.
        Self {
            places,
            range: (low - room, high + room),
            labels: names.iter().map(|name| short(name)).collect(),
        }
    }

    fn evenly(names: &[&str]) -> Self {
        Self {
            places: (0..names.len()).map(|place| place as f64).collect(),
            range: (-0.5, names.len().max(1) as f64 - 0.5),
            labels: names.iter().map(|name| short(name)).collect(),
        }
    }
}

/// The names as numbers, if they all are: ascending, in one unit, and not so far apart that the small
/// ones would lie on each other.
fn numbers(names: &[&str]) -> Option<Vec<f64>> {
    const FARTHEST: f64 = 20.0;
    let parts: Vec<(f64, &str)> = names
        .iter()
        .map(|name| {
            let end = name.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(name.len());
            Some((name[..end].parse().ok()?, &name[end..]))
        })
        .collect::<Option<_>>()?;
    let one_unit = parts.windows(2).all(|pair| pair[0].1 == pair[1].1 && pair[0].0 < pair[1].0);
    let least = parts.iter().map(|(value, _)| *value).find(|value| *value > 0.0)?;
    let near = parts.last().is_some_and(|(last, _)| *last <= FARTHEST * least);
    (one_unit && near).then(|| parts.into_iter().map(|(value, _)| value).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_one_unit_lie_where_they_belong() {
        assert_eq!(numbers(&["2%", "5%", "7.5%"]), Some(vec![2.0, 5.0, 7.5]));
        assert_eq!(numbers(&["512KiB", "1MiB"]), None);
        assert_eq!(numbers(&["0%", "95%"]), Some(vec![0.0, 95.0]));
        assert_eq!(numbers(&["95%", "0%"]), None);
        assert_eq!(numbers(&["10", "1000"]), None);
        assert_eq!(numbers(&["none", "1mbit"]), None);
    }

    #[test]
    fn bars_of_a_group_stand_side_by_side() {
        let spans: Vec<(f64, f64)> = (0..3).map(|place| bar_span(1.0, place, 3)).collect();
        assert!(spans.windows(2).all(|pair| pair[0].1 < pair[1].0));
        assert!((spans[0].0 - 0.6).abs() < 1e-9 && spans[2].1 <= 1.4);
    }
}
