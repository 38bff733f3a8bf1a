//! A running gateway.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration as StdDuration, SystemTime, UNIX_EPOCH};

use headway_net::{Clock, Stack, StackConfig, TcpListener, TunnelChange, TunnelMonitor};
use headway_tcp::congestion::StartEstimate;
use headway_trunk_proto::{Event, PeerId, PublicKey, TunnelConfig as TunnelSettings, inner_address};
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
use crate::stream::{AllPlaces, Budget, Links, NewLink, PORT, PeerLink, stream_profile, trains};
use crate::unknown_peers::UnknownPeers;
use crate::{Config, Reloaded, TrunkError, exit, lookup, no_session};

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

/// A link to a peer, and the listener for its streams.
type OpenLink = (Arc<PeerLink>, TcpListener);

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
    links: Links,
    mtu: u16,
    since: Instant,
    entries: Mutex<Entries>,
    budget: Arc<Budget>,
    places: AllPlaces,
    redirection: Mutex<Redirection>,
    /// The configuration that is in force.
    current: Mutex<(Config, Settings)>,
    /// Packets to each peer that wait; none without a TUN.
    queues: Vec<[Arc<PacketQueue>; 2]>,
    /// What the links carried, for the next start.
    saved: Option<Arc<Mutex<SavedRates>>>,
    /// Why it cannot go on.
    failures: AsyncMutex<mpsc::Receiver<TrunkError>>,
    failed: mpsc::Sender<TrunkError>,
    /// Takes the packets of peers, where there is a TUN.
    delivery: Option<Arc<Delivery>>,
    tasks: Mutex<JoinSet<()>>,
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
        let Link { carrier, listen, mtu, monitor, mut addresses } = Link::open(config, &settings, tunnel)?;
        if addresses.is_empty() {
            // A stack has one. Peers may come.
            addresses.push(inner_address(&public, &public).into());
        }
        let profile = Some(stream_profile(settings.outage, config.gateway.own_path));
        let stack = Stack::start(carrier, StackConfig { addresses, profile, ..StackConfig::default() })?;

        let most_streams = config.gateway.max_streams;
        let saved = config.gateway.state_file.clone().map(SavedRates::load);
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
        let gateway = Self {
            public,
            listen,
            modem: settings.modem.as_ref().map(|modem| modem.link.to_string()),
            stack,
            hosts: tun.as_ref().map(Tun::stack),
            monitor,
            links: Links::default(),
            mtu,
            since: Instant::now(),
            entries: Mutex::default(),
            budget: Arc::new(Budget::new(settings.memory)),
            places: AllPlaces::new(most_streams),
            redirection: Mutex::default(),
            current: Mutex::new((config.clone(), settings)),
            queues: Vec::new(),
            saved: saved.map(|saved| Arc::new(Mutex::new(saved))),
            failures: AsyncMutex::new(failures),
            failed,
            delivery,
            tasks: Mutex::default(),
        };
        gateway.begin(config, tun, networks)
    }

    /// Begins to take and to serve streams.
    fn begin(mut self, config: &Config, tun: Option<Tun>, networks: Networks) -> Result<Self, TrunkError> {
        let opened = self.open_links(self.lock_current().1.peers.iter())?;
        opened.into_iter().for_each(|(link, listener)| self.serve(link, listener));
        let entries = self.lock_entries().prepare(config, &self.links.all())?;
        self.redirect(config)?;
        self.lock_entries().apply(entries);
        if let Some(tun) = tun {
            self.take_from(tun, networks);
        }
        let stacks: Vec<Stack> = [self.stack.clone()].into_iter().chain(self.hosts.clone()).collect();
        let (links, monitor) = (self.links.clone(), self.monitor.clone());
        self.spawn(async move { report_events(&links, &monitor).await });
        let (links, monitor, clock) = (self.links.clone(), self.monitor.clone(), self.stack.clone());
        let listen = self.listen;
        self.spawn(async move { no_session::warn(&links, (&monitor, &clock), listen).await });
        let (links, since) = (self.links.clone(), self.since);
        self.spawn(async move {
            let mut ticks = interval(SAMPLE_EVERY);
            loop {
                ticks.tick().await;
                links.all().iter().for_each(|link| link.sample(since.elapsed().as_secs_f64()));
            }
        });
        if let Some(saved) = self.saved.clone() {
            let links = self.links.clone();
            self.spawn(async move {
                let mut ticks = interval(SAVE_EVERY);
                loop {
                    ticks.tick().await;
                    save_rates(&saved, &links.all());
                }
            });
        }
        let (links, budget) = (self.links.clone(), self.budget.clone());
        self.spawn(async move {
            let mut ticks = interval(MEMORY_EVERY);
            loop {
                ticks.tick().await;
                let open = links.all().iter().map(|link| link.streams.open()).sum();
                budget.update(stacks.iter().map(Stack::memory).sum(), open);
            }
        });
        Ok(self)
    }

    /// Opens the links to peers that follow those there are.
    fn open_links<'a>(&self, peers: impl Iterator<Item = &'a Peer>) -> Result<Vec<OpenLink>, TrunkError> {
        let next = self.links.next().0;
        let open = |(at, peer): (usize, &Peer)| {
            let key = peer.tunnel.key;
            let ends: (IpAddr, IpAddr) =
                (inner_address(&self.public, &key).into(), inner_address(&key, &self.public).into());
            self.stack.add_address(ends.0);
            let domain = self.stack.open_domain(self.start_of(peer))?;
            let listener = self.stack.listen_in(domain, SocketAddr::new(ends.0, PORT), BACKLOG)?;
            let link = PeerLink::new(NewLink {
                place: PeerId(next + at),
                name: peer.name.clone(),
                key,
                endpoint: peer.endpoint.clone(),
                rules: peer.rules.clone(),
                networks: peer.networks.clone(),
                stack: (self.stack.clone(), self.budget.clone()),
                places: self.places.add_peer(),
                domain,
                // A modem may be so slow that they would hold up what comes next.
                has_trains: self.modem.is_none(),
                ends,
            });
            Ok((link, listener))
        };
        peers.enumerate().map(open).collect::<io::Result<_>>().map_err(TrunkError::Ended)
    }

    /// What the first session with a peer starts from.
    fn start_of(&self, peer: &Peer) -> Option<StartEstimate> {
        if let Some(rate) = peer.rules.link_rate {
            return Some(StartEstimate::told(rate));
        }
        let saved = self.saved.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
        let start = saved.estimate(&peer.tunnel.key.to_string(), self.stack.now(), today())?;
        tracing::info!(peer = peer.name, rate = %start.rate, "starts from the rate of its last session");
        Some(start)
    }

    /// Serves the streams of a peer until it is removed.
    fn serve(&self, link: Arc<PeerLink>, listener: TcpListener) {
        self.links.add(link.clone());
        if let Some(local) = self.listen {
            let watched = (self.monitor.clone(), self.stack.clone());
            self.spawn(lookup::follow(link.clone(), watched, local));
        }
        let (delivery, failed) = (self.delivery.clone(), self.failed.clone());
        self.spawn(async move {
            tokio::select! {
                () = link.removed() => {}
                error = exit::serve(link.clone(), listener, delivery) => {
                    tracing::error!(%error, "no more streams are accepted");
                    // The first one says it.
                    let _ = failed.try_send(TrunkError::Ended(error));
                }
            }
        });
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
    }

    /// Changes the running gateway to another configuration: its entries, its peers, and where streams of peers may go. Streams that
    /// are open go on, except those of removed peers.
    ///
    /// # Errors
    ///
    /// The configuration is wrong, or changes what cannot be changed while the gateway runs, or an entry cannot listen.
    /// Then everything stays as it was.
    pub fn reload(&self, config: &Config) -> Result<Reloaded, TrunkError> {
        let settings = config.settings()?;
        let mut current = self.lock_current();
        let keys = fixed_keys((&current.0, &current.1), (config, &settings));
        if !keys.is_empty() {
            return Err(TrunkError::NeedsRestart { keys });
        }
        redirection::try_out(config)?;
        let running = self.links.all();
        let is_running = |peer: &&Peer| running.iter().any(|link| link.key == peer.tunnel.key);
        let (stay, come): (Vec<&Peer>, Vec<&Peer>) = settings.peers.iter().partition(is_running);
        let opened = self.open_links(come.iter().copied())?;
        let links = || running.iter().chain(opened.iter().map(|(link, _)| link));
        let link_of = |peer: &Peer| links().find(|link| link.key == peer.tunnel.key).cloned();
        let ordered: Vec<Arc<PeerLink>> = settings.peers.iter().filter_map(link_of).collect();
        let prepared = self.lock_entries().prepare(config, &ordered);
        // If it fails, it leaves the rules as they were.
        let prepared = prepared.and_then(|entries| self.redirect(config).map(|()| entries));
        let entries = match prepared {
            Ok(entries) => entries,
            Err(error) => {
                opened.iter().for_each(|(link, _)| link.remove());
                return Err(error);
            }
        };
        let is_gone = |link: &&Arc<PeerLink>| ordered.iter().all(|other| !Arc::ptr_eq(link, other));
        let gone: Vec<_> = running.iter().filter(is_gone).collect();
        self.monitor.change(gone.iter().map(|link| TunnelChange::Remove(link.place)));
        self.monitor.change(come.iter().map(|peer| TunnelChange::Add(Box::new(peer.tunnel.clone()))));
        gone.iter().for_each(|link| self.links.remove(link));
        self.stack.wake();
        let mut reloaded = self.lock_entries().apply(entries);
        reloaded.removed.extend(gone.iter().map(|link| format!("peer {}", link.name)));
        reloaded.added.extend(come.iter().map(|peer| format!("peer {}", peer.name)));
        for peer in stay {
            let Some(link) = link_of(peer) else { continue };
            if link.set_rules(peer.rules.clone()) {
                reloaded.changed.push(format!("peer {}", peer.name));
            }
        }
        opened.into_iter().for_each(|(link, listener)| self.serve(link, listener));
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
        let current = self.lock_current();
        let key = current.1.peers[current.0.peer_of(peer, "record")?].tunnel.key;
        let link = self.links.all().into_iter().find(|link| link.key == key);
        let trace = link.and_then(|link| self.monitor.recorders().get(link.place.0)?.trace());
        trace.ok_or_else(|| TrunkError::value("record", "no packet from the peer", "at least one"))
    }

    fn redirect(&self, config: &Config) -> Result<(), TrunkError> {
        self.redirection.lock().unwrap_or_else(PoisonError::into_inner).apply(config)
    }

    fn lock_current(&self) -> MutexGuard<'_, (Config, Settings)> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes connections and packets from a TUN device.
    fn take_from(&mut self, tun: Tun, networks: Networks) {
        let peers: Vec<tun::Peer> = self
            .links
            .all()
            .into_iter()
            .map(|link| {
                let queues = [true, false].map(|unordered| Arc::new(PacketQueue::new(unordered)));
                for queue in &queues {
                    let (link, queue) = (link.clone(), queue.clone());
                    self.spawn(async move { packets::send(&link, &queue).await });
                }
                self.spawn(link.clone().keep_spare());
                self.spawn(trains::exchange(link.clone()));
                tun::Peer { link, queues }
            })
            .collect();
        self.queues = peers.iter().map(|peer| peer.queues.clone()).collect();
        let failed = self.failed.clone();
        self.spawn(async move {
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
        let known = self.monitor.peers();
        // One that was added a moment ago is not there yet.
        let of_link = |link: Arc<PeerLink>| Some((known.get(link.place.0).copied()?, link));
        let peer = |(peer, link): (headway_trunk_proto::PeerStatus, Arc<PeerLink>)| PeerStatus {
            name: link.name.clone(),
            is_away: link.is_away(),
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
            packets: self.packets_of(&link),
            arrived: ArrivedStatus {
                intact: peer.counters.intact,
                corrupted: peer.counters.corrupted,
                unreadable: peer.counters.unreadable,
                disbelieved: peer.counters.disbelieved,
                ignored: peer.counters.ignored,
            },
            handshakes: peer.counters.handshakes,
            path: link.path(),
            advice: link.advice(),
            recent: link.recent(self.mtu),
            streams: link.streams.list(),
        };
        Status {
            public_key: self.public.to_string(),
            listen: self.listen,
            modem: self.modem.clone(),
            seconds: self.since.elapsed().as_secs_f64(),
            peers: self.links.all().into_iter().filter_map(of_link).map(peer).collect(),
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
    fn packets_of(&self, link: &PeerLink) -> Option<PacketStatus> {
        let queues = self.queues.get(link.place.0)?;
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
        let links = self.links.all();
        let open: usize = links.iter().map(|link| link.places.in_use()).sum();
        if open > 0 {
            tracing::info!(streams = open, "stopping: what they have written has {GRACE:?} to arrive");
        }
        if let Some(saved) = &self.saved {
            save_rates(saved, &links);
        }
        // Nothing else is waited for.
        links.iter().for_each(|link| link.remove());
        let mut tasks = std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        tasks.shutdown().await;
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
fn save_rates(saved: &Mutex<SavedRates>, links: &[Arc<PeerLink>]) {
    let measured = links.iter().filter_map(|link| {
        let (rate, min_rtt) = link.newly_measured()?;
        Some(SavedRate {
            public_key: link.key.to_string(),
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
async fn report_events(links: &Links, monitor: &TunnelMonitor) {
    let mut ticks = interval(EVENTS_EVERY);
    let mut unknown = UnknownPeers::default();
    loop {
        ticks.tick().await;
        for event in monitor.take_events() {
            if let Event::Unknown(key, from) = event {
                unknown.refused(key, from);
            }
            report(links, event);
        }
    }
}

fn report(links: &Links, event: Event) {
    let name = |peer: PeerId| links.get(peer).map_or_else(String::new, |link| link.name.clone());
    match event {
        Event::Connected(peer) => {
            tracing::info!(peer = name(peer), "connected");
        }
        Event::Restarted(peer) => {
            tracing::warn!(peer = name(peer), "restarted: its streams are reset");
            links.get(peer).inspect(|link| link.on_restarted());
        }
        Event::Moved(peer, to) => tracing::info!(peer = name(peer), %to, "moved"),
        Event::Unchecked(peer, true) => {
            tracing::info!(
                peer = name(peer),
                "datagrams without UDP checksum get through: damage can be seen"
            );
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

    use super::*;
    use crate::stream::linked::Linked;

    #[test]
    fn what_happens_to_a_tunnel_is_logged_with_the_peer() {
        let log = Log::up_to(tracing::Level::INFO);
        let _guard = tracing::subscriber::set_default(log.clone());
        let links = Links::default();
        links.add(Linked::new().near);
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
