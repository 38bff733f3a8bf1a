//! The client of a measurement.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, sleep_until};

use super::connection::{now, receive, send};
use super::cpu::Clock;
use super::json::{About, Ends, failed};
use super::latency::{send_regularly, send_requests};
use super::progress::{Interval, Meter, Progress};
use super::protocol::{
    Flow, Hello, Kind, LEAST_INTERVAL, MAX_LENGTH, Message, Outcome, Received, StreamResult, Test, VERSION,
    Welcome, receive_line, send_line,
};
use super::results::{Load, Results};
use super::stream::{self, Format, Printer};
use super::{ClientArguments, flent, page};
use crate::command_line::command_line;
use crate::distinct_files::require_distinct;
use crate::failure::BadOption;
use crate::live::error::LiveError;
use crate::live::names::resolve;
use crate::live::transport::Transport;
use crate::live::{GRACE, GRACE_STOPPED, stop_signal};
use crate::output::{self, OutputError};

/// Measures and prints the results. With `--json` and `--json-stream` an error is printed as an object too.
pub(super) async fn run(arguments: &ClientArguments, words: &[String]) -> Result<(), LiveError> {
    let outcome = run_test(arguments, words).await;
    match &outcome {
        // Where results cannot be printed, an error cannot either.
        Err(LiveError::Output(_)) | Ok(()) => {}
        Err(error) => match arguments.format() {
            Format::Lines => {}
            Format::Object => output::print(&failed(&error.to_string()))?,
            Format::Stream => stream::print("error", &json!(error.to_string()))?,
        },
    }
    outcome
}

async fn run_test(arguments: &ClientArguments, words: &[String]) -> Result<(), LiveError> {
    let test = describe(arguments)?;
    let pages = [("--report", arguments.report.as_deref()), ("--flent", arguments.flent.as_deref())];
    require_distinct([], arguments.network.written().into_iter().chain(pages))?;
    // Where files are to go is tried before the test, not after it.
    let begin = |path: &Option<PathBuf>| match path {
        Some(path) => output::begin(path).map(|file| Some((path.clone(), file))),
        None => Ok(None),
    };
    let (page, data) = (begin(&arguments.report)?, begin(&arguments.flent)?);
    let transport = arguments.network.open()?;
    let outcome = tokio::select! {
        outcome = measure(arguments, &test, &transport) => outcome,
        signal = stop_signal() => Err(LiveError::Stopped(signal?)),
    };
    let closed = transport.close(if outcome.is_ok() { GRACE } else { GRACE_STOPPED }).await;
    let results = outcome?;
    if let Some((path, file)) = page {
        output::write_to(file, &path, page::page(&results, words)?)?;
    }
    if let Some((path, file)) = data {
        let data = flent::file(&results, &command_line(words));
        output::write_to(file, &path, data.map_err(|error| OutputError::file(&path, error))?)?;
    }
    print_results(arguments.format(), &results)?;
    closed
}

fn print_results(format: Format, results: &Results) -> Result<(), OutputError> {
    match format {
        Format::Lines => output::print(&results.text()),
        Format::Object => output::print(&format!("{:#}\n", results.json())),
        Format::Stream => {
            if let Some(text) = &results.server_output {
                stream::print("server_output_text", &json!(text))?;
            }
            stream::print("end", &results.json_end())
        }
    }
}

fn describe(arguments: &ClientArguments) -> Result<Test, BadOption> {
    let kind = match arguments {
        ClientArguments { rrul: true, .. } => Kind::Rrul,
        ClientArguments { latency: true, .. } => Kind::Latency,
        ClientArguments { bidir: true, .. } => Kind::Bidirectional,
        ClientArguments { reverse: true, .. } => Kind::Download,
        _ => Kind::Upload,
    };
    let bad = |option, value: String, expected: &str| BadOption::new(option, value, expected);
    let length = arguments.length.map(headway_units::Size::bytes);
    if let Some(length) = length.filter(|length| !(1..=u64::from(MAX_LENGTH)).contains(length)) {
        return Err(bad("--length", length.to_string(), "expected between 1B and 16MiB"));
    }
    if arguments.time.is_zero() {
        return Err(bad("--time", arguments.time.to_string(), "expected some time, such as 10s"));
    }
    if arguments.idle.is_zero() {
        return Err(bad("--idle", arguments.idle.to_string(), "expected some time, such as 5s"));
    }
    if arguments.interval.as_millis() < LEAST_INTERVAL {
        return Err(bad("--interval", arguments.interval.to_string(), "expected at least 10ms"));
    }
    let length = length.and_then(|length| u32::try_from(length).ok());
    Ok(Test {
        version: VERSION,
        kind,
        // flent's number.
        parallel: arguments.parallel.unwrap_or(if kind == Kind::Rrul { 4 } else { 1 }),
        length: length.unwrap_or(128 << 10),
        request: length.filter(|_| kind == Kind::Latency).unwrap_or(1),
        bytes: arguments.bytes.map(headway_units::Size::bytes),
        nanos: arguments.time.as_nanos(),
        interval: arguments.interval.as_nanos(),
        wants_output: arguments.get_server_output,
    })
}

