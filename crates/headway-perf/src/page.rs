//! The results of a client as a page.

use std::time::Duration;

use headway_report::command_line;
use headway_report::{ReportError, perf, rate_text};

use super::latency_summary::Latencies;
use super::protocol::{Flow, TestKind};
use super::results::Results;
use super::text::{rate, whole};

/// The page; `words` are those of the command line, without the program's name.
pub(super) fn page(results: &Results, words: &[String]) -> Result<String, ReportError> {
    perf::page(&shown(results), &command_line(words))
}

fn shown(results: &Results) -> perf::Results {
    let of = |flow| {
        let intervals = results.intervals.iter().filter(move |interval| interval.flow == flow);
        intervals
            .map(|one| perf::Interval {
                start: one.start,
                end: one.end,
                rate: rate(one.bytes(), one.end - one.start),
            })
            .collect::<Vec<_>>()
    };
    perf::Results {
        summary: summary(results),
        values: values(results),
        up: of(Flow::Upload),
        down: of(Flow::Download),
        latencies: results
            .samples
            .iter()
            .map(|sample| (sample.at.as_secs_f64(), sample.latency.as_secs_f64()))
            .collect(),
        load: results.load.map(|load| (load.idle.as_secs_f64(), load.until.as_secs_f64())),
    }
}

fn summary(results: &Results) -> String {
    let test = &results.test;
    let count = match test.parallel {
        1 => "1 connection".to_owned(),
        count => format!("{count} connections"),
    };
    let what = match test.kind {
        TestKind::Upload => format!("Data from the client to the server, over {count}"),
        TestKind::Download => format!("Data from the server to the client, over {count}"),
        TestKind::Bidirectional => format!("Data both ways at the same time, over {count} each way"),
        TestKind::Latency => format!("Requests, each after the previous answer, over {count}"),
        TestKind::Rrul => format!(
            "A request every 20 ms, at first alone, then while data goes both ways over {count} each way"
        ),
    };
    format!("{what}. The server is {}; the client's TCP: {}.", results.server, results.label)
}

fn values(results: &Results) -> Vec<(String, String)> {
    let mut values = Vec::new();
    let mut add = |name: String, value: String| values.push((name, value));
    // As `headway shell` names it.
    if let Ok(link) = std::env::var("HEADWAY_SHELL") {
        add("Link, from the server".into(), link);
    }
    for flow in results.flows().iter().filter(|flow| flow.flow != Flow::Latency) {
        let direction = if flow.flow == Flow::Upload { "up" } else { "down" };
        let (bytes, seconds) = whole(&flow.received);
        add(format!("Goodput {direction}"), rate_text(rate(bytes, seconds)));
        let retransmits: Option<u64> = flow.sent.iter().map(|result| result.retransmits).sum();
        if let Some(retransmits) = retransmits {
            add(format!("Segments retransmitted {direction}"), retransmits.to_string());
        }
    }
    let (idle, loaded) = results.latencies();
    let mut latency = |name: &str, latencies: &Latencies| {
        for (quantile, of) in [("median", 0.5), ("99th percentile", 0.99), ("maximum", 1.0)] {
            if latencies.count() > 0 {
                add(format!("{name}, {quantile}"), millis(latencies.quantile(of)));
            }
        }
    };
    latency(if results.load.is_some() { "Latency without load" } else { "Latency" }, &idle);
    latency("Latency under load", &loaded);
    for (end, usage) in [("client", results.cpu.0), ("server", results.cpu.1)] {
        add(format!("CPU of the {end}"), format!("{:.1} %", usage.total()));
    }
    values
}

fn millis(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}
