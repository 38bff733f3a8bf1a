//! The streams to one peer: their congestion domain, and connections that are opened ahead of need.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use headway_net::{Stack, TcpStream};
use headway_tcp::DomainId;
use headway_tcp::congestion::DomainStatus;
use headway_trunk_proto::{PeerId, PublicKey};
use headway_units::Rate;
use ipnet::IpNet;
use tokio::sync::{Notify, Semaphore, oneshot, watch};
use tokio::time::{Instant, sleep, timeout};

use super::{
    Budget, Early, HalfOpen, Said,
    places::{OpenStream, Places},
    relay::{self, HostEnd},
};
use crate::config::{Endpoint, Rules};
use crate::request::{Ends, Outcome, Request};
use crate::status::{
    Advice, Adviser, Capacity, LossStatus, PathStatus, Recent, RecentStatus, Repeated, Sample, Streams,
};

/// The TCP port of streams, inside the tunnel.
pub(crate) const PORT: u16 = 1;
/// Connections that are open ahead of need: a new stream takes one, and saves the round trip of a handshake.
const FEWEST_SPARE: usize = 2;
pub(crate) const MOST_SPARE: usize = 64;
/// How long none is missed until fewer are kept.
const CALM: Duration = Duration::from_secs(30);
/// How long to wait after a connection could not be opened.
pub(super) const PAUSE: Duration = Duration::from_secs(1);
/// How long a stream may take to open: what its destination may take, and the link.
const OPEN_TIMEOUT: Duration = Duration::from_secs(90);
/// A peer that has not answered for so long is not waited for: more than two handshakes were lost on the longest path.
const AWAY: Duration = Duration::from_secs(10);
/// Names of a peer that are looked up at a time: each has a thread, of which `tokio` starts 512.
const MOST_LOOKUPS: usize = 64;

/// What a stream's opening came to.
pub(crate) type Opened = Result<(TcpStream, OpenStream), Outcome>;

/// What a link is made of.
pub(crate) struct NewLink {
    /// That of the peer in the tunnel.
    pub(crate) place: PeerId,
    pub(crate) name: String,
    pub(crate) key: PublicKey,
    pub(crate) endpoint: Option<Endpoint>,
    pub(crate) rules: Rules,
    pub(crate) networks: Vec<IpNet>,
    pub(crate) stack: (Stack, Arc<Budget>),
    pub(crate) places: Places,
    pub(crate) domain: DomainId,
    /// Whether packet trains measure the link before it is used.
    pub(crate) has_trains: bool,
    /// Our address in the tunnel, and the peer's.
    pub(crate) ends: (IpAddr, IpAddr),
}

/// One peer.
pub(crate) struct PeerLink {
    /// Its place in the tunnel.
    pub(crate) place: PeerId,
    pub(crate) name: String,
    pub(crate) key: PublicKey,
    /// Where it is, as the configuration has it.
    pub(crate) endpoint: Option<Endpoint>,
    /// It was removed.
    is_removed: watch::Sender<bool>,
    /// It does not answer: nothing is opened to it.
    is_away: watch::Sender<bool>,
    since: Instant,
    rules: RwLock<Rules>,
    /// The prefixes behind it.
    networks: Vec<IpNet>,
    stack: Stack,
    domain: DomainId,
    /// Packet trains are still to measure the link.
    needs_trains: AtomicBool,
    /// Of the peer's packet trains one exchange at a time is answered.
    pub(super) answers: Semaphore,
    local: IpAddr,
    remote: SocketAddr,
    spare: Mutex<VecDeque<TcpStream>>,
    /// How many to keep.
    target: AtomicUsize,
    /// One was taken, or all were reset.
    taken: Notify,
    /// Whether a task keeps them.
    is_kept: AtomicBool,
    pub(crate) counters: Counters,
    pub(crate) streams: Streams,
    pub(crate) places: Places,
    /// Names that are looked up for it.
    pub(crate) lookups: Arc<Semaphore>,
    budget: Arc<Budget>,
    recent: Mutex<Recent>,
    adviser: Adviser,
    /// Segments that were sent when the rate was last saved.
    saved_at: AtomicU64,
    /// The largest payload of a segment of the last stream, bytes.
    mss: AtomicU32,
    /// Of the connections over which packets come, in order or not: dropped when another takes its place.
    taking_packets: Mutex<[Option<oneshot::Sender<()>>; 2]>,
}

