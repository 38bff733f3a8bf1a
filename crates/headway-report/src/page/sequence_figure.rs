//! A time-sequence graph with what one needs to read it: legends, the graph beneath, a close-up.

use maud::{Markup, PreEscaped, html};

use super::marks::Mark;
use super::sequence::Graph;
use crate::error::ReportError;
use crate::quantities::seconds_text;

/// The graph of the sender called `name`.
pub(crate) fn graphs(name: &str, graph: &Graph<'_>) -> Result<Markup, ReportError> {
    let layers = graph.layers();
    let beneath = &layers.beneath;
    let label = format!("Time-sequence graph of {name}: {}", layers.words);
    Ok(html! {
        div.plot.sequence role="img" aria-label=(label) { (PreEscaped(graph.draw_sequence()?)) }
        (legend(&layers.legend)?)
        div.plot.window role="img" aria-label={ (beneath.what) " of " (name) " over the same time" } {
            (PreEscaped(graph.draw_beneath()?))
        }
        (legend(&legend_beneath(graph))?)
        @if let Some(close_up) = graph.close_up() {
            details {
                summary { "Close-up of the first " (seconds_text(close_up.seconds())) }
                div.plot role="img" aria-label={ "The beginning of the graph of " (name) ", enlarged" } {
                    (PreEscaped(close_up.draw_sequence()?))
                }
            }
        }
        @if layers.stride > 1 {
            p.note { "A long run: of some kinds of event only one in up to " (layers.stride) " is drawn." }
        }
    })
}

fn legend_beneath(graph: &Graph<'_>) -> Vec<(Mark, Option<u64>)> {
    let layers = graph.layers();
    // The one on top first.
    let lines = layers.beneath.lines.iter().rev().filter(|line| graph.shows_line(line));
    let mut marks: Vec<(Mark, Option<u64>)> = lines.map(|(mark, _)| (*mark, None)).collect();
    if graph.shows_any(&layers.expiries) {
        marks.push((Mark::Expiry, None));
    }
    marks
}

fn legend(entries: &[(Mark, Option<u64>)]) -> Result<Markup, ReportError> {
    let swatches = entries.iter().map(|(mark, _)| mark.swatch()).collect::<Result<Vec<_>, _>>()?;
    Ok(html! {
        ul.legend {
            @for ((mark, count), swatch) in entries.iter().zip(swatches) {
                li {
                    span.plot.swatch aria-hidden="true" { (swatch) }
                    (mark.name())
                    @if let Some(count) = count { " " b { (count) } }
                }
            }
        }
    })
}
