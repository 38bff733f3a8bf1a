//! The results for machines: one object, SI units.

use headway_command::json_object::Object;
use headway_report::race::Results;
use headway_scenario::{Column, Scope, Sender, Settings, parameters};
use headway_sim::race::{METRICS, RunOutcome, Spread, Summary};
use headway_units::Size;
use serde::Serialize;

#[derive(Serialize)]
struct Document {
    scenario: Object,
    runs: Vec<Object>,
    summary: Vec<SummaryRow>,
}

#[derive(Serialize)]
struct SummaryRow {
    variant: String,
    runs: usize,
    finished: usize,
    seconds: Option<SpreadRow>,
    goodput_bps: Option<SpreadRow>,
    share_of_bound: Option<SpreadRow>,
    share_of_oracle: Option<SpreadRow>,
}

#[derive(Serialize)]
struct SpreadRow {
    mean: f64,
    median: f64,
    p10: f64,
    p90: f64,
}

/// `settings` are those of the race, without a sender.
pub(super) fn render(results: &Results, settings: &Settings, summaries: &[Summary]) -> String {
    let document = Document {
        scenario: scenario_object(results, settings),
        runs: results.runs.iter().map(|run| run_object(settings, run)).collect(),
        summary: summaries.iter().map(summary_row).collect(),
    };
    // Numbers, strings and lists: nothing in it can fail to serialize.
    let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
    text.push('\n');
    text
}

/// Every parameter except the sender and those of the link's directions, which have objects of their own.
fn scenario_object(results: &Results, settings: &Settings) -> Object {
    let settings = Settings { size: results.content_len.map(Size::from_bytes), ..settings.clone() };
    let members = |wanted: fn(&Column) -> bool| {
        let columns = parameters().iter().filter(move |column| wanted(column));
        Object::new(columns.map(|column| (column.name.clone(), column.value(&settings))))
    };
    let is_of_run = |column: &Column| {
        column.scope.is_some_and(|scope| scope != Scope::Clock && !scope.is_of_link()) && !is_variant(column)
    };
    // Of several hops the first; `hops` has what the others have of their own.
    let (forward, reverse) = settings.scenario.links()[0];
    members(is_of_run)
        .with_object("forward", Object::of_link(forward))
        .with_object("reverse", Object::of_link(reverse))
        .extended(members(|column| column.scope.is_none()))
}

fn is_variant(column: &Column) -> bool {
    column.key().is_some_and(|key| key.name == "variant")
}

/// The sender and what was measured of it.
fn run_object(settings: &Settings, run: &RunOutcome) -> Object {
    let settings = Settings { variant: Some(Sender::Ours(run.sender)), ..settings.clone() };
    let of_sender = parameters()
        .iter()
        .filter(|column| column.scope == Some(Scope::Sender) && !is_variant(column))
        .map(|column| (column.name.clone(), column.value(&settings)));
    Object::new([("variant".into(), run.sender.to_string().into())])
        .extended(Object::new(of_sender))
        .with("seed", run.seed)
        .extended(Object::new(METRICS.iter().map(|metric| (metric.name.into(), metric.of(&run.metrics)))))
}

fn summary_row(summary: &Summary) -> SummaryRow {
    SummaryRow {
        variant: summary.sender.to_string(),
        runs: summary.runs,
        finished: summary.finished,
        seconds: summary.seconds.map(spread_row),
        goodput_bps: summary.goodput_bps.map(spread_row),
        share_of_bound: summary.share_of_bound.map(spread_row),
        share_of_oracle: summary.share_of_oracle.map(spread_row),
    }
}

fn spread_row(spread: Spread) -> SpreadRow {
    SpreadRow { mean: spread.mean, median: spread.median, p10: spread.p10, p90: spread.p90 }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use headway_scenario::{Defaults, Traces, keys, read};
    use headway_sim::Content;
    use headway_sim::race::{run, summarize};
    use headway_tcp::Variant;

    use super::*;

    #[test]
    fn the_object_has_every_key_and_every_measure() {
        let traces = Traces::in_folder(Path::new(""));
        let settings = read(|_| None, Defaults::Commands, &traces).expect("settings");
        let content = Content::generated(10_000);
        let outcome = run(&settings.scenario, Variant::Headway, &content, 1, true).expect("a run");
        let results = Results {
            scenario: settings.scenario.clone(),
            content_len: Some(content.len()),
            runs: vec![outcome],
            first_runs: Vec::new(),
        };
        let text = render(&results, &settings, &summarize(&results.runs));
        let document: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let (scenario, run) = (&document["scenario"], &document["runs"][0]);
        for key in keys() {
            let name = key.column();
            let place = match key.scope {
                Scope::Clock => continue,
                Scope::Feature => scenario.get("features"),
                Scope::Sender => run.get(&name),
                scope if !scope.is_of_link() => scenario.get(&name),
                _ => match name.strip_prefix("reverse_") {
                    Some(name) => scenario["reverse"].get(name),
                    None => scenario["forward"].get(&name),
                },
            };
            assert!(place.is_some(), "{}", key.name);
        }
        for metric in &METRICS {
            assert!(run.get(metric.name).is_some(), "{}", metric.name);
        }
    }
}
