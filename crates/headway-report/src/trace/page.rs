//! The graphs as a self-contained page, with the same bytes for the same capture.

use maud::{Markup, html};

use super::metrics::{GROUPS, ending};
use super::units::plural;
use super::{AnalysedCapture, Numbered, data, units};
use crate::page::page_with_style;
use crate::page::view::{self, View};
use crate::terms::explained;

const STYLE: &str = include_str!("page.css");
/// Which graphs there are.
const GRAPHS: &str = include_str!("graphs.js");

/// The graphs and numbers of the connections `chosen`, those that have graphs. `command` is the command
/// line.
pub fn page(capture: &AnalysedCapture, chosen: &[Numbered<'_>], command: &str) -> String {
    let drawn: Vec<&Numbered<'_>> =
        chosen.iter().filter(|numbered| numbered.connection.directions[0].graph.is_some()).collect();
    let name = capture.file_names();
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
        @if !drawn.is_empty() { (view::script(&data::json(&drawn), GRAPHS)) }
    };
    page_with_style(&format!("headway trace: {name}"), &[view::STYLE, STYLE].concat(), &body)
}

fn graphs(drawn: &[&Numbered<'_>], chosen: usize) -> Markup {
    let sides = drawn.iter().flat_map(|numbered| [(numbered, 0), (numbered, 1)]);
    let entries = sides.map(|(numbered, side)| {
        let ends = &numbered.connection.ends;
        format!("{}. {} to {}", numbered.number, ends[side], ends[1 - side])
    });
    let mut directions = drawn.iter().flat_map(|numbered| &numbered.connection.directions);
    let note = html! {
        @if directions.any(|side| side.special.acks() > 0) {
            p.note { "Diamonds are bytes that a " (explained("special ACK")) " reports." }
        }
    };
    let view = View {
        label: "Data of ",
        entries: entries.collect(),
        thinned: "A long connection: of some kinds of point only every second, fourth, ... is drawn.",
        note,
    };
    html! {
        section aria-labelledby="graphs" {
            h2 id="graphs" { "Graphs" }
            @if drawn.len() < chosen {
                p.note { "Of " (units::count(chosen as u64)) " connections the first " (drawn.len())
                    " are drawn; others with --connection." }
            }
            (view.markup())
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
                table.numbers.cards {
                    thead { tr { td {} @for end in &connection.ends { th scope="col" { "sent by " (end) } } } }
                    @for (title, metrics) in GROUPS {
                        tbody {
                            tr { th.group colspan="3" scope="rowgroup" { (title) } }
                            @for metric in *metrics {
                                @let values = connection.directions.each_ref().map(|direction| (metric.value)(connection, direction));
                                @if metric.always || values.iter().any(|value| !value.is_nothing()) {
                                    tr { th scope="row" { (explained(metric.label)) } @for (value, end) in values.iter().zip(&connection.ends) { td data-label={ "sent by " (end) } { (value.text()) } } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
