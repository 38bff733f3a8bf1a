//! Networks in virtual time.
//!
//! A [`Network`] holds hosts (the sans-IO TCP with an [`Application`] on top), links (the
//! error/delay box) and routers between them. It carries real bytes: what a host sends is judged
//! by its checksums where it arrives, damaged or not. The same seed gives the same result and the
//! same packets, on every machine.
//!
//! [`race`] runs the product's main experiment on it: a file sent across an emulated lossy link.
//!
//! ```
//! use headway_sim::Content;
//! use headway_sim::race::{Scenario, run};
//! use headway_tcp::Variant;
//! use headway_units::Duration;
//!
//! // 1 MB over 10 Mbit/s, a one-way delay of 20 ms; with 5 % of the packets a burst of 5 corrupted ones begins.
//! let mut scenario = Scenario::default();
//! (scenario.forward.delay, scenario.reverse.delay) = (Duration::from_millis(20), Duration::from_millis(20));
//! scenario.forward.damage = "burst:5%:5".parse()?;
//! let content = Content::generated(1_000_000);
//! let [sack, headway] = [Variant::Sack, Variant::Headway].map(|sender| run(&scenario, sender, &content, 1, true));
//! let (sack, headway) = (sack?, headway?);
//! let (sack, headway) = (sack.metrics, headway.metrics);
//! assert!(sack.finished && headway.finished);
//! assert!(headway.seconds < sack.seconds, "{} and {}", headway.seconds, sack.seconds);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod agenda;
mod application;
mod content;
mod network;
mod one_way_delays;
mod packet_trace;
pub mod race;
mod seed;
pub mod statistics;
mod transfer;
mod value;

pub use application::Application;
pub use content::{Content, ContentError, ContentReader};
pub use network::{
    Arrivals, Exposure, GatewayConfig, GatewayStatistics, LinkId, LinkPorts, Network, NetworkCounters, Next,
    Node, NodeContext, NodeId, Packet, PacketGatewayConfig, Passing, Port, Precedence, SplitGatewayConfig,
    SplitRoute, Tap,
};
pub use one_way_delays::{OneWayDelays, PacketDelay};
pub use packet_trace::{PacketTrace, PacketTraceBuilder, PacketTraceError, TimedPacket};
pub use seed::derive_seed;
pub use transfer::{Receiver, ReceiverReport, Sender};
pub use value::{Unit, Value, ValueKind};