async fn measure(
    arguments: &ClientArguments,
    test: &Test,
    transport: &Transport,
) -> Result<Results, LiveError> {
    let server = resolve(&arguments.host, arguments.port).await?;
    let mut control = transport.connect(server).await?;
    send_line(&mut control, &Hello::Test(test.clone())).await.map_err(LiveError::Connection)?;
    let session = match receive_line(&mut control).await.map_err(LiveError::Connection)? {
        Welcome::Session(session) => session,
        Welcome::Refused(reason) => {
            return Err(LiveError::Connection(io::Error::other(format!("the server: {reason}"))));
        }
    };
    let (from, mut to) = tokio::io::split(control);
    let (sender, messages) = mpsc::channel(16);
    let mut listening = JoinSet::new();
    listening.spawn(listen(BufReader::new(from), sender));

    let mut running = Running::new(test, arguments.format(), messages);
    let label = arguments.network.label();
    let connections = Connections { transport, server, session };
    let mut load = None;
    if test.kind == Kind::Rrul {
        running.open(&connections, Flow::Latency).await?;
        running.begin(&label, server)?;
        running.watch(Some(running.started + Duration::from_nanos(arguments.idle.as_nanos()))).await?;
        let idle = running.started.elapsed();
        running.open(&connections, Flow::Upload).await?;
        running.open(&connections, Flow::Download).await?;
        let full = running.started.elapsed();
        let until = full + Duration::from_nanos(test.nanos);
        running.watch(Some(running.started + until)).await?;
        load = Some(Load { idle, full, until });
        // No one waits for it if all requests have been answered already.
        let _ = running.stop.send(true);
    } else {
        for flow in [Flow::Latency, Flow::Upload, Flow::Download] {
            running.open(&connections, flow).await?;
        }
        running.begin(&label, server)?;
    }
    running.watch(None).await?;
    to.shutdown().await.map_err(LiveError::Connection)?;
    running.finish(label, server, load)
}

/// Takes the server's messages until the last.
async fn listen(
    mut from: BufReader<tokio::io::ReadHalf<crate::live::transport::Stream>>,
    to: mpsc::Sender<io::Result<Message>>,
) {
    loop {
        let message = receive_line(&mut from).await;
        let is_last = !matches!(message, Ok(Message::Interval(_)));
        if to.send(message).await.is_err() || is_last {
            return;
        }
    }
}

/// How data connections are opened.
struct Connections<'a> {
    transport: &'a Transport,
    server: SocketAddr,
    session: u64,
}

/// A test that runs.
struct Running<'a> {
    test: &'a Test,
    started: Instant,
    /// The same in nanoseconds since 1970.
    began: u64,
    /// When the data that the server counts began to flow.
    loaded: Option<Instant>,
    ends: Vec<Ends>,
    /// One of each flow.
    meters: [Meter; 3],
    connections: JoinSet<io::Result<(Flow, StreamResult)>>,
    results: Vec<(Flow, StreamResult)>,
    messages: mpsc::Receiver<io::Result<Message>>,
    outcome: Option<Outcome>,
    ticks: tokio::time::Interval,
    /// Ends regular requests.
    stop: watch::Sender<bool>,
    cpu: Clock,
    printer: Printer,
    intervals: Vec<Interval>,
}

impl<'a> Running<'a> {
    fn new(test: &'a Test, format: Format, messages: mpsc::Receiver<io::Result<Message>>) -> Self {
        let mut ticks = tokio::time::interval(Duration::from_nanos(test.interval));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        ticks.reset();
        Self {
            test,
            started: now(),
            began: headway_net::Clock::new().now().as_nanos(),
            loaded: None,
            ends: Vec::new(),
            meters: [Flow::Upload, Flow::Download, Flow::Latency]
                .map(|flow| Meter::new(flow, flow != Flow::Download, 0.0)),
            connections: JoinSet::new(),
            results: Vec::new(),
            messages,
            outcome: None,
            ticks,
            stop: watch::Sender::new(false),
            cpu: Clock::start(),
            printer: Printer::new(format, test),
            intervals: Vec::new(),
        }
    }

