//! The graphs of the first runs once more, such that they can be zoomed: all senders over each other, or one of them.

use headway_trace::{Retransmission, Series, TimeSequence};
use headway_units::Instant;
use maud::{Markup, html};
use serde_json::{Value, json};

use super::{FirstRun, looks};
use crate::page::marks::Mark;
use crate::page::palette::Ink;
use crate::page::series;
use crate::page::view::{self, View};
use crate::terms::explained;

/// Which graphs there are.
const GRAPHS: &str = include_str!("graphs.js");
/// At most this many points of each kind are in the page, of each sender.
const POINTS: usize = 4000;

/// The runs of which something was recorded.
fn recorded(runs: &[FirstRun]) -> impl Iterator<Item = (&FirstRun, &TimeSequence)> {
    runs.iter().filter_map(|first| Some((first, first.sequence.as_ref()?)))
}

/// The section; nothing where nothing was recorded.
pub(crate) fn section(runs: &[FirstRun]) -> Markup {
    let names: Vec<String> = recorded(runs).map(|(first, _)| first.sender.to_string()).collect();
    if names.is_empty() {
        return html! {};
    }
    let special = recorded(runs).any(|(_, sequence)| sequence.special_acks().total() > 0);
    let all = (names.len() > 1).then(|| "all senders".to_owned());
    let view = View {
        label: "First run of ",
        entries: all.into_iter().chain(names).collect(),
        thinned: "A long run: of some kinds of point only every second, third, ... is drawn.",
        note: html! {
            @if special { p.note { "Diamonds are bytes that a " (explained("special ACK")) " reports." } }
        },
    };
    html! {
        section aria-labelledby="zoom" {
            h2 id="zoom" { "Zoom in" }
            (view.markup())
        }
    }
}

/// The data and the script; nothing where nothing was recorded.
pub(crate) fn script(runs: &[FirstRun]) -> Markup {
    let senders: Vec<Value> = recorded(runs).map(|(first, sequence)| data(first, sequence)).collect();
    let longest = senders.iter().filter_map(|sender| sender["end"].as_u64()).max();
    let thinned = senders.iter().any(|sender| sender["thinned"] == true);
    let all = longest
        .filter(|_| senders.len() > 1)
        .map(|end| json!({ "all": true, "end": end, "thinned": thinned }));
    let entries: Value = all.into_iter().chain(senders).collect();
    html! { @if longest.is_some() { (view::script(&entries, GRAPHS)) } }
}

/// The colours of the graphs and the rules for them.
pub(crate) fn style(runs: &[FirstRun]) -> String {
    let marks = [
        ("sent", Mark::Sent),
        ("ack", Mark::Ack),
        ("special", Mark::SpecialAck),
        ("timeout", Mark::Timeout),
        ("fast", Mark::FastRetransmit),
        ("other", Mark::OtherReason),
        ("damage", Mark::Damage),
        ("window", Mark::Window),
    ];
    let looks = runs.iter().zip(looks(runs)).filter(|(first, _)| first.sequence.is_some());
    let lines = looks.enumerate().map(|(place, (_, look))| (format!("series-{place}"), series::ink(look)));
    let inks: Vec<(String, Ink)> =
        marks.into_iter().map(|(name, mark)| (name.to_owned(), mark.ink())).chain(lines).collect();
    format!("{}{}", view::STYLE, view::inks(&inks))
}

fn data(first: &FirstRun, sequence: &TimeSequence) -> Value {
    let size = first.outcome.size;
    let acks = sequence.acks().points();
    // A FIN counts as a byte, but is not content; nothing is acknowledged after the last byte.
    let done = acks.iter().position(|ack| ack.una >= size).map_or(acks.len(), |place| place + 1);
    let end = acks[..done].last().map_or(0, |ack| nanos(ack.at));
    let end = end.max((first.outcome.metrics.seconds * 1e9) as u64);
    let retransmitted = |mark: Mark| {
        let points: Vec<&Retransmission> = sequence
            .retransmissions()
            .points()
            .iter()
            .filter(|point| Mark::of(point.reason) == mark)
            .collect();
        flat(&points, |point| [nanos(point.at), point.seq, point.seq + u64::from(point.len)])
    };
    json!({
        "name": first.sender.to_string(),
        "end": end,
        "sent": flat(sequence.sent().points(), |p| [nanos(p.at), p.seq, p.seq + u64::from(p.len)]),
        "timeout": retransmitted(Mark::Timeout),
        "fast": retransmitted(Mark::FastRetransmit),
        "other": retransmitted(Mark::OtherReason),
        "damage": retransmitted(Mark::Damage),
        "acks": flat(&acks[..done], |ack| [nanos(ack.at), ack.una.min(size)]),
        "special": flat(sequence.special_acks().points(), |p| [nanos(p.at), p.seq]),
        "windows": flat(sequence.windows().points(), |p| [nanos(p.at), u64::from(p.cwnd)]),
        "thinned": is_thinned(sequence),
    })
}

/// The numbers of the points in one list, as many as fit.
fn flat<T, const N: usize>(points: &[T], numbers: impl Fn(&T) -> [u64; N]) -> Vec<u64> {
    let stride = points.len().div_ceil(POINTS).max(1);
    points.iter().step_by(stride).flat_map(numbers).collect()
}

fn is_thinned(sequence: &TimeSequence) -> bool {
    fn of<T>(series: &Series<T>) -> bool {
        series.stride() > 1 || series.points().len() > POINTS
    }
    of(sequence.sent())
        || of(sequence.retransmissions())
        || of(sequence.acks())
        || of(sequence.special_acks())
        || of(sequence.windows())
}

fn nanos(at: Instant) -> u64 {
    at.saturating_since(Instant::ZERO).as_nanos()
}
