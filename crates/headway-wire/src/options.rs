//! TCP options.

mod emit;
mod parse;
pub(crate) mod v2;
pub(crate) mod walk;

use crate::{List, SeqNumber};

pub use v2::{EXID, PATCH_EXID, V2, V2Ack, V2Data, V2Offsets, V2Syn};

/// The most bytes of options that a TCP header has room for: the data offset counts to 15 words.
pub const MAX_LEN: usize = 40;

/// Option kinds (IANA "TCP Option Kind Numbers"; 14 to 16 as in TCP HACK).
pub mod kind {
    /// End of option list (RFC 9293, 3.1).
    pub const END: u8 = 0;
    /// No operation (RFC 9293, 3.1).
    pub const NOP: u8 = 1;
    /// Maximum segment size (RFC 9293, 3.7.1).
    pub const MSS: u8 = 2;
    /// Window scale (RFC 7323, 2.2).
    pub const WINDOW_SCALE: u8 = 3;
    /// Selective acknowledgements permitted (RFC 2018, 2).
    pub const SACK_PERMITTED: u8 = 4;
    /// Selective acknowledgement (RFC 2018, 3).
    pub const SACK: u8 = 5;
    /// Timestamps (RFC 7323, 3.2).
    pub const TIMESTAMPS: u8 = 8;
    /// Header Checksum (TCP HACK).
    pub const HACK: u8 = 14;
    /// Header Checksum ACK (TCP HACK).
    pub const HACK_ACK: u8 = 15;
    /// Extended Header Checksum ACK (TCP HACK).
    pub const XHACK_ACK: u8 = 16;
    /// Experiments, each with an identifier (RFC 6994): version 2 of TCP HACK is one.
    pub const EXPERIMENT: u8 = 253;
}

/// The timestamps option (RFC 7323, 3.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timestamps {
    /// TSval: the sender's clock.
    pub tsval: u32,
    /// TSecr: the TSval that this sender received last (RFC 7323, 4.3).
    pub tsecr: u32,
}

/// SACK blocks: the first byte held and the one behind the last held (RFC 2018, 3).
pub type SackBlocks = List<(SeqNumber, SeqNumber), 4>;

/// Sequence numbers of damaged segments, newest first: nine fill the option space.
pub type SeqList = List<SeqNumber, 9>;

/// The options of one segment, each at most once. The default is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpOptions {
    /// Maximum segment size, in bytes.
    pub mss: Option<u16>,
    /// Window scale as it arrived; more than 14 counts as 14 (RFC 7323, 2.3), which is the
    /// reader's business.
    pub window_scale: Option<u8>,
    /// Whether selective acknowledgements are permitted.
    pub sack_permitted: bool,
    /// Timestamps.
    pub timestamps: Option<Timestamps>,
    /// SACK blocks; empty if the option is not there.
    pub sack: SackBlocks,
    /// Header Checksum, kind 14: its value as it arrived.
    pub hack: Option<u16>,
    /// Header Checksum ACK, kind 15: the sequence number of the damaged segment.
    pub hack_ack: Option<SeqNumber>,
    /// Extended Header Checksum ACK, kind 16; empty if the option is not there.
    pub xhack_ack: SeqList,
    /// Version 2 of TCP HACK, kind 253.
    pub v2: Option<V2>,
}

/// An option of a known kind with a length that this kind cannot have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The option's kind.
    pub kind: u8,
    /// Its length as it arrived, kind and length included.
    pub length: u8,
}
