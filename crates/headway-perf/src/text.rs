//! The lines of a test, at either end.

use std::time::Duration;

use super::cpu::Usage;
use super::latency_summary::{Latencies, micros};
use super::progress::Interval;
use super::protocol::{Flow, StreamResult, Test};

/// Formats the lines of a test. The columns are those of iperf3.
pub(super) struct Text {
    is_server: bool,
    both_ways: bool,
    has_load: bool,
    /// Bytes of a request.
    request: u64,
    has_heading: bool,
}

impl Text {
    pub(super) fn of_client(test: &Test) -> Self {
        Self::new(test, false)
    }

    pub(super) fn of_server(test: &Test) -> Self {
        Self::new(test, true)
    }

    fn new(test: &Test, is_server: bool) -> Self {
        Self {
            is_server,
            both_ways: test.is_both_ways(),
            has_load: test.is_both_ways() && test.connections(Flow::Latency) > 0,
            request: u64::from(test.request.max(1)),
            has_heading: false,
        }
    }

    /// The lines of an interval.
    pub(super) fn interval(&mut self, interval: &Interval) -> String {
        let (start, end) = (interval.start, interval.end);
        if interval.flow == Flow::Latency {
            let answers = interval.bytes() / self.request;
            let mut text =
                format!("{}{}  {answers:>12} answers", self.label(interval.flow), span(start, end));
            if self.has_load && !interval.samples.is_empty() {
                let latencies = Latencies::of(interval.samples.iter().map(|sample| sample.latency));
                text.push_str(&format!("  median {}", millis(latencies.quantile(0.5))));
            }
            return text + "\n";
        }
        let mut text = String::new();
        if !self.has_heading {
            self.has_heading = true;
            let columns =
                if interval.sends || self.both_ways { "    Retr       Cwnd        RTT" } else { "" };
            let label = if self.both_ways { " ".repeat(8) } else { String::new() };
            text = format!("{label}{:<19}  {:>18}  {:>17}{columns}\n", "Interval", "Transfer", "Bitrate");
        }
        text.push_str(&self.label(interval.flow));
        text.push_str(&amounts(start, end, interval.bytes()));
        if interval.sends {
            text.push_str(&match interval.state() {
                Some((cwnd, rtt)) => {
                    let rtt = millis(Duration::from_micros(rtt));
                    format!("  {:>6}  {:>9}  {rtt:>9}", interval.retransmits(), kibibytes(cwnd))
                }
                None => format!("  {:>6}  {:>9}  {:>9}", "-", "-", "-"),
            });
        }
        text.push('\n');
        text
    }

    /// The sum of one end of all connections of a flow.
    pub(super) fn sum(&self, flow: Flow, is_sender: bool, results: &[StreamResult]) -> String {
        let (bytes, seconds) = whole(results);
        let retransmits: Option<u64> = results.iter().map(|result| result.retransmits).sum();
        let retransmits = retransmits.filter(|_| is_sender);
        let again = retransmits.map_or(String::new(), |count| format!("  {count:>6}"));
        let end = if is_sender { "sender" } else { "receiver" };
        let differing = match differing(results) {
            0 => String::new(),
            bytes => format!(", bytes that differ: {bytes}"),
        };
        format!("{}{}{again:8}  {end}{differing}\n", self.label(flow), amounts(0.0, seconds, bytes))
    }

    /// As of iperf3, where data goes both ways.
    fn label(&self, flow: Flow) -> String {
        if !self.both_ways {
            return String::new();
        }
        let end = if self.is_server { 'S' } else { 'C' };
        let direction = match flow {
            Flow::Latency => return format!("{:<8}", "[RTT]"),
            Flow::Upload => ["TX", "RX"][usize::from(self.is_server)],
            Flow::Download => ["RX", "TX"][usize::from(self.is_server)],
        };
        format!("{:<8}", format!("[{direction}-{end}]"))
    }
}

/// The CPU time of both ends.
pub(super) fn cpu(ours: Usage, theirs: Usage) -> String {
    let one = |usage: Usage| {
        format!("{:.1} % (user {:.1} %, system {:.1} %)", usage.total(), usage.user, usage.system)
    };
    format!("CPU: local {}, remote {}\n", one(ours), one(theirs))
}

/// The latencies of a test that measures nothing else.
pub(super) fn latencies(latencies: &Latencies) -> String {
    let of = |quantile| short(latencies.quantile(quantile));
    format!(
        "{} answers: mean {}, min {}, median {}, 90 % {}, 99 % {}, max {}\n",
        latencies.count(),
        short(latencies.mean()),
        of(0.0),
        of(0.5),
        of(0.9),
        of(0.99),
        of(1.0),
    )
}

/// The latencies without load and with it.
pub(super) fn idle_and_loaded(idle: &Latencies, loaded: &Latencies) -> String {
    let line = |name: &str, latencies: &Latencies| {
        let of = |quantile| {
            if latencies.count() == 0 { "-".into() } else { millis(latencies.quantile(quantile)) }
        };
        let (median, most) = (of(0.5), of(0.99));
        format!("Latency {name:<6}  median {median:>10}  99 % {most:>10}  ({} answers)\n", latencies.count())
    };
    line("idle", idle) + &line("loaded", loaded)
}

/// The goodput of one flow.
pub(super) fn goodput(name: &str, received: &[StreamResult]) -> String {
    let (bytes, seconds) = whole(received);
    format!("Goodput {name:<6}  {:.3} Mbit/s\n", rate(bytes, seconds) / 1e6)
}

/// Bytes of all connections, over the time of the longest.
pub(super) fn whole(results: &[StreamResult]) -> (u64, f64) {
    let bytes = results.iter().map(|result| result.bytes).sum();
    (bytes, results.iter().map(seconds).fold(0.0, f64::max))
}

/// Bytes of all connections that are not those that were sent.
pub(super) fn differing(results: &[StreamResult]) -> u64 {
    results.iter().map(|result| result.differing).sum()
}

pub(super) fn seconds(result: &StreamResult) -> f64 {
    result.nanos as f64 / 1e9
}

/// Bit/s.
pub(super) fn rate(bytes: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { bytes as f64 * 8.0 / seconds } else { 0.0 }
}

fn span(start: f64, end: f64) -> String {
    format!("{start:7.2} - {end:7.2} s")
}

fn amounts(start: f64, end: f64, bytes: u64) -> String {
    format!("{}  {bytes:>12} bytes  {:10.3} Mbit/s", span(start, end), rate(bytes, end - start) / 1e6)
}

fn kibibytes(bytes: u64) -> String {
    format!("{:.1} KiB", bytes as f64 / 1024.0)
}

/// In microseconds below one millisecond.
fn short(time: Duration) -> String {
    if time < Duration::from_millis(1) { format!("{:.1} us", micros(time)) } else { millis(time) }
}

/// With more digits where the time is short.
fn millis(time: Duration) -> String {
    let millis = time.as_secs_f64() * 1e3;
    if millis < 10.0 { format!("{millis:.2} ms") } else { format!("{millis:.1} ms") }
}
