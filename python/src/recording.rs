//! `headway.run`: one run, with all that was recorded of it.

use std::cell::Cell;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use headway_lab::{Row, record};
use headway_report::{ENDS, RunCapture};
use headway_sim::race::{self, RunError, RunSettings};
use headway_sim::{NodeId, Passing, Tap, Value, ValueKind};
use headway_tcp::{ConnectionId, Event, Observer};
use headway_trace::{EventLog, TimeSequence, TraceError};
use headway_units::Instant;
use headway_wire::Segment;
use pyo3::prelude::*;
use serde_json::Value as Json;

use crate::arrow::{Arrow, Table};
use crate::capture_file::CaptureFile;
use crate::error::{failure, input, of_run};
use crate::interrupt::{Stop, beside_python};
use crate::keys::{Given, settings};
use crate::race::{content, entrants, give_controller, parameters_of};

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

/// Runs one sender with one seed. With `capture`, all packets are written to this file (pcapng). A run with more events
/// and packets than `limit` is ended.
#[pyfunction]
#[pyo3(signature = (given, variant, seed, capture=None, limit=None, controller=None))]
#[expect(clippy::too_many_arguments, reason = "Python has them by name")]
pub(crate) fn run(
    py: Python<'_>,
    given: Given,
    variant: String,
    seed: u64,
    capture: Option<PathBuf>,
    limit: Option<u64>,
    controller: Option<Bound<'_, PyAny>>,
) -> PyResult<Recorded> {
    let mut settings = settings(&given)?;
    let raised = give_controller(&mut settings, controller.as_ref())?;
    let entrant = entrants(&settings, &[variant])?.remove(0);
    let file = capture.as_deref().map(|path| {
        let file = CaptureFile::begin(path).map_err(|error| unwritable(path, error.into()))?;
        RunCapture::at_both_ends(BufWriter::new(file)).map_err(|error| unwritable(path, error))
    });
    let file = file.transpose()?;
    let made = beside_python(py, None, |work| {
        raised.stops(work.stop());
        let recorded = Count { rows: Rc::default(), limit: limit.unwrap_or(u64::MAX), stop: work.stop() };
        let tap = Recorder { file, packets: Packets::new(), recorded: recorded.clone() };
        let content = content(&settings);
        let scenario = &settings.scenario;
        let run = RunSettings { scenario, content: &content, seed, hash: scenario.duration.is_none() };
        let observer = || Observed::counted(recorded.clone());
        let recording = match race::run_recorded(run, entrant, observer, tap) {
            // What was interrupted has raised an exception of its own.
            Err(RunError::Stopped) if recorded.is_full() => return Err(recorded.refusal()),
            recording => recording.map_err(of_run)?,
        };
        let oracle = race::oracle(scenario, content.len(), seed);
        let row = Row { run: 0, seed, metrics: recording.outcome.metrics.beside(oracle.as_ref()) };
        let metrics = Table::of_records(vec![record(&parameters_of(&settings, entrant), None, &row)])?;
        let time_sequence = time_sequence(&recording.sender.sequence)?;
        let events = events([recording.sender.log, recording.receiver.log])?;
        if let (Some(file), Some(path)) = (recording.tap.file, &capture) {
            let file = file.finish().map_err(|error| unwritable(path, error))?;
            let file = file.into_inner().map_err(|error| unwritable(path, error.into_error().into()))?;
            file.finish(path).map_err(|error| unwritable(path, error.into()))?;
        }
        Ok::<_, PyErr>((metrics, events, recording.tap.packets.table.finish()?, time_sequence))
    })?;
    raised.check()?;
    let (metrics, events, packets, time_sequence) = made?;
    Ok(Recorded {
        metrics: Py::new(py, metrics)?,
        events: Py::new(py, events)?,
        packets: Py::new(py, packets)?,
        time_sequence: Py::new(py, time_sequence)?,
    })
}

fn unwritable(path: &Path, error: TraceError) -> PyErr {
    input(format!("{}: cannot be written: {error}", path.display()))
}

/// How much is recorded of a run, and how much may be.
#[derive(Clone)]
struct Count {
    /// Events and packets.
    rows: Rc<Cell<u64>>,
    limit: u64,
    stop: Stop,
}

impl Count {
    fn add(&self) {
        self.rows.set(self.rows.get() + 1);
    }

    fn is_full(&self) -> bool {
        self.rows.get() > self.limit
    }

    fn refusal(&self) -> PyErr {
        let Self { limit, .. } = self;
        input(format!(
            "limit: {limit}: the run has more events and packets: expected a shorter run, or a limit above it (None for no limit)"
        ))
    }
}

/// What is recorded of a host.
struct Observed {
    log: EventLog<Vec<u8>>,
    sequence: TimeSequence,
    recorded: Count,
}

impl Observed {
    fn counted(recorded: Count) -> Self {
        Self { log: EventLog::new(Vec::new()), sequence: TimeSequence::new(), recorded }
    }
}

