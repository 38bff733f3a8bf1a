//! The keys of a scenario: the link, the senders, what is sent, and how long it may take.
//!
//! [`keys`] is the one table of them. The options of `headway race` and `headway box`, the keys of
//! experiment files with their JSON schema, the parameters in tables of results and in JSON, and the
//! documentation of all these derive from it. [`Settings`] is what a set of keys describes.
#![forbid(unsafe_code)]

mod carrier;
mod clock;
mod columns;
mod error;
mod hops;
mod jitter;
mod key;
mod packets;
mod quantity;
mod sender;
mod settings;
mod table;
mod traces;

pub use carrier::RealCarrier;
pub use clock::Clock;
pub use columns::{Column, link_values, parameters};
pub use error::KeyError;
pub use headway_trace::PathDirection;
pub use hops::Hops;
pub use jitter::JitterError;
pub use key::{Defaults, Key, Scope, Unset};
pub use packets::{PacketsError, capture_of};
pub use quantity::Dimension;
pub use sender::{Foreign, Sender, Shards};
pub use settings::Settings;
pub use table::{key, keys, read, unknown_key};
pub use traces::{DamageError, RateTraceError, Recorded, Traces};
