//! What is shown: the last two answers of the gateway, and what the user has chosen.

use std::collections::{BTreeMap, VecDeque};

use headway_trunk::{LossStatus, PeerStatus, Status, StreamStatus};

/// Seconds of goodput that are kept for each peer.
const HISTORY: usize = 300;

/// By what streams are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Rate,
    Bytes,
    Age,
}

impl Order {
    pub(super) const ALL: [Self; 3] = [Self::Rate, Self::Bytes, Self::Age];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::Bytes => "bytes",
            Self::Age => "age",
        }
    }
}

/// Goodput to a peer and from it, in bits per second.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Goodput {
    pub(super) to_peer: f64,
    pub(super) from_peer: f64,
}

/// See the module's documentation.
pub(super) struct View {
    status: Status,
    before: Option<Status>,
    history: BTreeMap<String, VecDeque<u64>>,
    selected: usize,
    order: usize,
    paused: bool,
}

impl View {
    pub(super) fn new(status: Status) -> Self {
        Self { status, before: None, history: BTreeMap::new(), selected: 0, order: 0, paused: false }
    }

    /// The gateway has answered again.
    pub(super) fn update(&mut self, status: Status) {
        // Keys ask for another frame before the second is over: its rates would be those of an instant.
        if (0.0..0.5).contains(&(status.seconds - self.status.seconds)) {
            return;
        }
        // One that was restarted counts from zero.
        let is_same = status.seconds > self.status.seconds;
        let before = std::mem::replace(&mut self.status, status);
        self.before = is_same.then_some(before);
        self.selected = self.selected.min(self.status.peers.len().saturating_sub(1));
        for peer in &self.status.peers {
            let goodput = self.goodput(peer);
            let history = self.history.entry(peer.name.clone()).or_default();
            if history.len() == HISTORY {
                history.pop_front();
            }
            history.push_back((goodput.to_peer + goodput.from_peer) as u64);
        }
    }

    pub(super) fn status(&self) -> &Status {
        &self.status
    }

    pub(super) fn is_paused(&self) -> bool {
        self.paused
    }

    pub(super) fn pause(&mut self) {
        self.paused = !self.paused;
    }

    /// Another peer is selected: the next, or the one before.
    pub(super) fn select(&mut self, step: isize) {
        let last = self.status.peers.len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(step).min(last);
    }

    /// Streams are ordered by something else.
    pub(super) fn sort(&mut self, step: isize) {
        self.order = self.order.saturating_add_signed(step).min(Order::ALL.len() - 1);
    }

    pub(super) fn order(&self) -> Order {
        Order::ALL[self.order]
    }

    pub(super) fn selected(&self) -> (usize, Option<&PeerStatus>) {
        (self.selected, self.status.peers.get(self.selected))
    }

    /// The goodput of the selected peer, in both directions, second by second.
    pub(super) fn history(&self) -> Vec<u64> {
        let known = self.selected().1.and_then(|peer| self.history.get(&peer.name));
        known.map(|history| history.iter().copied().collect()).unwrap_or_default()
    }

    /// Since the answer before this one.
    pub(super) fn goodput(&self, peer: &PeerStatus) -> Goodput {
        let Some(before) = self.peer_before(peer) else { return Goodput::default() };
        self.rates((peer.bytes_to_peer, peer.bytes_from_peer), (before.bytes_to_peer, before.bytes_from_peer))
    }

    /// The shares of what was sent since the answer before that were lost: to damage, and to congestion or for unknown
    /// reasons.
    pub(super) fn shares_lost(&self, peer: &PeerStatus) -> Option<(f64, f64)> {
        let (now, before) = (peer.path?, self.peer_before(peer)?.path?);
        let sent = now.segments_sent.saturating_sub(before.segments_sent);
        let share = |of: fn(&LossStatus) -> u64| {
            (of(&now.losses).saturating_sub(of(&before.losses)) as f64 / sent as f64).min(1.0)
        };
        (sent > 0)
            .then(|| (share(LossStatus::damage), share(|losses| losses.congestion + losses.unexplained)))
    }

    /// The streams of a peer in the order chosen, with what they carry.
    pub(super) fn streams<'a>(&self, peer: &'a PeerStatus) -> Vec<(&'a StreamStatus, Goodput)> {
        let before: BTreeMap<u64, &StreamStatus> = self
            .peer_before(peer)
            .map(|peer| peer.streams.iter().map(|stream| (stream.id, stream)).collect())
            .unwrap_or_default();
        let with_rate = |stream: &'a StreamStatus| {
            // One that has just begun was at zero.
            let (to, from) =
                before.get(&stream.id).map_or((0, 0), |old| (old.bytes_to_peer, old.bytes_from_peer));
            (stream, self.rates((stream.bytes_to_peer, stream.bytes_from_peer), (to, from)))
        };
        let mut streams: Vec<_> = peer.streams.iter().map(with_rate).collect();
        let key = |(stream, rate): &(&StreamStatus, Goodput)| match self.order() {
            Order::Rate => rate.to_peer + rate.from_peer,
            Order::Bytes => (stream.bytes_to_peer + stream.bytes_from_peer) as f64,
            Order::Age => stream.seconds,
        };
        streams.sort_by(|a, b| key(b).total_cmp(&key(a)));
        streams
    }

    fn peer_before(&self, peer: &PeerStatus) -> Option<&PeerStatus> {
        self.before.as_ref()?.peers.iter().find(|before| before.name == peer.name)
    }

    fn rates(&self, now: (u64, u64), before: (u64, u64)) -> Goodput {
        let Some(old) = &self.before else { return Goodput::default() };
        let seconds = self.status.seconds - old.seconds;
        let rate = |now: u64, before: u64| now.saturating_sub(before) as f64 * 8.0 / seconds;
        Goodput { to_peer: rate(now.0, before.0), from_peer: rate(now.1, before.1) }
    }
}
