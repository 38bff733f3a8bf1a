//! Errors of parsing and of emitting.

use thiserror::Error;

/// Why bytes are not an IP packet, or not a TCP segment in one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ParseError {
    /// The bytes end before what they announce.
    #[error("{part} takes {needed} bytes, {room} are there")]
    Truncated {
        /// What does not fit.
        part: &'static str,
        /// How many bytes it takes.
        needed: usize,
        /// How many there are.
        room: usize,
    },
    /// The first four bits are the version of neither IPv4 nor IPv6.
    #[error("expected IP version 4 or 6, got {0}")]
    Version(u8),
    /// The IPv4 header length or total length contradicts the header's form.
    #[error("expected an IPv4 {part} of at least {min} bytes, got {got}")]
    Ipv4Length {
        /// Which of the two lengths.
        part: &'static str,
        /// The smallest valid value.
        min: usize,
        /// What it is.
        got: usize,
    },
    /// The IPv4 header checksum is wrong. Hosts drop such a packet before TCP sees it (RFC 1122,
    /// 3.2.1.2).
    #[error("the IPv4 header checksum is wrong")]
    Ipv4Checksum,
    /// The packet is a fragment, and reassembly is not done here.
    #[error("expected a whole datagram, got a fragment")]
    Fragment,
    /// An IPv6 routing header says that the packet has further to go.
    #[error("expected an IPv6 routing header at its last stop, got {segments_left} segments left")]
    RoutingHeader {
        /// How many stops there are yet.
        segments_left: u8,
    },
    /// There are more IPv6 extension headers than are looked at.
    #[error("expected at most {max} IPv6 extension headers, got more")]
    TooManyExtensionHeaders {
        /// The number that is looked at.
        max: usize,
    },
    /// The datagram carries another protocol than TCP.
    #[error("expected protocol 6 (TCP), got {0}")]
    NotTcp(u8),
    /// The TCP data offset is shorter than the fixed header or runs past the segment.
    #[error("expected a TCP header of 20 to {room} bytes, got {got}")]
    DataOffset {
        /// The header length it announces, in bytes.
        got: usize,
        /// How many bytes the segment has.
        room: usize,
    },
    /// The TCP options cannot be parsed.
    #[error(transparent)]
    Options(#[from] OptionError),
}

/// Why TCP options cannot be parsed.
///
/// "TCP implementations MUST be prepared to handle an illegal option length (e.g., zero); a
/// suggested procedure is to reset the connection and log the error cause (MUST-7)." (RFC 9293,
/// 3.1)
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum OptionError {
    /// The length is shorter than kind and length themselves, or runs past the end.
    #[error("TCP option kind {kind} at offset {offset}: expected a length of 2 to {room}, got {length}")]
    Length {
        /// The option's kind.
        kind: u8,
        /// Where it starts, in bytes from the start of the options.
        offset: usize,
        /// Its length as it arrived.
        length: u8,
        /// How many bytes there are from its start to the end of the options.
        room: usize,
    },
    /// The options end where the length should be.
    #[error("TCP option kind {kind} at offset {offset}: expected a length, got the end of the options")]
    NoLength {
        /// The option's kind.
        kind: u8,
        /// Where it starts, in bytes from the start of the options.
        offset: usize,
    },
}

/// Why a packet cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EmitError {
    /// The options take more than the 40 bytes that a TCP header has for them.
    #[error("expected at most 40 bytes of TCP options, got {len}")]
    OptionsTooLong {
        /// How many bytes they take.
        len: usize,
    },
    /// The buffer is too short.
    #[error("expected a buffer of at least {needed} bytes, got {room}")]
    BufferTooSmall {
        /// How many bytes the packet takes.
        needed: usize,
        /// How many there are.
        room: usize,
    },
    /// The packet is longer than the IP length field can say.
    #[error("expected an IP length of at most 65535 bytes, got {len}")]
    TooLong {
        /// What the length field would have to say.
        len: usize,
    },
    /// One address is IPv4, the other IPv6.
    #[error("expected two addresses of one family, got IPv4 and IPv6")]
    MixedFamilies,
}
