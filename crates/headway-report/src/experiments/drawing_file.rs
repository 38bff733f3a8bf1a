//! A figure as a drawing of its own: panels, their titles and the legend in one SVG file.

use headway_lab::Manifest;
use maud::{Markup, PreEscaped, html};

use super::figure::Figure;
use crate::error::ReportError;
use crate::page::palette::{Ink, dark_rules};
use crate::page::series::SWATCH;

const MARGIN: u32 = 40;
const TITLE: u32 = 60;
const HEADING: u32 = 50;
const LINE: u32 = 44;
/// About the width of a letter.
const LETTER: u32 = 14;

/// A part of the file, and where it lies.
struct Part {
    title: String,
    svg: String,
    width: u32,
    height: u32,
}

/// The file.
pub(super) fn compose(manifest: &Manifest, figure: &Figure) -> Result<String, ReportError> {
    let mut parts: Vec<Part> = figure
        .drawings
        .iter()
        .map(|drawing| {
            let (width, height) = size_of(&drawing.svg);
            Part { title: drawing.title.clone(), svg: drawing.svg.clone(), width, height }
        })
        .collect();
    for grid in &figure.grids {
        let (svg, width, height) = grid.draw()?;
        parts.push(Part { title: grid.title().to_owned(), svg, width, height });
    }
    let columns = figure.columns() as u32;
    let title = format!("{}: {}", manifest.name, manifest.title);
    let widest = parts.iter().map(|part| part.width).max().unwrap_or(0);
    let letters = title.chars().count() as u32 * (LETTER + 3);
    let width = (2 * MARGIN + (widest + MARGIN) * columns - MARGIN).max(2 * MARGIN + letters);
    let mut body: Vec<Markup> = Vec::new();
    let mut top = MARGIN + TITLE;
    for row in parts.chunks(columns as usize) {
        for (place, part) in row.iter().enumerate() {
            let left = MARGIN + place as u32 * (widest + MARGIN);
            body.push(html! {
                text.heading x=(left) y=(top + LINE / 2) { (part.title) }
                (nested(&part.svg, left, top + HEADING))
            });
        }
        top += HEADING + row.iter().map(|part| part.height).max().unwrap_or(0);
    }
    let mut left = MARGIN;
    if !figure.legend.is_empty() {
        top += LINE / 2;
    }
    for key in &figure.legend {
        let needed = SWATCH.0 + 10 + key.name.chars().count() as u32 * LETTER + MARGIN;
        if left > MARGIN && left + needed > width {
            (left, top) = (MARGIN, top + LINE);
        }
        body.push(html! {
            (nested(&key.swatch, left, top))
            text x=(left + SWATCH.0 + 10) y=(top + SWATCH.1 - 8) { (key.name) }
        });
        left += needed;
    }
    if !figure.legend.is_empty() {
        top += LINE;
    }
    let height = top + MARGIN;
    let ink = Ink::Text.hex();
    let style = format!(
        "text {{ font-family: system-ui, sans-serif; font-size: 25px }} .title {{ font-size: 32px; font-weight: 600 }} \
         .heading {{ font-weight: 600 }} .ground {{ fill: #fff }}\n\
         @media (prefers-color-scheme: dark) {{ .ground {{ fill: #171d24 }} }}\n{}",
        dark_rules("", &format!("{ink}{}", html! { @for part in &body { (part) } }.into_string()))
    );
    let file = html! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox={ "0 0 " (width) " " (height) } width=(width) height=(height)
            fill=(ink) role="img" aria-label=(title)
        {
            style { (PreEscaped(style)) }
            rect.ground width=(width) height=(height) {}
            text.title x=(MARGIN) y=(MARGIN + TITLE / 2) { (title) }
            @for part in &body { (part) }
        }
    };
    let mut text = file.into_string();
    text.push('\n');
    Ok(text)
}

/// A drawing within another, at a place.
fn nested(svg: &str, x: u32, y: u32) -> Markup {
    PreEscaped(svg.replacen("<svg ", &format!("<svg x=\"{x}\" y=\"{y}\" overflow=\"visible\" "), 1))
}

/// Width and height, as a drawing states them.
fn size_of(svg: &str) -> (u32, u32) {
    let stated = |name: &str| {
        let start = svg.find(name)? + name.len();
        let end = svg[start..].find('"')? + start;
        svg[start..end].parse().ok()
    };
    (stated("width=\"").unwrap_or(0), stated("height=\"").unwrap_or(0))
}
