//! Tables, as markup and as drawings.

use headway_lab::Manifest;
use maud::{Markup, html};
use plotters::element::Text;
use plotters::style::Color;
use plotters::style::text_anchor::{HPos, VPos};

use super::panels::{Panel, Point};
use super::words::{number, short, spoken};
use crate::error::ReportError;
use crate::page::canvas;
use crate::page::palette::Ink;

/// A table of values with their intervals.
pub(super) struct Grid {
    title: String,
    corner: String,
    columns: Vec<String>,
    rows: Vec<(String, Vec<GridCell>)>,
}

struct GridCell {
    value: String,
    interval: String,
    unfinished: String,
}

impl Grid {
    /// The values of a panel: x runs down, the series across.
    pub(super) fn of(manifest: &Manifest, panel: &Panel) -> Self {
        let figure = &manifest.figure;
        let title = match (&figure.panels, &panel.value) {
            (Some(axis), Some(value)) => format!("{} {value}", spoken(axis)),
            _ => String::new(),
        };
        let unit = figure.unit_name();
        let measure = format!("{}{}{unit}", figure.measure.name(), if unit.is_empty() { "" } else { ", " });
        let x = figure.x_label.clone().or_else(|| figure.x.as_deref().map(spoken)).unwrap_or_default();
        let across = figure.series.as_deref().map(spoken).unwrap_or_default();
        let heads = [x, across].into_iter().filter(|name| !name.is_empty()).collect::<Vec<_>>().join(" / ");
        let names = panel.series.first().map_or(&[][..], |series| &series.points);
        Self {
            title: if title.is_empty() { measure } else { format!("{title}: {measure}") },
            corner: heads,
            columns: panel.series.iter().map(|series| short(&series.name)).collect(),
            rows: names
                .iter()
                .enumerate()
                .map(|(place, point)| {
                    let entries = panel.series.iter().filter_map(|series| series.points.get(place));
                    (short(&point.x), entries.map(GridCell::of).collect())
                })
                .collect(),
        }
    }

    pub(super) fn title(&self) -> &str {
        &self.title
    }

    /// On a page.
    pub(super) fn markup(&self) -> Markup {
        html! {
            h4 { (self.title) }
            div.scroll tabindex="0" role="region" aria-label=(self.title) {
                table.numbers.cards {
                    thead { tr { th scope="col" { (self.corner) } @for name in &self.columns { th scope="col" { (name) } } } }
                    tbody {
                        @for (name, entries) in &self.rows {
                            tr {
                                th scope="row" { (name) }
                                @for (entry, column) in entries.iter().zip(&self.columns) {
                                    td data-label=(column) {
                                        (entry.value)
                                        @if !entry.interval.is_empty() { br; span.quiet { (entry.interval) } }
                                        @if !entry.unfinished.is_empty() { br; span.warn { (entry.unfinished) } }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    /// As SVG, with its width and height.
    pub(super) fn draw(&self) -> Result<(String, u32, u32), ReportError> {
        const ROW: i32 = 84;
        const HEAD: i32 = 60;
        const COLUMN: i32 = 250;
        /// About the width of a letter.
        const LETTER: i32 = 15;
        let longest =
            self.rows.iter().map(|(name, _)| name.chars().count()).chain([self.corner.chars().count()]).max();
        let first = longest.unwrap_or(0) as i32 * LETTER + 30;
        let width = first + COLUMN * self.columns.len() as i32 + 10;
        let height = HEAD + ROW * self.rows.len() as i32 + 10;
        let svg = canvas::sized_drawing((width as u32, height as u32), |area| {
            let write = |text: &str, place, right: bool, ink| {
                let anchor = if right { HPos::Right } else { HPos::Left };
                canvas::put(area, Text::new(text.to_owned(), place, canvas::text(ink, anchor, VPos::Center)))
            };
            let column = |place: usize| first + COLUMN * (place as i32 + 1);
            write(&self.corner, (0, HEAD / 2), false, Ink::Text)?;
            for (place, name) in self.columns.iter().enumerate() {
                write(name, (column(place), HEAD / 2), true, Ink::Text)?;
            }
            for (row, (name, entries)) in self.rows.iter().enumerate() {
                let top = HEAD + ROW * row as i32;
                canvas::line(area, vec![(0, top), (width, top)], Ink::Axis.colour().stroke_width(2))?;
                write(name, (0, top + ROW / 2), false, Ink::Text)?;
                for (place, entry) in entries.iter().enumerate() {
                    write(&entry.value, (column(place), top + 26), true, Ink::Text)?;
                    let beneath =
                        if entry.unfinished.is_empty() { &entry.interval } else { &entry.unfinished };
                    write(beneath, (column(place), top + 58), true, Ink::Sent)?;
                }
            }
            Ok(())
        })?;
        Ok((svg, width as u32, height as u32))
    }
}

impl GridCell {
    fn of(point: &Point) -> Self {
        let interval =
            point.summary.as_ref().filter(|summary| summary.count > 1).map(|summary| summary.interval);
        Self {
            value: point.value.map_or(if point.exists { "not run" } else { "\u{2013}" }.into(), number),
            interval: interval
                .map_or(String::new(), |(low, high)| format!("{} \u{2013} {}", number(low), number(high))),
            unfinished: match point.unfinished {
                0 => String::new(),
                unfinished => format!("{unfinished} of {} unfinished", point.runs),
            },
        }
    }
}
