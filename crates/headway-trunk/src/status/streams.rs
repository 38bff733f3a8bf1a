//! The streams to a peer that are open now, and what each has carried.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::Instant;

use super::StreamStatus;
use crate::stream::request::Ends;

/// The streams of one peer, and what all of them have carried.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    next: AtomicU64,
    open: Mutex<BTreeMap<u64, Arc<Counted>>>,
    /// Bytes to the peer, and from it, of ended streams too.
    carried: Carried,
}

#[derive(Debug, Default)]
struct Carried {
    to_peer: AtomicU64,
    from_peer: AtomicU64,
}

#[derive(Debug)]
struct Counted {
    ends: Ends,
    since: Instant,
    carried: Carried,
}

impl Streams {
    /// A stream is open, until what this returns is dropped.
    pub(crate) fn begin(&self, ends: Ends) -> Meter<'_> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let stream = Arc::new(Counted { ends, since: Instant::now(), carried: Carried::default() });
        self.lock().insert(id, stream.clone());
        Meter { streams: self, id, stream }
    }

    /// How many are open.
    pub(crate) fn open(&self) -> usize {
        self.lock().len()
    }

    /// Bytes that all have carried: to the peer, and from it.
    pub(crate) fn carried(&self) -> (u64, u64) {
        self.carried.get()
    }

    /// Each one that is open, the oldest first.
    pub(crate) fn list(&self) -> Vec<StreamStatus> {
        let of = |(&id, stream): (&u64, &Arc<Counted>)| {
            let (bytes_to_peer, bytes_from_peer) = stream.carried.get();
            StreamStatus {
                id,
                client: stream.ends.client,
                destination: stream.ends.destination.to_string(),
                seconds: stream.since.elapsed().as_secs_f64(),
                bytes_to_peer,
                bytes_from_peer,
            }
        };
        self.lock().iter().map(of).collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<u64, Arc<Counted>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Carried {
    fn get(&self) -> (u64, u64) {
        (self.to_peer.load(Ordering::Relaxed), self.from_peer.load(Ordering::Relaxed))
    }
}

/// Counts what one stream carries.
pub(crate) struct Meter<'a> {
    streams: &'a Streams,
    id: u64,
    stream: Arc<Counted>,
}

impl Meter<'_> {
    /// Bytes were written towards the peer.
    pub(crate) fn count_sent(&self, bytes: usize) {
        for carried in [&self.stream.carried, &self.streams.carried] {
            carried.to_peer.fetch_add(bytes as u64, Ordering::Relaxed);
        }
    }

    /// Bytes of the peer's were read.
    pub(crate) fn count_received(&self, bytes: usize) {
        for carried in [&self.stream.carried, &self.streams.carried] {
            carried.from_peer.fetch_add(bytes as u64, Ordering::Relaxed);
        }
    }
}

impl Drop for Meter<'_> {
    fn drop(&mut self) {
        self.streams.lock().remove(&self.id);
    }
}
