//! Half-open streams: those that wait for their destination. They have places of their own, which are shared fairly.
//!
//! Most destinations answer within a round trip, and those of a scan never do. So who is late gives way (RFC 4987, 3.4,
//! "recycling the oldest half-open TCB"): the oldest half-open stream of the client that has the most, of the peer that
//! has the most. Who has few of them is not touched, whatever others do.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

/// A client has this part of all places at most,
const PART_OF_A_CLIENT: usize = 16;
/// or as many as this, where that is more.
const LEAST_OF_A_CLIENT: usize = 32;
/// How long a half-open stream waits undisturbed by the host that opened it: a kernel's TCP sends its SYN three times within that.
const UNDISTURBED: Duration = Duration::from_secs(3);

/// Which gateway has the host that opened a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    /// This one.
    Near,
    /// The peer.
    Far,
}

/// The peer's number, and the side of the host.
type Group = (usize, Side);

/// A host; of IPv6 its network, in which it may have any address. `None`: not known.
type Client = Option<IpAddr>;

/// The half-open streams of all peers.
#[derive(Debug)]
pub(crate) struct HalfOpenStreams {
    most: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    used: usize,
    groups: BTreeMap<Group, Clients>,
}

/// Those of a group.
#[derive(Debug, Default)]
struct Clients {
    used: usize,
    of: BTreeMap<Client, BTreeMap<u64, Waiting>>,
    /// By how many each has, and by the age of its oldest.
    order: BTreeSet<(usize, Reverse<u64>, Client)>,
}

#[derive(Debug)]
struct Waiting {
    since: Instant,
    /// Dropped, it says that the stream has to give way.
    _stays: oneshot::Sender<()>,
}

impl HalfOpenStreams {
    /// At most `most`, at least one.
    pub(crate) fn new(most: usize) -> Self {
        Self { most, state: Mutex::default() }
    }

    /// A stream waits for its destination, until what this returns is dropped. Where that is one too many, another gives way.
    pub(crate) fn begin(self: &Arc<Self>, group: Group, client: Option<SocketAddr>) -> HalfOpen {
        let client = client.map(client_of);
        let (stays, displaced) = oneshot::channel();
        let mut state = self.lock();
        let number = state.next;
        state.next += 1;
        state.insert(group, client, number, Waiting { since: Instant::now(), _stays: stays });
        if state.count(group, client) > self.most_of_a_client() {
            state.displace(group, client);
        } else if state.used > self.most
            && let Some((group, client)) = state.greediest()
        {
            state.displace(group, client);
        }
        drop(state);
        HalfOpen { streams: self.clone(), group, client, number, displaced }
    }

    /// Whether another stream of this client would disturb none of its own that has just begun. Who is turned away has to try
    /// again by itself.
    pub(crate) fn may_begin(&self, group: Group, client: Option<SocketAddr>) -> bool {
        let state = self.lock();
        let Some(of) = state.groups.get(&group).and_then(|group| group.of.get(&client.map(client_of))) else {
            return true;
        };
        let is_undisturbed = |oldest: &Waiting| oldest.since.elapsed() < UNDISTURBED;
        of.len() < self.most_of_a_client() || !of.values().next().is_some_and(is_undisturbed)
    }

    /// How many of a peer there are.
    pub(crate) fn count(&self, peer: usize) -> usize {
        let state = self.lock();
        let of = |side| state.groups.get(&(peer, side)).map_or(0, |group| group.used);
        of(Side::Near) + of(Side::Far)
    }

    fn most_of_a_client(&self) -> usize {
        (self.most / PART_OF_A_CLIENT).max(LEAST_OF_A_CLIENT).min(self.most)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn insert(&mut self, group: Group, client: Client, number: u64, waiting: Waiting) {
        let clients = self.groups.entry(group).or_default();
        clients.change(client, |of| of.insert(number, waiting));
        clients.used += 1;
        self.used += 1;
    }

    /// Does nothing if it is not there.
    fn remove(&mut self, group: Group, client: Client, number: u64) {
        let Some(clients) = self.groups.get_mut(&group) else { return };
        if clients.change(client, |of| of.remove(&number)).is_some() {
            clients.used -= 1;
            self.used -= 1;
        }
    }

    fn count(&self, group: Group, client: Client) -> usize {
        self.groups.get(&group).and_then(|group| group.of.get(&client)).map_or(0, BTreeMap::len)
    }

    /// Who has the most, of those of equally many the one with the oldest stream.
    fn greediest(&self) -> Option<(Group, Client)> {
        let (&group, clients) = self.groups.iter().max_by_key(|(_, clients)| clients.used)?;
        clients.order.last().map(|&(_, _, client)| (group, client))
    }

    fn displace(&mut self, group: Group, client: Client) {
        let of = self.groups.get(&group).and_then(|group| group.of.get(&client));
        if let Some((&oldest, _)) = of.and_then(BTreeMap::first_key_value) {
            self.remove(group, client, oldest);
        }
    }
}

impl Clients {
    fn change<T>(&mut self, client: Client, change: impl FnOnce(&mut BTreeMap<u64, Waiting>) -> T) -> T {
        let place =
            |of: &BTreeMap<u64, Waiting>| of.keys().next().map(|&oldest| (of.len(), Reverse(oldest), client));
        let of = self.of.entry(client).or_default();
        if let Some(before) = place(of) {
            self.order.remove(&before);
        }
        let result = change(of);
        match place(of) {
            Some(now) => drop(self.order.insert(now)),
            None => drop(self.of.remove(&client)),
        }
        result
    }
}

/// A half-open stream, until this is dropped.
#[derive(Debug)]
pub(crate) struct HalfOpen {
    streams: Arc<HalfOpenStreams>,
    group: Group,
    client: Client,
    number: u64,
    displaced: oneshot::Receiver<()>,
}

impl HalfOpen {
    /// Waits until it has to give way. Cancel safe, and not to be called again.
    pub(crate) async fn displaced(&mut self) {
        // Nothing is ever sent: it is the sender's end that says it.
        let _ = (&mut self.displaced).await;
    }