/// Streams of a peer.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) opened: AtomicU64,
    pub(crate) refused: AtomicU64,
    /// Whose host was gone before they were open.
    pub(crate) abandoned: AtomicU64,
    /// That gave way to others before they were open.
    pub(crate) displaced: AtomicU64,
    /// Packets that cross as they are.
    pub(crate) packets_to_peer: AtomicU64,
    pub(crate) packets_from_peer: AtomicU64,
    /// From it, and not delivered: against the rules, or not taken by the kernel.
    pub(crate) packets_refused: AtomicU64,
    /// From it, and not delivered: too late.
    pub(crate) packets_late: AtomicU64,
    /// Streams that this gateway had no room for, or failed to connect.
    pub(crate) over_limit: Repeated,
    /// Times at which no answer had come from it.
    pub(crate) no_answer: Repeated,
    /// Streams that were refused because it does not answer.
    away: Repeated,
    pub(crate) failed: Repeated,
}

impl PeerLink {
    pub(crate) fn new(link: NewLink) -> Arc<Self> {
        let NewLink { place, name, key, endpoint, rules, networks, stack, places, domain, has_trains, ends } =
            link;
        let ((stack, budget), (local, remote)) = (stack, ends);
        Arc::new(Self {
            place,
            name,
            key,
            endpoint,
            is_removed: watch::Sender::new(false),
            is_away: watch::Sender::new(false),
            since: Instant::now(),
            rules: RwLock::new(rules),
            networks,
            stack,
            domain,
            needs_trains: AtomicBool::new(has_trains),
            answers: Semaphore::new(1),
            local,
            remote: SocketAddr::new(remote, PORT),
            spare: Mutex::default(),
            target: AtomicUsize::new(FEWEST_SPARE),
            taken: Notify::new(),
            is_kept: AtomicBool::new(false),
            counters: Counters::default(),
            streams: Streams::default(),
            places,
            lookups: Arc::new(Semaphore::new(MOST_LOOKUPS)),
            budget,
            recent: Mutex::default(),
            adviser: Adviser::default(),
            saved_at: AtomicU64::new(0),
            mss: AtomicU32::new(0),
            taking_packets: Mutex::default(),
        })
    }

    /// The peer is removed: what was opened ahead is given up, and nothing is opened.
    pub(crate) fn remove(&self) {
        self.is_removed.send_replace(true);
        self.places.give_up();
        let spare = std::mem::take(&mut *self.spare.lock().unwrap_or_else(PoisonError::into_inner));
        spare.iter().for_each(TcpStream::reset);
    }

    /// Waits until that is so. Cancel safe.
    pub(crate) async fn removed(&self) {
        // The sender is this link's own.
        let _ = self.is_removed.subscribe().wait_for(|is_removed| *is_removed).await;
    }

    /// What is known of its answers: for how many seconds handshakes have had none, and whether there is a session.
    pub(crate) fn set_away(&self, tried: f64, has_session: bool) {
        let is_away = tried >= AWAY.as_secs_f64() || !has_session && self.since.elapsed() >= AWAY;
        self.is_away.send_if_modified(|before| std::mem::replace(before, is_away) != is_away);
    }

    /// Whether it does not answer.
    pub(crate) fn is_away(&self) -> bool {
        *self.is_away.borrow()
    }

    /// Waits until it does not answer. Cancel safe.
    async fn away(&self) {
        // The sender is this link's own.
        let _ = self.is_away.subscribe().wait_for(|is_away| *is_away).await;
    }

    /// Whether its streams may go to `address`.
    pub(crate) fn allows(&self, address: IpAddr) -> bool {
        self.rules.read().unwrap_or_else(PoisonError::into_inner).destinations.allow(address)
    }

    /// Whether `address` is told the client's address, by the PROXY protocol.
    pub(crate) fn is_told_clients(&self, address: IpAddr) -> bool {
        let rules = self.rules.read().unwrap_or_else(PoisonError::into_inner);
        rules.proxy_protocol.iter().any(|net| net.contains(&address.to_canonical()))
    }

    /// Other rules, for new streams. Says whether they differ.
    pub(crate) fn set_rules(&self, rules: Rules) -> bool {
        let mut place = self.rules.write().unwrap_or_else(PoisonError::into_inner);
        let differ = *place != rules;
        *place = rules;
        differ
    }

