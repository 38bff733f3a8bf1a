//! The server of measurements.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use headway_command::{OutputError, notice, output};
use headway_transport::{Listener, Stream, TransportError};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, ReadHalf, WriteHalf};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::ServerArguments;
use super::protocol::{Flow, Hello, Message, Test, Welcome, receive_line, send_line};
use super::session::measure;
use headway_transport::{GRACE_STOPPED, stop_signal};

/// The maximum number of concurrent tests.
const MAX_TESTS: usize = 64;

/// Tests that wait for their data connections.
#[derive(Default)]
struct Sessions {
    next: u64,
    waiting: BTreeMap<u64, mpsc::Sender<(Flow, Stream)>>,
}

type Shared = Arc<Mutex<Sessions>>;

/// Whether the results of tests are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Prints {
    Results,
    Nothing,
}

/// What every connection needs.
#[derive(Clone)]
struct Context {
    sessions: Shared,
    prints: Prints,
    done: mpsc::Sender<Result<(), OutputError>>,
}

pub(super) async fn run(arguments: &ServerArguments) -> Result<(), TransportError> {
    let transport = arguments.network.open()?;
    let listener = transport.listen(arguments.listen).await?;
    notice!("headway: waiting for clients at {}", listener.local_addr().map_err(TransportError::Connection)?);
    let outcome = tokio::select! {
        outcome = serve(listener, arguments.one_off, Prints::Results) => outcome,
        signal = stop_signal() => signal.map(|_| ()),
    };
    let closed = transport.close(GRACE_STOPPED).await;
    outcome.and(closed)
}

/// Answers clients; with `one_off`, until the end of the first test.
pub(super) async fn serve(listener: Listener, one_off: bool, prints: Prints) -> Result<(), TransportError> {
    let (done, mut tests_done) = mpsc::channel(MAX_TESTS);
    let context = Context { sessions: Shared::default(), prints, done };
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let (stream, from) = accepted.map_err(TransportError::Connection)?;
                while connections.try_join_next().is_some() {}
                connections.spawn(greet(stream, from, context.clone()));
            }
            Some(ended) = tests_done.recv() => {
                ended?;
                if one_off {
                    return Ok(());
                }
            }
        }
    }
}

async fn greet(mut stream: Stream, from: SocketAddr, context: Context) {
    let outcome = match receive_line(&mut stream).await {
        Ok(Hello::Test(test)) => {
            let outcome = control(stream, from, &test, &context).await;
            let (outcome, printed) = match outcome {
                Ok(text) if context.prints == Prints::Results => (Ok(()), output::print(&text)),
                Ok(_) => (Ok(()), Ok(())),
                Err(error) => (Err(error), Ok(())),
            };
            // It fails if the server has ended.
            let _ = context.done.send(printed).await;
            outcome
        }
        Ok(Hello::Data { session, flow }) => {
            let waiting = lock(&context.sessions).waiting.get(&session).cloned();
            match waiting {
                // Too many connections are dropped, which resets them.
                Some(waiting) => {
                    waiting.try_send((flow, stream)).map_err(|_| io::Error::other("one stream too many"))
                }
                None => Err(io::Error::other(format!("no test {session}"))),
            }
        }
        Err(error) => Err(error),
    };
    if let Err(error) = outcome {
        notice!("headway: a client: {error}");
    }
}

fn lock(sessions: &Shared) -> std::sync::MutexGuard<'_, Sessions> {
    sessions.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a test; returns the lines about it.
async fn control(mut stream: Stream, from: SocketAddr, test: &Test, context: &Context) -> io::Result<String> {
    if let Some(reason) = test.refusal() {
        send_line(&mut stream, &Welcome::Refused(reason)).await?;
        return Ok(String::new());
    }
    let count: usize = [Flow::Upload, Flow::Download, Flow::Latency]
        .map(|flow| usize::from(test.connections(flow)))
        .iter()
        .sum();
    let (arrived, streams) = mpsc::channel(count);
    let session = {
        let mut sessions = lock(&context.sessions);
        (sessions.waiting.len() < MAX_TESTS).then(|| {
            sessions.next += 1;
            let session = sessions.next;
            sessions.waiting.insert(session, arrived);
            session
        })
    };
    let Some(session) = session else {
        let busy = "busy: too many tests at the same time";
        send_line(&mut stream, &Welcome::Refused(busy.into())).await?;
        return Ok(String::new());
    };
    let _waiting = Waiting { sessions: context.sessions.clone(), session };
    send_line(&mut stream, &Welcome::Session(session)).await?;
    let (mut reader, mut writer): (ReadHalf<Stream>, WriteHalf<Stream>) = tokio::io::split(stream);
    let (outcome, mut text) = tokio::select! {
        outcome = measure(streams, test, &mut writer) => outcome?,
        gone = gone(&mut reader) => return gone.map(|()| String::new()),
    };
    send_line(&mut writer, &Message::Outcome(outcome)).await?;
    writer.shutdown().await?;
    text.insert_str(0, &format!("Client {from}\n"));
    Ok(text)
}

/// A test ends when its client disconnects.
async fn gone(stream: &mut ReadHalf<Stream>) -> io::Result<()> {
    match stream.read(&mut [0]).await? {
        0 => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the client disconnected during the test")),
        _ => Err(io::Error::new(io::ErrorKind::InvalidData, "unexpected data from the client")),
    }
}

struct Waiting {
    sessions: Shared,
    session: u64,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        lock(&self.sessions).waiting.remove(&self.session);
    }
}
