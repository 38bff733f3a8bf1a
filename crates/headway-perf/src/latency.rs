//! One data connection of a test that carries requests and their answers, at either end.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use headway_transport::Stream;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::watch;

use super::connection::now;
use super::progress::{Progress, Sample};
use super::protocol::{StreamResult, Test};

/// The time between requests that do not wait for the answers of earlier ones.
const EVERY: Duration = Duration::from_millis(20);

/// Each byte of a request.
const REQUEST: u8 = 0x55;

/// Later than this a timer was not only coarse: the connection did not take the request.
const COARSE: Duration = Duration::from_millis(5);

/// Sends requests, each after the previous answer, for the duration of the test.
pub(super) async fn send_requests(
    mut stream: Stream,
    test: &Test,
    test_started: Instant,
    progress: &Arc<Progress>,
) -> io::Result<StreamResult> {
    let request = vec![REQUEST; test.request.max(1) as usize];
    let mut block = request.clone();
    stream.set_nodelay()?;
    let started = now();
    let until = started + Duration::from_nanos(test.nanos);
    let mut asked = started;
    while asked < until {
        stream.write_all(&request).await?;
        stream.read_exact(&mut block).await?;
        add(progress, &block);
        let answered = now();
        progress.answered(Sample { at: asked - test_started, latency: answered - asked });
        asked = answered;
    }
    let retransmits = progress.note(&stream);
    stream.shutdown().await?;
    Ok(result(progress, started, retransmits))
}

/// Sends a request every 20 ms, whether or not earlier ones have been answered, until `stop`. So a slow answer does
/// not reduce the number of requests that meet the slowness.
pub(super) async fn send_regularly(
    stream: Stream,
    test: &Test,
    test_started: Instant,
    progress: &Arc<Progress>,
    mut stop: watch::Receiver<bool>,
) -> io::Result<StreamResult> {
    stream.set_nodelay()?;
    let started = now();
    let block = vec![REQUEST; test.request.max(1) as usize];
    let (mut from, mut to) = tokio::io::split(stream);
    let asked: Mutex<VecDeque<Instant>> = Mutex::default();
    let queue = || asked.lock().unwrap_or_else(PoisonError::into_inner);
    let asking = async {
        let mut ticks = tokio::time::interval(EVERY);
        loop {
            let due = tokio::select! {
                due = ticks.tick() => due.into_std(),
                // An error means that the test is over too.
                _ = stop.wait_for(|stop| *stop) => break,
            };
            let now = now();
            queue().push_back(if now > due + COARSE { due } else { now });
            to.write_all(&block).await?;
        }
        to.shutdown().await
    };
    let answering = async {
        let mut block = block.clone();
        loop {
            let first = from.read(&mut block).await?;
            if first == 0 {
                return io::Result::Ok(());
            }
            from.read_exact(&mut block[first..]).await?;
            let answered = now();
            let Some(asked) = queue().pop_front() else {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "an answer without a request"));
            };
            add(progress, &block);
            progress.answered(Sample { at: asked - test_started, latency: answered - asked });
        }
    };
    tokio::try_join!(asking, answering)?;
    Ok(result(progress, started, None))
}

/// Answers requests until the peer's FIN.
pub(super) async fn answer(
    mut stream: Stream,
    test: &Test,
    progress: &Arc<Progress>,
) -> io::Result<StreamResult> {
    let mut block = vec![0; test.request.max(1) as usize];
    stream.set_nodelay()?;
    let started = now();
    loop {
        // A FIN between two requests ends the test.
        let first = stream.read(&mut block).await?;
        if first == 0 {
            break;
        }
        stream.read_exact(&mut block[first..]).await?;
        stream.write_all(&block).await?;
        progress.add(block.len());
    }
    stream.shutdown().await?;
    Ok(result(progress, started, None))
}

/// Counts an answer, whose bytes are those of the request.
fn add(progress: &Progress, answer: &[u8]) {
    progress.add(answer.len());
    progress.add_differing(answer.iter().filter(|byte| **byte != REQUEST).count() as u64);
}

fn result(progress: &Progress, started: Instant, retransmits: Option<u64>) -> StreamResult {
    StreamResult {
        client_port: progress.client_port(),
        bytes: progress.bytes(),
        nanos: started.elapsed().as_nanos() as u64,
        retransmits,
        differing: progress.differing(),
    }
}
