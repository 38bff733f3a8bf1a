//! Graphs for xplot (the program of xplot.org that also shows the graphs of tcptrace).

mod connection;

use std::fmt;
use std::io::{BufWriter, Write};

use headway_tcp::RetransmitReason;
use headway_units::Instant;

use crate::{TimeSequence, TraceError};
pub use connection::{write_outstanding, write_rtt, write_segments, write_throughput};

/// xplot reads lines of text of at most 1,024 bytes.
const MAX_TITLE: usize = 1000;

/// Writes the time-sequence graph of a connection in the style of tcptrace:
///
/// - data sent: white, an upright line from the first byte to the last, between two arrowheads;
/// - retransmitted: the same in red, marked `R`; in purple, marked `D`, after a special ACK; marked `P`
///   if the segment is a window probe;
/// - acknowledged: a green staircase;
/// - special ACKs: a magenta diamond at the first byte of the reported segment, labelled with the number
///   of reported segments if there are several;
/// - timeouts: an orange `RTO` at the first byte not acknowledged.
///
/// Times are seconds and microseconds since the epoch of the caller's clock, byte offsets count from the
/// first byte of data.
///
/// # Errors
///
/// The writer failed.
pub fn write_time_sequence(
    writer: impl Write,
    title: &str,
    sequence: &TimeSequence,
) -> Result<(), TraceError> {
    let mut out = BufWriter::new(writer);
    let last_sent = sequence.sent().points().last().map_or(0, |sent| sent.seq + u64::from(sent.len));
    let highest = last_sent.max(sequence.acks().points().last().map_or(0, |ack| ack.una));
    write_head(&mut out, title, "sequence offset", highest)?;

    writeln!(out, "white")?;
    for sent in sequence.sent().points() {
        write_segment(&mut out, sent.at, sent.seq, sent.len)?;
    }
    for retransmitted in sequence.retransmissions().points() {
        let (colour, mark) = match retransmitted.reason {
            RetransmitReason::Damage => ("purple", 'D'),
            RetransmitReason::Probe => ("red", 'P'),
            _ => ("red", 'R'),
        };
        writeln!(out, "{colour}")?;
        write_segment(&mut out, retransmitted.at, retransmitted.seq, retransmitted.len)?;
        let top = retransmitted.seq + u64::from(retransmitted.len);
        writeln!(out, "atext {} {top}\n{mark}", Seconds(retransmitted.at))?;
    }
    writeln!(out, "green")?;
    write_steps(&mut out, sequence.acks().points().iter().map(|ack| (ack.at, ack.una)))?;
    writeln!(out, "magenta")?;
    for special in sequence.special_acks().points() {
        writeln!(out, "diamond {} {}", Seconds(special.at), special.seq)?;
        if special.count > 1 {
            writeln!(out, "rtext {} {}\n{}", Seconds(special.at), special.seq, special.count)?;
        }
    }
    writeln!(out, "orange")?;
    for timeout in sequence.timeouts().points() {
        writeln!(out, "btext {} {}\nRTO", Seconds(timeout.at), timeout.una)?;
    }
    finish(out)
}

/// Writes the graph of a connection's congestion window (red), slow-start threshold (blue, if it is below
/// 2^31 bytes: before the first loss it is unbounded) and pipe (white), after each ACK. Timeouts are
/// marked on the axis.
///
/// # Errors
///
/// The writer failed.
pub fn write_window(writer: impl Write, title: &str, sequence: &TimeSequence) -> Result<(), TraceError> {
    let mut out = BufWriter::new(writer);
    let windows = sequence.windows().points();
    write_head(&mut out, title, "bytes", u64::from(u32::MAX))?;

    writeln!(out, "white")?;
    write_steps(&mut out, windows.iter().map(|window| (window.at, u64::from(window.pipe))))?;
    writeln!(out, "blue")?;
    let bounded = windows.iter().filter(|window| window.ssthresh < 1 << 31);
    write_steps(&mut out, bounded.map(|window| (window.at, u64::from(window.ssthresh))))?;
    writeln!(out, "red")?;
    write_steps(&mut out, windows.iter().map(|window| (window.at, u64::from(window.cwnd))))?;
    writeln!(out, "orange")?;
    for timeout in sequence.timeouts().points() {
        writeln!(out, "utick {} 0", Seconds(timeout.at))?;
    }
    finish(out)
}

/// The types of the axes and their names. `highest` is the highest value.
fn write_head(out: &mut impl Write, title: &str, what: &str, highest: u64) -> Result<(), TraceError> {
    // xplot's `unsigned` has 32 bits; `double` is exact up to 2^53.
    let kind = if highest > u64::from(u32::MAX) { "double" } else { "unsigned" };
    let title = one_line(title);
    writeln!(out, "timeval {kind}\ntitle\n{title}\nxlabel\ntime\nylabel\n{what}")?;
    Ok(())
}

fn write_segment(out: &mut impl Write, at: Instant, first: u64, len: u32) -> Result<(), TraceError> {
    let (at, end) = (Seconds(at), first + u64::from(len));
    writeln!(out, "darrow {at} {first}\nuarrow {at} {end}\nline {at} {first} {at} {end}")?;
    Ok(())
}

/// A step function: each value lasts until the next point.
fn write_steps(out: &mut impl Write, points: impl Iterator<Item = (Instant, u64)>) -> Result<(), TraceError> {
    let mut before: Option<(Instant, u64)> = None;
    for (at, value) in points {
        if let Some((since, held)) = before {
            let (since, at) = (Seconds(since), Seconds(at));
            writeln!(out, "line {since} {held} {at} {held}")?;
            if held != value {
                writeln!(out, "line {at} {held} {at} {value}")?;
            }
        } else {
            writeln!(out, "dot {} {value}", Seconds(at))?;
        }
        before = Some((at, value));
    }
    Ok(())
}

fn finish(mut out: impl Write) -> Result<(), TraceError> {
    writeln!(out, "go")?;
    out.flush()?;
    Ok(())
}

/// The part of `text` that xplot can show as a title.
fn one_line(text: &str) -> String {
    // A character has at most four bytes.
    let shown = text.chars().take(MAX_TITLE / 4);
    shown.map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// xplot's `timeval`: its resolution is one microsecond.
struct Seconds(Instant);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = self.0.as_nanos() / 1_000;
        write!(f, "{}.{:06}", micros / 1_000_000, micros % 1_000_000)
    }
}
