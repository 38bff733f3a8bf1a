//! The client of a measurement.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use headway_command::{BadOption, OutputError, output, require_distinct};
use headway_report::command_line;
use headway_transport::{StopSignal, Stream, Transport, TransportError, resolve};
use serde_json::json;
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, sleep_until};

use super::connection::{now, receive, send};
use super::cpu::Clock;
use super::error::PerfError;
use super::json::{About, Ends, failed};
use super::latency::{send_regularly, send_requests};
use super::progress::{Interval, Meter, Progress};
use super::protocol::{
    Flow, Hello, LEAST_INTERVAL, MAX_LENGTH, Message, Outcome, Received, StreamResult, Test, TestKind,
    VERSION, Welcome, receive_line, send_line,
};
use super::results::{Load, Results};
use super::stream::{self, Format, Printer};
use super::{ClientArguments, flent, page};
use headway_transport::{GRACE, GRACE_STOPPED, stop_signal};

/// Measures and prints the results. With `--json` and `--json-stream` an error is printed as an object too.
pub(super) async fn run(arguments: &ClientArguments, words: &[String]) -> Result<(), PerfError> {
    let outcome = run_test(arguments, words).await;
    match &outcome {
        // Where results cannot be printed, an error cannot either; those of a test with a problem say so.
        Err(PerfError::Transport(TransportError::Output(_))) | Ok(_) => {}
        Err(error) => match arguments.format() {
            Format::Lines => {}
            Format::Object => output::print(&failed(&error.to_string()))?,
            Format::Stream => stream::print("error", &json!(error.to_string()))?,
        },
    }
    outcome?.map_or(Ok(()), Err)
}

/// Says what is wrong with results that are printed: a signal stopped the test, or bytes differ.
async fn run_test(arguments: &ClientArguments, words: &[String]) -> Result<Option<PerfError>, PerfError> {
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
    let session = tokio::select! {
        session = Session::open(arguments, &test, &transport) => session,
        signal = stop_signal() => Err(TransportError::Stopped(signal?)),
    };
    let outcome = match session {
        Ok(session) => measure(arguments, &test, &transport, session).await,
        Err(error) => Err(error),
    };
    let is_whole = outcome.as_ref().is_ok_and(|results| results.stopped.is_none());
    let closed = transport.close(if is_whole { GRACE } else { GRACE_STOPPED }).await;
    let results = outcome?;
    if let Some((path, file)) = page {
        output::write_to(file, &path, page::page(&results, words)?)?;
    }
    if let Some((path, file)) = data {
        let data = flent::file(&results, &command_line(words));
        output::write_to(file, &path, data.map_err(|error| OutputError::file(&path, error))?)?;
    }
    print_results(arguments.format(), &results)?;
    closed?;
    Ok(results.problem())
}

fn print_results(format: Format, results: &Results) -> Result<(), OutputError> {
    match format {
        Format::Lines => output::print(&results.text()),
        Format::Object => output::print(&format!("{:#}\n", results.json())),
        Format::Stream => {
            if let Some(text) = &results.server_output {
                stream::print("server_output_text", &json!(text))?;
            }
            stream::print("end", &results.json_end())?;
            match results.problem() {
                Some(problem) => stream::print("error", &json!(problem.to_string())),
                None => Ok(()),
            }
        }
    }
}

fn describe(arguments: &ClientArguments) -> Result<Test, BadOption> {
    let kind = match arguments {
        ClientArguments { rrul: true, .. } => TestKind::Rrul,
        ClientArguments { latency: true, .. } => TestKind::Latency,
        ClientArguments { bidir: true, .. } => TestKind::Bidirectional,
        ClientArguments { reverse: true, .. } => TestKind::Download,
        _ => TestKind::Upload,
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
        parallel: arguments.parallel.unwrap_or(if kind == TestKind::Rrul { 4 } else { 1 }),
        length: length.unwrap_or(128 << 10),
        request: length.filter(|_| kind == TestKind::Latency).unwrap_or(1),
        bytes: arguments.bytes.map(headway_units::Size::bytes),
        nanos: arguments.time.as_nanos(),
        interval: arguments.interval.as_nanos(),
        wants_output: arguments.get_server_output,
    })
}

