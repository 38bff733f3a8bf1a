//! How many streams there may be: open ones and half-open ones, of each peer.

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::half_open::{HalfOpen, HalfOpenStreams, Side};

/// The places of all peers' streams.
#[derive(Debug)]
pub(crate) struct AllPlaces {
    open: Arc<OpenStreams>,
    half_open: Arc<HalfOpenStreams>,
}

impl AllPlaces {
    /// At most `most` streams of all peers are open, and as many half-open.
    pub(crate) fn new(most: usize) -> Self {
        let open = OpenStreams { most, used: Mutex::default(), freed: Notify::new() };
        Self { open: Arc::new(open), half_open: Arc::new(HalfOpenStreams::new(most)) }
    }

    /// Those of another peer, which takes its part from the others.
    pub(crate) fn add_peer(&self) -> Places {
        let mut peers = self.open.lock();
        peers.push(Used { streams: 0, is_peer: true });
        Places { peer: peers.len() - 1, open: self.open.clone(), half_open: self.half_open.clone() }
    }
}

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
    /// By each peer.
    used: Mutex<Vec<Used>>,
    freed: Notify,
}

/// The open streams of a peer.
#[derive(Debug)]
struct Used {
    streams: usize,
    /// It may open others.
    is_peer: bool,
}

impl Places {
    /// For each of the peers ([`AllPlaces::new`]).
    #[cfg(test)]
    pub(crate) fn of_peers(peers: usize, most: usize) -> std::vec::IntoIter<Self> {
        let all = AllPlaces::new(most);
        (0..peers).map(|_| all.add_peer()).collect::<Vec<_>>().into_iter()
    }

    /// The peer opens no others: what is kept for it is free for others.
    pub(crate) fn give_up(&self) {
        self.open.lock()[self.peer].is_peer = false;
        self.open.freed.notify_waiters();
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

    fn take(&self, used: &mut [Used]) -> Option<OpenStream> {
        self.open.has_room(used, self.peer).then(|| {
            used[self.peer].streams += 1;
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

    /// How many streams are open or half-open, from before their first byte on.
    pub(crate) fn in_use(&self) -> usize {
        self.open.lock()[self.peer].streams + self.half_open_streams()
    }

    /// How many are half-open.
    pub(crate) fn half_open_streams(&self) -> usize {
        self.half_open.count(self.peer)
    }
}

impl OpenStreams {
    /// A peer gets what is kept for it, and what is kept for no one.
    fn has_room(&self, used: &[Used], peer: usize) -> bool {
        // As many are kept for each peer: together half of all.
        let peers = used.iter().filter(|used| used.is_peer).count();
        let kept = self.most.div_ceil(2 * peers.max(1));
        let kept_for_others: usize = used
            .iter()
            .enumerate()
            .filter(|(other, used)| *other != peer && used.is_peer)
            .map(|(_, used)| kept.saturating_sub(used.streams))
            .sum();
        let all: usize = used.iter().map(|used| used.streams).sum();
        all < self.most && (used[peer].streams < kept || all + kept_for_others < self.most)
    }

    async fn wait<T>(&self, mut get: impl FnMut(&mut [Used]) -> Option<T>) -> T {
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

    fn lock(&self) -> MutexGuard<'_, Vec<Used>> {
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
        self.streams.lock()[self.peer].streams -= 1;
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

    #[test]
    fn what_was_kept_for_a_peer_that_is_none_any_more_is_free() {
        let all = AllPlaces::new(8);
        let (first, second) = (all.add_peer(), all.add_peer());
        let open: Vec<_> = std::iter::from_fn(|| first.open()).collect();
        assert_eq!(open.len(), 6);
        second.give_up();
        assert_eq!(std::iter::from_fn(|| first.open()).collect::<Vec<_>>().len(), 2);
        let third = all.add_peer();
        assert!(!first.has_room() && third.has_room());
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
