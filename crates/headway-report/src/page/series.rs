//! How the lines, dots and bars of a figure look, and the legend that says so.

use headway_sim::race::Entrant;
use headway_tcp::Variant;
use maud::{Markup, PreEscaped, html};
use plotters::element::{Circle, Cross, PathElement, Rectangle, TriangleMarker};
use plotters::style::Color;

use super::canvas::{self, Area, DrawingPoint, Error};
use super::palette::{Ink, SERIES};
use crate::error::ReportError;

const RADIUS: i32 = 8;
/// Shapes of marks: no meaning rests on the colour alone.
const SHAPES: usize = 6;
/// Size of a swatch, width and height.
pub(crate) const SWATCH: (u32, u32) = (44, 32);

/// A line of the legend.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    /// What it is called.
    pub(crate) name: String,
    /// Its mark, as SVG of [`SWATCH`].
    pub(crate) swatch: String,
}

/// How the series with these names look, side by side in a figure: a sender looks the same in every figure, and no two
/// series of a figure have one colour while there are colours left.
pub(crate) fn looks(names: &[impl AsRef<str>]) -> Vec<usize> {
    let known = |name: &str| Variant::ALL.iter().position(|variant| variant.name() == name);
    let colour = |look: usize| look % usize::from(SERIES);
    let mut taken: Vec<usize> = names.iter().filter_map(|name| known(name.as_ref())).collect();
    let mut look = |(place, name): (usize, &str)| {
        // A sender with a controller of its own looks like no other.
        let wanted = if name.parse::<Entrant>().is_ok() { Variant::ALL.len() + 1 + place } else { place };
        let is_free = |look: &usize| !taken.iter().any(|other| colour(*other) == colour(*look));
        let free = (wanted..wanted + usize::from(SERIES)).find(is_free).unwrap_or(wanted);
        taken.push(free);
        free
    };
    let names = names.iter().map(AsRef::as_ref).enumerate();
    names.map(|(place, name)| known(name).unwrap_or_else(|| look((place, name)))).collect()
}

/// The colour of a series.
pub(crate) fn ink(look: usize) -> Ink {
    Ink::Series((look % usize::from(SERIES)) as u8)
}

/// Puts the mark of a series at a point.
pub(crate) fn mark(area: &Area<'_>, look: usize, (x, y): DrawingPoint) -> Result<(), Error> {
    let colour = ink(look).colour();
    let r = RADIUS;
    let corners = |r: i32| vec![(x, y - r), (x + r, y), (x, y + r), (x - r, y), (x, y - r), (x + r, y)];
    match look % SHAPES {
        0 => canvas::put(area, Circle::new((x, y), r, colour.filled())),
        1 => canvas::put(
            area,
            Rectangle::new([(x - r + 1, y - r + 1), (x + r - 1, y + r - 1)], colour.filled()),
        ),
        2 => canvas::put(area, TriangleMarker::new((x, y), r + 3, colour.filled())),
        3 => canvas::line(area, corners(r + 1), colour.stroke_width(5)),
        4 => canvas::put(area, Cross::new((x, y), r, colour.stroke_width(5))),
        _ => canvas::line(
            area,
            vec![(x - r, y), (x + r, y), (x, y), (x, y - r), (x, y + r)],
            colour.stroke_width(5),
        ),
    }
}

/// The mark of points some of whose runs did not finish: a ring around.
pub(crate) fn ring(area: &Area<'_>, place: DrawingPoint) -> Result<(), Error> {
    canvas::put(area, Circle::new(place, RADIUS + 9, Ink::Text.colour().stroke_width(2)))
}

/// A line and its mark.
pub(crate) fn line_key(name: &str, look: usize) -> Result<Key, ReportError> {
    let (width, height) = (SWATCH.0 as i32, SWATCH.1 as i32);
    let swatch = canvas::sized_drawing(SWATCH, |area| {
        let style = ink(look).colour().stroke_width(4);
        canvas::line(area, vec![(0, height / 2), (width, height / 2)], style)?;
        mark(area, look, (width / 2, height / 2))
    })?;
    Ok(Key { name: name.into(), swatch })
}

/// A bar.
pub(crate) fn bar_key(name: &str, look: usize) -> Result<Key, ReportError> {
    let (width, height) = (SWATCH.0 as i32, SWATCH.1 as i32);
    let swatch = canvas::sized_drawing(SWATCH, |area| {
        canvas::put(area, Rectangle::new([(8, 4), (width - 8, height - 4)], ink(look).colour().filled()))
    })?;
    Ok(Key { name: name.into(), swatch })
}

/// A mark without a line.
pub(crate) fn dot_key(name: &str, look: usize) -> Result<Key, ReportError> {
    let middle = (SWATCH.0 as i32 / 2, SWATCH.1 as i32 / 2);
    let swatch = canvas::sized_drawing(SWATCH, |area| mark(area, look, middle))?;
    Ok(Key { name: name.into(), swatch })
}

/// What a ring means.
pub(crate) fn ring_key(name: &str) -> Result<Key, ReportError> {
    let middle = (SWATCH.0 as i32 / 2, SWATCH.1 as i32 / 2);
    let swatch = canvas::sized_drawing(SWATCH, |area| {
        canvas::put(area, Circle::new(middle, 13, Ink::Text.colour().stroke_width(2)))
    })?;
    Ok(Key { name: name.into(), swatch })
}

/// A whisker from `low` to `high` with caps this wide to each side.
pub(crate) fn upright(
    area: &Area<'_>,
    x: i32,
    (low, high): (i32, i32),
    cap: i32,
    ink: Ink,
) -> Result<(), Error> {
    let style = ink.colour().stroke_width(3);
    for path in [
        vec![(x, low), (x, high)],
        vec![(x - cap, low), (x + cap, low)],
        vec![(x - cap, high), (x + cap, high)],
    ] {
        canvas::put(area, PathElement::new(path, style))?;
    }
    Ok(())
}

/// The legend of a page.
pub(crate) fn list(keys: &[Key]) -> Markup {
    html! {
        @if !keys.is_empty() {
            ul.legend {
                @for key in keys {
                    li { span.plot.swatch aria-hidden="true" { (PreEscaped(&key.swatch)) } (key.name) }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_series_of_a_figure_have_one_colour() {
        let names: Vec<String> = Variant::ALL.iter().map(|variant| variant.name().to_owned()).collect();
        for names in [&names[..], &["modern:newreno", "sack", "modern:bbr", "hack+sack"].map(String::from)] {
            let mut inks: Vec<String> = looks(names).into_iter().map(|look| ink(look).hex()).collect();
            inks.sort_unstable();
            inks.dedup();
            assert_eq!(inks.len(), names.len(), "{names:?}");
        }
    }
}
