//! One gateway's end of its tunnels.

use std::collections::{BTreeMap, VecDeque};
use std::net::{Ipv6Addr, SocketAddr};
use std::ops::Range;

use headway_units::{Duration, Instant};
use headway_wire::Ecn;

use crate::addresses::inner_address;
use crate::control::Control;
use crate::cookie::{self, CookieJar};
use crate::flight::{Arrived, FlightRecorder};
use crate::handshake::{Boot, Initiator, Introduction, Responder};
use crate::keys::{PresharedKey, PublicKey, SecretKey};
use crate::message::{COOKIE_NONCE, Kind, MAC, Message, PADDED_LEN};
use crate::mtu::Step;
use crate::peer::{Peer, Unchecked, asks};
use crate::seal::{Inner, Opened, SealError, Verdict};
use crate::session::Session;

/// How long a cookie is used that a peer sent.
const COOKIE_LIFE: Duration = Duration::from_secs(120);
/// Handshake messages that are answered in a second without asking for a cookie. An answer takes some 0.2 ms.
const HANDSHAKES_PER_SECOND: u32 = 50;
/// The shortest probe for the length of datagrams.
const SHORTEST_PROBE: u16 = PADDED_LEN as u16;
/// Handshake messages and control messages that wait to be sent; more are dropped.
const MOST_WAITING: usize = 256;

/// A source of random bytes. A live gateway takes the system's.
pub type Random = Box<dyn FnMut(&mut [u8]) + Send>;

/// How a [`Tunnel`] is set up.
pub struct TunnelConfig {
    /// Our key.
    pub secret: SecretKey,
    /// The peers. Nothing that others send has an effect.
    pub peers: Vec<PeerConfig>,
    /// The time at [`Instant::ZERO`], in nanoseconds since 1970. It orders handshakes; being wrong does little harm.
    pub epoch: u64,
    /// The longest datagram, in bytes of UDP payload: what the configured MTU leaves. Whether it reaches a peer is found
    /// out.
    pub longest: u16,
    /// Random bytes for indices and cookies. Keys are made by `snow`, which asks the system.
    pub random: Random,
}

impl TunnelConfig {
    /// Without peers.
    pub fn new(secret: SecretKey, random: Random) -> Self {
        Self { secret, peers: Vec::new(), epoch: 0, longest: 1472, random }
    }
}

/// One peer of a [`Tunnel`].
#[derive(Clone, Debug)]
pub struct PeerConfig {
    /// Its public key.
    pub key: PublicKey,
    /// A secret shared with it, if any.
    pub preshared: Option<PresharedKey>,
    /// Where it is; `None`: it will say so.
    pub endpoint: Option<SocketAddr>,
    /// The longest time without a packet to it, so that a NAT on the way keeps its mapping.
    pub keep_alive: Option<Duration>,
}

impl PeerConfig {
    /// A peer that begins itself.
    pub fn new(key: PublicKey) -> Self {
        Self { key, preshared: None, endpoint: None, keep_alive: None }
    }
}

/// Which peer: its place in [`TunnelConfig::peers`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerId(pub usize);

/// What has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// There is a session with the peer, for the first time or after a time without.
    Connected(PeerId),
    /// The peer's process is another one than before, or it has said that it ends: no connection to it exists there.
    Restarted(PeerId),
    /// The peer is reached at another address.
    Moved(PeerId, SocketAddr),
    /// Datagrams without UDP checksum reach the peer from now on, so damage arrives; or they do not, and every
    /// damaged datagram is dropped on the way.
    Unchecked(PeerId, bool),
    /// The session with the peer has expired, and no other could be made.
    Lost(PeerId),
    /// The peer is heard of again after a silence: the link was interrupted, and what waits can be sent.
    Returned(PeerId),
    /// Datagrams to the peer may have this many bytes of UDP payload from now on.
    Mtu(PeerId, u16),
}

/// A datagram to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// To whom.
    pub to: SocketAddr,
    /// What.
    pub datagram: Vec<u8>,
    /// With a UDP checksum: a damaged handshake is of no use.
    pub checksum: bool,
}

/// Where a segment has arrived from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The peer.
    pub peer: PeerId,
    /// What it is worth.
    pub verdict: Verdict,
    /// Where in the buffer the IP packet is.
    pub packet: Range<usize>,
}

