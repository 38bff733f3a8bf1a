//! Writes down what packets and connections did, for the tools that people already use, and reads
//! captures, these and others:
//!
//! - [`Capture`]: packets, as a pcapng file for Wireshark;
//! - [`TimeSequence`]: the points of a connection's time-sequence graph, in bounded memory, and
//!   [`write_time_sequence`] and [`write_window`], which draw them for xplot;
//! - [`EventLog`]: every event, as a line of JSON;
//! - [`reader`]: captures of any origin, packet by packet;
//! - [`read_fates`]: what a link did to each packet, from a capture or from a file of fates;
//! - [`analysis`]: what a capture says about its connections, and their graphs for xplot
//!   ([`write_segments`], [`write_outstanding`], [`write_rtt`], [`write_throughput`]).
//!
//! [`TimeSequence`] and [`EventLog`] are observers of a TCP host ([`headway_tcp::Observer`]). What is
//! written depends only on packets and events: the same run gives the same bytes on every machine.
#![forbid(unsafe_code)]

pub mod analysis;
mod capture;
mod error;
mod events;
mod fates;
pub mod reader;
mod series;
mod stream;
mod time_sequence;
mod xplot;

pub use capture::{Capture, Direction};
pub use error::TraceError;
pub use events::EventLog;
pub use fates::{FatesError, PathDirection, read_fates};
pub use series::Series;
pub use time_sequence::{
    AckPoint, Retransmission, SentPoint, SpecialAckPoint, TimeSequence, TimeoutPoint, WindowPoint,
};
pub use xplot::{
    write_outstanding, write_rtt, write_segments, write_throughput, write_time_sequence, write_window,
};