    /// Whether there is memory for another stream.
    pub(crate) fn has_memory(&self) -> bool {
        !self.budget.is_exhausted()
    }

    /// Opens a connection. Those that were being opened when the peer was restarted end like all others; its new process
    /// has nothing of them, and takes another.
    pub(super) async fn connect(&self) -> io::Result<TcpStream> {
        loop {
            if *self.is_removed.borrow() {
                return Err(io::ErrorKind::HostUnreachable.into());
            }
            match self.stack.connect_in(self.domain, self.local, self.remote).await {
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                opened => return opened,
            }
        }
    }

    fn take(&self) -> Option<TcpStream> {
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        // One that the peer's restart has ended is of no use.
        spare.retain(TcpStream::is_open);
        let taken = spare.pop_front();
        drop(spare);
        if taken.is_none() {
            let more = self.target.load(Ordering::Relaxed).saturating_mul(2).min(MOST_SPARE);
            self.target.store(more, Ordering::Relaxed);
        }
        self.taken.notify_one();
        taken
    }

    /// Opens a stream, unless its host is `gone` before. It is connected when this returns it.
    pub(crate) async fn open(
        &self,
        ends: &Ends,
        mut half_open: HalfOpen,
        gone: impl Future<Output = ()>,
        early: &mut Early<'_>,
    ) -> Opened {
        if !self.has_memory() {
            self.counters.refused.fetch_add(1, Ordering::Relaxed);
            return Err(Outcome::Failed);
        }
        let may_take = half_open.is_one_of_few();
        let opening = async {
            let stream = self.ask_for(ends, may_take, early).await?;
            Ok((stream, self.places.opened().await))
        };
        // What is dropped here is reset, and the far gateway gives up its connection.
        let (counter, opened) = tokio::select! {
            opened = timeout(OPEN_TIMEOUT, opening) => {
                let opened = opened.unwrap_or(Err(Outcome::TimedOut));
                (if opened.is_ok() { &self.counters.opened } else { &self.counters.refused }, opened)
            }
            () = gone => (&self.counters.abandoned, Err(Outcome::TimedOut)),
            () = half_open.displaced() => (&self.counters.displaced, Err(Outcome::TimedOut)),
            () = self.away() => {
                if let Some(times) = self.counters.away.happened() {
                    tracing::warn!(peer = self.name, times, "connections are refused: the peer does not answer");
                }
                (&self.counters.refused, Err(Outcome::HostUnreachable))
            }
        };
        counter.fetch_add(1, Ordering::Relaxed);
        opened
    }

