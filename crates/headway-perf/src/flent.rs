//! The results of a client as a data file of flent (`.flent.gz`, version 4 of its format).
//!
//! The names of the data sets are those that flent's own tests have, so that its plots find them:
//!
//! | test | flent's test | data sets |
//! |---|---|---|
//! | upload, download, over one connection | `tcp_upload`, `tcp_download` | `TCP upload`, `TCP download` |
//! | the same over several | `tcp_nup`, `tcp_ndown` | `TCP upload::1` to N, `TCP upload sum`, `TCP upload avg` |
//! | both, over one connection each | `tcp_bidirectional` | `TCP upload`, `TCP download` |
//! | both over several, `--rrul` | `rrul_be_nflows` | `TCP upload BE::1` to N, sums, averages, `TCP totals`, the latencies |
//! | `--latency` | `ping` | `Ping (ms) ICMP` |
//!
//! `Ping (ms) ICMP` has the latencies of headway's requests, which go over a TCP connection.

use std::io::{self, Write as _};

use chrono::DateTime;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Map, Value, json};

use super::progress::Interval;
use super::protocol::{Flow, TestKind};
use super::results::Results;

/// The version of flent's format.
const VERSION: u32 = 4;
/// Its tests know no other name for a single ping.
const PING: &str = "Ping (ms) ICMP";

/// The file; `command` is the command line.
pub(super) fn file(results: &Results, command: &str) -> io::Result<Vec<u8>> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    serde_json::to_writer(&mut gzip, &data(results, command))?;
    gzip.write_all(b"\n")?;
    gzip.finish()
}

/// flent's name of the test.
fn name(results: &Results) -> &'static str {
    let several = results.test.parallel > 1;
    match results.test.kind {
        TestKind::Upload if several => "tcp_nup",
        TestKind::Upload => "tcp_upload",
        TestKind::Download if several => "tcp_ndown",
        TestKind::Download => "tcp_download",
        TestKind::Bidirectional if !several => "tcp_bidirectional",
        TestKind::Bidirectional | TestKind::Rrul => "rrul_be_nflows",
        TestKind::Latency => "ping",
    }
}

fn data(results: &Results, command: &str) -> Value {
    let step = results.test.interval as f64 / 1e9;
    let length = results.intervals.iter().map(|interval| interval.end).fold(0.0, f64::max);
    let steps = ((length / step).ceil() as usize).max(1);
    let grid = Grid { step, steps };
    let mut sets = Sets { grid, began: results.began as f64 / 1e9, ..Sets::default() };
    for flow in [Flow::Upload, Flow::Download] {
        sets.add_flow(results, flow);
    }
    sets.add_totals(results);
    sets.add_latencies(results);
    let began = date(results.began);
    let streams = |flow| results.test.connections(flow).to_string();
    json!({
        "version": VERSION,
        "metadata": {
            "NAME": name(results),
            "TITLE": results.label,
            "NOTE": format!("{command}: the latencies are those of requests over TCP"),
            "HOST": results.server.ip().to_string(),
            "HOSTS": [results.server.ip().to_string()],
            "LOCAL_HOST": "headway",
            "TIME": began,
            "T0": began,
            "LENGTH": (results.test.nanos as f64 / 1e9).ceil() as u64,
            "TOTAL_LENGTH": length,
            "STEP_SIZE": step,
            "IP_VERSION": if results.server.is_ipv4() { 4 } else { 6 },
            "FLENT_VERSION": concat!("headway ", env!("CARGO_PKG_VERSION")),
            "DATA_FILENAME": format!("{}-{}.flent.gz", name(results), began.replace(':', "")),
            "TEST_PARAMETERS": {
                "upload_streams": streams(Flow::Upload),
                "download_streams": streams(Flow::Download),
            },
            "SERIES_META": sets.meta,
        },
        "x_values": (1..=steps).map(|place| place as f64 * step).collect::<Vec<_>>(),
        "results": sets.results,
        "raw_values": sets.raw,
    })
}

