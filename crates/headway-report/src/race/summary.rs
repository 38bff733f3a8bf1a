//! The results of senders in words and numbers, as the page and the table of a terminal show them.

use headway_link::Damage;
use headway_sim::race::{Feature, RunOutcome, Scenario, Spread, Summary};
use headway_tcp::Variant;
use headway_units::Size;

use super::Results;
use crate::quantities::{rate_text, seconds_text};

/// The columns of a sender's results; a name may have two lines.
pub const COLUMNS: [&str; 12] = [
    "sender",
    "mean\ntime",
    "median\ntime",
    "p10..p90,\nseconds",
    "goodput",
    "of\nbound",
    "of\noracle",
    "retrans-\nmits",
    "time-\nouts",
    "slow\nstarts",
    "special\nACKs",
    "SHA-256",
];

/// The papers' senders and ours, each for itself, in the order in which they were asked for.
pub fn groups(summaries: &[Summary]) -> impl Iterator<Item = &[Summary]> {
    let of_papers =
        |summary: &Summary| summary.sender.tcp().is_some_and(|sender| !sender.variant.is_modern());
    summaries.chunk_by(move |one, other| of_papers(one) == of_papers(other))
}

/// What is sent.
pub fn sent(scenario: &Scenario, size: Option<u64>) -> String {
    match (size, scenario.duration) {
        (Some(size), _) => Size::from_bytes(size).to_string(),
        (None, Some(duration)) => format!("{duration} of sending"),
        (None, None) => "content".into(),
    }
}

/// The results of a sender, a cell for each of [`COLUMNS`]; the last may have several lines.
pub fn row(results: &Results, summary: &Summary) -> Vec<String> {
    let seconds = |value: fn(&Spread) -> f64| {
        summary.seconds.as_ref().map_or("-".into(), |spread| seconds_text(value(spread)))
    };
    let time = if summary.finished == summary.runs {
        seconds(|spread| spread.mean)
    } else {
        format!("> {}", seconds(|spread| spread.mean))
    };
    vec![
        summary.sender.to_string(),
        time,
        seconds(|spread| spread.median),
        summary.seconds.map_or("-".into(), span_text),
        summary.goodput_bps.map_or("-".into(), |spread| rate_text(spread.median)),
        share_text(summary.share_of_bound),
        share_text(summary.share_of_oracle),
        format!("{:.0}", summary.retransmissions),
        format!("{:.1}", summary.timeouts),
        format!("{:.1}", summary.slow_starts),
        format!("{:.0}", summary.special_acks),
        hash_text(results, summary),
    ]
}

fn share_text(share: Option<Spread>) -> String {
    share.map_or("-".into(), |spread| format!("{:.1} %", 100.0 * spread.median))
}

fn hash_text(results: &Results, summary: &Summary) -> String {
    let own = || results.runs.iter().filter(|run| run.sender == summary.sender);
    if own().all(|run| run.metrics.sha256_ok.is_none() && run.metrics.finished) {
        // An oracle, or time was up before all had arrived: every byte that did was compared.
        let damaged = summary.damaged_bytes_delivered;
        return if damaged > 0 { format!("{damaged} B damaged") } else { "-".into() };
    }
    let right = own().filter(|run| run.metrics.sha256_ok == Some(true)).count();
    let mut text = if right == summary.runs { "ok".into() } else { format!("{right}/{} ok", summary.runs) };
    let unfinished = summary.runs - summary.finished;
    if unfinished > 0 {
        text.push_str(&format!("\n{unfinished} unfinished"));
    }
    if summary.damaged_bytes_delivered > 0 {
        text.push_str(&format!("\n{} B damaged", summary.damaged_bytes_delivered));
    }
    text
}

/// The names of the senders.
pub(super) fn names(summaries: &[Summary]) -> String {
    let names: Vec<String> = summaries.iter().map(|summary| summary.sender.to_string()).collect();
    names.join(", ")
}

/// What the numbers do not say by themselves.
pub fn notes(results: &Results, summaries: &[Summary]) -> Vec<String> {
    let mut notes = vec![format!(
        "time: of {} run{} in virtual time; goodput and shares: medians; counts: means",
        summaries.first().map_or(0, |summary| summary.runs),
        if summaries.first().is_some_and(|summary| summary.runs == 1) { "" } else { "s" },
    )];
    if summaries.iter().any(|summary| summary.finished < summary.runs) {
        notes.push(format!(
            "unfinished: runs that had not delivered all within {} or gave up; they count with the time they were given",
            results.scenario.time_limit,
        ));
    }
    notes.extend(loss_note(&results.scenario, summaries));
    let undetected: u64 = results.runs.iter().filter_map(|run| run.metrics.undetected_packets).sum();
    let damaged: u64 = results.runs.iter().map(|run| run.metrics.damaged_bytes_delivered).sum();
    if damaged > 0 {
        notes.push(format!(
            "damaged: {damaged} bytes were delivered although damaged; they came in the {undetected} damaged \
             packet{} that passed every checksum (TCP's 16-bit sum misses such damage now and then)",
            if undetected == 1 { "" } else { "s" },
        ));
    }
    if let Some(failed) = results.runs.iter().find(|run| run.metrics.failure.is_some()) {
        notes.push(failure_note(failed));
    }
    notes
}

/// headway's sender has to find out that losses are not congestion where nothing is damaged on the path.
fn loss_note(scenario: &Scenario, summaries: &[Summary]) -> Option<String> {
    let links = scenario.links();
    let loss = links.iter().map(|(link, _)| link.loss).find(|loss| !loss.is_zero())?;
    let is_ours =
        |summary: &Summary| summary.sender.tcp().is_some_and(|sender| sender.variant == Variant::Headway);
    let is_own = || Feature::all().find(|feature| feature.name() == "own-path");
    let unknown = links.iter().all(|(link, _)| link.damage == Damage::None)
        && is_own().and_then(|feature| scenario.features.of(feature)) != Some(true)
        && summaries.iter().any(is_ours);
    unknown.then(|| {
        format!(
            "loss {loss} without damage: headway takes these losses for congestion until it finds that they do not depend on \
             what it sends; --with own-path tells it so: see docs/ledger.md"
        )
    })
}

fn failure_note(run: &RunOutcome) -> String {
    let why = run.metrics.failure.as_deref().unwrap_or_default();
    format!("unfinished: {} with seed {} gave up: {why}", run.sender, run.seed)
}

/// From the tenth to the ninetieth percentile, without the unit.
fn span_text(spread: Spread) -> String {
    let bare = |value| seconds_text(value).trim_end_matches(" s").to_owned();
    format!("{}..{}", bare(spread.p10), bare(spread.p90))
}
