//! A running gateway.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration as StdDuration, SystemTime, UNIX_EPOCH};

use headway_net::{Clock, Stack, StackConfig, TunnelMonitor};
use headway_tcp::congestion::StartEstimate;
use headway_trunk_proto::{Event, FlightRecorder, PublicKey, TunnelConfig as TunnelSettings};
use tokio::sync::{Mutex as AsyncMutex, mpsc};
use tokio::task::JoinSet;
use tokio::time::{Instant, interval};

use crate::config::{Networks, Peer, Settings, fixed_keys};
use crate::entry::{
    Entries, Tun,
    redirection::{self, Redirection},
    tun,
};
use crate::link::Link;
use crate::packets::{self, Delivery, PacketQueue};
use crate::saved_rates::{SavedRate, SavedRates, today};
use crate::status::{ArrivedStatus, PacketStatus, PeerStatus, Status};
use crate::stream::{Budget, PORT, PeerLink, Places, stream_profile};
use crate::{Config, Reloaded, TrunkError, exit, no_session};

/// Connections of a peer that wait to be accepted.
const BACKLOG: usize = 1024;
/// How long the end of a gateway may take: what is written is sent, and the peers are told.
const GRACE: StdDuration = StdDuration::from_secs(2);
/// How often events of the tunnel are looked for.
const EVENTS_EVERY: StdDuration = StdDuration::from_millis(250);

/// How often a sample is taken of what is carried and lost.
const SAMPLE_EVERY: StdDuration = StdDuration::from_secs(1);

/// How often rates are saved: of a gateway that is killed, the last minute's are lost.
const SAVE_EVERY: StdDuration = StdDuration::from_secs(60);

/// How often the memory of streams is looked at.
const MEMORY_EVERY: StdDuration = StdDuration::from_millis(100);

/// A running gateway. It stops when it is dropped; [`Gateway::close`] tells its peers.
pub struct Gateway {
    public: PublicKey,
    /// The UDP address of its tunnel; `None` over a modem.
    listen: Option<SocketAddr>,
    /// The modem of its tunnel.
    modem: Option<String>,
    stack: Stack,
    /// The TCP of the hosts that are routed into the TUN.
    hosts: Option<Stack>,
    monitor: TunnelMonitor,
    links: Vec<Arc<PeerLink>>,
    mtu: u16,
    since: Instant,
    entries: Mutex<Entries>,
    budget: Arc<Budget>,
    recorders: Vec<FlightRecorder>,
    redirection: Mutex<Redirection>,
    /// The configuration that is in force.
    current: Mutex<(Config, Settings)>,
    /// Packets to each peer that wait; none without a TUN.
    queues: Vec<[Arc<PacketQueue>; 2]>,
    /// What the links carried, for the next start.
    saved: Option<Arc<Mutex<SavedRates>>>,
    /// Why it cannot go on.
    failures: AsyncMutex<mpsc::Receiver<TrunkError>>,
    tasks: JoinSet<()>,
}

