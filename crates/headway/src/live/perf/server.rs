//! The server of measurements.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::AsyncWriteExt as _;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::ServerArguments;
use super::protocol::{
    Hello, Kind, MAX_LENGTH, Outcome, StreamResult, Test, VERSION, Welcome, receive_line, send_line,
};
use super::test::{Progress, answer, receive, send};
use crate::live::error::LiveError;
use crate::live::transport::{Listener, Stream};
use crate::live::{GRACE_STOPPED, stop_signal};
use crate::output::notice;

/// The maximum number of concurrent tests.
const MAX_TESTS: usize = 64;

/// Tests that wait for their data connections.
#[derive(Default)]
struct Sessions {
    next: u64,
    waiting: BTreeMap<u64, mpsc::Sender<Stream>>,
}

type Shared = Arc<Mutex<Sessions>>;

pub(super) async fn run(arguments: &ServerArguments) -> Result<(), LiveError> {
    let transport = arguments.network.open()?;
    let listener = transport.listen(arguments.listen).await?;
    notice!("headway: waiting for clients at {}", listener.local_addr().map_err(LiveError::Connection)?);
    let outcome = tokio::select! {
        outcome = serve(listener, arguments.one_off) => outcome,
        signal = stop_signal() => signal.map(|_| ()),
    };
    let closed = transport.close(GRACE_STOPPED).await;
    outcome.and(closed)
}

/// Answers clients; with `one_off`, until the end of the first test.
pub(in crate::live) async fn serve(listener: Listener, one_off: bool) -> Result<(), LiveError> {
    let sessions = Shared::default();
    let (done, mut tests_done) = mpsc::channel(MAX_TESTS);
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let (stream, _) = accepted.map_err(LiveError::Connection)?;
                while connections.try_join_next().is_some() {}
                connections.spawn(greet(stream, sessions.clone(), done.clone()));
            }
            _ = tests_done.recv() => {
                if one_off {
                    return Ok(());
                }
            }
        }
    }
}

async fn greet(mut stream: Stream, sessions: Shared, done: mpsc::Sender<()>) {
    let outcome = match receive_line(&mut stream).await {
        Ok(Hello::Test(test)) => {
            let outcome = control(&mut stream, &test, &sessions).await;
            // It fails if the test has ended.
            let _ = done.try_send(());
            outcome
        }
        Ok(Hello::Data { session }) => {
            let waiting = lock(&sessions).waiting.get(&session).cloned();
            match waiting {
                // Too many connections are dropped, which resets them.
                Some(waiting) => {
                    waiting.try_send(stream).map_err(|_| io::Error::other("one stream too many"))
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

async fn control(stream: &mut Stream, test: &Test, sessions: &Shared) -> io::Result<()> {
    if let Some(reason) = refusal(test) {
        return send_line(stream, &Welcome::Refused(reason)).await;
    }
    let (arrived, streams) = mpsc::channel(usize::from(test.parallel));
    let session = {
        let mut sessions = lock(sessions);
        (sessions.waiting.len() < MAX_TESTS).then(|| {
            sessions.next += 1;
            let session = sessions.next;
            sessions.waiting.insert(session, arrived);
            session
        })
    };
    let Some(session) = session else {
        return send_line(stream, &Welcome::Refused("busy: too many tests at the same time".into())).await;
    };
    let _waiting = Waiting { sessions: sessions.clone(), session };
    send_line(stream, &Welcome::Session(session)).await?;
    let outcome = tokio::select! {
        outcome = measure(streams, test) => outcome?,
        gone = gone(stream) => return gone,
    };
    send_line(stream, &outcome).await?;
    stream.shutdown().await
}

/// A test ends when its client disconnects.
async fn gone(stream: &mut Stream) -> io::Result<()> {
    use tokio::io::AsyncReadExt as _;
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

fn refusal(test: &Test) -> Option<String> {
    if test.version != VERSION {
        return Some(format!("version {}: this server has {VERSION}", test.version));
    }
    if test.parallel == 0 || test.parallel > 1000 || test.length > MAX_LENGTH {
        return Some("1 to 1000 streams, and writes of at most 16 MiB".into());
    }
    None
}

async fn measure(mut streams: mpsc::Receiver<Stream>, test: &Test) -> io::Result<Outcome> {
    let mut running = JoinSet::new();
    for _ in 0..test.parallel {
        let Some(stream) = streams.recv().await else {
            return Err(io::Error::other("a data connection is missing"));
        };
        let test = test.clone();
        running.spawn(async move {
            let client_port = stream.peer_addr()?.port();
            let progress = Arc::new(Progress::default());
            let result = match test.kind {
                Kind::Upload => receive(stream, &test, &progress).await?,
                Kind::Download => send(stream, &test, &progress).await?,
                Kind::Latency => answer(stream, &test, &progress).await?,
            };
            io::Result::Ok(StreamResult { client_port, ..result })
        });
    }
    let mut outcome = Outcome::default();
    while let Some(result) = running.join_next().await {
        outcome.streams.push(result.map_err(io::Error::other)??);
    }
    Ok(outcome)
}
