//! The streams to one peer: their congestion domain, and connections that are opened ahead of need.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use headway_net::{Stack, TcpStream};
use headway_tcp::DomainId;
use ipnet::IpNet;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use crate::policy::Destinations;
use crate::relay::{self, HostEnd};
use crate::request::{Destination, Outcome, Request};

/// The TCP port of streams, inside the tunnel.
pub(crate) const PORT: u16 = 1;
/// Connections that are open ahead of need: a new stream takes one, and saves the round trip of a handshake.
const FEWEST_SPARE: usize = 2;
const MOST_SPARE: usize = 64;
/// How long none is missed until fewer are kept.
const CALM: Duration = Duration::from_secs(30);
/// How long to wait after a connection could not be opened.
const PAUSE: Duration = Duration::from_secs(1);
/// How long a stream may take to open, the far gateway's connection included.
const OPEN_TIMEOUT: Duration = Duration::from_secs(150);

/// What a stream's opening came to.
pub(crate) type Opened = Result<TcpStream, Outcome>;

/// One peer.
pub(crate) struct Link {
    pub(crate) name: String,
    pub(crate) destinations: Destinations,
    /// The prefixes behind it.
    networks: Vec<IpNet>,
    stack: Stack,
    domain: DomainId,
    local: IpAddr,
    remote: SocketAddr,
    spare: Mutex<VecDeque<TcpStream>>,
    /// How many to keep.
    target: AtomicUsize,
    taken: Notify,
    /// Whether a task keeps them.
    is_kept: AtomicBool,
    pub(crate) counters: Counters,
}

/// Streams of a peer.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) open: AtomicUsize,
    pub(crate) opened: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) bytes_to_peer: AtomicU64,
    pub(crate) bytes_from_peer: AtomicU64,
    /// Packets that cross as they are.
    pub(crate) packets_to_peer: AtomicU64,
    pub(crate) packets_from_peer: AtomicU64,
    /// From it, and not delivered: against the rules, or not taken by the kernel.
    pub(crate) packets_refused: AtomicU64,
    /// From it, and not delivered: too late.
    pub(crate) packets_late: AtomicU64,
}

impl Link {
    pub(crate) fn new(
        (name, destinations, networks): (String, Destinations, Vec<IpNet>),
        stack: Stack,
        domain: DomainId,
        (local, remote): (IpAddr, IpAddr),
    ) -> Arc<Self> {
        Arc::new(Self {
            name,
            destinations,
            networks,
            stack,
            domain,
            local,
            remote: SocketAddr::new(remote, PORT),
            spare: Mutex::default(),
            target: AtomicUsize::new(FEWEST_SPARE),
            taken: Notify::new(),
            is_kept: AtomicBool::new(false),
            counters: Counters::default(),
        })
    }

    async fn connect(&self) -> io::Result<TcpStream> {
        self.stack.connect_in(self.domain, self.local, self.remote).await
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

    /// Opens a stream to `destination`. It is connected when this returns it.
    pub(crate) async fn open(&self, destination: &Destination) -> Opened {
        let opening = async {
            if let Some(stream) = self.take() {
                match ask(stream, destination).await {
                    // It was over already.
                    Err(_) => {}
                    Ok(opened) => return opened,
                }
            }
            let stream = self.connect().await.map_err(|error| Outcome::of(&error))?;
            ask(stream, destination).await.unwrap_or_else(|error| Err(Outcome::of(&error)))
        };
        let opened = timeout(OPEN_TIMEOUT, opening).await.unwrap_or(Err(Outcome::TimedOut));
        let counter = if opened.is_ok() { &self.counters.opened } else { &self.counters.refused };
        counter.fetch_add(1, Ordering::Relaxed);
        opened
    }

    /// Opens a connection and sends a request that has no answer.
    pub(crate) async fn request(&self, request: &Request) -> io::Result<TcpStream> {
        let mut stream = self.connect().await?;
        request.write(&mut stream).await?;
        Ok(stream)
    }

    /// Whether packets from `address` may come from this peer.
    pub(crate) fn is_behind(&self, address: IpAddr) -> bool {
        self.networks.iter().any(|net| net.contains(&address))
    }

    /// Joins a stream with a host's connection until both have ended, and counts it.
    pub(crate) async fn join(&self, host: impl HostEnd, stream: TcpStream) -> io::Result<()> {
        self.counters.open.fetch_add(1, Ordering::Relaxed);
        let joined = relay::join(host, stream).await;
        self.counters.open.fetch_sub(1, Ordering::Relaxed);
        let (to_peer, from_peer) = joined?;
        self.counters.bytes_to_peer.fetch_add(to_peer, Ordering::Relaxed);
        self.counters.bytes_from_peer.fetch_add(from_peer, Ordering::Relaxed);
        Ok(())
    }

    /// Keeps connections open ahead of need, as long as the stack runs. One task does; another ends at once.
    pub(crate) async fn keep_spare(self: Arc<Self>) {
        if self.is_kept.swap(true, Ordering::Relaxed) {
            return;
        }
        loop {
            let missing = {
                let spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
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
                let fewer = (self.target.load(Ordering::Relaxed) / 2).max(FEWEST_SPARE);
                self.target.store(fewer, Ordering::Relaxed);
                let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
                spare.retain(TcpStream::is_open);
                spare.truncate(fewer);
            }
        }
    }
}

/// Sends the request and waits for the answer. An error is the stream's own, before any answer.
async fn ask(mut stream: TcpStream, destination: &Destination) -> io::Result<Opened> {
    Request::Stream(destination.clone()).write(&mut stream).await?;
    Ok(match Outcome::read(&mut stream).await? {
        Outcome::Connected => Ok(stream),
        refused => Err(refused),
    })
}