    /// Asks the far gateway for it. Who opens many at once leaves the connections that were opened ahead to others.
    async fn ask_for(
        &self,
        ends: &Ends,
        may_take: bool,
        early: &mut Early<'_>,
    ) -> Result<TcpStream, Outcome> {
        let mut spare = if may_take { self.take() } else { None };
        let mut may_be_reset = true;
        loop {
            let is_spare = spare.is_some();
            let stream = match spare.take() {
                Some(stream) => stream,
                None => self.connect().await.map_err(|error| Outcome::of(&error))?,
            };
            match ask(stream, ends, early).await {
                Ok(answered) => return answered,
                Err(error) if early.was_sent() => return Err(Outcome::of(&error)),
                // It was over already.
                Err(_) if is_spare => {}
                // The peer was restarted before it answered. One that ends resets its connections before it says so.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset && may_be_reset => {
                    may_be_reset = false;
                }
                Err(error) => return Err(Outcome::of(&error)),
            }
        }
    }

    /// Sends a request that has no answer, over a connection that was opened ahead if there is one.
    pub(crate) async fn request(&self, request: &Request) -> io::Result<TcpStream> {
        if let Some(mut stream) = self.take()
            && request.write(&mut stream).await.is_ok()
        {
            return Ok(stream);
        }
        let mut stream = self.connect().await?;
        request.write(&mut stream).await?;
        Ok(stream)
    }

    /// How many bytes a peer may have under way in one stream.
    pub(crate) fn window(&self) -> usize {
        self.stack.profile().receive_buffer
    }

    /// Packets of the peer come over another connection: what this returns for the one before it is over. A peer has one of
    /// each kind, so what waits for its order is bounded.
    pub(crate) fn replaces_packets(&self, unordered: bool) -> oneshot::Receiver<()> {
        let (sender, replaced) = oneshot::channel();
        let mut taking = self.taking_packets.lock().unwrap_or_else(PoisonError::into_inner);
        taking[usize::from(unordered)] = Some(sender);
        replaced
    }

    /// Whether packets from `address` may come from this peer.
    pub(crate) fn is_behind(&self, address: IpAddr) -> bool {
        self.networks.iter().any(|net| net.contains(&address))
    }

    /// Joins a stream with a host's connection, from which `said` was taken already, until both have ended, and counts it.
    pub(crate) async fn join(
        &self,
        host: impl HostEnd,
        said: Said,
        (stream, _place): (TcpStream, OpenStream),
        ends: Ends,
    ) -> io::Result<()> {
        if let Ok(statistics) = stream.statistics() {
            self.mss.store(statistics.mss, Ordering::Relaxed);
        }
        let meter = self.streams.begin(ends);
        relay::join(host, said, stream, &meter).await
    }

    /// What is known of all that is sent to the peer; `None`: the stack has ended.
    fn domain(&self) -> Option<DomainStatus> {
        self.stack.domain_status(self.domain).ok()
    }

    /// The congestion window of all that is sent to the peer, bytes.
    pub(super) fn window_to_peer(&self) -> u32 {
        self.domain().map_or(0, |domain| domain.window)
    }

    /// Whether anything was sent to the peer that shows what the link carries.
    pub(super) fn has_measured(&self) -> bool {
        self.domain().is_none_or(|domain| domain.bandwidth.is_some())
    }

    /// Whether our address in the tunnel is lower than the peer's.
    pub(super) fn is_lower(&self) -> bool {
        self.local < self.remote.ip()
    }

    /// Whether packet trains are still to measure the link: once.
    pub(super) fn begins_trains(&self) -> bool {
        self.needs_trains.swap(false, Ordering::Relaxed)
    }

    /// Whether no program uses the link.
    pub(super) fn is_unused(&self) -> bool {
        self.places.in_use() == 0
    }

    /// What is known of the forward path.
    pub(crate) fn path(&self) -> Option<PathStatus> {
        let domain = self.domain()?;
        let path = self.stack.path(self.local, self.remote.ip())?;
        let attributed = path.ledger.attributed();
        Some(PathStatus {
            smoothed_rtt_seconds: path.ledger.smoothed_rtt().map(headway_units::Duration::as_secs_f64),
            min_rtt_seconds: path.ledger.min_rtt().map(headway_units::Duration::as_secs_f64),
            congestion_window_bytes: domain.window,
            in_flight_bytes: domain.pipe,
            delivery_rate_bits_per_second: domain.bandwidth.map(Rate::bits_per_second),
            segments_sent: path.transmissions(),
            ecn_marks: attributed.marks,
            sees_others: path.ledger.sees_others(),
            losses: LossStatus {
                announced: attributed.reported,
                counted: attributed.explained,
                inferred: attributed.damage.saturating_sub(attributed.explained),
                congestion: attributed.congestion,
                unexplained: attributed.unknown,
            },
        })
    }

    /// What whoever runs the gateway should know of the path to it.
    pub(crate) fn advice(&self) -> Option<Advice> {
        Advice::of(&self.path()?, self.stack.profile().features.own_path)
    }

    /// What the link carries and its minimum RTT, if anything was sent since this was last asked.
    pub(crate) fn newly_measured(&self) -> Option<(Rate, headway_units::Duration)> {
        let bandwidth = self.domain()?.bandwidth?;
        let path = self.stack.path(self.local, self.remote.ip())?;
        let sent = path.transmissions();
        if self.saved_at.swap(sent, Ordering::Relaxed) == sent {
            return None;
        }
        Some((bandwidth, path.ledger.min_rtt()?))
    }

    /// Takes a sample of what is carried and lost, `at` seconds after the start.
    pub(crate) fn sample(&self, at: f64) {
        let (to_peer, from_peer) = self.streams.carried();
        let path = self.path().unwrap_or_default();
        let damaged = path.losses.damage();
        let sample = Sample { at, to_peer, from_peer, segments: path.segments_sent, damaged };
        self.recent.lock().unwrap_or_else(PoisonError::into_inner).add(sample);
        self.adviser.advise(&self.name, self.advice());
    }

    /// What was carried and lost in the last seconds. `mtu`: the length of the link's longest packet in bytes.
    pub(crate) fn recent(&self, mtu: u16) -> Option<RecentStatus> {
        let mss = self.mss.load(Ordering::Relaxed);
        let rate = self.rules.read().unwrap_or_else(PoisonError::into_inner).link_rate;
        let capacity = rate.filter(|_| mss > 0).map(|link| {
            let payload = f64::from(mss) / f64::from(mtu);
            Capacity { link, payload }
        });
        self.recent.lock().unwrap_or_else(PoisonError::into_inner).status(capacity)
    }

    /// The peer was restarted: connections are opened in place of those that were reset, and with them a session, by which a peer that
    /// does not know our address finds us again.
    pub(crate) fn on_restarted(&self) {
        self.taken.notify_one();
    }

    /// Keeps connections open ahead of need, as long as the stack runs. One task does; another ends at once.
    pub(crate) async fn keep_spare(self: Arc<Self>) {
        if self.is_kept.swap(true, Ordering::Relaxed) {
            return;
        }
        tokio::select! {
            () = self.removed() => {}
            () = self.clone().open_spare() => {}
        }
    }

    async fn open_spare(self: Arc<Self>) {
        loop {
            let missing = {
                let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
                spare.retain(TcpStream::is_open);
                self.target.load(Ordering::Relaxed).saturating_sub(spare.len())
            };
            let mut opening = tokio::task::JoinSet::new();
            for _ in 0..missing {
                let link = self.clone();
                opening.spawn(async move { link.connect().await });
            }
            let mut failed = false;
            while let Some(opened) = opening.join_next().await {
                match opened {
                    Ok(Ok(stream)) => {
                        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
                        spare.push_back(stream);
                    }
                    _ => failed = true,
                }
            }
            if failed {
                // There is no session yet, or the link is down.
                sleep(PAUSE).await;
            } else if timeout(CALM, self.taken.notified()).await.is_err() {
                let fewer = fewer_spare(self.target.load(Ordering::Relaxed));
                self.target.store(fewer, Ordering::Relaxed);
                self.spare.lock().unwrap_or_else(PoisonError::into_inner).truncate(fewer);
            }
        }
    }
}

