//! The results of a client as one object, with the keys of iperf3.

use std::ffi::CStr;
use std::net::SocketAddr;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Value, json};

use super::cpu::Usage;
use super::latency_summary::Latencies;
use super::progress::Interval;
use super::protocol::{Flow, StreamResult, Test, TestKind};
use super::text::{differing, rate, seconds, whole};

/// What is known of a test from its beginning.
pub(super) struct About<'a> {
    /// The TCP of this end.
    pub(super) label: &'a str,
    pub(super) server: SocketAddr,
    /// Nanoseconds since 1970.
    pub(super) began: u64,
}

/// The ends of a data connection.
#[derive(Clone, Copy)]
pub(super) struct Ends {
    pub(super) flow: Flow,
    pub(super) local: SocketAddr,
    pub(super) remote: SocketAddr,
}

/// What the end of a flow's direction is called where data goes both ways.
const REVERSE: &str = "_bidir_reverse";

/// The object of a test that failed.
pub(super) fn failed(error: &str) -> String {
    format!("{:#}\n", json!({ "start": {}, "intervals": [], "end": {}, "error": error }))
}

/// The key of a sum: that of the downloads has another name where there are uploads too.
fn key(test: &Test, flow: Flow, name: &str) -> String {
    let suffix = if test.is_both_ways() && flow == Flow::Download { REVERSE } else { "" };
    format!("{name}{suffix}")
}

/// What is known before the test begins.
pub(super) fn start(about: &About<'_>, test: &Test, ends: &[Ends]) -> Value {
    let began = Duration::from_nanos(about.began);
    let server = about.server;
    let connected = |(index, ends): (usize, &Ends)| {
        json!({
            "socket": index + 1,
            "local_host": ends.local.ip().to_string(),
            "local_port": ends.local.port(),
            "remote_host": ends.remote.ip().to_string(),
            "remote_port": ends.remote.port(),
            "flow": ends.flow,
        })
    };
    json!({
        "connected": ends.iter().enumerate().map(connected).collect::<Vec<_>>(),
        "version": concat!("headway ", env!("CARGO_PKG_VERSION")),
        "system_info": system_info(),
        "timestamp": { "time": httpdate::fmt_http_date(UNIX_EPOCH + began), "timesecs": began.as_secs() },
        "variant": about.label,
        "connecting_to": { "host": server.ip().to_string(), "port": server.port() },
        "test_start": {
            "protocol": "TCP",
            "num_streams": test.parallel,
            "blksize": if test.kind == TestKind::Latency { test.request } else { test.length },
            "duration": test.nanos as f64 / 1e9,
            "bytes": test.bytes.unwrap_or(0),
            // What iperf3 can do and this does not: warm up, count blocks, mark packets.
            "omit": 0,
            "blocks": 0,
            "tos": 0,
            "reverse": i32::from(test.kind == TestKind::Download),
            "bidir": i32::from(test.is_both_ways()),
        },
    })
}

/// All intervals: those of the flows of a test end at about the same times.
pub(super) fn intervals(test: &Test, ends: &[Ends], intervals: &[Interval]) -> Vec<Value> {
    let of = |flow| intervals.iter().filter(move |interval| interval.flow == flow).collect::<Vec<_>>();
    let flows = [Flow::Upload, Flow::Download, Flow::Latency].map(of);
    let count = flows.iter().map(Vec::len).max().unwrap_or(0);
    let row = |index: usize| {
        let of_flows: Vec<&Interval> =
            flows.iter().filter_map(|flow| flow.get(index)).map(|interval| &**interval).collect();
        interval(test, ends, &of_flows)
    };
    (0..count).map(row).collect()
}

/// One interval, of one flow or several.
pub(super) fn interval(test: &Test, ends: &[Ends], of_flows: &[&Interval]) -> Value {
    let mut row = json!({ "streams": [] });
    for interval in of_flows {
        add(&mut row, test, ends, interval);
    }
    row
}

