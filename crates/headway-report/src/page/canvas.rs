//! What all drawings have in common.

use std::io;

use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind};
use plotters::element::{Drawable, PathElement, PointCollection};
use plotters::prelude::{Cartesian2d, ChartBuilder, ChartContext, IntoDrawingArea, SVGBackend};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{BLACK, Color, FontDesc, FontFamily, FontStyle, ShapeStyle, TextStyle};

use super::axis::Axis;
use super::palette::Ink;
use crate::error::ReportError;

/// Width of every drawing. A drawing has no size of its own, it fills the width of the page: these
/// are the steps of its grid, fine enough for a wide screen.
pub(crate) const WIDTH: u32 = 1600;

/// Size of the letters. The style sheet makes them larger where the page is narrow, and the margins
/// of the drawings leave room for that.
const LETTERS: f64 = 26.0;
/// About the width of a letter, in steps of the grid.
pub(crate) const LETTER: u32 = 16;
/// The plotting library writes sizes divided by this.
const LIBRARY_LETTERS: f64 = 1.24;

/// A point of a drawing: steps from the left and from the top.
pub(crate) type DrawingPoint = (i32, i32);
pub(crate) type Error = DrawingAreaErrorKind<io::Error>;
pub(crate) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub(crate) type Chart<'a> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<Axis, Axis>>;

/// The room around a chart, for labels.
#[derive(Clone, Copy)]
pub(crate) struct Margins {
    pub(crate) top: u32,
    pub(crate) right: u32,
    pub(crate) bottom: u32,
    pub(crate) left: u32,
}

/// A drawing as SVG, of [`WIDTH`] and this height.
pub(crate) fn drawing(
    height: u32,
    paint: impl for<'a> FnOnce(&Area<'a>) -> Result<(), Error>,
) -> Result<String, ReportError> {
    sized_drawing((WIDTH, height), paint)
}

/// A drawing as SVG, of this width and height.
pub(crate) fn sized_drawing(
    size: (u32, u32),
    paint: impl for<'a> FnOnce(&Area<'a>) -> Result<(), Error>,
) -> Result<String, ReportError> {
    let mut svg = String::new();
    let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
    paint(&area).and_then(|()| area.present()).map_err(|error| ReportError::Drawing(error.to_string()))?;
    drop(area);
    Ok(svg)
}

/// Axes, their marks and a grid.
pub(crate) fn chart<'a>(
    area: &Area<'a>,
    margins: Margins,
    (x, y): (Axis, Axis),
    horizontal_lines: bool,
) -> Result<Chart<'a>, Error> {
    let mut chart = ChartBuilder::on(area)
        .margin_top(margins.top)
        .margin_right(margins.right)
        .x_label_area_size(margins.bottom)
        .y_label_area_size(margins.left)
        .build_cartesian_2d(x, y)?;
    let mut mesh = chart.configure_mesh();
    mesh.axis_style(Ink::Axis.colour().stroke_width(2))
        .bold_line_style(Ink::Grid.colour().stroke_width(2))
        .light_line_style(BLACK.mix(0.0))
        .label_style(text(Ink::Text, HPos::Left, VPos::Top))
        .set_all_tick_mark_size(8);
    if !horizontal_lines {
        mesh.disable_y_mesh();
    }
    mesh.draw()?;
    drop(mesh);
    Ok(chart)
}

/// Letters in this colour, placed like this about their point.
pub(crate) fn text(ink: Ink, horizontal: HPos, vertical: VPos) -> TextStyle<'static> {
    TextStyle {
        font: FontDesc::new(FontFamily::SansSerif, LETTERS * LIBRARY_LETTERS, FontStyle::Normal),
        color: ink.colour().to_backend_color(),
        pos: Pos::new(horizontal, vertical),
    }
}

/// Draws an element whose place is given in steps of the drawing.
pub(crate) fn put<'a, E>(area: &Area<'a>, element: E) -> Result<(), Error>
where
    E: Drawable<SVGBackend<'a>>,
    for<'b> &'b E: PointCollection<'b, DrawingPoint>,
{
    area.draw(&element)
}

pub(crate) fn line(area: &Area<'_>, points: Vec<DrawingPoint>, style: ShapeStyle) -> Result<(), Error> {
    put(area, PathElement::new(points, style))
}

/// A line that holds each value until the next one, without the points that change nothing.
pub(crate) fn steps(points: impl IntoIterator<Item = DrawingPoint>) -> Vec<DrawingPoint> {
    let mut path: Vec<DrawingPoint> = Vec::new();
    for (x, y) in points {
        match path.last() {
            Some(&last) if last == (x, y) => continue,
            Some(&(before, held)) if before != x && held != y => path.push((x, held)),
            _ => {}
        }
        // Of a run along one line only its ends matter, unless it turns back on itself.
        if let [.., (x0, y0), (x1, y1)] = path[..]
            && ((y0 == y1 && y1 == y) || (x0 == x1 && x1 == x && (y1 - y0).signum() == (y - y1).signum()))
        {
            path.pop();
        }
        path.push((x, y));
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_hold_their_values() {
        assert_eq!(steps([]), []);
        assert_eq!(steps([(0, 5)]), [(0, 5)]);
        assert_eq!(steps([(0, 5), (0, 5), (3, 2), (9, 2), (12, 2)]), [(0, 5), (3, 5), (3, 2), (12, 2)]);
        // A spike within one step of the drawing stays visible.
        assert_eq!(steps([(0, 5), (3, 5), (3, 0), (3, 4), (8, 4)]), [(0, 5), (3, 5), (3, 0), (3, 4), (8, 4)]);
        assert_eq!(steps([(3, 5), (3, 3), (3, 1)]), [(3, 5), (3, 1)]);
    }
}
