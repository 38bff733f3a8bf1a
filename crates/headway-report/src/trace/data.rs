//! The points of the graphs for the page's script.

use headway_trace::Series;
use headway_trace::analysis::{Connection, Direction, SegmentPoint};
use headway_units::Instant;
use serde_json::{Value, json};

use super::Numbered;

/// Every direction of `drawn`, in order, for the script: for each series one flat list of numbers. Times
/// are nanoseconds since the connection's first packet.
pub(super) fn json(drawn: &[&Numbered<'_>]) -> Value {
    drawn.iter().flat_map(|numbered| [0, 1].map(|side| direction(numbered.connection, side))).collect()
}

fn direction(connection: &Connection, side: usize) -> Value {
    let direction = &connection.directions[side];
    let Some(graph) = &direction.graph else { return Value::Null };
    let since = |at: Instant| at.saturating_since(connection.first_at).as_nanos();
    let segments = |series: &Series<SegmentPoint>| -> Vec<u64> {
        series.points().iter().flat_map(|p| [since(p.at), p.seq, p.seq + u64::from(p.len)]).collect()
    };
    let edges: Vec<u64> = graph.edges.points().iter().flat_map(|p| [since(p.at), p.ack, p.right]).collect();
    let duplicates: Vec<u64> = graph.duplicates.points().iter().flat_map(|p| [since(p.at), p.seq]).collect();
    let sacks: Vec<u64> = graph.sacks.points().iter().flat_map(|p| [since(p.at), p.left, p.right]).collect();
    let special: Vec<u64> = graph.special.points().iter().flat_map(|p| [since(p.at), p.seq]).collect();
    let closed: Vec<u64> = graph.zero_windows.points().iter().flat_map(|p| [since(p.at), p.seq]).collect();
    let rtt: Vec<u64> = graph.rtt.points().iter().flat_map(|p| [since(p.at), p.rtt.as_nanos()]).collect();
    let outstanding: Vec<u64> =
        graph.outstanding.points().iter().flat_map(|p| [since(p.at), p.bytes]).collect();
    json!({
        "end": connection.duration().as_nanos(),
        "sent": segments(&graph.sent),
        "retransmitted": segments(&graph.retransmitted),
        "gaps": segments(&graph.out_of_order),
        "probes": segments(&graph.probes),
        "corrupted": segments(&graph.corrupted),
        "edges": edges,
        "duplicates": duplicates,
        "sacks": sacks,
        "special": special,
        "closed": closed,
        "rtt": rtt,
        "outstanding": outstanding,
        "throughput": throughput(direction),
        "thinned": is_thinned(direction),
    })
}

fn throughput(direction: &Direction) -> Value {
    let throughput = &direction.throughput;
    let points: Vec<u64> =
        throughput.intervals().iter().flat_map(|interval| [interval.bytes, interval.new_bytes]).collect();
    json!({ "width": throughput.width().as_nanos(), "points": points })
}

fn is_thinned(direction: &Direction) -> bool {
    direction.graph.as_ref().is_some_and(|graph| {
        let segments =
            [&graph.sent, &graph.retransmitted, &graph.out_of_order, &graph.probes, &graph.corrupted];
        let strides = [
            graph.edges.stride(),
            graph.duplicates.stride(),
            graph.sacks.stride(),
            graph.special.stride(),
            graph.zero_windows.stride(),
            graph.rtt.stride(),
            graph.outstanding.stride(),
        ];
        segments.iter().map(|series| series.stride()).chain(strides).any(|stride| stride > 1)
    })
}