impl Gateway {
    /// Starts the gateway: its tunnel, and its listeners. It needs a `tokio` runtime.
    ///
    /// # Errors
    ///
    /// The configuration cannot be used, or an address is in use.
    pub fn start(config: &Config) -> Result<Self, TrunkError> {
        let settings = config.settings()?;
        let public = settings.secret.public();
        let mut tunnel = TunnelSettings::new(settings.secret.clone(), Box::new(random));
        tunnel.epoch = epoch();
        tunnel.peers = settings.peers.iter().map(|peer| peer.tunnel.clone()).collect();
        let Link { carrier, listen, mtu, monitor, addresses, recorders } =
            Link::open(config, &settings, tunnel)?;
        let profile = Some(stream_profile(settings.outage, config.gateway.own_path));
        let stack = Stack::start(carrier, StackConfig { addresses, profile, ..StackConfig::default() })?;

        let most_streams = config.gateway.max_streams;
        let saved = config.gateway.state_file.clone().map(SavedRates::load);
        let start = |peer: &Peer| match peer.rules.link_rate {
            Some(rate) => Some(StartEstimate::told(rate)),
            None => saved.as_ref()?.estimate(&peer.tunnel.key.to_string(), stack.now(), today()),
        };
        let starts: Vec<_> = settings.peers.iter().map(start).collect();
        let named = |peer: &Peer| (peer.name.clone(), peer.rules.clone(), peer.networks.clone());
        let peers: Vec<_> = settings.peers.iter().map(named).collect();
        let networks = Networks::new(settings.peers.iter().map(|peer| &peer.networks[..]));
        let mut delivery = None;
        let tun = match &settings.tun {
            None => None,
            Some(taken) => {
                let opened = Tun::open(&taken.settings, &networks, most_streams)?;
                let writer = opened.writer().map_err(TrunkError::Ended)?;
                let write = Box::new(move |packet: &[u8]| writer.write(packet));
                delivery = Some(Arc::new(Delivery { write, deadline: taken.deadline }));
                Some(opened)
            }
        };
        let (failed, failures) = mpsc::channel(1);
        let mut gateway = Self {
            public,
            listen,
            modem: settings.modem.as_ref().map(|modem| modem.link.to_string()),
            stack,
            hosts: tun.as_ref().map(Tun::stack),
            monitor,
            links: Vec::new(),
            mtu,
            since: Instant::now(),
            entries: Mutex::default(),
            budget: Arc::new(Budget::new(settings.memory)),
            recorders,
            redirection: Mutex::default(),
            current: Mutex::new((config.clone(), settings)),
            queues: Vec::new(),
            saved: saved.map(|saved| Arc::new(Mutex::new(saved))),
            failures: AsyncMutex::new(failures),
            tasks: JoinSet::new(),
        };
        let inner: Vec<_> = gateway.monitor.peers().iter().map(|peer| peer.inner).collect();
        let places = Places::of_peers(peers.len(), most_streams);
        for (((peer, places), (ours, theirs)), start) in peers.into_iter().zip(places).zip(inner).zip(starts)
        {
            let domain = gateway.stack.open_domain(start).map_err(TrunkError::Ended)?;
            let listener = gateway.stack.listen_in(domain, SocketAddr::new(ours.into(), PORT), BACKLOG);
            let listener = listener.map_err(TrunkError::Ended)?;
            let link = PeerLink::new(
                peer,
                (gateway.stack.clone(), gateway.budget.clone()),
                places,
                domain,
                (ours.into(), theirs.into()),
            );
            let (served, delivery, failed) = (link.clone(), delivery.clone(), failed.clone());
            gateway.tasks.spawn(async move {
                let error = exit::serve(served, listener, delivery).await;
                tracing::error!(%error, "no more streams are accepted");
                // The first one says it.
                let _ = failed.try_send(TrunkError::Ended(error));
            });
            gateway.links.push(link);
        }
        let entries = gateway.lock_entries().prepare(config, &gateway.links)?;
        gateway.redirect(config)?;
        gateway.lock_entries().apply(entries);
        if let Some(tun) = tun {
            gateway.take_from(tun, networks, failed);
        }
        let stacks: Vec<Stack> = [gateway.stack.clone()].into_iter().chain(gateway.hosts.clone()).collect();
        let (links, monitor) = (gateway.links.clone(), gateway.monitor.clone());
        gateway.tasks.spawn(async move { report_events(&links, &monitor).await });
        let (links, monitor, clock) = (gateway.links.clone(), gateway.monitor.clone(), gateway.stack.clone());
        gateway.tasks.spawn(async move { no_session::warn(&links, (&monitor, &clock), listen).await });
        let (links, since) = (gateway.links.clone(), gateway.since);
        gateway.tasks.spawn(async move {
            let mut ticks = interval(SAMPLE_EVERY);
            loop {
                ticks.tick().await;
                links.iter().for_each(|link| link.sample(since.elapsed().as_secs_f64()));
            }
        });
        if let Some(saved) = gateway.saved.clone() {
            let (links, keys) = (gateway.links.clone(), gateway.keys());
            gateway.tasks.spawn(async move {
                let mut ticks = interval(SAVE_EVERY);
                loop {
                    ticks.tick().await;
                    save_rates(&saved, &links, &keys);
                }
            });
        }
        let (links, budget) = (gateway.links.clone(), gateway.budget.clone());
        gateway.tasks.spawn(async move {
            let mut ticks = interval(MEMORY_EVERY);
            loop {
                ticks.tick().await;
                let open = links.iter().map(|link| link.streams.open()).sum();
                budget.update(stacks.iter().map(Stack::memory).sum(), open);
            }
        });
        Ok(gateway)
    }

