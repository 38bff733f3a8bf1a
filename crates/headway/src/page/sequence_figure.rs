//! A time-sequence graph with what one needs to read it: legends, the window beneath, a close-up.

use headway_trace::Series;
use maud::{Markup, PreEscaped, html};

use super::marks::{Mark, REASONS};
use super::sequence::Graph;
use crate::failure::Failure;
use crate::race::seconds_text;

/// The graph of the sender called `name`.
pub(crate) fn graphs(name: &str, graph: &Graph<'_>) -> Result<Markup, Failure> {
    let sequence = graph.sequence();
    let counts = legend_counts(graph);
    let label = format!(
        "Time-sequence graph of {name}: {} segments sent, {} sent again, {} special ACKs, {} timeouts",
        sequence.sent().total(),
        sequence.retransmissions().total(),
        sequence.special_acks().total(),
        sequence.timeouts().total(),
    );
    let thinned = [
        sequence.sent().stride(),
        sequence.retransmissions().stride(),
        sequence.acks().stride(),
        sequence.special_acks().stride(),
        sequence.timeouts().stride(),
        sequence.windows().stride(),
    ];
    let stride = thinned.into_iter().max().unwrap_or(1);
    Ok(html! {
        div.plot.sequence role="img" aria-label=(label) { (PreEscaped(graph.draw_sequence()?)) }
        (legend(&counts)?)
        div.plot.window role="img" aria-label={ "Congestion window of " (name) " over the same time" } {
            (PreEscaped(graph.draw_window()?))
        }
        (legend(&window_legend(graph))?)
        @if let Some(close_up) = graph.close_up() {
            details {
                summary { "Close-up of the first " (seconds_text(close_up.seconds())) }
                div.plot role="img" aria-label={ "The beginning of the graph of " (name) ", enlarged" } {
                    (PreEscaped(close_up.draw_sequence()?))
                }
            }
        }
        @if stride > 1 {
            p.note { "A long run: of some kinds of event only one in up to " (stride) " is drawn." }
        }
    })
}

/// What there is to see, and how often it happened where that is known.
fn legend_counts(graph: &Graph<'_>) -> Vec<(Mark, Option<u64>)> {
    let sequence = graph.sequence();
    let mut entries = vec![(Mark::Sent, Some(sequence.sent().total())), (Mark::Ack, None)];
    let resent = sequence.retransmissions();
    for mark in REASONS.into_iter().rev() {
        let count = resent.points().iter().filter(|resent| Mark::of(resent.reason) == mark).count() as u64;
        if count > 0 {
            entries.push((mark, is_whole(resent).then_some(count)));
        }
    }
    for (mark, count) in
        [(Mark::SpecialAck, sequence.special_acks().total()), (Mark::Expiry, sequence.timeouts().total())]
    {
        if count > 0 {
            entries.push((mark, Some(count)));
        }
    }
    entries
}

fn window_legend(graph: &Graph<'_>) -> Vec<(Mark, Option<u64>)> {
    let sequence = graph.sequence();
    let marks = [
        (Mark::Window, true),
        (Mark::Threshold, graph.shows_threshold()),
        (Mark::Expiry, !sequence.timeouts().is_empty()),
    ];
    marks.into_iter().filter(|(_, shown)| *shown).map(|(mark, _)| (mark, None)).collect()
}

/// Whether every point was kept, so that they can be counted.
fn is_whole<T>(series: &Series<T>) -> bool {
    series.stride() == 1
}

fn legend(entries: &[(Mark, Option<u64>)]) -> Result<Markup, Failure> {
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
