//! The values of every run.

use headway_sim::race::RunOutcome;
use maud::{Markup, html};

use super::Results;
use crate::quantities::{rate_text, seconds_text};

const COLUMNS: [&str; 15] = [
    "sender",
    "seed",
    "end",
    "time",
    "goodput",
    "of bound",
    "of oracle",
    "resent",
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
    let unfinished = results.runs.iter().filter(|run| !run.finished).count();
    html! {
        details {
            summary {
                "All " (results.runs.len()) " runs"
                @if unfinished > 0 { ", " (unfinished) " of them unfinished" }
            }
            div.scroll tabindex="0" role="region" aria-label="All runs" {
                table.numbers {
                    thead { tr { @for name in COLUMNS { th scope="col" { (name) } } } }
                    tbody { @for run in &results.runs { (row(run)) } }
                }
            }
        }
    }
}

fn row(run: &RunOutcome) -> Markup {
    let time = seconds_text(run.time.as_secs_f64());
    let text = |share: Option<f64>| share.map_or("-".into(), |share| format!("{:.1} %", 100.0 * share));
    html! {
        tr.unfinished[!run.finished] {
            th scope="row" { (run.sender) }
            td { (run.seed) }
            td { (end(run)) }
            td { @if !run.finished { "> " } (time) }
            td { (rate_text(run.goodput)) }
            td { (text(run.share_of_bound)) }
            td { (text(run.share_of_oracle)) }
            td { (run.retransmissions) }
            td { (run.timeouts) }
            td { (run.slow_starts) }
            td { (run.fast_recoveries) }
            td { (run.special_acks) }
            td { (run.queue_drops) }
            td { (run.damaged_bytes_delivered) }
            td {
                @match run.sha256_ok {
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
    if run.finished {
        return "finished".into();
    }
    let why = run.failure.map_or("time limit".into(), |failure| failure.to_string());
    format!("unfinished at {} of {} B: {why}", run.delivered, run.size)
}