    /// Changes the running gateway to another configuration: its entries, and where streams of peers may go. Streams that
    /// are open go on.
    ///
    /// # Errors
    ///
    /// The configuration is wrong, or changes what cannot be changed while the gateway runs, or an entry cannot listen.
    /// Then everything stays as it was.
    pub fn reload(&self, config: &Config) -> Result<Reloaded, TrunkError> {
        let settings = config.settings()?;
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let keys = fixed_keys((&current.0, &current.1), (config, &settings));
        if !keys.is_empty() {
            return Err(TrunkError::NeedsRestart { keys });
        }
        redirection::try_out(config)?;
        let entries = self.lock_entries().prepare(config, &self.links)?;
        // If it fails, it leaves the rules as they were.
        self.redirect(config)?;
        let mut reloaded = self.lock_entries().apply(entries);
        for (link, peer) in self.links.iter().zip(&settings.peers) {
            if link.set_rules(peer.rules.clone()) {
                reloaded.changed.push(format!("peer {}", peer.name));
            }
        }
        if current.0.gateway.log_level != config.gateway.log_level {
            reloaded.changed.push("gateway.log-level".into());
        }
        *current = (config.clone(), settings);
        Ok(reloaded)
    }

    /// The fates of the last packets from a peer, as a trace that `headway race --damage trace:FILE` replays.
    ///
    /// # Errors
    ///
    /// There is no such peer, or more than one and none is named, or nothing has arrived from it.
    pub fn record(&self, peer: Option<&str>) -> Result<String, TrunkError> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let peer = current.0.peer_of(peer, "record")?;
        let trace = self.recorders.get(peer).and_then(FlightRecorder::trace);
        trace.ok_or_else(|| TrunkError::value("record", "no packet from the peer", "at least one"))
    }

    fn redirect(&self, config: &Config) -> Result<(), TrunkError> {
        self.redirection.lock().unwrap_or_else(PoisonError::into_inner).apply(config)
    }

    /// The public keys of its peers, in their order.
    fn keys(&self) -> Vec<String> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.1.peers.iter().map(|peer| peer.tunnel.key.to_string()).collect()
    }

    fn lock_entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes connections and packets from a TUN device.
    fn take_from(&mut self, tun: Tun, networks: Networks, failed: mpsc::Sender<TrunkError>) {
        let peers: Vec<tun::Peer> = self
            .links
            .iter()
            .map(|link| {
                let queues = [true, false].map(|unordered| Arc::new(PacketQueue::new(unordered)));
                for queue in &queues {
                    let (link, queue) = (link.clone(), queue.clone());
                    self.tasks.spawn(async move { packets::send(&link, &queue).await });
                }
                self.tasks.spawn(link.clone().keep_spare());
                tun::Peer { link: link.clone(), queues }
            })
            .collect();
        self.queues = peers.iter().map(|peer| peer.queues.clone()).collect();
        self.tasks.spawn(async move {
            let error = tun.serve(networks, peers).await;
            let _ = failed.try_send(TrunkError::TunEnded(error));
        });
    }

    /// Waits until it cannot go on, because its tunnel or its TUN has ended. Cancel safe.
    pub async fn failed(&self) -> TrunkError {
        match self.failures.lock().await.recv().await {
            Some(error) => error,
            None => std::future::pending().await,
        }
    }

    /// Its public key.
    pub fn public_key(&self) -> PublicKey {
        self.public
    }

    /// Where its tunnel is, for people.
    pub fn place(&self) -> String {
        self.status().place()
    }

    /// The TCP addresses of its entries, in the order of the configuration: forwards, SOCKS, transparent.
    pub fn entries(&self) -> Vec<SocketAddr> {
        self.lock_entries().addresses()
    }

    /// What it does.
    pub fn status(&self) -> Status {
        let (counters, now) = (self.monitor.counters(), self.stack.now());
        let peer = |(link, peer): (&Arc<PeerLink>, headway_trunk_proto::PeerStatus)| PeerStatus {
            name: link.name.clone(),
            endpoint: peer.endpoint.filter(|_| self.listen.is_some()),
            connected: peer.session_since.is_some(),
            trying_seconds: peer.trying_since.map(|since| now.saturating_since(since).as_secs_f64()),
            passes_unchecked: peer.passes_unchecked,
            last_received_seconds: peer.last_received.map(|then| now.saturating_since(then).as_secs_f64()),
            open_streams: link.streams.open(),
            opened_streams: link.counters.opened.load(Ordering::Relaxed),
            refused_streams: link.counters.refused.load(Ordering::Relaxed),
            half_open_streams: link.places.half_open_streams(),
            abandoned_streams: link.counters.abandoned.load(Ordering::Relaxed),
            displaced_streams: link.counters.displaced.load(Ordering::Relaxed),
            bytes_to_peer: link.streams.carried().0,
            bytes_from_peer: link.streams.carried().1,
            packets: self.packets_of(link),
            arrived: ArrivedStatus {
                intact: peer.counters.intact,
                corrupted: peer.counters.corrupted,
                unreadable: peer.counters.unreadable,
                disbelieved: peer.counters.disbelieved,
                ignored: peer.counters.ignored,
            },
            handshakes: peer.counters.handshakes,
            path: link.path(),
            recent: link.recent(self.mtu),
            streams: link.streams.list(),
        };
        Status {
            public_key: self.public.to_string(),
            listen: self.listen,
            modem: self.modem.clone(),
            seconds: self.since.elapsed().as_secs_f64(),
            peers: self.links.iter().zip(self.monitor.peers()).map(peer).collect(),
            intact: counters.intact,
            corrupted: counters.corrupted,
            unreadable: counters.unreadable,
            ignored: counters.ignored,
            bad_handshakes: counters.bad_handshakes,
            cookies_sent: counters.cookies_sent,
            without_session: counters.without_session,
            memory_bytes: self.budget.used(),
        }
    }

    /// Packets of a peer that cross as they are.
    fn packets_of(&self, link: &Arc<PeerLink>) -> Option<PacketStatus> {
        let peer = self.links.iter().position(|other| Arc::ptr_eq(other, link))?;
        let queues = self.queues.get(peer)?;
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Some(PacketStatus {
            to_peer: count(&link.counters.packets_to_peer),
            from_peer: count(&link.counters.packets_from_peer),
            dropped: queues.iter().map(|queue| queue.dropped()).sum(),
            refused: count(&link.counters.packets_refused),
            late: count(&link.counters.packets_late),
        })
    }

    /// Ends the gateway: what is written is sent, as far as a moment allows, and the peers are told, who reset what is
    /// open. So are the connections of hosts that have not come to their end.
    ///
    /// # Errors
    ///
    /// The tunnel failed while it ran.
    pub async fn close(mut self) -> Result<(), TrunkError> {
        self.lock_entries().abort();
        self.tasks.shutdown().await;
        if let Some(saved) = &self.saved {
            save_rates(saved, &self.links, &self.keys());
        }
        let hosts = self.hosts.take();
        let hosts = async {
            if let Some(hosts) = hosts
                && let Err(error) = hosts.close(GRACE).await
            {
                tracing::warn!(%error, "the TUN has ended before the gateway");
            }
        };
        let (ended, ()) = tokio::join!(self.stack.clone().close(GRACE), hosts);
        ended.map_err(TrunkError::Ended)
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.stack.abort();
        self.hosts.iter().for_each(Stack::abort);
    }
}