/// A test that the server has agreed to.
struct Session {
    server: SocketAddr,
    number: u64,
    control: Stream,
}

impl Session {
    async fn open(
        arguments: &ClientArguments,
        test: &Test,
        transport: &Transport,
    ) -> Result<Self, TransportError> {
        let server = resolve(&arguments.host, arguments.port).await?;
        let mut control = transport.connect(server).await?;
        send_line(&mut control, &Hello::Test(test.clone())).await.map_err(TransportError::Connection)?;
        match receive_line(&mut control).await.map_err(TransportError::Connection)? {
            Welcome::Session(number) => Ok(Self { server, number, control }),
            Welcome::Refused(reason) => {
                Err(TransportError::Connection(io::Error::other(format!("the server: {reason}"))))
            }
        }
    }
}

/// Measures until the end of the test, or until a signal comes.
async fn measure(
    arguments: &ClientArguments,
    test: &Test,
    transport: &Transport,
    session: Session,
) -> Result<Results, TransportError> {
    let Session { server, number, control } = session;
    let (from, mut to) = tokio::io::split(control);
    let (sender, messages) = mpsc::channel(16);
    let mut listening = JoinSet::new();
    listening.spawn(listen(BufReader::new(from), sender));

    let mut running = Running::new(test, arguments.format(), messages);
    let label = arguments.network.label();
    let connections = Connections { transport, server, session: number };
    let idle = Duration::from_nanos(arguments.idle.as_nanos());
    let stopped = tokio::select! {
        outcome = running.run(&connections, &label, idle) => outcome.map(|()| None)?,
        signal = stop_signal() => Some(signal?),
    };
    if stopped.is_none() {
        to.shutdown().await.map_err(TransportError::Connection)?;
    }
    running.finish(label, server, stopped)
}

/// A connection with the server failed during the test. Where it has ended, so has the server, or what is between.
fn during_test(error: io::Error) -> TransportError {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    TransportError::Connection(match error.kind() {
        UnexpectedEof => io::Error::other("the server disconnected during the test"),
        BrokenPipe | ConnectionReset => {
            io::Error::other(format!("the server disconnected during the test: {error}"))
        }
        _ => error,
    })
}

