//! How a tunnel is set up.

use std::net::SocketAddr;

use headway_units::Duration;

use crate::keys::{PresharedKey, PublicKey, SecretKey};

/// A source of random bytes. A live gateway takes the system's.
pub type Random = Box<dyn FnMut(&mut [u8]) + Send>;

/// How a [`Tunnel`](super::Tunnel) is set up.
pub struct TunnelConfig {
    /// Our key.
    pub secret: SecretKey,
    /// The peers. Nothing that others send has an effect.
    pub peers: Vec<PeerConfig>,
    /// The time at [`Instant::ZERO`](headway_units::Instant::ZERO), in nanoseconds since 1970. It orders handshakes;
    /// being wrong does little harm.
    pub epoch: u64,
    /// The longest datagram, in bytes of UDP payload: what the configured MTU leaves. Whether it reaches a peer is found
    /// out.
    pub longest: u16,
    /// Random bytes for ephemeral keys, indices and cookies: for real keys only a cryptographic source, such as the system's.
    pub random: Random,
}

impl TunnelConfig {
    /// Without peers.
    pub fn new(secret: SecretKey, random: Random) -> Self {
        Self { secret, peers: Vec::new(), epoch: 0, longest: 1472, random }
    }
}

/// One peer of a [`Tunnel`](super::Tunnel).
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

/// Which peer: its place in [`TunnelConfig::peers`], and behind these in the order in which others came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerId(pub usize);