impl Observer for Observed {
    fn event(&mut self, now: Instant, connection: ConnectionId, event: &Event) {
        self.recorded.add();
        self.log.event(now, connection, event);
        self.sequence.event(now, connection, event);
    }
}

/// The fields of events: those of the event log (`headway_trace::EventLog`), after the end that they are of.
const EVENTS: [(&str, ValueKind); 28] = [
    ("end", ValueKind::Text),
    ("time", ValueKind::Number),
    ("connection", ValueKind::Integer),
    ("event", ValueKind::Text),
    ("seq", ValueKind::Integer),
    ("len", ValueKind::Integer),
    ("ack", ValueKind::Integer),
    ("flags", ValueKind::Text),
    ("una", ValueKind::Integer),
    ("outcome", ValueKind::Text),
    ("count", ValueKind::Integer),
    ("accepted", ValueKind::Integer),
    ("reason", ValueKind::Text),
    ("timer", ValueKind::Text),
    ("from", ValueKind::Text),
    ("to", ValueKind::Text),
    ("phase", ValueKind::Text),
    ("cwnd", ValueKind::Integer),
    ("ssthresh", ValueKind::Integer),
    ("pipe", ValueKind::Integer),
    ("latest", ValueKind::Number),
    ("smoothed", ValueKind::Number),
    ("variation", ValueKind::Number),
    ("min", ValueKind::Number),
    ("pacing", ValueKind::Integer),
    ("mtu", ValueKind::Integer),
    ("kind", ValueKind::Text),
    ("text", ValueKind::Text),
];

/// The events of both ends, in the order of time; of events at one time those of the sender first.
fn events(logs: [EventLog<Vec<u8>>; 2]) -> PyResult<Arrow> {
    let [sender, receiver] = logs.map(EventLog::finish);
    let (sender, receiver) = (sender.map_err(failure)?, receiver.map_err(failure)?);
    // Row by row: as text they take less memory.
    let (mut sender, mut receiver) = (rows(&sender, ENDS[0]).peekable(), rows(&receiver, ENDS[1]).peekable());
    let mut table = Table::new(EVENTS);
    loop {
        let row = match (sender.peek(), receiver.peek()) {
            (Some(Ok((ours, _))), Some(Ok((theirs, _)))) if theirs < ours => receiver.next(),
            (None, _) => receiver.next(),
            _ => sender.next(),
        };
        match row {
            Some(row) => table.push(row?.1),
            None => return table.finish(),
        }
    }
}

/// The time and the fields of each event of one end, which are in the order of time.
fn rows<'a>(log: &'a [u8], end: &'a str) -> impl Iterator<Item = PyResult<(f64, Vec<Value>)>> + 'a {
    log.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).map(move |line| {
        let line: serde_json::Map<String, Json> = serde_json::from_slice(line).map_err(failure)?;
        // No field is lost in silence when the log gets one.
        if let Some(unknown) = line.keys().find(|name| EVENTS.iter().all(|(known, _)| known != name)) {
            return Err(failure(format!(
                "the event log has a field {unknown}, for which there is no column"
            )));
        }
        let fields = EVENTS.iter().skip(1).map(|(name, _)| line.get(*name).map_or(Value::Nothing, value));
        let time = line.get("time").and_then(Json::as_f64).unwrap_or_default();
        Ok((time, [Value::Text(end.into())].into_iter().chain(fields).collect()))
    })
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
        ("kind", ValueKind::Text),
        ("time", ValueKind::Number),
        ("seq", ValueKind::Integer),
        ("len", ValueKind::Integer),
        ("reason", ValueKind::Text),
        ("count", ValueKind::Integer),
        ("accepted", ValueKind::Integer),
        ("cwnd", ValueKind::Integer),
        ("ssthresh", ValueKind::Integer),
        ("pipe", ValueKind::Integer),
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
    file: Option<RunCapture<BufWriter<CaptureFile>>>,
    packets: Packets,
    recorded: Count,
}

impl Tap for Recorder {
    fn pass(&mut self, passing: &Passing<'_>) {
        if let Some(file) = &mut self.file {
            file.pass(passing);
        }
        self.recorded.add();
        self.packets.pass(passing);
    }

    fn is_stopped(&self) -> bool {
        self.recorded.is_full() || self.recorded.stop.is_set()
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
            ("time", ValueKind::Number),
            ("end", ValueKind::Text),
            ("outbound", ValueKind::Flag),
            ("bytes", ValueKind::Integer),
            ("seq", ValueKind::Integer),
            ("ack", ValueKind::Integer),
            ("flags", ValueKind::Text),
            ("window", ValueKind::Integer),
            ("payload_bytes", ValueKind::Integer),
            ("flipped_bits", ValueKind::Integer),
            ("header_hit", ValueKind::Flag),
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
