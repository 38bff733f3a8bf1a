//! Writes captures, graphs and event logs of TCP connections in common formats, and reads captures of any
//! origin:
//!
//! - [`Capture`]: packets, as a pcapng file for Wireshark;
//! - [`TimeSequence`]: the points of a connection's time-sequence graph, in bounded memory, and
//!   [`write_time_sequence`] and [`write_window`], which draw them for xplot;
//! - [`EventLog`]: every event, as a line of JSON; [`Qlog`]: the same as a qlog file;
//! - [`reader`]: captures of any origin, packet by packet;
//! - [`read_fates`]: the fate of each packet on a link, from a capture or from a text of fates;
//! - [`analysis`]: statistics of the connections in a capture, and their graphs for xplot
//!   ([`write_segments`], [`write_outstanding`], [`write_rtt`], [`write_throughput`]).
//!
//! [`TimeSequence`], [`EventLog`] and [`Qlog`] are observers of a TCP host ([`headway_tcp::Observer`]). The output
//! depends only on packets and events: the same run gives the same bytes on every machine.
#![forbid(unsafe_code)]

pub mod analysis;
mod capture;
mod error;
mod events;
mod fates;
mod qlog;
pub mod reader;
mod series;
mod stream;
mod time_sequence;
mod xplot;

pub use capture::{Capture, Direction};
pub use error::TraceError;
pub use events::EventLog;
pub use fates::{FatesError, PathDirection, read_fates};
pub use qlog::{HEADWAY_SCHEMA, Qlog, QlogClock, QlogHeader, VantagePoint};
pub use series::Series;
pub use time_sequence::{
    AckPoint, Retransmission, SentPoint, SpecialAckPoint, TimeSequence, TimeoutPoint, WindowPoint,
};
pub use xplot::{
    write_outstanding, write_rtt, write_segments, write_throughput, write_time_sequence, write_window,
};