/// A sealed packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedPacket {
    /// Where in the buffer the datagram is.
    pub datagram: Range<usize>,
    /// To whom it goes.
    pub to: SocketAddr,
    /// Whether the path needs a UDP checksum.
    pub checksum: bool,
}

/// What is known of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PeerStatus {
    /// Its key.
    pub key: PublicKey,
    /// Where it is, if known.
    pub endpoint: Option<SocketAddr>,
    /// Our inner address in the tunnel to it, and its.
    pub inner: (Ipv6Addr, Ipv6Addr),
    /// Since when the session in use exists.
    pub session_since: Option<Instant>,
    /// When something authenticated last arrived.
    pub last_received: Option<Instant>,
    /// Whether datagrams without UDP checksum reach it; `None`: not known yet.
    pub passes_unchecked: Option<bool>,
    /// The longest datagram to it, in bytes of UDP payload.
    pub longest: u16,
    /// What was counted of it.
    pub counters: PeerCounters,
}

/// What was counted of one peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PeerCounters {
    /// Segments whose header and payload were authenticated.
    pub intact: u64,
    /// Segments with an authenticated header and a damaged payload.
    pub corrupted: u64,
    /// Sealed packets of a session with it whose header is damaged.
    pub unreadable: u64,
    /// Packets of a session with it that were replayed, or are damaged beyond use.
    pub ignored: u64,
    /// Handshakes that came to a session.
    pub handshakes: u64,
    /// Segments to it that were sealed.
    pub sealed: u64,
}

/// What was counted over all peers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TunnelCounters {
    /// Segments whose header and payload were authenticated.
    pub intact: u64,
    /// Segments with an authenticated header and a damaged payload.
    pub corrupted: u64,
    /// Sealed packets of a session whose header is damaged.
    pub unreadable: u64,
    /// Datagrams that belong to nothing: of unknown type, length or index, replayed, forged, or damaged beyond that.
    pub ignored: u64,
    /// Handshakes that came to a session.
    pub handshakes: u64,
    /// Handshake messages that were not valid.
    pub bad_handshakes: u64,
    /// Handshake messages that were answered with a cookie.
    pub cookies_sent: u64,
    /// Packets that were not sealed, for lack of a session.
    pub without_session: u64,
}

/// One gateway's end of its tunnels: handshakes, sessions, sealed packets. See the documentation of the crate.
///
/// [`Tunnel::receive`] takes datagrams, [`Tunnel::seal`] segments. Both may give rise to datagrams of the tunnel's own
/// ([`Tunnel::poll_transmit`]), events ([`Tunnel::poll_event`]) and another [`Tunnel::next_deadline`].
pub struct Tunnel {
    secret: SecretKey,
    public: PublicKey,
    boot: Boot,
    epoch: u64,
    longest: u16,
    peers: Vec<Peer>,
    /// Whose session an index is.
    indices: BTreeMap<u32, PeerId>,
    /// Peers by their inner addresses.
    inner: BTreeMap<Ipv6Addr, PeerId>,
    jar: CookieJar,
    /// The second in which handshakes were last counted, and how many.
    load: (u64, u32),
    waiting: VecDeque<Transmit>,
    events: VecDeque<Event>,
    counters: TunnelCounters,
    random: Random,
}

impl Tunnel {
    /// A tunnel without sessions. Those with peers whose endpoint is known begin with the first
    /// [`Tunnel::handle_timeout`].
    pub fn new(config: TunnelConfig) -> Self {
        let TunnelConfig { secret, peers, epoch, longest, mut random } = config;
        let public = secret.public();
        let (mut boot, mut jar) = (Boot::default(), [0; 32]);
        random(&mut boot);
        random(&mut jar);
        let mut tunnel = Self {
            secret,
            public,
            boot,
            epoch,
            longest,
            peers: Vec::new(),
            indices: BTreeMap::new(),
            inner: BTreeMap::new(),
            jar: CookieJar::new(jar),
            load: (0, 0),
            waiting: VecDeque::new(),
            events: VecDeque::new(),
            counters: TunnelCounters::default(),
            random,
        };
        for peer in peers {
            tunnel.add(peer);
        }
        tunnel
    }

    fn add(&mut self, config: PeerConfig) {
        let ours = inner_address(&self.public, &config.key);
        let theirs = inner_address(&config.key, &self.public);
        let preshared = config.preshared.unwrap_or_else(PresharedKey::none);
        let mut peer = Peer::new(config.key, preshared, (ours, theirs), self.longest);
        peer.endpoint = config.endpoint;
        peer.keep_alive = config.keep_alive;
        self.inner.insert(theirs, PeerId(self.peers.len()));
        self.peers.push(peer);
    }

