//! The sealed tunnel between two gateways, without I/O: keys, handshake, sessions, sealed TCP segments; and IP packets
//! in a byte stream ([`packets`]).
//!
//! A [`Tunnel`] is one gateway's end, with any number of peers. Datagrams and the time go in, datagrams and
//! [`Event`]s come out; it opens no socket and reads no clock. Between two gateways runs headway's TCP: each of its
//! segments is sealed for itself and sent in one UDP datagram, without checksum while damage is possible. The format, its reasons and the
//! threat model are in `docs/trunk-protocol.md`.
//!
//! Where only the payload was damaged on the way, the header can still be read
//! ([`SegmentIntegrity::Corrupted`]), and TCP HACK asks for a retransmission: encryption does not turn damage into
//! silent loss.
//!
//! ```
//! use headway_trunk_proto::{PeerConfig, SecretKey, Tunnel, TunnelConfig};
//! use headway_units::Instant;
//!
//! let (near, far) = (SecretKey::from_bytes([1; 32]), SecretKey::from_bytes([2; 32]));
//! // A live gateway takes these from the system.
//! let random = || Box::new(|bytes: &mut [u8]| bytes.fill(7));
//! let mut near_end = Tunnel::new(TunnelConfig {
//!     peers: vec![PeerConfig { endpoint: Some("192.0.2.2:4433".parse()?), ..PeerConfig::new(far.public()) }],
//!     ..TunnelConfig::new(near, random())
//! });
//! // The near end, which knows where the far end is, begins.
//! near_end.handle_timeout(Instant::ZERO);
//! let first = near_end.poll_transmit().expect("an initiation");
//! assert_eq!(first.to, "192.0.2.2:4433".parse()?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod addresses;
mod compact;
mod control;
mod cookie;
mod counters;
mod damage_trust;
mod flight;
pub mod flow_order;
mod handshake;
mod handshake_load;
mod key;
mod keys;
mod message;
mod mtu;
mod noise;
pub mod packets;
mod path;
mod payload_seal;
mod peer;
pub mod records;
mod replay;
mod seal;
mod secret;
mod session;
mod tunnel;
mod udp_checksum;
#[cfg(test)]
mod vectors;

pub use addresses::inner_address;
pub use counters::{PeerCounters, TunnelCounters};
pub use flight::FlightRecorder;
pub use keys::{KeyError, PresharedKey, PublicKey, SecretKey};
pub use payload_seal::PayloadSeal;
pub use seal::{HEADROOM, SealError, SegmentIntegrity, inner_mtu};
pub use tunnel::{
    Arrival, Event, LONGEST_DATA_HEADER, PeerConfig, PeerId, PeerStatus, Random, Refusal, RefusedHandshake,
    SealedPacket, Transmit, Tunnel, TunnelConfig, header_len,
};
