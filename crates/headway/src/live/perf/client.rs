//! The client of a measurement.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::AsyncWriteExt as _;
use tokio::task::JoinSet;

use super::ClientArguments;
use super::protocol::{
    Hello, Kind, MAX_LENGTH, Outcome, StreamResult, Test, VERSION, Welcome, receive_line, send_line,
};
use super::report::{Ends, Report, Reporter, failed};
use super::test::{Progress, receive, send, send_requests};
use crate::failure::BadOption;
use crate::live::error::LiveError;
use crate::live::names::resolve;
use crate::live::transport::Transport;
use crate::live::{GRACE, GRACE_STOPPED, stop_signal};
use crate::output;

/// Measures and prints the results. With `--json` an error is printed as an object too.
pub(super) async fn run(arguments: &ClientArguments) -> Result<(), LiveError> {
    let outcome = run_test(arguments).await;
    match &outcome {
        // Where results cannot be printed, an error cannot either.
        Err(error) if arguments.json && !matches!(error, LiveError::Output(_)) => {
            output::print(&failed(&error.to_string()))?;
        }
        _ => {}
    }
    outcome
}

async fn run_test(arguments: &ClientArguments) -> Result<(), LiveError> {
    let test = describe(arguments)?;
    let transport = arguments.network.open()?;
    let outcome = tokio::select! {
        outcome = measure(arguments, &test, &transport) => outcome,
        signal = stop_signal() => Err(LiveError::Stopped(signal?)),
    };
    let closed = transport.close(if outcome.is_ok() { GRACE } else { GRACE_STOPPED }).await;
    let report = outcome?;
    output::print(&report.text(arguments.json))?;
    closed
}

fn describe(arguments: &ClientArguments) -> Result<Test, BadOption> {
    let kind = match (arguments.latency, arguments.reverse) {
        (true, _) => Kind::Latency,
        (false, true) => Kind::Download,
        (false, false) => Kind::Upload,
    };
    let bad = |option, value: String, expected: &str| BadOption::new(option, value, expected);
    let length =
        arguments.length.map_or(if arguments.latency { 1 } else { 128 << 10 }, headway_units::Size::bytes);
    if length == 0 || length > u64::from(MAX_LENGTH) {
        return Err(bad("--length", length.to_string(), "expected between 1B and 16MiB"));
    }
    if arguments.time.is_zero() {
        return Err(bad("--time", arguments.time.to_string(), "expected some time, such as 10s"));
    }
    if arguments.interval.as_millis() < 10 {
        return Err(bad("--interval", arguments.interval.to_string(), "expected at least 10ms"));
    }
    Ok(Test {
        version: VERSION,
        kind,
        parallel: arguments.parallel,
        length: length as u32,
        bytes: arguments.bytes.map(headway_units::Size::bytes),
        nanos: arguments.time.as_nanos(),
    })
}

#[expect(clippy::disallowed_methods, reason = "a live measurement")]
async fn measure(
    arguments: &ClientArguments,
    test: &Test,
    transport: &Transport,
) -> Result<Report, LiveError> {
    let server = resolve(&arguments.host, arguments.port).await?;
    let mut control = transport.connect(server).await?;
    send_line(&mut control, &Hello::Test(test.clone())).await.map_err(LiveError::Connection)?;
    let session = match receive_line(&mut control).await.map_err(LiveError::Connection)? {
        Welcome::Session(session) => session,
        Welcome::Refused(reason) => {
            return Err(LiveError::Connection(io::Error::other(format!("the server: {reason}"))));
        }
    };
    let mut running = JoinSet::new();
    let mut progress = Vec::new();
    let mut ends = Vec::new();
    for _ in 0..test.parallel {
        let mut stream = transport.connect(server).await?;
        send_line(&mut stream, &Hello::Data { session }).await.map_err(LiveError::Connection)?;
        let local = stream.local_addr().map_err(LiveError::Connection)?;
        ends.push(Ends { local, remote: stream.peer_addr().map_err(LiveError::Connection)? });
        let done = Arc::new(Progress::default());
        progress.push(done.clone());
        let test = test.clone();
        running.spawn(async move {
            let (result, times) = match test.kind {
                Kind::Upload => (send(stream, &test, &done).await?, Vec::new()),
                Kind::Download => (receive(stream, &test, &done).await?, Vec::new()),
                Kind::Latency => send_requests(stream, &test, &done).await?,
            };
            io::Result::Ok((StreamResult { client_port: local.port(), ..result }, times))
        });
    }
    let started = Instant::now();
    let mut reporter =
        Reporter::new(arguments.network.label(), server, test.clone(), ends, progress, arguments.json);
    let mut ticks = tokio::time::interval(Duration::from_nanos(arguments.interval.as_nanos()));
    ticks.tick().await;
    let (mut results, mut times) = (Vec::new(), Vec::new());
    loop {
        tokio::select! {
            ended = running.join_next() => match ended {
                None => break,
                Some(ended) => {
                    let (result, more) = ended.map_err(io::Error::other).and_then(|ended| ended).map_err(LiveError::Connection)?;
                    results.push(result);
                    times.extend(more);
                }
            },
            _ = ticks.tick() => reporter.interval(started.elapsed())?,
        }
    }
    reporter.interval(started.elapsed())?;
    let outcome: Outcome = receive_line(&mut control).await.map_err(LiveError::Connection)?;
    control.shutdown().await.map_err(LiveError::Connection)?;
    Ok(reporter.finish(results, outcome.streams, times))
}
