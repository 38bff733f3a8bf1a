//! One data connection of a test, at either end.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout_at;

use super::protocol::{StreamResult, Test};
use crate::live::transport::Stream;

/// The counters of a running connection.
#[derive(Default)]
pub(super) struct Progress {
    pub(super) bytes: AtomicU64,
    pub(super) retransmits: AtomicU64,
    pub(super) cwnd: AtomicU64,
    /// Microseconds.
    pub(super) rtt: AtomicU64,
    /// Whether the last three are known.
    pub(super) is_known: AtomicBool,
}

impl Progress {
    fn add(&self, n: usize) {
        self.bytes.fetch_add(n as u64, Ordering::Relaxed);
    }

    fn note(&self, stream: &Stream) -> Option<u64> {
        let statistics = stream.statistics()?;
        self.retransmits.store(statistics.retransmissions, Ordering::Relaxed);
        self.cwnd.store(statistics.cwnd.into(), Ordering::Relaxed);
        let rtt = statistics.smoothed_rtt.map_or(0, headway_units::Duration::as_micros);
        self.rtt.store(rtt, Ordering::Relaxed);
        self.is_known.store(true, Ordering::Relaxed);
        Some(statistics.retransmissions)
    }
}

/// The number of writes between two readings of the clock.
const NOTE_EVERY: Duration = Duration::from_millis(50);

#[expect(clippy::disallowed_methods, reason = "a live measurement")]
fn now() -> Instant {
    Instant::now()
}

/// Sends for the duration, or the bytes, of the test, and waits until the peer has all of it.
pub(super) async fn send(
    mut stream: Stream,
    test: &Test,
    progress: &Arc<Progress>,
) -> io::Result<StreamResult> {
    let block = vec![0x55; test.length.max(1) as usize];
    let started = now();
    let until = started + Duration::from_nanos(test.nanos);
    let mut left = test.bytes.unwrap_or(u64::MAX);
    let mut noted = started;
    while left > 0 {
        let len = block.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let write = stream.write(&block[..len]);
        let written = if test.bytes.is_some() {
            write.await?
        } else {
            match timeout_at(until.into(), write).await {
                Ok(written) => written?,
                Err(_) => break,
            }
        };
        left -= written as u64;
        progress.add(written);
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
    // The receiver's FIN confirms that all has arrived.
    let rest = stream.read(&mut [0]).await?;
    if rest != 0 {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "unexpected data from the receiver"));
    }
    let retransmits = progress.note(&stream);
    let elapsed = if test.bytes.is_none() { elapsed } else { started.elapsed() };
    Ok(StreamResult {
        bytes: progress.bytes.load(Ordering::Relaxed),
        nanos: elapsed.as_nanos() as u64,
        retransmits,
        ..StreamResult::default()
    })
}

/// Receives until the peer's FIN.
pub(super) async fn receive(
    mut stream: Stream,
    test: &Test,
    progress: &Arc<Progress>,
) -> io::Result<StreamResult> {
    let mut buffer = vec![0; test.length.max(1 << 16) as usize];
    let started = now();
    loop {
        match stream.read(&mut buffer).await? {
            0 => break,
            n => progress.add(n),
        }
    }
    let elapsed = started.elapsed();
    stream.shutdown().await?;
    Ok(StreamResult {
        bytes: progress.bytes.load(Ordering::Relaxed),
        nanos: elapsed.as_nanos() as u64,
        ..StreamResult::default()
    })
}

/// Sends requests and waits for each answer; returns the latencies.
pub(super) async fn send_requests(
    mut stream: Stream,
    test: &Test,
    progress: &Arc<Progress>,
) -> io::Result<(StreamResult, Vec<Duration>)> {
    let mut block = vec![0x55; test.length.max(1) as usize];
    stream.set_nodelay()?;
    let started = now();
    let until = started + Duration::from_nanos(test.nanos);
    let mut times = Vec::new();
    let mut asked = started;
    while asked < until {
        stream.write_all(&block).await?;
        stream.read_exact(&mut block).await?;
        progress.add(block.len());
        let answered = now();
        times.push(answered - asked);
        asked = answered;
    }
    let retransmits = progress.note(&stream);
    stream.shutdown().await?;
    let bytes = progress.bytes.load(Ordering::Relaxed);
    let nanos = started.elapsed().as_nanos() as u64;
    Ok((StreamResult { bytes, nanos, retransmits, ..StreamResult::default() }, times))
}

/// Answers requests until the peer's FIN.
pub(super) async fn answer(
    mut stream: Stream,
    test: &Test,
    progress: &Arc<Progress>,
) -> io::Result<StreamResult> {
    let mut block = vec![0; test.length.max(1) as usize];
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
    let bytes = progress.bytes.load(Ordering::Relaxed);
    Ok(StreamResult { bytes, nanos: started.elapsed().as_nanos() as u64, ..StreamResult::default() })
}
