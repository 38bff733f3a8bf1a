//! Events of a host as qlog: draft-ietf-quic-qlog-main-schema-14, with the metrics, packets and states of
//! draft-ietf-quic-qlog-quic-events-14.
//!
//! The file is a JSON text sequence (RFC 7464; `.sqlog`). What qlog has a name for is written under it, so that tools
//! made for QUIC find the metrics; what TCP and TCP HACK add has the name space `headway`:
//!
//! | event of the host | event in the file |
//! |---|---|
//! | [`Event::Sent`], [`Event::Received`] | `quic:packet_sent`, `quic:packet_received` |
//! | [`Event::Retransmitted`] | `quic:packet_lost`, except for probes; `headway:retransmission` |
//! | [`Event::Window`], [`Event::Timing`] | `quic:recovery_metrics_updated` |
//! | [`Event::Recovery`] | `quic:congestion_state_updated` |
//! | [`Event::Dropped`] | `quic:packet_dropped` |
//! | [`Event::PathMtu`] | `quic:mtu_updated` |
//! | all others | `headway:` and the event's name |
//!
//! `packet_lost` comes when the data is retransmitted. Its `reason` says whether the transmission is taken for lost, or
//! for damaged (`damage`): then it arrived, or what was lost was counted as damage.
//!
//! A transmission has a number of its own as in QUIC, which TCP does not put on the wire: `packet_number` counts what
//! the connection sent, from 0. `packet_received` has none. The fields of the segment are in `tcp`. `group_id`
//! numbers the connections from 0, in the order of their first event.

mod body;
mod connection;

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};

use headway_tcp::{ConnectionId, Event, Observer};
use headway_units::Instant;
use serde::Serialize;
use serde_json::json;
use serde_json::value::{RawValue, Value};

use crate::TraceError;
use connection::Connection;

/// The URI of the events of the name space `headway`.
pub const HEADWAY_SCHEMA: &str = "https://github.com/headway-tcp/headway/112026/events/headway";
const QUIC_SCHEMA: &str = "urn:ietf:params:qlog:events:quic-14";

/// Which end of the connections writes the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VantagePoint {
    /// It opens them.
    Client,
    /// It accepts them.
    Server,
    /// It may do both.
    Unknown,
}

impl VantagePoint {
    fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
            Self::Unknown => "unknown",
        }
    }
}

/// What the times of a file are measured from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QlogClock {
    /// 1970-01-01, 00:00 UTC.
    Unix,
    /// The start of a simulation.
    Virtual,
}

/// What is said of a file at its beginning.
#[derive(Clone, Debug)]
pub struct QlogHeader {
    /// A title, such as the sender's name.
    pub title: String,
    /// Which end writes it.
    pub vantage_point: VantagePoint,
    /// What its times are measured from.
    pub clock: QlogClock,
}

/// Writes every event as a record of a qlog file in the form of a JSON text sequence.
///
/// The first error of the writer ends the file; [`Qlog::finish`] returns it. Of each connection about 150 bytes are
/// kept, and 16 for each segment in flight.
pub struct Qlog<W: Write> {
    writer: BufWriter<W>,
    connections: BTreeMap<ConnectionId, Connection>,
    failed: Option<io::Error>,
}

impl<W: Write> Qlog<W> {
    /// Begins a file. An error of the writer shows at the end.
    pub fn new(writer: W, header: &QlogHeader) -> Self {
        let mut qlog = Self { writer: BufWriter::new(writer), connections: BTreeMap::new(), failed: None };
        let begun = qlog.record(&first(header));
        qlog.failed = begun.err();
        qlog
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

    /// RFC 7464, 2.2: "JSON-sequence = *(RS JSON-text LF)".
    fn record(&mut self, record: &impl Serialize) -> io::Result<()> {
        self.writer.write_all(b"\x1e")?;
        serde_json::to_writer(&mut self.writer, record)?;
        self.writer.write_all(b"\n")
    }

    fn write(&mut self, now: Instant, id: ConnectionId, event: &Event) -> io::Result<()> {
        let next = self.connections.len();
        let connection = self.connections.entry(id).or_insert_with(|| Connection::new(next));
        let (group, bodies) = (connection.group().to_owned(), connection.bodies(event));
        let time = millis(now.as_nanos())?;
        for (name, data) in bodies {
            self.record(&Record { time: &time, name, group_id: &group, data })?;
        }
        Ok(())
    }
}

impl<W: Write> Observer for Qlog<W> {
    fn event(&mut self, now: Instant, connection: ConnectionId, event: &Event) {
        if self.failed.is_none() {
            self.failed = self.write(now, connection, event).err();
        }
    }
}

/// `QlogFileSeq`. "The file_schema and serialization_format fields and their values SHOULD be in the first 256
/// characters/bytes".
#[derive(Serialize)]
struct First<'a> {
    file_schema: &'a str,
    serialization_format: &'a str,
    title: &'a str,
    trace: Value,
}

fn first(header: &QlogHeader) -> First<'_> {
    let reference = match header.clock {
        QlogClock::Unix => json!({ "clock_type": "system", "epoch": "1970-01-01T00:00:00.000Z" }),
        QlogClock::Virtual => json!({ "clock_type": "virtual", "epoch": "unknown" }),
    };
    First {
        file_schema: "urn:ietf:params:qlog:file:sequential",
        serialization_format: "application/qlog+json-seq",
        title: &header.title,
        trace: json!({
            "title": header.title,
            "common_fields": {
                "protocol_types": ["TCP"],
                "time_format": "relative_to_epoch",
                "reference_time": reference,
            },
            "vantage_point": {
                "name": concat!("headway ", env!("CARGO_PKG_VERSION")),
                "type": header.vantage_point.name(),
            },
            "event_schemas": [QUIC_SCHEMA, HEADWAY_SCHEMA],
        }),
    }
}

/// An event of the file.
#[derive(Serialize)]
struct Record<'a> {
    time: &'a RawValue,
    name: &'static str,
    group_id: &'a str,
    data: Value,
}

/// Milliseconds to the nanosecond: a float would not always give all of them.
fn millis(nanos: u64) -> io::Result<Box<RawValue>> {
    Ok(RawValue::from_string(format!("{}.{:06}", nanos / 1_000_000, nanos % 1_000_000))?)
}
