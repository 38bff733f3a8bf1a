//! What a tunnel says: what has happened, what is to be sent, and what is known and counted.

use std::fmt;
use std::net::{Ipv6Addr, SocketAddr};
use std::ops::Range;

use headway_units::Instant;

use super::PeerId;
use crate::counters::PeerCounters;
use crate::keys::PublicKey;
use crate::payload_seal::PayloadSeal;
use crate::seal::SegmentIntegrity;

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
    /// Datagrams without UDP checksum reach the peer from now on, so damage can be seen; or they do not, and every
    /// damaged datagram is dropped on the way.
    Unchecked(PeerId, bool),
    /// A handshake of this authenticated key, which is no peer's, was refused; from where it came. Of keys that come at the same
    /// time not all are told.
    Unknown(PublicKey, SocketAddr),
    /// The peer was [removed](super::Tunnel::remove_peer): no connection to it exists any more.
    Removed(PeerId),
    /// The session with the peer has expired, and no other could be made.
    Lost(PeerId),
    /// The peer is heard of again after a silence: the link was interrupted, and what waits can be sent.
    Returned(PeerId),
    /// Datagrams to the peer may have this many bytes of UDP payload from now on.
    Mtu(PeerId, u16),
    /// A segment to the peer was too long for its datagram because its header has no compact form. From now on
    /// [`PeerStatus::inner_mtu`] leaves room for such headers.
    LongHeaders(PeerId),
}

/// A handshake message that was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RefusedHandshake {
    /// Where it came from, by its header.
    pub from: SocketAddr,
    /// Why.
    pub why: Refusal,
}

/// Why a handshake message was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// Its mac1 is not for our public key.
    NotForUs,
    /// It is not of the protocol's form, or was forged.
    NotAuthentic,
    /// This authenticated key is no peer's.
    UnknownPeer(PublicKey),
    /// It answers no initiation that waits.
    NoInitiation,
    /// A response that does not open.
    NotAuthenticResponse,
    /// Its address has sent too many.
    TooMany,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotForUs => {
                f.write_str("it was made for another public key than this gateway's, or damaged")
            }
            Self::NotAuthentic => f.write_str("it is of another version of the protocol, forged or damaged"),
            Self::UnknownPeer(key) => write!(f, "its public key, {key}, is not that of a peer"),
            Self::NoInitiation => f.write_str("it answers no handshake that was begun here"),
            Self::NotAuthenticResponse => {
                f.write_str("the preshared keys differ, or it was forged or damaged")
            }
            Self::TooMany => f.write_str("there were too many from its address"),
        }
    }
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
#[derive(Clone, Debug)]
pub struct Arrival {
    /// The peer.
    pub peer: PeerId,
    /// What it is worth.
    pub verdict: SegmentIntegrity,
    /// Where in the buffer the IP packet is.
    pub packet: Range<usize>,
    /// That of a corrupted payload.
    pub seal: Option<PayloadSeal>,
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
    /// Since when handshakes are sent to it without an answer.
    pub trying_since: Option<Instant>,
    /// When something authenticated last arrived.
    pub last_received: Option<Instant>,
    /// Whether datagrams without UDP checksum reach it; `None`: not known yet.
    pub passes_unchecked: Option<bool>,
    /// The longest datagram to it, in bytes of UDP payload.
    pub longest: u16,
    /// The longest IP packet inside the tunnel to it.
    pub inner_mtu: u16,
    /// What was counted of it.
    pub counters: PeerCounters,
}