fn add(row: &mut Value, test: &Test, ends: &[Ends], interval: &Interval) {
    let (start, end) = (interval.start, interval.end);
    if test.kind == TestKind::Rrul && interval.flow == Flow::Latency {
        let latencies = Latencies::of(interval.samples.iter().map(|sample| sample.latency));
        row["latency"] = latencies.json();
        row["latency"]["start"] = json!(start);
        row["latency"]["end"] = json!(end);
        return;
    }
    let sockets = ends.iter().enumerate().filter(|(_, ends)| ends.flow == interval.flow);
    for (stream, (index, _)) in interval.streams.iter().zip(sockets) {
        let mut one = sums(start, end, stream.bytes, interval.sends);
        one["socket"] = json!(index + 1);
        one["omitted"] = json!(false);
        if interval.sends {
            one["retransmits"] = json!(stream.retransmits);
            one["snd_cwnd"] = json!(stream.state.map(|(cwnd, _)| cwnd));
            one["rtt"] = json!(stream.state.map(|(_, rtt)| rtt));
        }
        if let Some(streams) = row["streams"].as_array_mut() {
            streams.push(one);
        }
    }
    let mut sum = sums(start, end, interval.bytes(), interval.sends);
    sum["omitted"] = json!(false);
    if interval.sends {
        sum["retransmits"] = json!(interval.retransmits());
    } else {
        sum["differing"] = json!(interval.differing());
    }
    row[key(test, interval.flow, "sum")] = sum;
}

/// The results of both ends of one flow.
pub(super) struct FlowResults {
    pub(super) flow: Flow,
    /// Whether this end sends the data.
    pub(super) sends: bool,
    pub(super) sent: Vec<StreamResult>,
    pub(super) received: Vec<StreamResult>,
}

/// The sums of a test at its end.
pub(super) fn end(
    test: &Test,
    ends: &[Ends],
    flows: &[FlowResults],
    intervals: &[Interval],
    cpu: (Usage, Usage),
) -> Value {
    let mut end = json!({ "streams": [] });
    for flow in flows.iter().filter(|flow| test.kind != TestKind::Rrul || flow.flow != Flow::Latency) {
        let sockets = ends.iter().enumerate().filter(|(_, ends)| ends.flow == flow.flow);
        for (stream, (index, ends)) in sockets.enumerate() {
            let of = |results: &[StreamResult]| {
                let found = results.iter().find(|result| result.client_port == ends.local.port());
                found.cloned().unwrap_or_default()
            };
            let one = |result: &StreamResult| {
                let mut one = sums(0.0, seconds(result), result.bytes, flow.sends);
                one["socket"] = json!(index + 1);
                one
            };
            let (sent, received) = (of(&flow.sent), of(&flow.received));
            let mut sender = one(&sent);
            sender["retransmits"] = json!(sent.retransmits);
            if flow.sends {
                add_extremes(&mut sender, intervals, flow.flow, stream);
            }
            if let Some(streams) = end["streams"].as_array_mut() {
                streams.push(json!({ "sender": sender, "receiver": one(&received) }));
            }
        }
        let total = |results: &[StreamResult]| {
            let (bytes, longest) = whole(results);
            sums(0.0, longest, bytes, flow.sends)
        };
        let mut sent = total(&flow.sent);
        let retransmits: Option<u64> = flow.sent.iter().map(|result| result.retransmits).sum();
        sent["retransmits"] = json!(retransmits);
        end[key(test, flow.flow, "sum_sent")] = sent;
        let mut received = total(&flow.received);
        received["differing"] = json!(differing(&flow.received));
        end[key(test, flow.flow, "sum_received")] = received;
    }
    let (ours, theirs) = cpu;
    end["cpu_utilization_percent"] = json!({
        "host_total": ours.total(),
        "host_user": ours.user,
        "host_system": ours.system,
        "remote_total": theirs.total(),
        "remote_user": theirs.user,
        "remote_system": theirs.system,
    });
    end
}

/// The greatest window, and the shortest, longest and mean round-trip time of what the intervals had, as of iperf3.
fn add_extremes(sender: &mut Value, intervals: &[Interval], flow: Flow, stream: usize) {
    let of_flow = intervals.iter().filter(|interval| interval.flow == flow);
    let states: Vec<(u64, u64)> =
        of_flow.filter_map(|interval| interval.streams.get(stream)?.state).collect();
    let rtts = || states.iter().map(|(_, rtt)| *rtt).filter(|rtt| *rtt > 0);
    sender["max_snd_cwnd"] = json!(states.iter().map(|(cwnd, _)| cwnd).max());
    sender["max_rtt"] = json!(rtts().max());
    sender["min_rtt"] = json!(rtts().min());
    sender["mean_rtt"] = json!(rtts().sum::<u64>().checked_div(rtts().count() as u64));
}

/// As `uname -a` says it, which iperf3 prints.
fn system_info() -> String {
    let name = rustix::system::uname();
    let part = |part: &CStr| part.to_string_lossy().into_owned();
    [name.sysname(), name.nodename(), name.release(), name.version(), name.machine()].map(part).join(" ")
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
