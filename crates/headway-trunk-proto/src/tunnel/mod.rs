//! One gateway's end of its tunnels.

mod config;
mod handshakes;
mod headers;
mod incoming;
#[cfg(test)]
mod limits;
mod outgoing;
mod paths;
mod peers;
mod report;
mod timers;

use std::collections::{BTreeMap, VecDeque};
use std::net::{Ipv6Addr, SocketAddr};

use crate::cookie::CookieJar;
use crate::counters::TunnelCounters;
use crate::flight::FlightRecorder;
use crate::handshake::Boot;
use crate::handshake_load::HandshakeLoad;
use crate::keys::{PublicKey, SecretKey};
use crate::peer::Peer;

pub use config::{PeerConfig, PeerId, Random, TunnelConfig};
pub use headers::{LONGEST_DATA_HEADER, header_len};
pub use report::{Arrival, Event, PeerStatus, Refusal, RefusedHandshake, SealedPacket, Transmit};

/// Handshake messages and control messages that wait to be sent; more are dropped.
const MOST_WAITING: usize = 256;

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
    load: HandshakeLoad,
    waiting: VecDeque<Transmit>,
    events: VecDeque<Event>,
    counters: TunnelCounters,
    last_refusal: Option<RefusedHandshake>,
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
            load: HandshakeLoad::default(),
            waiting: VecDeque::new(),
            events: VecDeque::new(),
            counters: TunnelCounters::default(),
            last_refusal: None,
            random,
        };
        for peer in peers {
            tunnel.add_peer(peer);
        }
        tunnel
    }

    /// Our public key.
    pub fn public_key(&self) -> PublicKey {
        self.public
    }

    /// What is known of the peers, by their [places](PeerId), also those of peers that were removed.
    pub fn peers(&self) -> impl Iterator<Item = PeerStatus> {
        self.peers.iter().map(|peer| PeerStatus {
            key: peer.key,
            endpoint: peer.paths.endpoint(),
            inner: peer.inner,
            session_since: peer.current.as_ref().map(|session| session.since),
            trying_since: peer.trying_since(),
            last_received: peer.last_received,
            longest: peer.mtu.used(),
            inner_mtu: peer.inner_mtu(),
            passes_unchecked: peer.checksum.passes(),
            counters: peer.counters,
        })
    }

    /// What became of the last packets of each peer, by its place.
    pub fn recorders(&self) -> Vec<FlightRecorder> {
        self.peers.iter().map(|peer| peer.recorder.clone()).collect()
    }

    /// What was counted.
    pub fn counters(&self) -> TunnelCounters {
        self.counters
    }

    /// The last handshake message that was refused; how many were is among the counters.
    pub fn last_refusal(&self) -> Option<RefusedHandshake> {
        self.last_refusal
    }

    fn refuse(&mut self, from: SocketAddr, why: Refusal) {
        self.counters.bad_handshakes += 1;
        self.last_refusal = Some(RefusedHandshake { from, why });
    }

    fn queue(&mut self, transmit: Transmit) {
        if self.waiting.len() < MOST_WAITING {
            self.waiting.push_back(transmit);
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
}
