//! Bytes to headers and back: IPv4, IPv6, TCP with its options, checksums, and what corruption has
//! left of a packet.
//!
//! - [`Received::parse`] is the entry for a packet that arrives: it parses the packet and judges it
//!   by its checksums, except those that the carrier vouches for ([`ChecksumTrust`]). A wrong checksum
//!   is not a parse error: a corrupted segment with a valid header is still of use (TCP HACK).
//! - [`Segment::parse`] reads a whole IP packet that carries TCP, [`emit()`] writes one, [`judge()`]
//!   only verifies its checksums.
//! - [`ip::Datagram`] reads an IP packet of any protocol; [`icmp`] reads error messages about segments
//!   and answers echo requests.
//! - [`compact`] leaves out of a header what the receiver can restore, for carriers that know both ends
//!   to understand it.
//! - [`repair`] tries what a corrupted header may have been, [`blocks`] finds the intact parts of a
//!   corrupted payload.
//!
//! TCP HACK is read and written in both encodings, the classic one (kinds 14 to 16) and version 2
//! (kind 253); `docs/protocol.md` describes them.
//!
//! The crate needs neither `std` nor an allocator. A parsed segment borrows its payload, the
//! headers are plain values. The feature `std` makes CRC-32C, which version 2 computes over every
//! segment, about nine times as fast, by the instruction that x86-64 and AArch64 have for it.
//!
//! # Panics
//!
//! Whatever the bytes are, parsing and judging do not panic. Emitting into too little room, with too many options or with addresses of two
//! families is an error. The one function that does panic is [`checksum::copy_and_sum`], when its
//! two slices differ in length, as [`slice::copy_from_slice`] does.
//!
//! # Example
//!
//! ```
//! use headway_wire::{
//!     ChecksumTrust, IpHeader, Received, SeqNumber, TcpFlags, TcpHeader, TcpOptions,
//! };
//!
//! let ip = IpHeader::new([192, 0, 2, 1].into(), [192, 0, 2, 2].into());
//! let tcp = TcpHeader {
//!     src_port: 5000,
//!     dst_port: 80,
//!     seq: SeqNumber(1),
//!     ack: SeqNumber(1),
//!     flags: TcpFlags::ACK | TcpFlags::PSH,
//!     window: 1000,
//!     urgent: 0,
//! };
//! // The value is computed on the way out.
//! let options = TcpOptions { hack: Some(0), ..TcpOptions::default() };
//! let mut buf = [0; 100];
//! let len = headway_wire::emit(&mut buf, &ip, &tcp, &options, (b"hello, ", b"world"))?;
//!
//! let packet = &mut buf[..len];
//! let received = Received::parse(packet, ChecksumTrust::None);
//! assert!(matches!(received, Received::Intact(segment) if segment.payload == b"hello, world"));
//! packet[len - 1] ^= 0x40;
//! let received = Received::parse(packet, ChecksumTrust::None);
//! assert!(matches!(received, Received::Corrupted(segment) if segment.tcp.seq == SeqNumber(1)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

mod addresses;
pub mod blocks;
pub mod checksum;
pub mod compact;
pub mod crc;
mod error;
mod flow;
mod header_crc;
pub mod icmp;
pub mod integrity;
pub mod ip;
mod list;
pub mod options;
pub mod patch;
mod received;
pub mod repair;
pub mod segment;
mod seq;
mod tcp;
pub mod usual;
mod words;

pub use addresses::change_addresses;
pub use error::{EmitError, OptionError, ParseError};
pub use flow::flow_hash;
pub use integrity::{Integrity, is_judged_by_crc, judge};
pub use ip::{Dscp, Ecn, IpHeader, UnknownDscp};
pub use list::List;
pub use options::{
    EXID, PATCH_EXID, SackBlocks, SeqList, Skipped, TcpOptions, Timestamps, V2, V2Ack, V2Data, V2Offsets,
    V2Syn,
};
pub use received::{ChecksumTrust, Received};
pub use segment::{HeaderLayout, Segment, emit, layout};
pub use seq::SeqNumber;
pub use tcp::{TcpFlags, TcpHeader};
