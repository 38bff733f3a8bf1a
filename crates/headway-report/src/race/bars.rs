//! Bars: a value of each sender, with its spread.

use plotters::element::{Rectangle, Text};
use plotters::style::Color;
use plotters::style::text_anchor::{HPos, VPos};

use crate::error::ReportError;
use crate::page::axis::{Axis, logarithm, row_place};
use crate::page::canvas::{self, Area, Error, Margins, WIDTH};
use crate::page::palette::Ink;
use headway_sim::race::Spread;

/// One bar.
pub(super) struct Bar {
    pub(super) name: String,
    pub(super) spread: Spread,
    /// The value in words, beside the bar.
    pub(super) label: String,
    /// Some of the runs behind it did not finish.
    pub(super) incomplete: bool,
}

/// Bars to be drawn.
pub(super) struct Bars<'a> {
    pub(super) bars: Vec<Bar>,
    /// A value that none of them can exceed, with its name.
    pub(super) bound: Option<(f64, String)>,
    /// Whether there are percentiles to show.
    pub(super) whiskers: bool,
    /// The unit of a linear axis: its size and its name.
    pub(super) unit: (f64, &'a str),
    /// Names the marks of a logarithmic axis.
    pub(super) mark: fn(f64) -> String,
}

const ROW: u32 = 78;
/// Half the thickness of a bar.
const HALF: i32 = 24;
const MARGINS: Margins = Margins { top: 60, right: 330, bottom: 76, left: 290 };
/// At most this many marks beside the zero: their labels need room on a narrow page.
const MARKS: u32 = 4;

impl Bars<'_> {
    /// Whether the axis is logarithmic: the values span more than a decade.
    pub(super) fn is_logarithmic(&self) -> bool {
        let (low, high) = self.extent();
        low > 0.0 && high > 10.0 * low
    }

    /// The least value above zero and the greatest.
    fn extent(&self) -> (f64, f64) {
        let spreads = self.bars.iter().flat_map(|bar| [bar.spread.median, bar.spread.p10, bar.spread.p90]);
        let values = spreads.chain(self.bound.iter().map(|(bound, _)| *bound));
        let (low, high) = values
            .filter(|&value| value > 0.0)
            .fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
        (if low.is_finite() { low } else { 0.0 }, high)
    }

    fn axis(&self) -> Axis {
        let (low, high) = self.extent();
        if self.is_logarithmic() {
            Axis::logarithmic(low, high, MARKS as usize + 1, self.mark)
        } else {
            Axis::linear(high / self.unit.0 * 1.02, MARKS, self.unit.1)
        }
    }

    fn place(&self, value: f64) -> f64 {
        if self.is_logarithmic() { logarithm(value) } else { value / self.unit.0 }
    }

    /// The drawing, as SVG.
    pub(super) fn draw(&self) -> Result<String, ReportError> {
        let rows = u32::try_from(self.bars.len()).unwrap_or(u32::MAX).max(1);
        canvas::drawing(MARGINS.top + rows * ROW + MARGINS.bottom, |area| self.paint(area))
    }

    fn paint(&self, area: &Area<'_>) -> Result<(), Error> {
        let rows = Axis::rows(self.bars.iter().map(|bar| bar.name.as_str()));
        let chart = canvas::chart(area, MARGINS, (self.axis(), rows), false)?;
        let plot = chart.plotting_area();
        for (row, bar) in self.bars.iter().enumerate() {
            let row = row_place(row, self.bars.len());
            let at = |value| plot.map_coordinate(&(self.place(value), row));
            let (start, _) = plot.map_coordinate(&(f64::NEG_INFINITY, row));
            let (end, middle) = at(bar.spread.median);
            // A time that was cut off is no result: its bar is pale.
            let fill = Ink::Bar.colour().mix(if bar.incomplete { 0.35 } else { 1.0 });
            let corners = [(start, middle - HALF), (end, middle + HALF)];
            canvas::put(area, Rectangle::new(corners, fill.filled()))?;
            if self.whiskers {
                paint_whisker(area, at(bar.spread.p10).0, at(bar.spread.p90).0, middle)?;
            }
            let style = canvas::text(Ink::Text, HPos::Right, VPos::Center);
            canvas::put(area, Text::new(bar.label.clone(), (WIDTH as i32 - 8, middle), style))?;
        }
        if let Some((bound, name)) = &self.bound {
            let (x, top) = plot.map_coordinate(&(self.place(*bound), self.bars.len() as f64));
            let (_, bottom) = plot.map_coordinate(&(0.0, 0.0));
            canvas::line(area, vec![(x, top - 8), (x, bottom)], Ink::Bound.colour().stroke_width(4))?;
            let style = canvas::text(Ink::Bound, HPos::Center, VPos::Bottom);
            canvas::put(area, Text::new(name.clone(), (x, top - 10), style))?;
        }
        Ok(())
    }
}

/// From the tenth to the ninetieth percentile.
fn paint_whisker(area: &Area<'_>, low: i32, high: i32, middle: i32) -> Result<(), Error> {
    let style = Ink::Text.colour().stroke_width(3);
    let cap = HALF / 2;
    canvas::line(area, vec![(low, middle), (high, middle)], style)?;
    canvas::line(area, vec![(low, middle - cap), (low, middle + cap)], style)?;
    canvas::line(area, vec![(high, middle - cap), (high, middle + cap)], style)
}
