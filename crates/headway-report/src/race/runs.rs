//! The values of every run.

use headway_sim::race::RunOutcome;
use maud::{Markup, html};

use super::Results;
use crate::quantities::{rate_text, seconds_text};
use crate::terms::explained;

const COLUMNS: [&str; 15] = [
    "sender",
    "seed",
    "end",
    "time",
    "goodput",
    "of bound",
    "of oracle",
    "retransmitted",
    "timeouts",
    "slow starts",
    "fast recoveries",
    "special ACKs",
    "queue drops",
    "damaged bytes",
    "SHA-256",
];

/// A table that is folded away until it is wanted.
pub(super) fn table(results: &Results) -> Markup {
    let unfinished = results.runs.iter().filter(|run| !run.metrics.finished).count();
    html! {
        details {
            summary {
                "All " (results.runs.len()) " runs"
                @if unfinished > 0 { ", " (unfinished) " of them unfinished" }
            }
            div.scroll tabindex="0" role="region" aria-label="All runs" {
                table.numbers.cards {
                    thead { tr { @for name in COLUMNS { th scope="col" { (explained(name)) } } } }
                    tbody { @for run in &results.runs { (row(run)) } }
                }
            }
        }
    }
}

fn row(run: &RunOutcome) -> Markup {
    let metrics = &run.metrics;
    let time = seconds_text(metrics.seconds);
    let count = |count: Option<u64>| count.map_or("-".into(), |count| count.to_string());
    let text = |share: Option<f64>| share.map_or("-".into(), |share| format!("{:.1} %", 100.0 * share));
    html! {
        tr.unfinished[!metrics.finished] {
            th scope="row" { (run.sender) }
            td data-label=(COLUMNS[1]) { (run.seed) }
            td data-label=(COLUMNS[2]) { (end(run)) }
            td data-label=(COLUMNS[3]) { @if !metrics.finished { "> " } (time) }
            td data-label=(COLUMNS[4]) { (rate_text(metrics.goodput_bps)) }
            td data-label=(COLUMNS[5]) { (text(metrics.share_of_bound)) }
            td data-label=(COLUMNS[6]) { (text(metrics.share_of_oracle)) }
            td data-label=(COLUMNS[7]) { (count(metrics.retransmissions)) }
            td data-label=(COLUMNS[8]) { (count(metrics.timeouts)) }
            td data-label=(COLUMNS[9]) { (count(metrics.slow_starts)) }
            td data-label=(COLUMNS[10]) { (count(metrics.fast_recoveries)) }
            td data-label=(COLUMNS[11]) { (count(metrics.special_acks)) }
            td data-label=(COLUMNS[12]) { (count(metrics.queue_drops)) }
            td data-label=(COLUMNS[13]) { (metrics.damaged_bytes_delivered) }
            td data-label=(COLUMNS[14]) {
                @match metrics.sha256_ok {
                    Some(true) => "ok",
                    Some(false) => strong { "differs" },
                    None => "-",
                }
            }
        }
    }
}

/// How the run ended.
pub(super) fn end(run: &RunOutcome) -> String {
    if run.metrics.finished {
        return "finished".into();
    }
    let why = run.metrics.failure.as_deref().unwrap_or("time limit");
    format!("unfinished at {} of {} B: {why}", run.metrics.delivered_bytes, run.size)
}