/// `2026-11-23T04:05:06.123456Z`, from nanoseconds since 1970: the form that flent reads.
fn date(nanos: u64) -> String {
    DateTime::from_timestamp_nanos(nanos as i64).format("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

/// The times of a file: the ends of intervals of the same length.
#[derive(Clone, Copy, Default)]
struct Grid {
    step: f64,
    steps: usize,
}

impl Grid {
    /// Mbit/s of one connection, or of all, at each time. Intervals end when they were reported: what lies across
    /// a time is divided. `None` where nothing was measured.
    fn rates(self, intervals: &[&Interval], bytes: impl Fn(&Interval) -> u64) -> Vec<Option<f64>> {
        let mut cells = vec![(0.0, 0.0); self.steps];
        for interval in intervals.iter().filter(|interval| interval.end > interval.start) {
            let per_second = bytes(interval) as f64 / (interval.end - interval.start);
            for (place, (sum, time)) in cells.iter_mut().enumerate() {
                let (from, until) = (place as f64 * self.step, (place + 1) as f64 * self.step);
                let shared = (interval.end.min(until) - interval.start.max(from)).max(0.0);
                *sum += per_second * shared;
                *time += shared;
            }
        }
        cells.into_iter().map(|(sum, time)| (time > 0.0).then(|| sum * 8.0 / 1e6 / time)).collect()
    }

    /// Means of the values at each time.
    fn means(self, values: &[(f64, f64)]) -> Vec<Option<f64>> {
        let mut cells = vec![(0.0, 0_u32); self.steps];
        for (at, value) in values {
            // The last may lie behind the last time.
            let place = ((at / self.step) as usize).min(self.steps - 1);
            cells[place].0 += value;
            cells[place].1 += 1;
        }
        cells.into_iter().map(|(sum, count)| (count > 0).then(|| sum / f64::from(count))).collect()
    }
}

/// The data sets.
#[derive(Default)]
struct Sets {
    grid: Grid,
    /// Seconds since 1970.
    began: f64,
    results: Map<String, Value>,
    raw: Map<String, Value>,
    meta: Map<String, Value>,
}

impl Sets {
    fn add(&mut self, name: &str, unit: &str, values: Vec<Option<f64>>) {
        let known: Vec<f64> = values.iter().flatten().copied().collect();
        let mean = known.iter().sum::<f64>() / known.len().max(1) as f64;
        self.meta.insert(name.into(), json!({ "UNITS": unit, "MEAN_VALUE": mean }));
        self.results.insert(name.into(), json!(values));
    }

    /// The connections of a direction; their sum and average where there are several.
    fn add_flow(&mut self, results: &Results, flow: Flow) {
        let intervals: Vec<&Interval> =
            results.intervals.iter().filter(|interval| interval.flow == flow).collect();
        let count = usize::from(results.test.connections(flow));
        if count == 0 {
            return;
        }
        let direction = direction(flow);
        let grouped = name(results) == "rrul_be_nflows";
        for stream in 0..count {
            let set = match (grouped, count) {
                (true, _) => format!("{direction} BE::{}", stream + 1),
                (false, 1) => direction.to_owned(),
                (false, _) => format!("{direction}::{}", stream + 1),
            };
            let bytes = |interval: &Interval| interval.streams.get(stream).map_or(0, |one| one.bytes);
            let values = self.grid.rates(&intervals, bytes);
            self.add(&set, "Mbits/s", values);
            let raw = intervals.iter().map(|interval| {
                let duration = interval.end - interval.start;
                let rate = bytes(interval) as f64 * 8.0 / 1e6 / duration.max(f64::MIN_POSITIVE);
                json!({ "t": self.began + interval.end, "dur": duration, "val": rate })
            });
            let raw = raw.collect();
            self.raw.insert(set, raw);
        }
        if grouped || count > 1 {
            let sum = self.grid.rates(&intervals, Interval::bytes);
            let average = sum.iter().map(|sum| sum.map(|sum| sum / count as f64)).collect();
            self.add(&format!("{direction} sum"), "Mbits/s", sum);
            self.add(&format!("{direction} avg"), "Mbits/s", average);
        }
    }

    /// What goes both ways, added up.
    fn add_totals(&mut self, results: &Results) {
        if name(results) != "rrul_be_nflows" {
            return;
        }
        let sum = |flow| {
            let intervals: Vec<&Interval> =
                results.intervals.iter().filter(|interval| interval.flow == flow).collect();
            self.grid.rates(&intervals, Interval::bytes)
        };
        let both = sum(Flow::Upload).into_iter().zip(sum(Flow::Download));
        let totals = both.map(|(up, down)| up.zip(down).map(|(up, down)| up + down).or(up).or(down));
        let totals = totals.collect();
        self.add("TCP totals", "Mbits/s", totals);
    }

    fn add_latencies(&mut self, results: &Results) {
        if results.samples.is_empty() {
            return;
        }
        let mut latencies: Vec<(f64, f64)> = results
            .samples
            .iter()
            .map(|sample| (sample.at.as_secs_f64(), sample.latency.as_secs_f64() * 1e3))
            .collect();
        latencies.sort_by(|a, b| a.0.total_cmp(&b.0));
        let means = self.grid.means(&latencies);
        if name(results) == "rrul_be_nflows" {
            self.add("Ping (ms) avg", "ms", means.clone());
        }
        self.add(PING, "ms", means);
        let raw = latencies
            .iter()
            .enumerate()
            .map(|(seq, (at, latency))| json!({ "t": self.began + at, "seq": seq, "val": latency }));
        let raw = raw.collect();
        self.raw.insert(PING.into(), raw);
    }
}

fn direction(flow: Flow) -> &'static str {
    if flow == Flow::Upload { "TCP upload" } else { "TCP download" }
}

#[cfg(test)]
mod tests {
    use super::super::progress::StreamInterval;
    use super::*;

    fn interval(start: f64, end: f64, bytes: u64) -> Interval {
        Interval {
            flow: Flow::Upload,
            sends: true,
            start,
            end,
            streams: vec![StreamInterval { bytes, differing: 0, retransmits: 0, state: None }],
            samples: Vec::new(),
        }
    }

    #[test]
    fn what_lies_across_a_time_is_divided_and_nothing_is_lost() {
        let grid = Grid { step: 1.0, steps: 4 };
        // One Mbit/s, then three; nothing was measured in the last second.
        let (slow, fast) = (interval(0.0, 1.5, 187_500), interval(1.5, 3.0, 562_500));
        let rates = grid.rates(&[&slow, &fast], Interval::bytes);
        assert_eq!(rates, [Some(1.0), Some(2.0), Some(3.0), None]);
    }

    #[test]
    fn latencies_are_means_of_their_interval() {
        let grid = Grid { step: 0.5, steps: 3 };
        let means = grid.means(&[(0.0, 10.0), (0.4, 20.0), (1.2, 5.0), (1.9, 7.0)]);
        assert_eq!(means, [Some(15.0), None, Some(6.0)]);
    }
}
