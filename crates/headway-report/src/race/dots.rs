//! Dots: a value of each sender, with its spread. A dot has no length, so that a logarithmic scale may begin anywhere.

use headway_sim::race::Spread;
use plotters::element::Text;
use plotters::style::Color;
use plotters::style::text_anchor::{HPos, VPos};

use crate::error::ReportError;
use crate::page::axis::{Axis, logarithm, row_place};
use crate::page::canvas::{self, Area, Error, LETTER, Margins, WIDTH};
use crate::page::palette::Ink;
use crate::page::series;

/// One row.
pub(super) struct Row {
    pub(super) name: String,
    /// Of its mark.
    pub(super) look: usize,
    pub(super) spread: Spread,
    /// The value in words.
    pub(super) label: String,
    /// Some of the runs behind it did not finish.
    pub(super) incomplete: bool,
}

/// Dots to be drawn.
pub(super) struct Dots<'a> {
    pub(super) rows: Vec<Row>,
    /// A value to compare with, with its name.
    pub(super) bound: Option<(f64, String)>,
    /// Whether there are percentiles to show.
    pub(super) whiskers: bool,
    /// The unit of a linear axis: its size and its name.
    pub(super) unit: (f64, &'a str),
    /// Names the marks of a logarithmic axis.
    pub(super) mark: fn(f64) -> String,
}

/// How the rows are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// Names to the left, values to the right.
    Wide,
    /// Names and values above the marks.
    Narrow,
}

impl Layout {
    const fn width(self) -> u32 {
        match self {
            Self::Wide => WIDTH,
            Self::Narrow => WIDTH / 2,
        }
    }

    /// The height of a row.
    const fn row(self) -> u32 {
        match self {
            Self::Wide => 66,
            Self::Narrow => 92,
        }
    }

    /// How far below the middle of its row a dot lies.
    const fn drop(self) -> i32 {
        match self {
            Self::Wide => 0,
            Self::Narrow => 20,
        }
    }

    /// The room around the rows: names as long as these have to fit in.
    fn margins(self, longest: usize, has_bound: bool) -> Margins {
        let top = if has_bound { 60 } else { 24 };
        match self {
            Self::Wide => Margins { top, right: 300, bottom: 76, left: (longest as u32 + 2) * LETTER },
            Self::Narrow => Margins { top, right: 70, bottom: 76, left: 70 },
        }
    }

    const fn marks(self) -> u32 {
        match self {
            Self::Wide => 6,
            Self::Narrow => 4,
        }
    }
}

impl Dots<'_> {
    /// Whether the axis is logarithmic: the values span more than a decade.
    pub(super) fn is_logarithmic(&self) -> bool {
        let (low, high) = self.extent();
        low > 0.0 && high > 10.0 * low
    }

    /// The least value above zero and the greatest.
    fn extent(&self) -> (f64, f64) {
        let spreads = self.rows.iter().flat_map(|row| [row.spread.median, row.spread.p10, row.spread.p90]);
        let values = spreads.chain(self.bound.iter().map(|(bound, _)| *bound));
        let (low, high) = values
            .filter(|&value| value > 0.0)
            .fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
        (if low.is_finite() { low } else { 0.0 }, high)
    }

    fn axis(&self, layout: Layout) -> Axis {
        let (low, high) = self.extent();
        let marks = layout.marks();
        if self.is_logarithmic() {
            Axis::logarithmic_span(low, high, marks as usize, self.mark)
        } else {
            Axis::linear(high / self.unit.0 * 1.02, marks, self.unit.1)
        }
    }

    fn place(&self, value: f64) -> f64 {
        if self.is_logarithmic() { logarithm(value) } else { value / self.unit.0 }
    }

    /// The drawing, as SVG.
    pub(super) fn draw(&self, layout: Layout) -> Result<String, ReportError> {
        let rows = u32::try_from(self.rows.len()).unwrap_or(u32::MAX).max(1);
        let longest = self.rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
        let margins = layout.margins(longest, self.bound.is_some());
        let height = margins.top + rows * layout.row() + margins.bottom;
        canvas::sized_drawing((layout.width(), height), |area| self.paint(area, layout, margins))
    }

    fn paint(&self, area: &Area<'_>, layout: Layout, margins: Margins) -> Result<(), Error> {
        let name = |row| if layout == Layout::Wide { Row::name(row) } else { "" };
        let rows = Axis::rows(self.rows.iter().map(name));
        let chart = canvas::chart(area, margins, (self.axis(layout), rows), false)?;
        let plot = chart.plotting_area();
        let (left, _) = plot.map_coordinate(&(f64::NEG_INFINITY, 0.0));
        let (right, _) = plot.map_coordinate(&(f64::INFINITY, 0.0));
        let width = layout.width() as i32;
        for (number, row) in self.rows.iter().enumerate() {
            let place = row_place(number, self.rows.len());
            let at = |value| plot.map_coordinate(&(self.place(value), place));
            let middle = at(row.spread.median).1;
            let line = middle + layout.drop();
            canvas::line(area, vec![(left, line), (right, line)], Ink::Grid.colour().stroke_width(2))?;
            if self.whiskers {
                paint_whisker(
                    area,
                    (at(row.spread.p10).0, at(row.spread.p90).0),
                    line,
                    series::ink(row.look),
                )?;
            }
            let place = (at(row.spread.median).0, line);
            series::mark(area, row.look, place)?;
            if row.incomplete {
                series::ring(area, place)?;
            }
            let (text, place, anchor) = match layout {
                Layout::Wide => (row.label.clone(), (width - 8, middle), HPos::Right),
                // To the right of the axis, and to the left of the bound, which is greater than all values.
                Layout::Narrow => {
                    let text = format!("{}: {}", row.name, row.label);
                    (text, (left + 12, middle - layout.drop()), HPos::Left)
                }
            };
            canvas::put(area, Text::new(text, place, canvas::text(Ink::Text, anchor, VPos::Center)))?;
        }
        if let Some((bound, name)) = &self.bound {
            let (x, top) = plot.map_coordinate(&(self.place(*bound), self.rows.len() as f64));
            let (_, bottom) = plot.map_coordinate(&(0.0, 0.0));
            canvas::line(area, vec![(x, top - 8), (x, bottom)], Ink::Bound.colour().stroke_width(4))?;
            // Within the drawing, wherever the bound lies.
            let half = (name.chars().count() as u32 * LETTER / 2) as i32 + 8;
            let style = canvas::text(Ink::Bound, HPos::Center, VPos::Bottom);
            canvas::put(area, Text::new(name.clone(), (x.min(width - half).max(half), top - 10), style))?;
        }
        Ok(())
    }
}

impl Row {
    fn name(&self) -> &str {
        &self.name
    }
}

/// From the tenth to the ninetieth percentile.
fn paint_whisker(area: &Area<'_>, (low, high): (i32, i32), line: i32, ink: Ink) -> Result<(), Error> {
    const CAP: i32 = 10;
    let style = ink.colour().stroke_width(3);
    canvas::line(area, vec![(low, line), (high, line)], style)?;
    canvas::line(area, vec![(low, line - CAP), (low, line + CAP)], style)?;
    canvas::line(area, vec![(high, line - CAP), (high, line + CAP)], style)
}
