//! The results for machines: one object, SI units.

use headway_sim::race::{RunOutcome, Scenario, Spread, Summary, congestion_name};
use serde::Serialize;

use headway_report::race::{Results, rules_name};

use crate::link_row::{LinkRow, link_row};

#[derive(Serialize)]
struct Document {
    scenario: ScenarioRow,
    runs: Vec<RunRow>,
    summary: Vec<SummaryRow>,
}

/// Every parameter; times in seconds, sizes in bytes, rates in bit/s, shares from 0 to 1.
#[derive(Serialize)]
struct ScenarioRow {
    profile: &'static str,
    rules: &'static str,
    switches: String,
    size_bytes: Option<u64>,
    duration_seconds: Option<f64>,
    window_bytes: u64,
    mtu_bytes: u16,
    retries: Option<u32>,
    time_limit_seconds: f64,
    forward: LinkRow,
    reverse: LinkRow,
    share_of_packets_hit: f64,
    bound_bps: Option<f64>,
}

#[derive(Serialize)]
struct RunRow {
    variant: String,
    rules: &'static str,
    profile: Option<&'static str>,
    cc: Option<&'static str>,
    seed: u64,
    finished: bool,
    seconds: f64,
    goodput_bps: f64,
    share_of_bound: Option<f64>,
    share_of_oracle: Option<f64>,
    sha256_ok: Option<bool>,
    damaged_bytes_delivered: u64,
    delivered_bytes: u64,
    retransmissions: u64,
    timeouts: u64,
    slow_starts: u64,
    fast_recoveries: u64,
    special_acks: u64,
    queue_drops: u64,
    undetected_packets: u64,
    failure: Option<String>,
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

pub(super) fn render(results: &Results, summaries: &[Summary]) -> String {
    let scenario = &results.scenario;
    let document = Document {
        scenario: scenario_row(scenario, results.content_len),
        runs: results.runs.iter().map(|run| run_row(scenario, run)).collect(),
        summary: summaries.iter().map(summary_row).collect(),
    };
    // Numbers, strings and lists: nothing in it can fail to serialize.
    let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
    text.push('\n');
    text
}

fn scenario_row(scenario: &Scenario, size: Option<u64>) -> ScenarioRow {
    ScenarioRow {
        profile: scenario.profile.name(),
        rules: rules_name(scenario.rules),
        switches: scenario.switches.to_string(),
        size_bytes: size,
        duration_seconds: scenario.duration.map(headway_units::Duration::as_secs_f64),
        window_bytes: scenario.window.bytes(),
        mtu_bytes: scenario.mtu,
        retries: scenario.retries,
        time_limit_seconds: scenario.time_limit.as_secs_f64(),
        forward: link_row(&scenario.forward),
        reverse: link_row(&scenario.reverse),
        share_of_packets_hit: scenario.share_hit(),
        bound_bps: scenario.bound(),
    }
}

fn run_row(scenario: &Scenario, run: &RunOutcome) -> RunRow {
    let tcp = run.sender.tcp();
    RunRow {
        variant: run.sender.to_string(),
        rules: rules_name(scenario.rules),
        profile: tcp.map(|tcp| scenario.profile_name(tcp).name()),
        cc: tcp.map(|tcp| congestion_name(scenario.profile_of(tcp).congestion)),
        seed: run.seed,
        finished: run.finished,
        seconds: run.time.as_secs_f64(),
        goodput_bps: run.goodput,
        share_of_bound: run.share_of_bound,
        share_of_oracle: run.share_of_oracle,
        sha256_ok: run.sha256_ok,
        damaged_bytes_delivered: run.damaged_bytes_delivered,
        delivered_bytes: run.delivered,
        retransmissions: run.retransmissions,
        timeouts: run.timeouts,
        slow_starts: run.slow_starts,
        fast_recoveries: run.fast_recoveries,
        special_acks: run.special_acks,
        queue_drops: run.queue_drops,
        undetected_packets: run.undetected_packets,
        failure: run.failure.map(|failure| failure.to_string()),
    }
}

fn summary_row(summary: &Summary) -> SummaryRow {
    SummaryRow {
        variant: summary.sender.to_string(),
        runs: summary.runs,
        finished: summary.finished,
        seconds: summary.seconds.map(spread_row),
        goodput_bps: summary.goodput.map(spread_row),
        share_of_bound: summary.share_of_bound.map(spread_row),
        share_of_oracle: summary.share_of_oracle.map(spread_row),
    }
}

fn spread_row(spread: Spread) -> SpreadRow {
    SpreadRow { mean: spread.mean, median: spread.median, p10: spread.p10, p90: spread.p90 }
}