    /// Our public key.
    pub fn public_key(&self) -> PublicKey {
        self.public
    }

    /// What is known of the peers, in the order of the configuration.
    pub fn peers(&self) -> impl Iterator<Item = PeerStatus> {
        self.peers.iter().map(|peer| PeerStatus {
            key: peer.key,
            endpoint: peer.endpoint,
            inner: peer.inner,
            session_since: peer.current.as_ref().map(|session| session.since),
            last_received: peer.last_received,
            longest: peer.mtu.used(),
            passes_unchecked: match peer.unchecked {
                Unchecked::Probing { .. } => None,
                unchecked => Some(unchecked == Unchecked::Passes),
            },
            counters: peer.counters,
        })
    }

    /// What became of the last packets of each peer, in the order of the configuration.
    pub fn recorders(&self) -> Vec<FlightRecorder> {
        self.peers.iter().map(|peer| peer.recorder.clone()).collect()
    }

    /// What was counted.
    pub fn counters(&self) -> TunnelCounters {
        self.counters
    }

    // --- datagrams in --------------------------------------------------------------------------------

    /// A datagram has arrived: the bytes of `room` from `start` on, which is at least [`HEADROOM`](crate::HEADROOM).
    /// It is opened in place. `ecn` is the outer packet's ECN field.
    pub fn receive(
        &mut self,
        now: Instant,
        from: SocketAddr,
        room: &mut [u8],
        start: usize,
        ecn: Ecn,
    ) -> Option<Arrival> {
        let datagram = room.get(start..)?;
        match Message::parse(datagram) {
            Some(Message::Sealed { receiver, low, kind }) => {
                return self.receive_sealed((now, from, ecn), room, start, (receiver, low, kind));
            }
            Some(Message::Initiation { sender }) => self.receive_initiation(now, from, sender, datagram),
            Some(Message::Response { sender, receiver }) => {
                self.receive_response(now, from, (sender, receiver), datagram);
            }
            Some(Message::CookieReply { receiver }) => self.receive_cookie(now, receiver, datagram),
            None => self.counters.ignored += 1,
        }
        None
    }

    fn receive_sealed(
        &mut self,
        (now, from, ecn): (Instant, SocketAddr, Ecn),
        room: &mut [u8],
        start: usize,
        (index, low, kind): (u32, u32, Kind),
    ) -> Option<Arrival> {
        let found = self.indices.get(&index).copied();
        let peer = found.and_then(|id| Some((id, self.peers.get_mut(id.0)?)));
        let opened = peer.and_then(|(id, peer)| {
            let inner = Inner { src: peer.inner.1, dst: peer.inner.0, ecn };
            Some((id, peer.session_mut(index)?.opener.open(room, start, (low, kind), inner)))
        });
        let Some((id, opened)) = opened else {
            self.counters.ignored += 1;
            return None;
        };
        let verdict = match &opened {
            Opened::Nothing => None,
            Opened::Segment { verdict, .. } => Some(*verdict),
            Opened::Control { .. } => Some(Verdict::Intact),
        };
        if let Some(verdict) = verdict {
            let bytes = u16::try_from(room.len() - start).unwrap_or(u16::MAX);
            let packet = Arrived { at: now, session: index, number: low, bytes, verdict };
            self.peers[id.0].recorder.add(packet);
        }
        match opened {
            Opened::Nothing => {
                self.counters.ignored += 1;
                self.peers[id.0].counters.ignored += 1;
                None
            }
            Opened::Segment { verdict: Verdict::Unreadable, packet, .. } => {
                self.counters.unreadable += 1;
                self.peers[id.0].counters.unreadable += 1;
                Some(Arrival { peer: id, verdict: Verdict::Unreadable, packet })
            }
            Opened::Segment { verdict, packet, newest } => {
                let (all, peer) = (&mut self.counters, &mut self.peers[id.0].counters);
                let (all, peer) = match verdict {
                    Verdict::Intact => (&mut all.intact, &mut peer.intact),
                    _ => (&mut all.corrupted, &mut peer.corrupted),
                };
                *all += 1;
                *peer += 1;
                self.authenticated(now, id, index, newest.then_some(from));
                self.peers[id.0].on_segment(now, &room[packet.clone()]);
                Some(Arrival { peer: id, verdict, packet })
            }
            Opened::Control { message, newest } => {
                self.authenticated(now, id, index, newest.then_some(from));
                match Control::parse(&room[message]) {
                    // What has arrived is reported, and not what was sent.
                    Some(Control::MtuProbe(size)) if usize::from(size) == room.len() - start => {
                        self.send_control(now, id, Control::MtuSeen(size));
                    }
                    control => self.receive_control(now, id, control),
                }
                None
            }
        }
    }

