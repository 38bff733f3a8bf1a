//! A test, at the server.

use std::io;
use std::time::{Duration, Instant};

use headway_transport::Stream;
use tokio::io::AsyncWrite;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use super::connection::{now, receive, send};
use super::cpu::{Clock, Usage};
use super::latency::answer;
use super::progress::{Interval, Meter, Progress};
use super::protocol::{Flow, Message, Outcome, Received, StreamResult, Test, TestKind, send_line};
use super::text::Text;

/// The length from which on no more intervals are added to the lines of a test: a client may ask for as many as it
/// likes.
const MAX_TEXT: usize = 256 << 10;

/// Measures on the streams that arrive, and sends reports to the client; returns the results and the lines about it.
pub(super) async fn measure(
    mut arriving: mpsc::Receiver<(Flow, Stream)>,
    test: &Test,
    client: &mut (impl AsyncWrite + Unpin),
) -> io::Result<(Outcome, String)> {
    let mut session = Session::new(test);
    loop {
        tokio::select! {
            arrived = arriving.recv(), if session.is_incomplete() => {
                let (flow, stream) =
                    arrived.ok_or_else(|| io::Error::other("a data connection is missing"))?;
                session.take(flow, stream)?;
            }
            Some(ended) = session.running.join_next() => {
                session.results.push(ended.map_err(io::Error::other)??);
                if session.running.is_empty() && !session.is_incomplete() {
                    return Ok(session.finish());
                }
            }
            () = tick(&mut session.ticks) => {
                if let Some(received) = session.interval() {
                    send_line(client, &Message::Interval(received)).await?;
                }
            }
        }
    }
}

/// Never, before the data flows.
async fn tick(ticks: &mut Option<tokio::time::Interval>) {
    match ticks {
        Some(ticks) => _ = ticks.tick().await,
        None => std::future::pending().await,
    }
}

struct Session<'a> {
    test: &'a Test,
    running: JoinSet<io::Result<(Flow, StreamResult)>>,
    results: Vec<(Flow, StreamResult)>,
    /// One of each flow.
    meters: [Meter; 3],
    /// When the first data connection was open; before, only requests were answered.
    loaded: Option<Instant>,
    ticks: Option<tokio::time::Interval>,
    cpu: Option<Clock>,
    format: Text,
    text: String,
}

impl<'a> Session<'a> {
    fn new(test: &'a Test) -> Self {
        Self {
            test,
            running: JoinSet::new(),
            results: Vec::new(),
            meters: [Flow::Upload, Flow::Download, Flow::Latency]
                .map(|flow| Meter::new(flow, flow == Flow::Download, 0.0)),
            loaded: None,
            ticks: None,
            cpu: None,
            format: Text::of_server(test),
            text: String::new(),
        }
    }

    fn is_incomplete(&self) -> bool {
        self.meters
            .iter()
            .any(|meter| meter.connections().count() < usize::from(self.test.connections(meter.flow)))
    }

    /// Measures on a connection.
    fn take(&mut self, flow: Flow, stream: Stream) -> io::Result<()> {
        let meter = &mut self.meters[flow as usize];
        if meter.connections().count() >= usize::from(self.test.connections(flow)) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a data connection too many"));
        }
        let progress = Progress::new(stream.peer_addr()?.port());
        meter.add(progress.clone());
        self.cpu.get_or_insert_with(Clock::start);
        if self.loaded.is_none() && (flow != Flow::Latency || self.test.kind == TestKind::Latency) {
            self.loaded = Some(now());
            let mut ticks = tokio::time::interval(Duration::from_nanos(self.test.interval));
            ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
            ticks.reset();
            self.ticks = Some(ticks);
        }
        let test = self.test.clone();
        self.running.spawn(async move {
            let result = match flow {
                Flow::Upload => receive(stream, &test, &progress).await?,
                Flow::Download => send(stream, &test, &progress).await?,
                Flow::Latency => answer(stream, &test, &progress).await?,
            };
            io::Result::Ok((flow, result))
        });
        Ok(())
    }

    /// Ends an interval; what to tell the client, if it sends.
    fn interval(&mut self) -> Option<Received> {
        let elapsed = self.loaded.map_or(Duration::ZERO, |loaded| loaded.elapsed());
        let end = elapsed.as_secs_f64();
        for flow in [Flow::Upload, Flow::Download] {
            // Of what this end sends, what the peer's TCP has.
            let bytes = if flow == Flow::Upload { Progress::bytes } else { Progress::acknowledged };
            if let Some(interval) = self.meters[flow as usize].cut((end, end), bytes) {
                self.add_line(&interval);
            }
        }
        let uploads = &self.meters[Flow::Upload as usize];
        let totals: Vec<(u16, u64)> =
            uploads.connections().map(|one| (one.client_port(), one.bytes())).collect();
        (!totals.is_empty()).then_some(Received { nanos: elapsed.as_nanos() as u64, totals })
    }

    fn add_line(&mut self, interval: &Interval) {
        if self.text.len() < MAX_TEXT {
            self.text.push_str(&self.format.interval(interval));
            if self.text.len() >= MAX_TEXT {
                self.text.push_str("(more intervals)\n");
            }
        }
    }

    fn finish(mut self) -> (Outcome, String) {
        let received = self.interval().unwrap_or_default();
        for flow in [Flow::Upload, Flow::Download, Flow::Latency] {
            let results: Vec<StreamResult> =
                self.results.iter().filter(|(of, _)| *of == flow).map(|(_, result)| result.clone()).collect();
            if flow == Flow::Latency && !results.is_empty() {
                let requests: u64 = results.iter().map(|result| result.bytes).sum();
                let requests = requests / u64::from(self.test.request.max(1));
                self.text.push_str(&format!("{requests} requests answered\n"));
            } else if !results.is_empty() {
                self.text.push_str(&self.format.sum(flow, flow == Flow::Download, &results));
            }
        }
        let outcome = Outcome {
            streams: self.results.into_iter().map(|(_, result)| result).collect(),
            received,
            cpu: self.cpu.map_or(Usage::default(), |clock| clock.usage()),
            output: self.test.wants_output.then(|| self.text.clone()),
        };
        (outcome, self.text)
    }
}
