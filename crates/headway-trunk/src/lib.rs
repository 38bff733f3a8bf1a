//! The gateway: TCP connections of other hosts across a lossy link.
//!
//! A gateway stands at each end of the link. The near one takes a host's TCP connection (a local forward, SOCKS5,
//! or transparently), opens a stream to the far one, and the far one connects to the destination with a kernel socket:
//! the connection is split, and only headway's TCP, which distinguishes damage from congestion, crosses the link. Every
//! stream is a TCP connection of its own inside a sealed tunnel ([`headway_trunk_proto`]), so a lost segment holds up
//! only its stream; all streams to a peer share one congestion window and take turns.
//!
//! [`Config`] is read from a TOML file, [`Gateway`] runs it.
#![forbid(unsafe_code)]

mod config;
mod entry;
mod error;
mod exit;
#[cfg(test)]
mod fuzzed;
mod gateway;
#[cfg(test)]
mod layers;
mod link;
mod lookup;
mod no_session;
mod packets;
mod request;
mod saved_rates;
mod status;
mod stream;
mod unknown_peers;

pub use config::{
    Config, Endpoint, EndpointError, ForwardConfig, GatewayConfig, LogLevel, ModemTable, PeerConfig,
    Reloaded, SocksConfig, TransparentConfig, schema,
};
pub use entry::redirection::rules;
pub use error::TrunkError;
pub use gateway::Gateway;
pub use status::{
    Advice, ArrivedStatus, LossStatus, METRICS_CONTENT_TYPE, PathStatus, PeerStatus, RecentStatus, Status,
    StatusSocket, StreamStatus, metrics, status_socket,
};
