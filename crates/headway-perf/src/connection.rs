//! One data connection of a test that carries data, at either end.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use headway_transport::Stream;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout_at;

use super::pattern::Pattern;
use super::progress::Progress;
use super::protocol::{StreamResult, Test};

/// The time between two readings of the sender's state.
const NOTE_EVERY: Duration = Duration::from_millis(50);

#[expect(clippy::disallowed_methods, reason = "a live measurement")]
pub(super) fn now() -> Instant {
    Instant::now()
}

/// Sends for the duration, or the bytes, of the test, and waits until the peer has all of it.
pub(super) async fn send(
    mut stream: Stream,
    test: &Test,
    progress: &Arc<Progress>,
) -> io::Result<StreamResult> {
    let mut pattern = Pattern::new()?;
    let started = now();
    let until = started + Duration::from_nanos(test.nanos);
    let mut left = test.bytes.unwrap_or(u64::MAX);
    let mut noted = started;
    while left > 0 {
        let block = pattern.next()?;
        let len =
            block.len().min(test.length.max(1) as usize).min(usize::try_from(left).unwrap_or(usize::MAX));
        // A write may take longer than an interval.
        let wake = (noted + NOTE_EVERY).min(if test.bytes.is_some() { noted + NOTE_EVERY } else { until });
        if let Ok(written) = timeout_at(wake.into(), stream.write(&block[..len])).await {
            let written = written?;
            left -= written as u64;
            pattern.advance(written);
            progress.add(written);
        }
        let now = now();
        if now >= noted + NOTE_EVERY {
            progress.note(&stream);
            noted = now;
        }
        if test.bytes.is_none() && now >= until {
            break;
        }
    }
    let elapsed = if test.bytes.is_none() { started.elapsed() } else { Duration::ZERO };
    stream.shutdown().await?;
    confirm(&mut stream, progress).await?;
    let retransmits = progress.note(&stream);
    let elapsed = if test.bytes.is_none() { elapsed } else { started.elapsed() };
    Ok(StreamResult {
        client_port: progress.client_port(),
        bytes: progress.bytes(),
        nanos: elapsed.as_nanos() as u64,
        retransmits,
        differing: 0,
    })
}

/// The receiver's FIN confirms that all has arrived.
async fn confirm(stream: &mut Stream, progress: &Progress) -> io::Result<()> {
    let mut ticks = tokio::time::interval(NOTE_EVERY);
    let mut byte = [0];
    loop {
        tokio::select! {
            rest = stream.read(&mut byte) => return match rest? {
                0 => Ok(()),
                _ => Err(io::Error::new(io::ErrorKind::InvalidData, "unexpected data from the receiver")),
            },
            _ = ticks.tick() => {}
        }
        progress.note(stream);
    }
}

/// Receives until the peer's FIN, and compares what comes with what is sent.
pub(super) async fn receive(
    mut stream: Stream,
    test: &Test,
    progress: &Arc<Progress>,
) -> io::Result<StreamResult> {
    let mut buffer = vec![0; test.length.max(1 << 16) as usize];
    let mut pattern = Pattern::new()?;
    let started = now();
    loop {
        match stream.read(&mut buffer).await? {
            0 => break,
            n => {
                progress.add(n);
                progress.add_differing(pattern.differing(&buffer[..n])?);
            }
        }
    }
    let elapsed = started.elapsed();
    stream.shutdown().await?;
    Ok(StreamResult {
        client_port: progress.client_port(),
        bytes: progress.bytes(),
        nanos: elapsed.as_nanos() as u64,
        retransmits: None,
        differing: progress.differing(),
    })
}