/// How many of `target` are kept open where none was taken for a while.
fn fewer_spare(target: usize) -> usize {
    (target / 2).max(FEWEST_SPARE)
}

/// Sends the request, and what the host says early, and waits for the answer. An error is the stream's own, before any answer.
async fn ask(
    stream: TcpStream,
    ends: &Ends,
    early: &mut Early<'_>,
) -> io::Result<Result<TcpStream, Outcome>> {
    // The far gateway may have connected when this is given up.
    stream.set_abortive(true);
    relay::set_dscp(&stream, ends.dscp);
    let (mut answers, mut words) = tokio::io::split(stream);
    Request::Stream(ends.clone()).write(&mut words).await?;
    let answer = tokio::select! {
        answer = Outcome::read(&mut answers) => answer?,
        error = early.send(&mut words) => return Err(error),
    };
    Ok(match answer {
        Outcome::Connected => Ok(answers.unsplit(words)),
        refused => Err(refused),
    })
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpStream as Socket;

    use super::*;
    use crate::request::Destination;
    use crate::stream::linked::{Linked, soon};

    fn ends() -> Ends {
        let destination = Destination::Address(([10, 2, 0, 1], 80).into());
        Ends { client: None, destination, dscp: headway_wire::Dscp::DEFAULT }
    }

    async fn asked(linked: &Linked) -> TcpStream {
        let (mut stream, _) = linked.listener.accept().await.expect("a connection");
        assert_eq!(Request::read(&mut stream).await.expect("a request"), Some(Request::Stream(ends())));
        stream
    }

    #[tokio::test]
    async fn a_request_that_was_reset_is_sent_once_more() {
        for (resets, opens) in [(1, true), (2, false)] {
            let linked = Linked::new();
            let far = async {
                for _ in 0..resets {
                    asked(&linked).await.reset();
                }
                if opens {
                    let mut stream = asked(&linked).await;
                    stream.write_u8(Outcome::Connected as u8).await.expect("an answer");
                    // Its other end must get it first.
                    stream.failed().await;
                }
            };
            let ends = ends();
            let near = async { linked.near.ask_for(&ends, true, &mut Early::none()).await.map(drop) };
            let (opened, ()) = soon(async { tokio::join!(near, far) }).await;
            assert_eq!(opened.is_ok(), opens, "{resets}");
        }
    }

    #[tokio::test]
    async fn a_request_that_ends_without_an_answer_is_not_sent_again() {
        let linked = Linked::new();
        let far = async { asked(&linked).await.shutdown().await };
        let ends = ends();
        let near = async { linked.near.ask_for(&ends, true, &mut Early::none()).await.map(drop) };
        let (opened, ended) = soon(async { tokio::join!(near, far) }).await;
        ended.expect("an end");
        assert!(opened.is_err());
    }

    /// A host that believes itself connected, and the end of its connection here.
    async fn host() -> (Socket, Socket) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let host = Socket::connect(listener.local_addr().expect("an address")).await.expect("a connection");
        (host, listener.accept().await.expect("a connection").0)
    }

    #[tokio::test]
    async fn what_a_host_says_early_is_there_before_the_answer_and_once() {
        let linked = Linked::new();
        let (mut host, taken) = host().await;
        // More than goes early.
        let said: Vec<u8> = (0..100_000_u32).map(|n| n as u8).collect();
        let near = async {
            let (ends, mut early) = (ends(), Early::of(&taken));
            let stream = linked.near.ask_for(&ends, true, &mut early).await.expect("an answer");
            let (said, place) = (early.said(), linked.near.places.opened().await);
            linked.near.join(taken, said, (stream, place), ends).await.expect("an end");
        };
        let far = async {
            let mut stream = asked(&linked).await;
            let mut first = [0; 4096];
            stream.read_exact(&mut first).await.expect("what was said early");
            stream.write_u8(Outcome::Connected as u8).await.expect("an answer");
            stream.shutdown().await.expect("open");
            let mut got = first.to_vec();
            stream.read_to_end(&mut got).await.expect("the rest");
            assert_eq!(got, said);
        };
        let client = async {
            host.write_all(&said).await.expect("open");
            host.shutdown().await.expect("open");
        };
        soon(async { tokio::join!(near, far, client) }).await;
        assert_eq!(linked.near.streams.carried().0, 100_000);
    }

    #[tokio::test]
    async fn what_may_have_arrived_is_not_sent_again() {
        let linked = Linked::new();
        let (mut host, taken) = host().await;
        host.write_all(b"once").await.expect("open");
        let far = async {
            let mut stream = asked(&linked).await;
            stream.read_exact(&mut [0; 4]).await.expect("what was said early");
            stream.reset();
        };
        let ends = ends();
        let near = async { linked.near.ask_for(&ends, true, &mut Early::of(&taken)).await.map(drop) };
        let (opened, ()) = soon(async { tokio::join!(near, far) }).await;
        assert!(opened.is_err());
    }

    #[tokio::test]
    async fn connections_are_open_ahead_of_need() {
        let linked = Linked::new();
        let kept = tokio::spawn(linked.near.clone().keep_spare());
        let spare = || linked.near.spare.lock().expect("a test").len();
        soon(async {
            while spare() < FEWEST_SPARE {
                tokio::task::yield_now().await;
            }
        })
        .await;
        assert_eq!(spare(), FEWEST_SPARE);
        kept.abort();
        assert!(linked.near.take().is_some_and(|stream| stream.is_open()));
        assert_eq!(spare(), FEWEST_SPARE - 1);
    }

    #[test]
    fn half_of_the_spare_connections_are_given_up_and_two_are_kept() {
        assert_eq!([64, 9, 5, 4, 3, 2].map(fewer_spare), [32, 4, 2, 2, 2, 2]);
    }

    #[tokio::test]
    async fn what_the_link_could_carry_is_known_with_the_first_stream() {
        let link = Linked::new().near;
        let bound = |at| {
            link.sample(at);
            link.recent(1500).and_then(|recent| recent.bound_bits_per_second)
        };
        assert_eq!((bound(0.0), bound(1.0)), (None, None), "no stream yet");
        link.mss.store(1200, Ordering::Relaxed);
        assert_eq!(bound(2.0), Some(8_000_000.0));
    }
}
