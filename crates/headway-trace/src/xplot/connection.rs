//! Graphs of an analysed connection.

use std::io::{BufWriter, Write};

use headway_units::Instant;

use super::{Seconds, finish, write_head, write_segment, write_steps};
use crate::TraceError;
use crate::analysis::{Direction, Graph, SegmentPoint, Throughput};

/// Writes the time-sequence graph of a direction in the colours of tcptrace:
///
/// - data: white, an upright line from the first byte to the last, between two arrowheads;
///   retransmissions red, marked `R`; segments that fill a gap marked `O`; window probes marked `P`;
/// - acknowledged: a green staircase, with a tick for each duplicate ACK; the advertised window: a yellow
///   one, marked `Z` where it is zero;
/// - SACK blocks: purple;
/// - corrupted segments (header valid): orange, marked `X`; segments that special ACKs report: magenta
///   diamonds at their first byte.
///
/// Times are those of the capture, byte offsets count from the first byte of data. The graph is empty if
/// the direction's points were not kept.
///
/// # Errors
///
/// The writer failed.
pub fn write_segments(writer: impl Write, title: &str, direction: &Direction) -> Result<(), TraceError> {
    let mut out = BufWriter::new(writer);
    let Some(graph) = &direction.graph else {
        write_head(&mut out, title, "sequence offset", 0)?;
        return finish(out);
    };
    write_head(&mut out, title, "sequence offset", highest(graph))?;
    writeln!(out, "yellow")?;
    write_steps(&mut out, graph.edges.points().iter().map(|edge| (edge.at, edge.right)))?;
    writeln!(out, "green")?;
    write_steps(&mut out, graph.edges.points().iter().map(|edge| (edge.at, edge.ack)))?;
    for duplicate in graph.duplicates.points() {
        writeln!(out, "dtick {} {}", Seconds(duplicate.at), duplicate.seq)?;
    }
    writeln!(out, "purple")?;
    for block in graph.sacks.points() {
        let (at, left, right) = (Seconds(block.at), block.left, block.right);
        writeln!(out, "line {at} {left} {at} {right}\nhtick {at} {left}\nhtick {at} {right}")?;
    }
    let kinds = [
        ("white", None, &graph.sent),
        ("white", Some('O'), &graph.out_of_order),
        ("blue", Some('P'), &graph.probes),
        ("red", Some('R'), &graph.retransmitted),
        ("orange", Some('X'), &graph.corrupted),
    ];
    for (colour, mark, series) in kinds {
        writeln!(out, "{colour}")?;
        for segment in series.points() {
            write_marked(&mut out, segment, mark)?;
        }
    }
    writeln!(out, "magenta")?;
    for named in graph.special.points() {
        writeln!(out, "diamond {} {}", Seconds(named.at), named.seq)?;
    }
    writeln!(out, "white")?;
    for closed in graph.zero_windows.points() {
        writeln!(out, "atext {} {}\nZ", Seconds(closed.at), closed.seq)?;
    }
    finish(out)
}

fn highest(graph: &Graph) -> u64 {
    let ends = [&graph.sent, &graph.retransmitted, &graph.out_of_order, &graph.probes, &graph.corrupted];
    let sent = ends.iter().flat_map(|series| series.points()).map(|point| point.seq + u64::from(point.len));
    let edges = graph.edges.points().iter().map(|edge| edge.right);
    let blocks = graph.sacks.points().iter().map(|block| block.right);
    sent.chain(edges).chain(blocks).max().unwrap_or(0)
}

fn write_marked(out: &mut impl Write, segment: &SegmentPoint, mark: Option<char>) -> Result<(), TraceError> {
    write_segment(out, segment.at, segment.seq, segment.len)?;
    if let Some(mark) = mark {
        writeln!(out, "atext {} {}\n{mark}", Seconds(segment.at), segment.seq + u64::from(segment.len))?;
    }
    Ok(())
}

/// Writes the outstanding data over time, as captured.
///
/// # Errors
///
/// The writer failed.
pub fn write_outstanding(writer: impl Write, title: &str, direction: &Direction) -> Result<(), TraceError> {
    let mut out = BufWriter::new(writer);
    write_head(&mut out, title, "outstanding data (bytes)", direction.outstanding_max)?;
    writeln!(out, "red")?;
    if let Some(graph) = &direction.graph {
        write_steps(&mut out, graph.outstanding.points().iter().map(|point| (point.at, point.bytes)))?;
    }
    finish(out)
}

/// Writes the round-trip times, in milliseconds.
///
/// # Errors
///
/// The writer failed.
pub fn write_rtt(writer: impl Write, title: &str, direction: &Direction) -> Result<(), TraceError> {
    let mut out = BufWriter::new(writer);
    // Fractions of a millisecond.
    write_head(&mut out, title, "rtt (ms)", u64::MAX)?;
    writeln!(out, "red")?;
    let mut before: Option<(Instant, f64)> = None;
    for point in direction.graph.iter().flat_map(|graph| graph.rtt.points()) {
        let (at, millis) = (point.at, point.rtt.as_secs_f64() * 1e3);
        writeln!(out, "dot {} {millis:.3}", Seconds(at))?;
        if let Some((since, held)) = before.replace((at, millis)) {
            writeln!(out, "line {} {held:.3} {} {millis:.3}", Seconds(since), Seconds(at))?;
        }
    }
    finish(out)
}

/// Writes the throughput over time, in bytes per second: new data blue, all data red.
///
/// # Errors
///
/// The writer failed.
pub fn write_throughput(writer: impl Write, title: &str, throughput: &Throughput) -> Result<(), TraceError> {
    let mut out = BufWriter::new(writer);
    let rate = |bytes: u64| (bytes as f64 / throughput.width().as_secs_f64()) as u64;
    let highest = throughput.intervals().iter().map(|interval| rate(interval.bytes)).max();
    write_head(&mut out, title, "throughput (bytes/s)", highest.unwrap_or(0))?;
    let mut starts = throughput.start();
    let mut all = Vec::with_capacity(throughput.intervals().len() + 1);
    for interval in throughput.intervals() {
        all.push((starts, rate(interval.bytes), rate(interval.new_bytes)));
        starts += throughput.width();
    }
    all.push((starts, 0, 0));
    writeln!(out, "red")?;
    write_steps(&mut out, all.iter().map(|&(at, bytes, _)| (at, bytes)))?;
    writeln!(out, "blue")?;
    write_steps(&mut out, all.iter().map(|&(at, _, new_bytes)| (at, new_bytes)))?;
    finish(out)
}
