//! Every event as a line of JSON.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io::{self, BufWriter, Write};

use headway_tcp::{ConnectionId, Event, Observer};
use headway_units::{Instant, Rate};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::TraceError;

/// Writes every event as one line of JSON (JSON Lines).
///
/// Each line has `time` (seconds since the epoch of the caller's clock, to the nanosecond), `connection`
/// (connections are numbered from 0 in the order of their first event), `event` (its kind) and the fields
/// of that event. Sequence numbers are as on the wire; lengths and windows are in bytes, round-trip times in
/// seconds, the pacing rate in bit/s.
///
/// ```json
/// {"time":1.250000000,"connection":0,"event":"sent","seq":1,"len":1448,"ack":1,"flags":"PSH|ACK"}
/// {"time":1.850000000,"connection":0,"event":"retransmitted","seq":1,"len":1448,"reason":"damage"}
/// ```
///
/// The first error of the writer ends the log; [`EventLog::finish`] returns it. The log keeps about 50
/// bytes for each connection; events are written at once, through a buffer.
pub struct EventLog<W: Write> {
    writer: BufWriter<W>,
    numbers: BTreeMap<ConnectionId, u64>,
    failed: Option<io::Error>,
}

impl<W: Write> EventLog<W> {
    /// Starts a log.
    pub fn new(writer: W) -> Self {
        Self { writer: BufWriter::new(writer), numbers: BTreeMap::new(), failed: None }
    }

    /// Flushes the buffer and returns the writer.
    ///
    /// # Errors
    ///
    /// The writer failed, now or at an earlier event.
    pub fn finish(self) -> Result<W, TraceError> {
        match self.failed {
            Some(error) => Err(TraceError::Io(error)),
            None => self.writer.into_inner().map_err(|error| TraceError::Io(error.into_error())),
        }
    }

    fn write(&mut self, line: &Line) -> io::Result<()> {
        serde_json::to_writer(&mut self.writer, line)?;
        self.writer.write_all(b"\n")
    }
}

impl<W: Write> Observer for EventLog<W> {
    fn event(&mut self, now: Instant, connection: ConnectionId, event: &Event) {
        if self.failed.is_some() {
            return;
        }
        let next = self.numbers.len() as u64;
        let connection = *self.numbers.entry(connection).or_insert(next);
        let written =
            seconds(now).and_then(|time| self.write(&Line { time, connection, event: event.into() }));
        self.failed = written.err();
    }
}

/// A line of the log.
#[derive(Serialize)]
struct Line {
    time: Box<RawValue>,
    connection: u64,
    #[serde(flatten)]
    event: Record,
}

/// An [`Event`] as serialized.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Record {
    Sent {
        seq: u32,
        len: u32,
        ack: u32,
        flags: String,
    },
    Received {
        seq: u32,
        len: u32,
        ack: u32,
        flags: String,
    },
    Acknowledged {
        una: u32,
    },
    Damaged {
        seq: u32,
        len: u32,
        outcome: String,
    },
    SpecialAckSent {
        seq: u32,
        count: u8,
    },
    SpecialAckReceived {
        seq: u32,
        count: u8,
        accepted: u8,
    },
    Retransmitted {
        seq: u32,
        len: u32,
        reason: String,
    },
    TimerExpired {
        timer: String,
    },
    StateChanged {
        from: String,
        to: String,
    },
    Recovery {
        phase: String,
    },
    Window {
        cwnd: u32,
        ssthresh: u32,
        pipe: u32,
    },
    Timing {
        latest: f64,
        smoothed: f64,
        variation: f64,
        min: f64,
        pacing: Option<u64>,
    },
    Dropped {
        reason: String,
    },
    PathMtu {
        mtu: Option<u16>,
    },
    Icmp {
        kind: String,
    },
    /// An event without a record of its own.
    Other {
        text: String,
    },
}

impl From<&Event> for Record {
    fn from(event: &Event) -> Self {
        match *event {
            Event::Sent { seq, len, ack, flags } => {
                Self::Sent { seq: seq.0, len, ack: ack.0, flags: format!("{flags:?}") }
            }
            Event::Received { seq, len, ack, flags } => {
                Self::Received { seq: seq.0, len, ack: ack.0, flags: format!("{flags:?}") }
            }
            Event::Acknowledged { una } => Self::Acknowledged { una: una.0 },
            Event::Damaged { seq, len, outcome } => Self::Damaged { seq: seq.0, len, outcome: name(outcome) },
            Event::SpecialAckSent { seq, count } => Self::SpecialAckSent { seq: seq.0, count },
            Event::SpecialAckReceived { seq, count, accepted } => {
                Self::SpecialAckReceived { seq: seq.0, count, accepted }
            }
            Event::Retransmitted { seq, len, reason } => {
                Self::Retransmitted { seq: seq.0, len, reason: name(reason) }
            }
            Event::TimerExpired(timer) => Self::TimerExpired { timer: name(timer) },
            Event::StateChanged { from, to } => Self::StateChanged { from: name(from), to: name(to) },
            Event::Recovery(phase) => Self::Recovery { phase: name(phase) },
            Event::Window { cwnd, ssthresh, pipe } => Self::Window { cwnd, ssthresh, pipe },
            Event::Timing { latest, smoothed, variation, min, pacing } => Self::Timing {
                latest: latest.as_secs_f64(),
                smoothed: smoothed.as_secs_f64(),
                variation: variation.as_secs_f64(),
                min: min.as_secs_f64(),
                pacing: pacing.map(Rate::bits_per_second),
            },
            Event::Dropped(reason) => Self::Dropped { reason: name(reason) },
            Event::PathMtu { mtu } => Self::PathMtu { mtu },
            Event::Icmp(kind) => Self::Icmp { kind: name(kind) },
            ref other => Self::Other { text: format!("{other:?}") },
        }
    }
}

/// `FastRetransmit` as `fast_retransmit`, for any value without fields.
pub(crate) fn name(value: impl Debug) -> String {
    let mut name = String::new();
    for (place, letter) in format!("{value:?}").chars().enumerate() {
        if letter.is_ascii_uppercase() && place > 0 {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

/// Nine decimal places; a float would not always give all of them.
fn seconds(at: Instant) -> io::Result<Box<RawValue>> {
    let nanos = at.as_nanos();
    let text = format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000);
    Ok(RawValue::from_string(text)?)
}