/// Saves the rates of links over which something was sent since they were last saved.
fn save_rates(saved: &Mutex<SavedRates>, links: &[Arc<PeerLink>], keys: &[String]) {
    let measured = links.iter().zip(keys).filter_map(|(link, key)| {
        let (rate, min_rtt) = link.newly_measured()?;
        Some(SavedRate {
            public_key: key.clone(),
            bits_per_second: rate.bits_per_second(),
            min_rtt_micros: min_rtt.as_micros(),
            measured: today(),
        })
    });
    saved.lock().unwrap_or_else(PoisonError::into_inner).store(measured);
}

fn random(bytes: &mut [u8]) {
    // Without randomness there is no safe session; Linux has it from the moment that programs run.
    if let Err(error) = getrandom::fill(bytes) {
        panic!("the system has no randomness: {error}");
    }
}

/// The time at the zero of the stack's clock, in nanoseconds since 1970.
#[expect(clippy::disallowed_methods, reason = "a live driver reads the clock")]
fn epoch() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let running = Clock::new().now().as_nanos();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX).saturating_sub(running)
}

/// Logs what happens to the tunnels.
async fn report_events(links: &[Arc<PeerLink>], monitor: &TunnelMonitor) {
    let mut ticks = interval(EVENTS_EVERY);
    loop {
        ticks.tick().await;
        for event in monitor.take_events() {
            report(links, event);
        }
    }
}

