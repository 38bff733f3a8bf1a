//! Results, as lines or with the keys of iperf3.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};

use super::protocol::{Kind, StreamResult, Test};
use super::test::Progress;
use crate::output::{self, OutputError};

/// The ends of a data connection.
#[derive(Clone, Copy)]
pub(super) struct Ends {
    pub(super) local: SocketAddr,
    pub(super) remote: SocketAddr,
}

/// Reports the progress and the results of a test.
pub(super) struct Reporter {
    label: String,
    server: SocketAddr,
    test: Test,
    ends: Vec<Ends>,
    progress: Vec<Arc<Progress>>,
    quiet: bool,
    /// When the last interval ended, and the counters of the connections at that time.
    last: (Duration, Vec<(u64, u64)>),
    intervals: Vec<Value>,
}

/// The results.
pub(super) struct Report {
    json: Value,
    lines: Vec<String>,
}

impl Reporter {
    pub(super) fn new(
        label: String,
        server: SocketAddr,
        test: Test,
        ends: Vec<Ends>,
        progress: Vec<Arc<Progress>>,
        quiet: bool,
    ) -> Self {
        let nothing = vec![(0, 0); progress.len()];
        Self {
            label,
            server,
            test,
            ends,
            progress,
            quiet,
            last: (Duration::ZERO, nothing),
            intervals: Vec::new(),
        }
    }

    /// Ends an interval.
    pub(super) fn interval(&mut self, until: Duration) -> Result<(), OutputError> {
        let (from, before) = &mut self.last;
        let (start, end) = (from.as_secs_f64(), until.as_secs_f64());
        let we_send = self.test.kind != Kind::Download;
        let mut streams = Vec::new();
        let (mut bytes, mut retransmits, mut sending) = (0, 0, None);
        for (index, (progress, before)) in self.progress.iter().zip(before.iter_mut()).enumerate() {
            let done = progress.bytes.load(Ordering::Relaxed);
            let again = progress.retransmits.load(Ordering::Relaxed);
            let mut stream = sums(start, end, done - before.0, we_send);
            stream["socket"] = json!(index + 1);
            stream["omitted"] = json!(false);
            if we_send {
                stream["retransmits"] = json!(again - before.1);
                stream["snd_cwnd"] = json!(progress.cwnd.load(Ordering::Relaxed));
                stream["rtt"] = json!(progress.rtt.load(Ordering::Relaxed));
            }
            if progress.is_known.load(Ordering::Relaxed) {
                let (cwnd, rtt) = sending.unwrap_or((0, 0));
                let own = progress.rtt.load(Ordering::Relaxed);
                sending = Some((cwnd + progress.cwnd.load(Ordering::Relaxed), rtt.max(own)));
            }
            bytes += done - before.0;
            retransmits += again - before.1;
            *before = (done, again);
            streams.push(stream);
        }
        *from = until;
        if bytes == 0 && end - start < 0.01 {
            return Ok(());
        }
        let mut sum = sums(start, end, bytes, we_send);
        sum["omitted"] = json!(false);
        if we_send {
            sum["retransmits"] = json!(retransmits);
        }
        self.intervals.push(json!({ "streams": streams, "sum": sum }));
        if self.quiet {
            return Ok(());
        }
        let mut text = String::new();
        if self.intervals.len() == 1 && self.test.kind != Kind::Latency {
            text = format!("{}\n", heading(we_send));
        }
        text.push_str(&line(start, end, bytes, &self.test));
        if self.test.kind == Kind::Upload {
            text.push_str(&match sending {
                Some((cwnd, rtt)) => {
                    format!("  {retransmits:>6}  {:>9}  {:>9}", kibibytes(cwnd), millis(rtt))
                }
                None => format!("  {:>6}  {:>9}  {:>9}", "-", "-", "-"),
            });
        }
        output::print(&format!("{text}\n"))
    }

    /// Ends the test, with the local and the server's results, and the latencies.
    pub(super) fn finish(
        self,
        ours: Vec<StreamResult>,
        theirs: Vec<StreamResult>,
        mut times: Vec<Duration>,
    ) -> Report {
        let we_send = self.test.kind != Kind::Download;
        let (sent, received) = if we_send { (&ours, &theirs) } else { (&theirs, &ours) };
        let mut streams = Vec::new();
        for (index, ends) in self.ends.iter().enumerate() {
            let of = |results: &[StreamResult]| {
                let found = results.iter().find(|result| result.client_port == ends.local.port());
                found.cloned().unwrap_or_default()
            };
            let one = |result: &StreamResult| {
                let mut one = sums(0.0, seconds(result), result.bytes, we_send);
                one["socket"] = json!(index + 1);
                one
            };
            let (sent, received) = (of(sent), of(received));
            let mut sender = one(&sent);
            sender["retransmits"] = json!(sent.retransmits);
            streams.push(json!({ "sender": sender, "receiver": one(&received) }));
        }
        let mut sum_sent = total(sent, we_send);
        let retransmits: Option<u64> = sent.iter().map(|result| result.retransmits).sum();
        sum_sent["retransmits"] = json!(retransmits);
        let sum_received = total(received, we_send);
        let mut lines = vec![
            format!("{}  sender", summary(sent, retransmits)),
            format!("{}  receiver", summary(received, None)),
        ];
        let mut end = json!({ "streams": streams, "sum_sent": sum_sent, "sum_received": sum_received });
        if self.test.kind == Kind::Latency {
            times.sort_unstable();
            lines = vec![latency_line(&times)];
            end["latency"] = latency(&times);
        }
        let json = json!({ "start": self.start(), "intervals": self.intervals, "end": end });
        Report { json, lines }
    }

