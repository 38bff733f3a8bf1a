//! What a gateway does, for people and machines: its status and metrics, what is counted for them, and warnings.

mod advice;
mod metrics;
mod recent;
mod repeated;
mod socket;
mod streams;

pub use advice::Advice;
pub(crate) use advice::Adviser;
pub use metrics::{METRICS_CONTENT_TYPE, metrics};
pub(crate) use recent::{Capacity, Recent, Sample};
pub(crate) use repeated::Repeated;
pub(crate) use socket::check as check_socket;
pub use socket::{StatusSocket, status_socket};
pub(crate) use streams::{Meter, Streams};

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

/// A snapshot of a gateway.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub struct Status {
    /// Its public key.
    pub public_key: String,
    /// The UDP address of its tunnel; `null` over a modem.
    pub listen: Option<SocketAddr>,
    /// The modem of its tunnel; `null` over UDP.
    #[serde(default)]
    pub modem: Option<String>,
    /// Seconds since its start.
    pub seconds: f64,
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
    /// Handshake messages that were not valid, or too many from one address.
    pub bad_handshakes: u64,
    /// Handshake messages that were answered with a cookie: there were too many.
    pub cookies_sent: u64,
    /// Segments that were not sent, for lack of a session.
    pub without_session: u64,
    /// Memory that the buffers of streams use, in bytes.
    pub memory_bytes: u64,
}

impl Status {
    /// Where its tunnel is.
    pub fn place(&self) -> String {
        match (&self.listen, &self.modem) {
            (Some(address), _) => format!("UDP {address}"),
            (None, modem) => format!("modem {}", modem.as_deref().unwrap_or_default()),
        }
    }
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
    /// Seconds since handshakes are sent to it without an answer; `null`: none is waited for.
    #[serde(default)]
    pub trying_seconds: Option<f64>,
    /// Whether it has not answered for so long, 10 seconds, that connections to it are refused at once.
    #[serde(default)]
    pub is_away: bool,
    /// Whether datagrams without UDP checksum reach it, so that damage can be seen; `null`: not known yet. (Where nothing is damaged they
    /// have one all the same.)
    pub passes_unchecked: Option<bool>,
    /// Seconds since something authenticated arrived from it.
    pub last_received_seconds: Option<f64>,
    /// Streams that are open.
    pub open_streams: usize,
    /// Streams that were opened.
    pub opened_streams: u64,
    /// Streams that were refused: by the destination, or by the rules.
    pub refused_streams: u64,
    /// Streams that wait for their destination.
    #[serde(default)]
    pub half_open_streams: usize,
    /// Streams whose host was gone before they were open.
    #[serde(default)]
    pub abandoned_streams: u64,
    /// Streams that gave way to others before they were open, or were turned away: one host had too many half-open ones.
    #[serde(default)]
    pub displaced_streams: u64,
    /// Bytes of streams to it.
    pub bytes_to_peer: u64,
    /// Bytes of streams from it.
    pub bytes_from_peer: u64,
    /// Packets that cross as they are; `null` without a TUN.
    pub packets: Option<PacketStatus>,
    /// What arrived from it.
    pub arrived: ArrivedStatus,
    /// Handshakes that came to a session.
    pub handshakes: u64,
    /// The forward path to it; `null` until something was sent.
    pub path: Option<PathStatus>,
    /// What whoever runs the gateway should know or do.
    #[serde(default)]
    pub advice: Option<Advice>,
    /// The last seconds; `null` in the first two.
    pub recent: Option<RecentStatus>,
    /// The streams that are open, the oldest first.
    pub streams: Vec<StreamStatus>,
}

/// What arrived from a peer.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub struct ArrivedStatus {
    /// Segments with header and payload as they were sealed.
    pub intact: u64,
    /// Segments with a good header and a damaged payload.
    pub corrupted: u64,
    /// Packets with a damaged header.
    pub unreadable: u64,
    /// Damaged packets that were not announced to the peer, since most of those before them arrived intact too.
    #[serde(default)]
    pub disbelieved: u64,
    /// Packets that were replayed, or are damaged beyond use.
    pub ignored: u64,
}

/// The forward path to a peer, as this gateway's TCP knows it.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub struct PathStatus {
    /// Smoothed round-trip time.
    pub smoothed_rtt_seconds: Option<f64>,
    /// The shortest round-trip time of a connection.
    pub min_rtt_seconds: Option<f64>,
    /// The congestion window that all streams share.
    pub congestion_window_bytes: u32,
    /// Bytes in the network.
    pub in_flight_bytes: u32,
    /// What the path delivers, as far as it was measured: damaged packets count.
    pub delivery_rate_bits_per_second: Option<u64>,
    /// Segments with data that were sent, retransmissions included.
    pub segments_sent: u64,
    /// ECN marks that the peer echoed.
    pub ecn_marks: u64,
    /// Whether packets wait in a queue that this gateway does not keep: others use the link, or its delay varies.
    #[serde(default)]
    pub sees_others: bool,
    /// Segments that did not arrive intact, by the cause that the ledger found.
    pub losses: LossStatus,
}

/// Segments that did not arrive intact, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub struct LossStatus {
    /// Damage: the peer asked for a retransmission.
    pub announced: u64,
    /// Damage: the peer's count of damaged packets explains it.
    pub counted: u64,
    /// Damage: nothing announced or counted it, and the path loses as many at any rate.
    pub inferred: u64,
    /// Congestion.
    pub congestion: u64,
    /// No evidence of damage: answered like congestion.
    pub unexplained: u64,
}

impl LossStatus {
    /// Those that are damage.
    pub fn damage(&self) -> u64 {
        self.announced + self.counted + self.inferred
    }

    /// Each cause with its name.
    pub fn by_cause(&self) -> [(&'static str, u64); 5] {
        [
            ("announced", self.announced),
            ("counted", self.counted),
            ("inferred", self.inferred),
            ("congestion", self.congestion),
            ("unexplained", self.unexplained),
        ]
    }
}

/// The last ten seconds, or as many as there were.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub struct RecentStatus {
    /// How long they are.
    pub seconds: f64,
    /// Goodput to the peer.
    pub to_peer_bits_per_second: f64,
    /// Goodput from the peer.
    pub from_peer_bits_per_second: f64,
    /// Of the segments sent, how many were damaged; `null` if nothing was sent.
    pub damaged_share: Option<f64>,
    /// The most goodput that the link permits: `link-rate`, less headers, less what is damaged. `null` without
    /// `link-rate`.
    pub bound_bits_per_second: Option<f64>,
    /// The goodput to the peer as a share of that.
    pub share_of_bound: Option<f64>,
}

/// A stream that is open.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub struct StreamStatus {
    /// Its number; each stream of a peer has another.
    pub id: u64,
    /// The host that opened it, where this gateway knows it.
    pub client: Option<SocketAddr>,
    /// Where it goes.
    pub destination: String,
    /// Since when.
    pub seconds: f64,
    /// Bytes to the peer.
    pub bytes_to_peer: u64,
    /// Bytes from the peer.
    pub bytes_from_peer: u64,
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