    /// A packet of the session `index` was authenticated; `from`: where it came from, if it is the newest.
    fn authenticated(&mut self, now: Instant, id: PeerId, index: u32, from: Option<SocketAddr>) {
        let peer = &mut self.peers[id.0];
        if peer.confirm(index) {
            self.connected(now, id);
        }
        let peer = &mut self.peers[id.0];
        let is_current = peer.current.as_ref().is_some_and(|session| session.index == index);
        if let Some(from) = from.filter(|from| is_current && peer.has_moved_to(*from)) {
            peer.move_to(now, from);
            self.events.push_back(Event::Moved(id, from));
        }
        self.received_from(now, id);
    }

    fn received_from(&mut self, now: Instant, id: PeerId) {
        if self.peers[id.0].on_received(now) {
            self.events.push_back(Event::Returned(id));
        }
    }

    /// A session is in use from now on.
    fn connected(&mut self, now: Instant, id: PeerId) {
        self.counters.handshakes += 1;
        let peer = &mut self.peers[id.0];
        peer.counters.handshakes += 1;
        let Some(boot) = peer.current.as_ref().map(|session| session.peer.boot) else { return };
        if peer.boot.replace(boot).is_some_and(|before| before != boot) {
            self.events.push_back(Event::Restarted(id));
        }
        if peer.previous.is_none() {
            peer.mtu.restart(now);
            self.events.push_back(Event::Connected(id));
        }
        self.forget_indices();
    }

    fn receive_control(&mut self, now: Instant, id: PeerId, control: Option<Control>) {
        match control {
            Some(Control::Probe) => self.send_control(now, id, Control::ProbeSeen),
            Some(Control::ProbeSeen) => {
                let peer = &mut self.peers[id.0];
                if std::mem::replace(&mut peer.unchecked, Unchecked::Passes) != Unchecked::Passes {
                    self.events.push_back(Event::Unchecked(id, true));
                }
            }
            Some(Control::Close) => self.events.push_back(Event::Restarted(id)),
            Some(Control::MtuSeen(size)) => {
                let peer = &mut self.peers[id.0];
                if peer.mtu.on_seen(now, size) {
                    self.events.push_back(Event::Mtu(id, peer.mtu.used()));
                }
            }
            Some(Control::MtuProbe(_) | Control::KeepAlive) | None => {}
        }
    }

    // --- handshakes ----------------------------------------------------------------------------------

    /// Whether a handshake message is worth a look: all others cost nothing but a hash.
    fn admits(&mut self, now: Instant, from: SocketAddr, sender: u32, message: &[u8]) -> bool {
        if !cookie::has_mac1(&self.public, message) {
            self.counters.bad_handshakes += 1;
            return false;
        }
        let second = now.as_nanos() / 1_000_000_000;
        if self.load.0 != second {
            self.load = (second, 0);
        }
        self.load.1 = self.load.1.saturating_add(1);
        if self.load.1 <= HANDSHAKES_PER_SECOND {
            return true;
        }
        if self.jar.is_stale(now) {
            let mut secret = [0; 32];
            (self.random)(&mut secret);
            self.jar.renew(now, secret);
        }
        if self.jar.has_mac2(from, message) {
            return true;
        }
        let mut nonce = [0; COOKIE_NONCE];
        (self.random)(&mut nonce);
        if let Some(datagram) = self.jar.reply(&self.public, (from, sender), message, nonce) {
            self.counters.cookies_sent += 1;
            self.queue(Transmit { to: from, datagram, checksum: true });
        }
        false
    }