    /// Opens all connections of a flow.
    async fn open(&mut self, to: &Connections<'_>, flow: Flow) -> Result<(), LiveError> {
        for number in 0..self.test.connections(flow) {
            let mut stream = to.transport.connect(to.server).await?;
            let hello = Hello::Data { session: to.session, flow };
            send_line(&mut stream, &hello).await.map_err(LiveError::Connection)?;
            let local = stream.local_addr().map_err(LiveError::Connection)?;
            let remote = stream.peer_addr().map_err(LiveError::Connection)?;
            self.ends.push(Ends { flow, local, remote });
            let progress = Progress::new(local.port());
            if number == 0 {
                let begun =
                    if flow == Flow::Latency { self.started } else { *self.loaded.get_or_insert_with(now) };
                let begun = (begun - self.started).as_secs_f64();
                *self.meter(flow) = Meter::new(flow, flow != Flow::Download, begun);
            }
            self.meter(flow).add(progress.clone());
            let (test, started, stop) = (self.test.clone(), self.started, self.stop.subscribe());
            self.connections.spawn(async move {
                let result = match (flow, test.kind) {
                    (Flow::Upload, _) => send(stream, &test, &progress).await?,
                    (Flow::Download, _) => receive(stream, &test, &progress).await?,
                    (Flow::Latency, Kind::Rrul) => {
                        send_regularly(stream, &test, started, &progress, stop).await?
                    }
                    (Flow::Latency, _) => send_requests(stream, &test, started, &progress).await?,
                };
                io::Result::Ok((flow, result))
            });
        }
        Ok(())
    }

    fn meter(&mut self, flow: Flow) -> &mut Meter {
        &mut self.meters[flow as usize]
    }

    /// Reports intervals until that time, or until the test has ended.
    async fn watch(&mut self, until: Option<Instant>) -> Result<(), LiveError> {
        // Longer than anything that is measured.
        let far = Duration::from_secs(365 * 86_400);
        let deadline = until.unwrap_or_else(|| now() + far).into();
        while until.is_some() || !self.connections.is_empty() || self.outcome.is_none() {
            tokio::select! {
                Some(ended) = self.connections.join_next() => {
                    let ended = ended.map_err(io::Error::other).and_then(|ended| ended);
                    self.results.push(ended.map_err(LiveError::Connection)?);
                }
                _ = self.ticks.tick() => self.tick()?,
                message = self.messages.recv(), if self.outcome.is_none() => {
                    let gone = || io::Error::from(io::ErrorKind::UnexpectedEof);
                    match message.unwrap_or_else(|| Err(gone())).map_err(LiveError::Connection)? {
                        Message::Interval(received) => self.cut_uploads(&received)?,
                        Message::Outcome(outcome) => self.outcome = Some(outcome),
                    }
                }
                () = sleep_until(deadline) => return Ok(()),
            }
        }
        Ok(())
    }

    /// Ends an interval of what arrives here.
    fn tick(&mut self) -> Result<(), LiveError> {
        let end = self.started.elapsed().as_secs_f64();
        for flow in [Flow::Download, Flow::Latency] {
            let interval = self.meter(flow).cut(end, Progress::bytes);
            // When no more requests are sent, their absence says nothing.
            let is_over = flow == Flow::Latency && *self.stop.borrow();
            self.report(interval.filter(|interval| !is_over || interval.bytes() > 0))?;
        }
        Ok(())
    }

    /// Ends an interval of what has arrived at the server.
    fn cut_uploads(&mut self, received: &Received) -> Result<(), LiveError> {
        let Some(loaded) = self.loaded else { return Ok(()) };
        let end = (loaded - self.started).as_secs_f64() + received.nanos as f64 / 1e9;
        let interval = self.meter(Flow::Upload).cut(end, |progress| received.from(progress.client_port()));
        self.report(interval)
    }

    fn report(&mut self, interval: Option<Interval>) -> Result<(), LiveError> {
        let Some(interval) = interval else { return Ok(()) };
        self.intervals.push(interval);
        Ok(self.printer.interval(self.test, &self.ends, &self.intervals)?)
    }

    /// The connections are open that the test begins with.
    fn begin(&self, label: &str, server: SocketAddr) -> Result<(), LiveError> {
        let about = About { label, server, began: self.began };
        Ok(self.printer.begin(&about, self.test, &self.ends)?)
    }

    /// The results, when all has ended.
    fn finish(mut self, label: String, server: SocketAddr, load: Option<Load>) -> Result<Results, LiveError> {
        let cpu = self.cpu.usage();
        let outcome = self.outcome.take().unwrap_or_default();
        self.cut_uploads(&outcome.received)?;
        self.tick()?;
        self.printer.end_intervals(self.test, &self.ends, &self.intervals)?;
        let samples = self.meter(Flow::Latency).connections().flat_map(|one| one.samples(0)).collect();
        Ok(Results {
            label,
            server,
            began: self.began,
            test: self.test.clone(),
            ends: self.ends,
            intervals: self.intervals,
            ours: self.results,
            theirs: outcome.streams,
            cpu: (cpu, outcome.cpu),
            samples,
            load,
            server_output: outcome.output,
        })
    }
}
