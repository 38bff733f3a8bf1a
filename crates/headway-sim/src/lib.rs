//! Networks in virtual time.
//!
//! A [`Network`] holds hosts (the sans-IO TCP with an [`Application`] on top), links (the
//! error/delay box) and routers between them. It carries real bytes: what a host sends is judged
//! by its checksums where it arrives, damaged or not. The same seed gives the same result and the
//! same packets, on every machine.
//!
//! [`race`] runs the product's main experiment on it: a file sent across an emulated lossy link.
#![forbid(unsafe_code)]

mod agenda;
mod application;
mod content;
mod network;
mod pool;
pub mod race;
mod seed;
pub mod statistics;
mod tap;
mod transfer;

pub use application::Application;
pub use content::{Content, ContentError, ContentReader};
pub use network::{
    Exposure, LinkId, LinkPorts, Network, NetworkCounters, Node, NodeContext, NodeId, Packet, Port,
    Precedence,
};
pub use seed::derive_seed;
pub use tap::{Passing, Tap};
pub use transfer::{Receiver, ReceiverReport, Sender};