    fn receive_initiation(&mut self, now: Instant, from: SocketAddr, sender: u32, message: &[u8]) {
        if !self.admits(now, from, sender, message) {
            return;
        }
        let answer = (|| {
            let responder = Responder::read(&self.secret, message)?;
            let id = PeerId(self.peers.iter().position(|peer| peer.key == responder.peer)?);
            let (theirs, index, ours) = (responder.introduction, self.free_index(), self.introduction(now));
            let (keys, datagram) = responder.answer(&self.peers[id.0].preshared, (index, sender), ours)?;
            Some((id, Session::new(&keys, (index, sender), now, theirs, false), datagram))
        })();
        let Some((id, session, datagram)) = answer else {
            self.counters.bad_handshakes += 1;
            return;
        };
        self.indices.insert(session.index, id);
        self.peers[id.0].offer(session);
        self.forget_indices();
        self.queue(Transmit { to: from, datagram, checksum: true });
    }

    fn receive_response(
        &mut self,
        now: Instant,
        from: SocketAddr,
        (theirs, ours): (u32, u32),
        message: &[u8],
    ) {
        if !self.admits(now, from, theirs, message) {
            return;
        }
        let session = (|| {
            let id = *self.indices.get(&ours)?;
            let peer = &mut self.peers[id.0];
            let initiation = peer.initiations.iter_mut().find(|initiation| initiation.index == ours)?;
            let (keys, peer) = initiation.finish(message)?;
            Some((id, Session::new(&keys, (ours, theirs), now, peer, true)))
        })();
        let Some((id, session)) = session else {
            self.counters.bad_handshakes += 1;
            return;
        };
        let peer = &mut self.peers[id.0];
        peer.start(session);
        if peer.endpoint != Some(from) {
            peer.move_to(now, from);
        }
        let returned = peer.on_received(now);
        self.connected(now, id);
        if returned {
            self.events.push_back(Event::Returned(id));
        }
        // The responder uses the session once it has received something.
        self.send_control(now, id, Control::KeepAlive);
    }

    fn receive_cookie(&mut self, now: Instant, ours: u32, message: &[u8]) {
        let cookie = (|| {
            let id = *self.indices.get(&ours)?;
            let peer = &mut self.peers[id.0];
            let initiation = peer.initiations.iter().find(|initiation| initiation.index == ours)?;
            peer.cookie = Some((cookie::open_reply(&peer.key, &initiation.mac1, message)?, now));
            Some(())
        })();
        if cookie.is_none() {
            self.counters.bad_handshakes += 1;
        }
    }

    fn initiate(&mut self, now: Instant, id: PeerId) {
        let (index, introduction) = (self.free_index(), self.introduction(now));
        let peer = &mut self.peers[id.0];
        let Some(to) = peer.endpoint else { return };
        let fresh = |(cookie, at): &([u8; MAC], Instant)| {
            (now.saturating_since(*at) < COOKIE_LIFE).then_some(*cookie)
        };
        let cookie = peer.cookie.as_ref().and_then(fresh);
        let begun = Initiator::begin(
            &self.secret,
            (&peer.key, &peer.preshared),
            index,
            introduction,
            cookie.as_ref(),
        );
        let Some((initiation, datagram)) = begun else { return };
        peer.on_initiation(now, initiation);
        self.indices.insert(index, id);
        self.forget_indices();
        self.queue(Transmit { to, datagram, checksum: true });
    }

    fn introduction(&self, now: Instant) -> Introduction {
        Introduction { boot: self.boot, time: self.epoch.saturating_add(now.as_nanos()) }
    }

    /// A random index that is not in use.
    fn free_index(&mut self) -> u32 {
        let mut bytes = [0; 4];
        (self.random)(&mut bytes);
        let mut index = u32::from_be_bytes(bytes);
        // Also with a source of few different numbers.
        while self.indices.contains_key(&index) {
            index = index.wrapping_add(1);
        }
        index
    }

    fn forget_indices(&mut self) {
        let peers = &self.peers;
        self.indices.retain(|index, id| peers[id.0].indices().any(|used| used == *index));
    }

    // --- packets out ---------------------------------------------------------------------------------

    /// Seals the IP packet at `packet` of `room`, in place; [`HEADROOM`](crate::HEADROOM) bytes must be before it.
    ///
    /// # Errors
    ///
    /// It is not a TCP segment over IPv6 to a peer, or there is no session with that.
    pub fn seal(
        &mut self,
        now: Instant,
        room: &mut [u8],
        packet: Range<usize>,
    ) -> Result<SealedPacket, SealError> {
        let dst = room.get(packet.start + 24..packet.start + 40).and_then(<[u8]>::first_chunk::<16>);
        let dst = Ipv6Addr::from(*dst.ok_or(SealError::NotASegment)?);
        let id = *self.inner.get(&dst).ok_or(SealError::NoPeer)?;
        let peer = &mut self.peers[id.0];
        let (Some(session), Some(to)) = (&mut peer.current, peer.endpoint) else {
            self.counters.without_session += 1;
            return Err(SealError::NoSession);
        };
        let asks = asks(&room[packet.clone()]);
        let datagram = session.sealer.segment(room, packet)?;
        let checksum = peer.unchecked != Unchecked::Passes;
        peer.on_sent(now, asks);
        peer.mtu.on_sent(datagram.len());
        peer.counters.sealed += 1;
        Ok(SealedPacket { datagram, to, checksum })
    }

