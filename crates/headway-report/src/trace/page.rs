//! The graphs as a self-contained page, with the same bytes for the same capture.

use maud::{Markup, PreEscaped, html};

use super::metrics::{GROUPS, ending};
use super::units::plural;
use super::{AnalysedCapture, Numbered, data, units};
use crate::page::page_with_style;
use crate::terms::explained;

const STYLE: &str = include_str!("page.css");
/// The script: scales and axes, the marks of each graph, and input of mouse, touch and keys.
const SCRIPT: &str = concat!(include_str!("scale.js"), include_str!("graphs.js"), include_str!("view.js"));

/// The graphs and numbers of the connections `chosen`, those that have graphs. `command` is the command
/// line.
pub fn page(capture: &AnalysedCapture, chosen: &[Numbered<'_>], command: &str) -> String {
    let drawn: Vec<&Numbered<'_>> =
        chosen.iter().filter(|numbered| numbered.connection.directions[0].graph.is_some()).collect();
    let name = capture.path().file_name().unwrap_or_default().to_string_lossy();
    let analysis = capture.analysis();
    let body = html! {
        header {
            h1 { "headway trace" }
            p.lead {
                (name) ": " (plural(analysis.packets, "packet")) ", "
                (plural(analysis.connections.len() as u64, "connection"))
            }
            @for note in capture.notes() { p.note { (note) } }
        }
        main {
            @if drawn.is_empty() {
                p { "There is no connection to draw." }
            } @else {
                (graphs(&drawn, chosen.len()))
                section aria-labelledby="numbers" {
                    h2 id="numbers" { "Numbers" }
                    @for numbered in &drawn { (numbers(capture, numbered)) }
                }
            }
        }
        footer {
            p { "Made by headway " (env!("CARGO_PKG_VERSION")) " with" }
            pre tabindex="0" { code { (command) } }
        }
        @if !drawn.is_empty() {
            script type="application/json" id="data" { (PreEscaped(data::json(&drawn))) }
            script { (PreEscaped(SCRIPT)) }
        }
    };
    page_with_style(&format!("headway trace: {name}"), STYLE, &body)
}

fn graphs(drawn: &[&Numbered<'_>], chosen: usize) -> Markup {
    html! {
        section aria-labelledby="graphs" {
            h2 id="graphs" { "Graphs" }
            @if drawn.len() < chosen {
                p.note { "Of " (units::count(chosen as u64)) " connections the first " (drawn.len())
                    " are drawn; others with --connection." }
            }
            noscript { p.note { "The graphs are drawn by a script in this page, which is switched off here." } }
            form.controls {
                label { "Data of "
                    select id="direction" {
                        @for (place, numbered) in drawn.iter().enumerate() {
                            @for side in 0..2 {
                                option value=(2 * place + side) {
                                    (numbered.number) ". " (numbered.connection.ends[side]) " to "
                                    (numbered.connection.ends[1 - side])
                                }
                            }
                        }
                    }
                }
                span.buttons {
                    button type="button" data-do="in" title="Zoom in (+)" { "Zoom in" }
                    button type="button" data-do="out" title="Zoom out (-)" { "Zoom out" }
                    button type="button" data-do="left" title="Earlier (left arrow)" { "Earlier" }
                    button type="button" data-do="right" title="Later (right arrow)" { "Later" }
                    button type="button" data-do="all" title="Show all (0)" { "Show all" }
                }
            }
            p.note { "Turn the wheel or pinch to zoom, drag to move, hold Shift and drag to choose a span, "
                "double-click to show all. The graphs share their time axis; heights follow the visible points." }
            @if drawn.iter().flat_map(|numbered| &numbered.connection.directions).any(|side| side.special.acks() > 0) {
                p.note { "Diamonds are bytes that a " (explained("special ACK")) " reports." }
            }
            div id="panels" {}
            p.note id="thinned" hidden { "A long connection: of some kinds of point only every second, fourth, ... is drawn." }
        }
    }
}

fn numbers(capture: &AnalysedCapture, Numbered { number, connection }: &Numbered<'_>) -> Markup {
    html! {
        details open[*number == 1] {
            summary {
                (number) ". " (connection.ends[0]) " - " (connection.ends[1]) ": "
                (ending(connection.ending())) ", " (units::seconds(connection.duration().as_secs_f64()))
                @if capture.interfaces().len() > 1 { ", at " (capture.interface(connection.interface)) }
            }
            div.scroll tabindex="0" role="region" aria-label="Numbers" {
                table.numbers {
                    thead { tr { td {} @for end in &connection.ends { th scope="col" { "sent by " (end) } } } }
                    @for (title, metrics) in GROUPS {
                        tbody {
                            tr { th.group colspan="3" scope="rowgroup" { (title) } }
                            @for metric in *metrics {
                                @let values = connection.directions.each_ref().map(|direction| (metric.value)(connection, direction));
                                @if metric.always || values.iter().any(|value| !value.is_nothing()) {
                                    tr { th scope="row" { (explained(metric.label)) } @for value in &values { td { (value.text()) } } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
