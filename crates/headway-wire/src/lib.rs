//! Bytes to headers and back: IPv4, IPv6, TCP with its options, checksums, and verdicts on what
//! damage has left of a packet.
//!
//! - [`Segment::parse`] reads a whole IP packet that carries TCP, [`emit()`] writes one.
//! - [`judge()`] says whether header and payload are what was sent. A wrong checksum is a verdict
//!   here, not a parse error: a damaged segment with a sound header is still of use (TCP HACK).
//! - [`ip::Datagram`] reads an IP packet of any protocol; [`icmp`] reads what is said of segments, and
//!   answers echo requests.
//! - [`repair`] tries what a damaged header may have been, [`blocks`] tells which parts of a damaged
//!   payload are sound.
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
//! Whatever the bytes are, parsing and judging do not panic: what cannot be read is an error or a
//! bad verdict. Emitting into too little room, with too many options or with addresses of two
//! families is an error. The one function that does panic is [`checksum::copy_and_sum`], when its
//! two slices differ in length, as [`slice::copy_from_slice`] does.
//!
//! # Example
//!
//! ```
//! use headway_wire::{
//!     Ecn, IpHeader, Segment, SeqNumber, TcpFlags, TcpHeader, TcpOptions, HeaderVerdict, PayloadVerdict,
//! };
//!
//! let ip = IpHeader {
//!     src: [192, 0, 2, 1].into(),
//!     dst: [192, 0, 2, 2].into(),
//!     ecn: Ecn::NotEct,
//!     hop_limit: 64,
//!     identification: 0,
//! };
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
//! assert_eq!(Segment::parse(packet)?.payload, b"hello, world");
//! packet[len - 1] ^= 0x40;
//! let verdicts = headway_wire::judge(packet)?;
//! assert_eq!(verdicts.header, HeaderVerdict::Good);
//! assert_eq!(verdicts.payload, PayloadVerdict::Bad);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

pub mod blocks;
pub mod checksum;
pub mod crc;
mod error;
mod header_crc;
pub mod icmp;
pub mod ip;
mod list;
pub mod options;
pub mod repair;
pub mod segment;
mod seq;
mod tcp;
pub mod verdict;
mod words;

pub use error::{EmitError, OptionError, ParseError};
pub use ip::{Ecn, IpHeader};
pub use list::List;
pub use options::{
    ExId, SackBlocks, SeqList, Skipped, TcpOptions, Timestamps, V2, V2Ack, V2Data, V2Form, V2Offsets,
    V2Request, V2Syn,
};
pub use segment::{HeaderLayout, Segment, emit, layout};
pub use seq::SeqNumber;
pub use tcp::{TcpFlags, TcpHeader};
pub use verdict::{HeaderVerdict, Judge, PayloadVerdict, Verdicts, judge, judge_segment};