    fn send_control(&mut self, now: Instant, id: PeerId, control: Control) {
        let peer = &mut self.peers[id.0];
        let (Some(session), Some(to)) = (&mut peer.current, peer.endpoint) else { return };
        let Some(datagram) = session.sealer.control(&control.bytes()) else { return };
        peer.on_sent(now, false);
        self.queue(Transmit { to, datagram, checksum: control != Control::Probe });
    }

    /// RFC 8899: sends a probe, or takes note that none arrives.
    fn probe_mtu(&mut self, now: Instant, id: PeerId) {
        let peer = &mut self.peers[id.0];
        let (step, changed) = peer.mtu.step(now, peer.last_received);
        if changed {
            self.events.push_back(Event::Mtu(id, peer.mtu.used()));
        }
        let Step::Probe(size) = step else { return };
        let checksum = peer.unchecked != Unchecked::Passes;
        // A short one goes with it: if that is answered and the long one is not, it is the length.
        for size in [size, SHORTEST_PROBE] {
            let peer = &mut self.peers[id.0];
            let (Some(session), Some(to)) = (&mut peer.current, peer.endpoint) else { return };
            let message = Control::MtuProbe(size).bytes();
            let Some(datagram) = session.sealer.padded(&message, size.into()) else { return };
            peer.on_sent(now, false);
            self.queue(Transmit { to, datagram, checksum });
        }
    }

    fn queue(&mut self, transmit: Transmit) {
        if self.waiting.len() < MOST_WAITING {
            self.waiting.push_back(transmit);
        }
    }

    /// Tells every peer that this gateway ends: they reset what is open at once.
    pub fn close(&mut self, now: Instant) {
        for id in (0..self.peers.len()).map(PeerId) {
            // One of them may be lost.
            for _ in 0..3 {
                self.send_control(now, id, Control::Close);
            }
        }
    }

    /// The next datagram of the tunnel's own: handshakes, control messages.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.waiting.pop_front()
    }

    /// What has happened since.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    // --- time ----------------------------------------------------------------------------------------

    /// When [`Tunnel::handle_timeout`] must be called at the latest.
    pub fn next_deadline(&self) -> Option<Instant> {
        let of = |peer: &Peer| {
            let asks = [peer.handshake_at(), peer.keep_alive_at(), peer.ask_at()];
            let probes = [peer.probe_at(), peer.mtu_at(), peer.expiry()];
            asks.into_iter().chain(probes).flatten().min()
        };
        self.peers.iter().filter_map(of).min()
    }

    /// Does what is due: handshakes, keep-alives, probes.
    pub fn handle_timeout(&mut self, now: Instant) {
        for id in (0..self.peers.len()).map(PeerId) {
            let is_due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
            if is_due(self.peers[id.0].expiry()) {
                let peer = &mut self.peers[id.0];
                (peer.current, peer.previous) = (None, None);
                self.events.push_back(Event::Lost(id));
                self.forget_indices();
            }
            if is_due(self.peers[id.0].handshake_at()) {
                self.initiate(now, id);
            }
            if is_due(self.peers[id.0].keep_alive_at()) {
                self.send_control(now, id, Control::KeepAlive);
            }
            if is_due(self.peers[id.0].ask_at()) {
                // One may be lost, and a peer believes that we have moved if two say so.
                for _ in 0..2 {
                    self.send_control(now, id, Control::ASK);
                }
                self.peers[id.0].on_asked(now);
            }
            if is_due(self.peers[id.0].mtu_at()) {
                self.probe_mtu(now, id);
            }
            if is_due(self.peers[id.0].probe_at()) {
                match self.peers[id.0].next_probe(now) {
                    Some(probe) => self.send_control(now, id, probe),
                    None => self.events.push_back(Event::Unchecked(id, false)),
                }
            }
        }
    }
}