/// Takes the server's messages until the last.
async fn listen(mut from: BufReader<tokio::io::ReadHalf<Stream>>, to: mpsc::Sender<io::Result<Message>>) {
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
    load: Option<Load>,
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
            load: None,
        }
    }

    /// Runs the test; `idle`: how long one under load first measures without load.
    async fn run(
        &mut self,
        connections: &Connections<'_>,
        label: &str,
        idle: Duration,
    ) -> Result<(), TransportError> {
        if self.test.kind == TestKind::Rrul {
            self.open(connections, Flow::Latency).await?;
            self.begin(label, connections.server)?;
            self.watch(Some(self.started + idle)).await?;
            let idle = self.started.elapsed();
            self.open(connections, Flow::Upload).await?;
            self.open(connections, Flow::Download).await?;
            let full = self.started.elapsed();
            let until = full + Duration::from_nanos(self.test.nanos);
            self.load = Some(Load { idle, full, until });
            self.watch(Some(self.started + until)).await?;
            // No one waits for it if all requests have been answered already.
            let _ = self.stop.send(true);
        } else {
            for flow in [Flow::Latency, Flow::Upload, Flow::Download] {
                self.open(connections, flow).await?;
            }
            self.begin(label, connections.server)?;
        }
        self.watch(None).await
    }

    /// Opens all connections of a flow.
    async fn open(&mut self, to: &Connections<'_>, flow: Flow) -> Result<(), TransportError> {
        for number in 0..self.test.connections(flow) {
            let mut stream = to.transport.connect(to.server).await?;
            let hello = Hello::Data { session: to.session, flow };
            send_line(&mut stream, &hello).await.map_err(TransportError::Connection)?;
            let local = stream.local_addr().map_err(TransportError::Connection)?;
            let remote = stream.peer_addr().map_err(TransportError::Connection)?;
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
                    (Flow::Latency, TestKind::Rrul) => {
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
    async fn watch(&mut self, until: Option<Instant>) -> Result<(), TransportError> {
        // Longer than anything that is measured.
        let far = Duration::from_secs(365 * 86_400);
        let deadline = until.unwrap_or_else(|| now() + far).into();
        while until.is_some() || !self.connections.is_empty() || self.outcome.is_none() {
            tokio::select! {
                Some(ended) = self.connections.join_next() => {
                    let ended = ended.map_err(io::Error::other).and_then(|ended| ended);
                    self.results.push(ended.map_err(during_test)?);
                }
                _ = self.ticks.tick() => self.tick()?,
                message = self.messages.recv(), if self.outcome.is_none() => {
                    let gone = || io::Error::from(io::ErrorKind::UnexpectedEof);
                    match message.unwrap_or_else(|| Err(gone())).map_err(during_test)? {
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
    fn tick(&mut self) -> Result<(), TransportError> {
        let end = self.started.elapsed().as_secs_f64();
        self.meter(Flow::Upload).mark(end);
        for flow in [Flow::Download, Flow::Latency] {
            let interval = self.meter(flow).cut((end, end), Progress::bytes);
            // When no more requests are sent, their absence says nothing.
            let is_over = flow == Flow::Latency && *self.stop.borrow();
            self.report(interval.filter(|interval| !is_over || interval.bytes() > 0))?;
        }
        Ok(())
    }

    /// Ends an interval of what has arrived at the server.
    fn cut_uploads(&mut self, received: &Received) -> Result<(), TransportError> {
        let Some(loaded) = self.loaded else { return Ok(()) };
        let end = (loaded - self.started).as_secs_f64() + received.nanos as f64 / 1e9;
        let now = self.started.elapsed().as_secs_f64();
        let interval =
            self.meter(Flow::Upload).cut((end, now), |progress| received.from(progress.client_port()));
        self.report(interval)
    }

    fn report(&mut self, interval: Option<Interval>) -> Result<(), TransportError> {
        let Some(interval) = interval else { return Ok(()) };
        self.intervals.push(interval);
        Ok(self.printer.interval(self.test, &self.ends, &self.intervals)?)
    }

    /// The connections are open that the test begins with.
    fn begin(&self, label: &str, server: SocketAddr) -> Result<(), TransportError> {
        let about = About { label, server, began: self.began };
        Ok(self.printer.begin(&about, self.test, &self.ends)?)
    }

    /// The results, when all has ended, or was stopped.
    fn finish(
        mut self,
        label: String,
        server: SocketAddr,
        stopped: Option<StopSignal>,
    ) -> Result<Results, TransportError> {
        let cpu = self.cpu.usage();
        let mut outcome = self.outcome.take().unwrap_or_default();
        if stopped.is_some() {
            self.take_running(&mut outcome);
        } else {
            self.meter(Flow::Upload).forget_marks();
            self.cut_uploads(&outcome.received)?;
        }
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
            load: self.load,
            stopped,
            server_output: outcome.output,
        })
    }

    /// What is known of the connections that have not ended. Of downloads the server's end is not.
    fn take_running(&mut self, outcome: &mut Outcome) {
        let ended = |results: &[(Flow, StreamResult)], port| {
            results.iter().any(|(_, result)| result.client_port == port)
        };
        for meter in &self.meters {
            let begun = if meter.flow == Flow::Latency { Some(self.started) } else { self.loaded };
            let nanos =
                begun.map_or(0, |begun| u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX));
            for (progress, counted) in meter.carried() {
                let client_port = progress.client_port();
                if ended(&self.results, client_port) {
                    continue;
                }
                let ours = StreamResult {
                    client_port,
                    bytes: progress.bytes(),
                    nanos,
                    retransmits: progress.retransmits(),
                    differing: progress.differing(),
                };
                self.results.push((meter.flow, ours));
                if meter.flow == Flow::Upload {
                    outcome.streams.push(StreamResult {
                        client_port,
                        bytes: counted,
                        nanos,
                        retransmits: None,
                        differing: 0,
                    });
                }
            }
        }
    }
}
