//! How many streams there may be: open ones and half-open ones, of each peer.

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::half_open::{HalfOpen, HalfOpenStreams, Side};

/// The places of one peer's streams.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    peer: usize,
    open: Arc<OpenStreams>,
    half_open: Arc<HalfOpenStreams>,
}

/// Streams of all peers that are open.
#[derive(Debug)]
struct OpenStreams {
    most: usize,
    /// As many are kept for each peer: together half of all.
    kept: usize,
    /// Of each peer.
    used: Mutex<Vec<usize>>,
    freed: Notify,
}

impl Places {
    /// For each of the peers. At most `most` streams of all peers are open, and as many half-open.
    pub(crate) fn of_peers(peers: usize, most: usize) -> impl Iterator<Item = Self> {
        let kept = most.div_ceil(2 * peers.max(1));
        let open = OpenStreams { most, kept, used: Mutex::new(vec![0; peers]), freed: Notify::new() };
        let (open, half_open) = (Arc::new(open), Arc::new(HalfOpenStreams::new(most)));
        (0..peers).map(move |peer| Self { peer, open: open.clone(), half_open: half_open.clone() })
    }

    /// How many streams of all peers may be open.
    pub(crate) fn most(&self) -> usize {
        self.open.most
    }

    /// Whether another stream of the peer may be open.
    pub(crate) fn has_room(&self) -> bool {
        self.open.has_room(&self.open.lock(), self.peer)
    }

    /// Waits until that is so. Cancel safe.
    pub(crate) async fn room(&self) {
        self.open.wait(|used| self.open.has_room(used, self.peer).then_some(())).await;
    }

    /// A stream is open, until what this returns is dropped; `None`: there are too many.
    pub(crate) fn open(&self) -> Option<OpenStream> {
        self.take(&mut self.open.lock())
    }

    /// As [`Places::open`], when there is a place. Cancel safe.
    pub(crate) async fn opened(&self) -> OpenStream {
        self.open.wait(|used| self.take(used)).await
    }

    fn take(&self, used: &mut [usize]) -> Option<OpenStream> {
        self.open.has_room(used, self.peer).then(|| {
            used[self.peer] += 1;
            OpenStream { peer: self.peer, streams: self.open.clone() }
        })
    }

    /// A stream of a host of that side is half-open ([`HalfOpenStreams::begin`]).
    pub(crate) fn half_open(&self, side: Side, client: Option<SocketAddr>) -> HalfOpen {
        self.half_open.begin((self.peer, side), client)
    }

    /// Whether it may be ([`HalfOpenStreams::may_begin`]).
    pub(crate) fn may_be_half_open(&self, side: Side, client: Option<SocketAddr>) -> bool {
        self.half_open.may_begin((self.peer, side), client)
    }

    /// How many are half-open.
    pub(crate) fn half_open_streams(&self) -> usize {
        self.half_open.count(self.peer)
    }
}

impl OpenStreams {
    /// A peer gets what is kept for it, and what is kept for no one.
    fn has_room(&self, used: &[usize], peer: usize) -> bool {
        let kept_for_others: usize = used
            .iter()
            .enumerate()
            .filter(|&(other, _)| other != peer)
            .map(|(_, &used)| self.kept.saturating_sub(used))
            .sum();
        let all: usize = used.iter().sum();
        all < self.most && (used[peer] < self.kept || all + kept_for_others < self.most)
    }

    async fn wait<T>(&self, mut get: impl FnMut(&mut [usize]) -> Option<T>) -> T {
        loop {
            let mut freed = pin!(self.freed.notified());
            // Before it is looked: what is freed after that is not missed.
            freed.as_mut().enable();
            let got = get(&mut self.lock());
            match got {
                Some(got) => return got,
                None => freed.await,
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<usize>> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of an open stream.
#[derive(Debug)]
pub(crate) struct OpenStream {
    peer: usize,
    streams: Arc<OpenStreams>,
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.streams.lock()[self.peer] -= 1;
        self.streams.freed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many streams each peer gets, one after the other.
    fn taken(peers: usize, most: usize) -> Vec<usize> {
        let all: Vec<Places> = Places::of_peers(peers, most).collect();
        let mut open = Vec::new();
        let mut take = |places: &Places| {
            let before = open.len();
            open.extend(std::iter::from_fn(|| places.open()));
            open.len() - before
        };
        let got = all.iter().map(&mut take).collect();
        assert!(all.iter().all(|places| !places.has_room()));
        got
    }

    #[test]
    fn a_peer_takes_what_is_kept_for_no_other() {
        for (peers, most, expected) in [
            (1, 1, &[1][..]),
            (1, 4096, &[4096]),
            (2, 8, &[6, 2]),
            (2, 2, &[1, 1]),
            (3, 4, &[2, 1, 1]),
            (4, 2, &[1, 1, 0, 0]),
            (4, 100, &[61, 13, 13, 13]),
        ] {
            assert_eq!(taken(peers, most), expected, "{peers} peers, {most} streams");
        }
    }

    #[tokio::test]
    async fn hosts_that_try_again_by_themselves_are_turned_away_at_the_limit() {
        let places = Places::of_peers(1, 2).next().expect("a peer");
        let client = Some(([10, 0, 0, 1], 40_000).into());
        assert_eq!(places.most(), 2);
        let _waiting = [1, 2].map(|_| {
            assert!(places.may_be_half_open(Side::Near, client));
            places.half_open(Side::Near, client)
        });
        assert!(!places.may_be_half_open(Side::Near, client));
    }

    #[tokio::test]
    async fn a_place_that_is_freed_goes_to_who_waits() {
        let places = Places::of_peers(1, 1).next().expect("a peer");
        let first = places.open().expect("a place");
        let waiting = {
            let places = places.clone();
            tokio::spawn(async move {
                places.room().await;
                places.opened().await
            })
        };
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished() && places.open().is_none());
        drop(first);
        let second = waiting.await.expect("a task");
        assert!(!places.has_room());
        drop(second);
        assert!(places.has_room());
    }
}
