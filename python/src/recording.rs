//! `headway.run`: one run, with all that was recorded of it.

use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;

use headway_lab::{Row, record};
use headway_report::{ENDS, RunCapture};
use headway_sim::race::{self, RunSettings};
use headway_sim::{Kind, NodeId, Passing, Tap, Value};
use headway_tcp::{ConnectionId, Event, Observer};
use headway_trace::{EventLog, TimeSequence, TraceError};
use headway_units::Instant;
use headway_wire::Segment;
use pyo3::prelude::*;
use serde_json::Value as Json;

use crate::arrow::{Arrow, Table};
use crate::error::{failure, input, of_run};
use crate::interrupt::beside_python;
use crate::keys::{Given, settings};
use crate::race::{content, entrants, parameters_of};

/// What was recorded of a run.
#[pyclass(frozen, module = "headway._native")]
pub(crate) struct Recorded {
    /// One row with the columns of a race.
    #[pyo3(get)]
    metrics: Py<Arrow>,
    #[pyo3(get)]
    events: Py<Arrow>,
    #[pyo3(get)]
    packets: Py<Arrow>,
    #[pyo3(get)]
    time_sequence: Py<Arrow>,
}

/// Runs one sender with one seed. With `capture`, all packets are written to this file (pcapng).
#[pyfunction]
#[pyo3(signature = (given, variant, seed, capture=None))]
pub(crate) fn run(
    py: Python<'_>,
    given: Given,
    variant: String,
    seed: u64,
    capture: Option<PathBuf>,
) -> PyResult<Recorded> {
    let settings = settings(&given)?;
    let entrant = entrants(&settings, &[variant])?.remove(0);
    let writer = capture.as_ref().map(|path| {
        let unwritable = |error: TraceError| input(format!("{}: cannot be written: {error}", path.display()));
        let file = File::create(path).map_err(|error| unwritable(error.into()))?;
        RunCapture::at_both_ends(BufWriter::new(file)).map_err(unwritable)
    });
    let tap = Recorder { file: writer.transpose()?, packets: Packets::new() };
    let made = beside_python(py, None, |_| {
        let content = content(&settings);
        let scenario = &settings.scenario;
        let run = RunSettings { scenario, content: &content, seed, hash: scenario.duration.is_none() };
        let recording = race::run_recorded(run, entrant, Observed::default, tap).map_err(of_run)?;
        let oracle = race::oracle(scenario, content.len(), seed);
        let row = Row { run: 0, seed, metrics: recording.outcome.metrics.beside(oracle.as_ref()) };
        let metrics = Table::of_records(vec![record(&parameters_of(&settings, entrant), &row)])?;
        let time_sequence = time_sequence(&recording.sender.sequence)?;
        let events = events([recording.sender.log, recording.receiver.log])?;
        if let Some(file) = recording.tap.file {
            file.finish().map_err(failure)?.into_inner().map_err(failure)?;
        }
        Ok::<_, PyErr>((metrics, events, recording.tap.packets.table.finish()?, time_sequence))
    })?;
    let (metrics, events, packets, time_sequence) = made?;
    Ok(Recorded {
        metrics: Py::new(py, metrics)?,
        events: Py::new(py, events)?,
        packets: Py::new(py, packets)?,
        time_sequence: Py::new(py, time_sequence)?,
    })
}

/// What is recorded of a host.
struct Observed {
    log: EventLog<Vec<u8>>,
    sequence: TimeSequence,
}

impl Default for Observed {
    fn default() -> Self {
        Self { log: EventLog::new(Vec::new()), sequence: TimeSequence::new() }
    }
}

impl Observer for Observed {
    fn event(&mut self, now: Instant, connection: ConnectionId, event: &Event) {
        self.log.event(now, connection, event);
        self.sequence.event(now, connection, event);
    }
}

/// The fields of events: those of the event log (`headway_trace::EventLog`), after the end that they are of.
const EVENTS: [(&str, Kind); 28] = [
    ("end", Kind::Text),
    ("time", Kind::Number),
    ("connection", Kind::Integer),
    ("event", Kind::Text),
    ("seq", Kind::Integer),
    ("len", Kind::Integer),
    ("ack", Kind::Integer),
    ("flags", Kind::Text),
    ("una", Kind::Integer),
    ("outcome", Kind::Text),
    ("count", Kind::Integer),
    ("accepted", Kind::Integer),
    ("reason", Kind::Text),
    ("timer", Kind::Text),
    ("from", Kind::Text),
    ("to", Kind::Text),
    ("phase", Kind::Text),
    ("cwnd", Kind::Integer),
    ("ssthresh", Kind::Integer),
    ("pipe", Kind::Integer),
    ("latest", Kind::Number),
    ("smoothed", Kind::Number),
    ("variation", Kind::Number),
    ("min", Kind::Number),
    ("pacing", Kind::Integer),
    ("mtu", Kind::Integer),
    ("kind", Kind::Text),
    ("text", Kind::Text),
];

