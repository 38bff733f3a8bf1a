//! Lines of JSON: SI units, and the counters of the simulator under their names.

use headway_command::json_object::Object;
use headway_link::LinkConfig;
use headway_net::error_delay_box::{BoxReport, LaneReport, Priority, Quantiles};
use serde_json::{Value, json};

pub(super) fn ready(interfaces: &[String; 2], links: &[LinkConfig; 2], priority: Priority) -> String {
    let [forward, reverse] = links.each_ref().map(Object::of_link);
    json!({
        "ready": true,
        "interfaces": interfaces,
        "real_time": priority == Priority::RealTime,
        "forward": forward,
        "reverse": reverse,
    })
    .to_string()
}

pub(super) fn changed(links: &[LinkConfig; 2]) -> String {
    let [forward, reverse] = links.each_ref().map(Object::of_link);
    json!({ "reloaded": true, "forward": forward, "reverse": reverse }).to_string()
}

pub(super) fn kept(problem: &str) -> String {
    json!({ "reloaded": false, "error": problem }).to_string()
}

/// Counters since the start; lateness since the previous line, or in the last line since the start.
pub(super) fn report(report: &BoxReport, end: bool, error: Option<String>) -> String {
    let [forward, reverse] = report.lanes.each_ref().map(|lane| lane_row(lane, end));
    let mut line = json!({
        "end": end,
        "seconds": report.elapsed.as_secs_f64(),
        "real_time": report.priority == Priority::RealTime,
        "forward": forward,
        "reverse": reverse,
    });
    if end {
        line["error"] = error.into();
    }
    line.to_string()
}

fn lane_row(lane: &LaneReport, end: bool) -> Value {
    let LaneReport { link, port, .. } = lane;
    let (lateness, reading) =
        if end { (lane.lateness_overall, lane.reading_overall) } else { (lane.lateness, lane.reading) };
    json!({
        "from": lane.from,
        "to": lane.to,
        "offered": link.offered,
        "offered_bytes": link.offered_bytes,
        "delivered": link.delivered,
        "delivered_bytes": link.delivered_bytes,
        "delivered_damaged": link.delivered_damaged,
        "queue_drops": link.queue_drops,
        "policed": link.policed,
        "lost": link.lost,
        "muted": link.muted,
        "hit": link.hit,
        "hit_in_header": link.hit_in_header,
        "flipped_bits": link.flipped_bits,
        "slipped": link.slipped,
        "split": link.split,
        "joined": link.joined,
        "frame_check_drops": link.frame_check_drops,
        "arq_retransmissions": link.arq_retransmissions,
        "marked": link.marked,
        "duplicated": link.duplicated,
        "reordered": link.reordered,
        "transmissions": link.transmissions,
        "transmitted_bytes": link.transmitted_bytes,
        "queue_packets": lane.queue_packets,
        "queue_bytes": lane.queue_bytes,
        "max_queue_packets": link.max_queue_packets,
        "max_queue_bytes": link.max_queue_bytes,
        "in_link": lane.in_link,
        "passed": port.passed,
        "completed": port.completed,
        "cut": port.cut,
        "uncut": port.uncut,
        "refused": port.refused,
        "kernel_drops": port.kernel_drops,
        "lateness": quantiles(lateness),
        "reading": quantiles(reading),
    })
}

fn quantiles(times: Quantiles) -> Value {
    json!({
        "count": times.count,
        "median_seconds": times.median.as_secs_f64(),
        "p99_seconds": times.p99.as_secs_f64(),
        "max_seconds": times.max.as_secs_f64(),
    })
}