fn report(links: &[Arc<PeerLink>], event: Event) {
    let name = |peer: headway_trunk_proto::PeerId| links.get(peer.0).map_or("", |link| &link.name);
    match event {
        Event::Connected(peer) => {
            tracing::info!(peer = name(peer), "connected");
        }
        Event::Restarted(peer) => {
            tracing::warn!(peer = name(peer), "restarted: its streams are reset");
        }
        Event::Moved(peer, to) => tracing::info!(peer = name(peer), %to, "moved"),
        Event::Unchecked(peer, true) => {
            tracing::info!(peer = name(peer), "datagrams without UDP checksum get through: damage arrives");
        }
        Event::Unchecked(peer, false) => tracing::warn!(
            peer = name(peer),
            "the path drops datagrams without UDP checksum: checksums stay on, damaged datagrams are lost unseen"
        ),
        Event::Mtu(peer, longest) => tracing::info!(
            peer = name(peer),
            longest,
            "the longest datagram that passes, in bytes of UDP payload"
        ),
        Event::LongHeaders(peer) => tracing::warn!(
            peer = name(peer),
            "a segment without HACK was too long for its datagram: packets are shorter from now on"
        ),
        Event::Returned(peer) => tracing::info!(peer = name(peer), "heard of again"),
        Event::Lost(peer) => tracing::warn!(peer = name(peer), "lost: no handshake for a long time"),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use headway_test_fixture::log::Log;
    use headway_trunk_proto::PeerId;

    use super::*;
    use crate::stream::linked::Linked;

    #[test]
    fn what_happens_to_a_tunnel_is_logged_with_the_peer() {
        let log = Log::up_to(tracing::Level::INFO);
        let _guard = tracing::subscriber::set_default(log.clone());
        let links = [Linked::new().near];
        let (peer, there) = (PeerId(0), SocketAddr::from(([192, 0, 2, 1], 9)));
        for (event, level, pieces) in [
            (Event::Connected(peer), "INFO", ["message=connected", ""]),
            (Event::Restarted(peer), "WARN", ["message=restarted", ""]),
            (Event::Moved(peer, there), "INFO", ["message=moved", "to=192.0.2.1:9"]),
            (Event::Unchecked(peer, true), "INFO", ["get through", ""]),
            (Event::Unchecked(peer, false), "WARN", ["drops datagrams", ""]),
            (Event::Mtu(peer, 1400), "INFO", ["the longest datagram", "longest=1400"]),
            (Event::LongHeaders(peer), "WARN", ["without HACK was too long", ""]),
            (Event::Returned(peer), "INFO", ["heard of again", ""]),
            (Event::Lost(peer), "WARN", ["message=lost", ""]),
        ] {
            let before = log.lines("").len();
            report(&links, event);
            let lines = log.lines("").split_off(before);
            let [line] = &lines[..] else { panic!("{event:?}: {lines:?}") };
            let are_in = pieces.iter().all(|piece| line.contains(piece));
            assert!(are_in && line.starts_with(level) && line.contains("peer=\"peer\""), "{event:?}: {line}");
        }
    }
}