    /// Whether its client has no more of them than a program that opens many at once.
    pub(crate) fn is_one_of_few(&self) -> bool {
        self.streams.lock().count(self.group, self.client) <= LEAST_OF_A_CLIENT
    }
}

impl Drop for HalfOpen {
    fn drop(&mut self) {
        self.streams.lock().remove(self.group, self.client, self.number);
    }
}

fn client_of(address: SocketAddr) -> IpAddr {
    match address.ip().to_canonical() {
        // RFC 4291, 2.5.4: the interface identifier has 64 bits.
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    const A: Group = (0, Side::Far);
    const B: Group = (1, Side::Far);

    fn client(number: u8) -> Option<SocketAddr> {
        Some(SocketAddr::from(([10, 0, 0, number], 40_000)))
    }

    fn is_displaced(stream: &mut HalfOpen) -> bool {
        stream.displaced.try_recv() == Err(oneshot::error::TryRecvError::Closed)
    }

    /// Which of them have had to give way.
    fn displaced(streams: &mut [HalfOpen]) -> Vec<usize> {
        streams.iter_mut().enumerate().filter_map(|(n, stream)| is_displaced(stream).then_some(n)).collect()
    }

    #[tokio::test]
    async fn the_oldest_of_the_greediest_client_of_the_greediest_peer_gives_way() {
        let all = Arc::new(HalfOpenStreams::new(8));
        let mut few: Vec<_> = (1..=2).map(|n| all.begin(A, client(n))).collect();
        let mut many: Vec<_> = (0..6).map(|_| all.begin(A, client(3))).collect();
        assert_eq!((displaced(&mut few), displaced(&mut many)), (vec![], vec![]));
        // Another client, and another peer.
        let mut late = vec![all.begin(A, client(4)), all.begin(B, client(5))];
        assert_eq!(displaced(&mut many), [0, 1]);
        // The one that has the most displaces its own.
        many.push(all.begin(A, client(3)));
        assert_eq!(displaced(&mut many), [0, 1, 2]);
        assert_eq!((displaced(&mut few), displaced(&mut late)), (vec![], vec![]));
        assert_eq!((all.count(0), all.count(1)), (7, 1));
        // The other peer takes as many as the first has, and no more.
        let mut others: Vec<_> = (0..20).map(|n| all.begin(B, client(n))).collect();
        assert_eq!((all.count(0), all.count(1)), (4, 4));
        assert_eq!(displaced(&mut others), (0..16).collect::<Vec<_>>());
        drop((few, many, late, others));
        let state = all.lock();
        assert_eq!(state.used, 0);
        assert!(state.groups.values().all(|group| group.of.is_empty() && group.order.is_empty()));
    }

    #[tokio::test]
    async fn a_client_has_its_part_at_most() {
        let all = Arc::new(HalfOpenStreams::new(4096));
        let mut many: Vec<_> = (0..1000).map(|_| all.begin(A, client(1))).collect();
        assert_eq!(displaced(&mut many), (0..744).collect::<Vec<_>>());
        assert!(!many[999].is_one_of_few() && all.begin(A, client(2)).is_one_of_few());
        // An address of IPv6 is not a client of its own.
        let of = |text: &str| Some(SocketAddr::new(text.parse().expect("an address"), 9));
        let in_one: Vec<_> = (0..300).map(|n| all.begin(A, of(&format!("2001:db8::{n:x}")))).collect();
        assert_eq!(all.count(0), 256 + 256);
        assert!(all.begin(A, of("2001:db8:0:1::")).is_one_of_few(), "another network");
        drop(in_one);
        let mapped = all.begin(A, of("::ffff:10.0.0.1"));
        assert!(!mapped.is_one_of_few());
    }

    #[tokio::test(start_paused = true)]
    async fn who_tries_again_by_itself_disturbs_no_stream_that_has_just_begun() {
        let all = Arc::new(HalfOpenStreams::new(32));
        let first = all.begin(A, client(1));
        advance(Duration::from_secs(2)).await;
        let _others: Vec<_> = (0..31).map(|_| all.begin(A, client(1))).collect();
        assert!(!all.may_begin(A, client(1)) && all.may_begin(A, client(2)) && all.may_begin(B, client(1)));
        advance(Duration::from_secs(1)).await;
        assert!(all.may_begin(A, client(1)));
        drop(first);
        assert!(all.may_begin(A, client(1)), "a place is free");
    }
}