    fn start(&self) -> Value {
        let connected: Vec<Value> = self
            .ends
            .iter()
            .enumerate()
            .map(|(index, ends)| {
                json!({
                    "socket": index + 1,
                    "local_host": ends.local.ip().to_string(),
                    "local_port": ends.local.port(),
                    "remote_host": ends.remote.ip().to_string(),
                    "remote_port": ends.remote.port(),
                })
            })
            .collect();
        json!({
            "connected": connected,
            "version": concat!("headway ", env!("CARGO_PKG_VERSION")),
            "variant": self.label,
            "connecting_to": { "host": self.server.ip().to_string(), "port": self.server.port() },
            "test_start": {
                "protocol": "TCP",
                "num_streams": self.test.parallel,
                "blksize": self.test.length,
                "duration": self.test.nanos as f64 / 1e9,
                "bytes": self.test.bytes.unwrap_or(0),
                "reverse": i32::from(self.test.kind == Kind::Download),
            },
        })
    }
}

impl Report {
    /// As lines, or as one object.
    pub(super) fn text(&self, json: bool) -> String {
        if json { format!("{:#}\n", self.json) } else { self.lines.join("\n") + "\n" }
    }
}

fn sums(start: f64, end: f64, bytes: u64, we_send: bool) -> Value {
    let seconds = end - start;
    json!({
        "start": start,
        "end": end,
        "seconds": seconds,
        "bytes": bytes,
        "bits_per_second": rate(bytes, seconds),
        "sender": we_send,
    })
}

fn rate(bytes: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { bytes as f64 * 8.0 / seconds } else { 0.0 }
}

fn seconds(result: &StreamResult) -> f64 {
    result.nanos as f64 / 1e9
}

/// The sum of all connections, over the time of the longest.
fn total(results: &[StreamResult], we_send: bool) -> Value {
    let (bytes, longest) = whole(results);
    sums(0.0, longest, bytes, we_send)
}

fn whole(results: &[StreamResult]) -> (u64, f64) {
    let bytes = results.iter().map(|result| result.bytes).sum();
    (bytes, results.iter().map(seconds).fold(0.0, f64::max))
}

fn summary(results: &[StreamResult], retransmits: Option<u64>) -> String {
    let (bytes, seconds) = whole(results);
    let again = retransmits.map_or(String::new(), |count| format!("  {count:>6}"));
    format!("{}{again:8}", amounts(0.0, seconds, bytes))
}

fn line(start: f64, end: f64, bytes: u64, test: &Test) -> String {
    if test.kind == Kind::Latency {
        let answers = bytes / u64::from(test.length.max(1));
        return format!("{start:7.2} - {end:7.2} s  {answers} answers");
    }
    amounts(start, end, bytes)
}

/// The columns of iperf3.
fn heading(we_send: bool) -> String {
    let of_sender = if we_send { "    Retr       Cwnd        RTT" } else { "" };
    format!("{:<19}  {:>18}  {:>17}{of_sender}", "Interval", "Transfer", "Bitrate")
}

fn amounts(start: f64, end: f64, bytes: u64) -> String {
    format!("{start:7.2} - {end:7.2} s  {bytes:>12} bytes  {:10.3} Mbit/s", rate(bytes, end - start) / 1e6)
}

fn kibibytes(bytes: u64) -> String {
    format!("{:.1} KiB", bytes as f64 / 1024.0)
}

fn millis(micros: u64) -> String {
    format!("{:.1} ms", micros as f64 / 1e3)
}

/// The object of a test that failed, with the keys of iperf3.
pub(super) fn failed(error: &str) -> String {
    format!("{:#}\n", json!({ "start": {}, "intervals": [], "end": {}, "error": error }))
}

/// The quantile `of` of the sorted `times`, in microseconds.
fn percentile(times: &[Duration], of: f64) -> f64 {
    let index = (times.len() as f64 * of).ceil() as usize;
    times.get(index.clamp(1, times.len().max(1)) - 1).map_or(0.0, |time| time.as_secs_f64() * 1e6)
}

fn mean(times: &[Duration]) -> f64 {
    let sum: Duration = times.iter().sum();
    sum.as_secs_f64() * 1e6 / times.len().max(1) as f64
}

fn latency(times: &[Duration]) -> Value {
    json!({
        "transactions": times.len(),
        "mean_us": mean(times),
        "min_us": percentile(times, 0.0),
        "p50_us": percentile(times, 0.5),
        "p90_us": percentile(times, 0.9),
        "p99_us": percentile(times, 0.99),
        "max_us": percentile(times, 1.0),
    })
}

fn latency_line(times: &[Duration]) -> String {
    format!(
        "{} answers: mean {:.1} us, min {:.1}, median {:.1}, 90 % {:.1}, 99 % {:.1}, max {:.1}",
        times.len(),
        mean(times),
        percentile(times, 0.0),
        percentile(times, 0.5),
        percentile(times, 0.9),
        percentile(times, 0.99),
        percentile(times, 1.0),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_times_that_were_measured() {
        let times: Vec<Duration> = (1..=100).map(Duration::from_micros).collect();
        for (of, expected) in [(0.0, 1.0), (0.5, 50.0), (0.9, 90.0), (0.99, 99.0), (1.0, 100.0)] {
            assert!((percentile(&times, of) - expected).abs() < 1e-6, "{of}");
        }
        assert!((mean(&times) - 50.5).abs() < 1e-6);
        assert_eq!(percentile(&[], 0.5), 0.0);
    }
}
