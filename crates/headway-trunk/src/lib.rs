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

mod budget;
mod config;
mod entries;
mod entry;
mod error;
mod exit;
#[cfg(test)]
mod fuzzed;
mod gateway;
mod half_open;
mod happy_eyeballs;
mod ip_packet;
mod link;
#[cfg(test)]
mod linked;
mod listeners;
mod metrics;
mod networks;
mod no_session;
mod packets;
mod places;
mod policy;
mod private_file;
mod proxy_header;
mod quic;
mod recent;
mod redirection;
mod relay;
mod reload;
mod repeated;
mod request;
mod route;
mod socket_address;
mod status;
mod status_socket;
mod stream_profile;
mod streams;
mod tun;

pub use config::{
    Config, ForwardConfig, GatewayConfig, LogLevel, PeerConfig, SocksConfig, TransparentConfig, schema,
};
pub use error::TrunkError;
pub use gateway::Gateway;
pub use metrics::{METRICS_CONTENT_TYPE, metrics};
pub use redirection::rules;
pub use reload::Reloaded;
pub use status::{ArrivedStatus, LossStatus, PathStatus, PeerStatus, RecentStatus, Status, StreamStatus};
pub use status_socket::{StatusSocket, status_socket};
