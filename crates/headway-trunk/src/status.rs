//! What a gateway does, for people and machines.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

/// A snapshot of a gateway.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub struct Status {
    /// Its public key.
    pub public_key: String,
    /// The UDP address of its tunnel.
    pub listen: SocketAddr,
    /// Its peers.
    pub peers: Vec<PeerStatus>,
    /// Segments that arrived with header and payload as they were sealed, of all peers.
    pub intact: u64,
    /// Segments with a good header and a damaged payload.
    pub corrupted: u64,
    /// Packets of a session whose header is damaged.
    pub unreadable: u64,
    /// Datagrams that belong to nothing: forged, replayed, of strangers, or damaged beyond recognition.
    pub ignored: u64,
}

/// A peer of a gateway.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub struct PeerStatus {
    /// Its name in the configuration.
    pub name: String,
    /// Where it is, if known.
    pub endpoint: Option<SocketAddr>,
    /// Whether there is a session with it.
    pub connected: bool,
    /// Whether datagrams without UDP checksum reach it, so that damage arrives; `null`: not known yet.
    pub passes_unchecked: Option<bool>,
    /// Seconds since something authenticated arrived from it.
    pub last_received_seconds: Option<f64>,
    /// Streams that are open.
    pub open_streams: usize,
    /// Streams that were opened.
    pub opened_streams: u64,
    /// Streams that were refused: by the destination, or by the rules.
    pub refused_streams: u64,
    /// Bytes of ended streams to it.
    pub bytes_to_peer: u64,
    /// Bytes of ended streams from it.
    pub bytes_from_peer: u64,
    /// Packets that cross as they are; `null` without a TUN.
    pub packets: Option<PacketStatus>,
}

/// Packets of a peer that cross as they are.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub struct PacketStatus {
    /// Packets to it.
    pub to_peer: u64,
    /// Packets from it, delivered.
    pub from_peer: u64,
    /// Packets to it that were dropped, because they waited too long or too many did.
    pub dropped: u64,
    /// Packets from it that were not delivered: their addresses are not allowed, or the kernel did not take them.
    pub refused: u64,
    /// Packets from it that were not delivered: they were late.
    pub late: u64,
}