/// The events of both ends, in the order of time; of events at one time those of the sender first.
fn events(logs: [EventLog<Vec<u8>>; 2]) -> PyResult<Arrow> {
    let mut rows: Vec<(f64, Vec<Value>)> = Vec::new();
    for (log, end) in logs.into_iter().zip(ENDS) {
        let text = log.finish().map_err(failure)?;
        for line in text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            let line: serde_json::Map<String, Json> = serde_json::from_slice(line).map_err(failure)?;
            // No field is lost in silence when the log gets one.
            if let Some(unknown) = line.keys().find(|name| EVENTS.iter().all(|(known, _)| known != name)) {
                return Err(failure(format!(
                    "the event log has a field {unknown}, for which there is no column"
                )));
            }
            let fields = EVENTS.iter().skip(1).map(|(name, _)| line.get(*name).map_or(Value::Nothing, value));
            let time = line.get("time").and_then(Json::as_f64).unwrap_or_default();
            rows.push((time, [Value::Text(end.into())].into_iter().chain(fields).collect()));
        }
    }
    rows.sort_by(|(first, _), (second, _)| first.total_cmp(second));
    let mut table = Table::new(EVENTS);
    rows.into_iter().for_each(|(_, row)| table.push(row));
    table.finish()
}

fn value(json: &Json) -> Value {
    match json {
        Json::String(text) => Value::Text(text.clone()),
        Json::Bool(flag) => Value::Flag(*flag),
        Json::Number(number) => match number.as_u64() {
            Some(number) => Value::Integer(number),
            None => number.as_f64().into(),
        },
        Json::Null | Json::Array(_) | Json::Object(_) => Value::Nothing,
    }
}

/// The points of the sender's time-sequence graph, kind by kind.
fn time_sequence(sequence: &TimeSequence) -> PyResult<Arrow> {
    let mut table = Table::new([
        ("kind", Kind::Text),
        ("time", Kind::Number),
        ("seq", Kind::Integer),
        ("len", Kind::Integer),
        ("reason", Kind::Text),
        ("count", Kind::Integer),
        ("accepted", Kind::Integer),
        ("cwnd", Kind::Integer),
        ("ssthresh", Kind::Integer),
        ("pipe", Kind::Integer),
    ]);
    let start = |kind: &str, at: Instant| [Value::Text(kind.into()), Value::Number(seconds(at))];
    let whole = |number: u32| Value::Integer(number.into());
    for point in sequence.sent().points() {
        let rest = [point.seq.into(), whole(point.len)];
        table.push(start("sent", point.at).into_iter().chain(rest));
    }
    for point in sequence.retransmissions().points() {
        let rest = [point.seq.into(), whole(point.len), format!("{:?}", point.reason).to_lowercase().into()];
        table.push(start("retransmission", point.at).into_iter().chain(rest));
    }
    for point in sequence.acks().points() {
        table.push(start("ack", point.at).into_iter().chain([point.una.into()]));
    }
    for point in sequence.special_acks().points() {
        let nothing = || Value::Nothing;
        let counts = [whole(point.count.into()), whole(point.accepted.into())];
        let rest = [point.seq.into(), nothing(), nothing()].into_iter().chain(counts);
        table.push(start("special-ack", point.at).into_iter().chain(rest));
    }
    for point in sequence.timeouts().points() {
        table.push(start("timeout", point.at).into_iter().chain([point.una.into()]));
    }
    for point in sequence.windows().points() {
        let nothing = std::iter::repeat_n(Value::Nothing, 5);
        let rest = nothing.chain([whole(point.cwnd), whole(point.ssthresh), whole(point.pipe)]);
        table.push(start("window", point.at).into_iter().chain(rest));
    }
    table.finish()
}

fn seconds(at: Instant) -> f64 {
    at.saturating_since(Instant::ZERO).as_secs_f64()
}

/// Sees all packets of a run.
struct Recorder {
    file: Option<RunCapture<BufWriter<File>>>,
    packets: Packets,
}

impl Tap for Recorder {
    fn pass(&mut self, passing: &Passing<'_>) {
        if let Some(file) = &mut self.file {
            file.pass(passing);
        }
        self.packets.pass(passing);
    }
}

/// The packets at both ends of the measured connection, as rows.
struct Packets {
    table: Table,
    /// The host of each end, in the order in which they first sent or received.
    hosts: Vec<NodeId>,
}

impl Packets {
    fn new() -> Self {
        let table = Table::new([
            ("time", Kind::Number),
            ("end", Kind::Text),
            ("outbound", Kind::Flag),
            ("bytes", Kind::Integer),
            ("seq", Kind::Integer),
            ("ack", Kind::Integer),
            ("flags", Kind::Text),
            ("window", Kind::Integer),
            ("payload_bytes", Kind::Integer),
            ("flipped_bits", Kind::Integer),
            ("header_hit", Kind::Flag),
        ]);
        Self { table, hosts: Vec::new() }
    }

    fn pass(&mut self, passing: &Passing<'_>) {
        let known = self.hosts.iter().position(|&host| host == passing.host);
        let end = known.unwrap_or(self.hosts.len());
        if known.is_none() && end < ENDS.len() {
            self.hosts.push(passing.host);
        }
        let Some(end) = ENDS.get(end) else { return };
        let mut row = vec![
            Value::Number(seconds(passing.at)),
            Value::Text((*end).into()),
            Value::Flag(passing.outbound),
            Value::Integer(passing.packet.len() as u64),
        ];
        // What a damaged packet says is shown as it arrived.
        match Segment::parse(passing.packet) {
            Ok(segment) => row.extend([
                Value::Integer(segment.tcp.seq.0.into()),
                Value::Integer(segment.tcp.ack.0.into()),
                Value::Text(format!("{:?}", segment.tcp.flags)),
                Value::Integer(segment.tcp.window.into()),
                Value::Integer(segment.payload.len() as u64),
            ]),
            Err(_) => row.extend(std::iter::repeat_n(Value::Nothing, 5)),
        }
        row.push(passing.damage.map(|hit| u64::from(hit.flips)).into());
        row.push(passing.damage.map(|hit| hit.header).into());
        self.table.push(row);
    }
}
