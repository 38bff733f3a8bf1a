//! Packet mode as in the papers: IP packets, in order, in one byte stream, the TCP Trunk of Kung and Wang (paper 004,
//! III.B: "a TCP circuit between two edge routers that carries IP packets over the network").
//!
//! [`PacketWriter`] is the way in: a short queue and the packet that is being written. [`PacketReader`] is the way out.
//! Neither knows the connection: a gateway moves bytes between them and its stream. The simulator's gateways do, to
//! compare; a live gateway's packets need no order ([`records`](crate::records)). The format is in
//! `docs/trunk-protocol.md`.

mod framing;
mod queue;

pub use framing::{FramingError, LENGTH_PREFIX, PacketReader, is_whole_packet};
pub use queue::{PacketWriter, PacketWriterCounters};
