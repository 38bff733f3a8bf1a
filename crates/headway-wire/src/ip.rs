//! IPv4 and IPv6 as far as a TCP needs them.

mod dscp;
mod ipv4;
mod ipv6;

use crate::{
    EmitError, ParseError,
    checksum::{self, Sum},
};
use core::net::IpAddr;
pub use dscp::{Dscp, UnknownDscp};

/// The ECN field (RFC 3168, 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ecn {
    /// The sender does not know ECN.
    #[default]
    NotEct,
    /// ECN-capable, codepoint 01 (RFC 9331: low latency).
    Ect1,
    /// ECN-capable, codepoint 10.
    Ect0,
    /// Congestion experienced.
    Ce,
}

impl Ecn {
    /// The codepoint in the two low bits, whatever the others are.
    #[inline]
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 3 {
            0 => Self::NotEct,
            1 => Self::Ect1,
            2 => Self::Ect0,
            _ => Self::Ce,
        }
    }

    /// The codepoint, 0 to 3.
    #[inline]
    pub const fn bits(self) -> u8 {
        self as u8
    }
}

/// What is kept of an IP header. On the way out, "don't fragment" is always set, and the flow label is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpHeader {
    /// Source address.
    pub src: IpAddr,
    /// Destination address, of the same family.
    pub dst: IpAddr,
    /// How routers are asked to treat the packet.
    pub dscp: Dscp,
    /// The ECN field.
    pub ecn: Ecn,
    /// IPv6 hop limit, IPv4 time to live.
    pub hop_limit: u8,
    /// IPv4 identification; IPv6 has none (0 on the way in, ignored on the way out).
    pub identification: u16,
}

impl IpHeader {
    /// The hop limit unless one is asked for: the value that IANA's "IP TIME TO LIVE PARAMETER" recommends.
    pub const HOP_LIMIT: u8 = 64;

    /// The header of a packet between two addresses of one family: best effort, without ECN, hop limit
    /// [`IpHeader::HOP_LIMIT`], identification 0.
    #[inline]
    pub const fn new(src: IpAddr, dst: IpAddr) -> Self {
        let (dscp, ecn) = (Dscp::DEFAULT, Ecn::NotEct);
        Self { src, dst, dscp, ecn, hop_limit: Self::HOP_LIMIT, identification: 0 }
    }

    /// The length of the header when emitted, in bytes.
    #[inline]
    pub const fn emitted_len(&self) -> usize {
        match self.dst {
            IpAddr::V4(_) => ipv4::FIXED_LEN,
            IpAddr::V6(_) => ipv6::FIXED_LEN,
        }
    }

    /// The sum of the pseudo-header in front of `body_len` bytes of `protocol` (RFC 9293, 3.1;
    /// RFC 8200, 8.1).
    #[inline]
    pub fn pseudo_header_sum(&self, protocol: u8, body_len: usize) -> Sum {
        let mut sum = Sum::default();
        for addr in [self.src, self.dst] {
            match addr {
                IpAddr::V4(addr) => sum.add_u32(addr.to_bits()),
                IpAddr::V6(addr) => {
                    let bits = addr.to_bits();
                    for shift in [96, 64, 32, 0] {
                        sum.add_u32((bits >> shift) as u32);
                    }
                }
            }
        }
        sum.add_u16(u16::from(protocol));
        sum.add_u32(body_len as u32);
        sum
    }

    /// Writes the header of a datagram that carries `body_len` bytes of `protocol` to the front of
    /// `buf`, which has room for the body too. Returns the header's length.
    ///
    /// # Errors
    ///
    /// If the addresses are of two families, the datagram is longer than IP can say or longer than
    /// `buf`.
    #[inline]
    pub fn emit(&self, buf: &mut [u8], protocol: u8, body_len: usize) -> Result<usize, EmitError> {
        let header_len = self.emitted_len();
        let room = buf.len();
        let needed = header_len.saturating_add(body_len);
        if room < needed {
            return Err(EmitError::BufferTooSmall { needed, room });
        }
        match (self.src, self.dst) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => ipv4::emit(buf, self, src, dst, protocol, needed)?,
            (IpAddr::V6(src), IpAddr::V6(dst)) => ipv6::emit(buf, self, &src, &dst, protocol, body_len)?,
            _ => return Err(EmitError::MixedFamilies),
        }
        Ok(header_len)
    }
}

/// An IP packet of any protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram<'a> {
    /// The header.
    pub header: IpHeader,
    /// Which protocol the body is: 6 is TCP, 17 is UDP.
    pub protocol: u8,
    /// The length of the IP header with its options or extension headers, in bytes: where the body
    /// starts.
    pub header_len: usize,
    /// What the datagram carries, as long as the IP header says; padding behind it is dropped.
    pub body: &'a [u8],
}

impl<'a> Datagram<'a> {
    /// Reads an IP packet. IPv4 options and IPv6 hop-by-hop, destination and routing headers are
    /// skipped.
    ///
    /// # Errors
    ///
    /// If the bytes are neither IPv4 nor IPv6, are too few, are a fragment, have a wrong IPv4
    /// header checksum or too many IPv6 extension headers.
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ParseError> {
        Ok(Frame::parse(bytes)?.datagram())
    }
}

/// Whether a packet is one of IPv4, by its first byte.
#[inline]
pub(crate) fn is_v4(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(|first| first >> 4 == 4)
}

/// A packet whose IP header has been checked and not yet taken apart: what judging needs, and
/// cheaper to hand around.
#[derive(Clone, Copy)]
pub(crate) struct Frame<'a> {
    fixed: Fixed<'a>,
    pub(crate) protocol: u8,
    pub(crate) header_len: usize,
    pub(crate) body: &'a [u8],
}

/// The fixed part of either header.
#[derive(Clone, Copy)]
enum Fixed<'a> {
    V4(&'a [u8; ipv4::FIXED_LEN]),
    V6(&'a [u8; ipv6::FIXED_LEN]),
}

impl<'a> Frame<'a> {
    /// See [`Datagram::parse`].
    #[inline]
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, ParseError> {
        match bytes.first() {
            Some(first) if first >> 4 == 4 => ipv4::parse(bytes, |error| error),
            Some(first) if first >> 4 == 6 => ipv6::parse(bytes),
            Some(first) => Err(ParseError::Version(first >> 4)),
            None => Err(ParseError::Truncated { part: "the IP version", needed: 1, room: 0 }),
        }
    }

    /// The same of a packet that is one of IPv4, without the reason why it cannot be read.
    #[inline]
    pub(crate) fn parse_v4(bytes: &'a [u8]) -> Option<Self> {
        ipv4::parse(bytes, drop).ok()
    }

    /// The packet taken apart.
    #[inline]
    pub(crate) fn datagram(&self) -> Datagram<'a> {
        let Self { protocol, header_len, body, .. } = *self;
        Datagram { header: self.header(), protocol, header_len, body }
    }

    /// The header's fields.
    #[inline]
    pub(crate) fn header(&self) -> IpHeader {
        match self.fixed {
            Fixed::V4(fixed) => ipv4::header(fixed),
            Fixed::V6(fixed) => ipv6::header(fixed),
        }
    }

    /// [`IpHeader::pseudo_header_sum`], from the bytes as they are.
    #[inline]
    pub(crate) fn pseudo_header_sum(&self) -> Sum {
        let mut sum = match self.fixed {
            Fixed::V4(fixed) => checksum::sum_header(&fixed[12..]),
            Fixed::V6(fixed) => checksum::sum_header(&fixed[8..]),
        };
        sum.add_u16(u16::from(self.protocol));
        sum.add_u32(self.body.len() as u32);
        sum
    }
}

/// Protocol and length of the IP header of a packet, in bytes, where it has the form of one; no sum is
/// checked. Of IPv6 extension headers those are skipped that [`Datagram::parse`] skips.
#[inline]
pub fn layout(bytes: &[u8]) -> Option<(u8, usize)> {
    match bytes.first()? >> 4 {
        4 => ipv4::layout(bytes),
        6 => ipv6::walk(bytes).ok(),
        _ => None,
    }
}

/// Whether the IP header of a packet was certainly not sent as it is here: nothing in it, addresses and
/// length included, can be trusted. It is of neither version, its checksum (IPv4) is wrong, its extension
/// headers (IPv6) have no end, or the packet is shorter than it says.
///
/// A fragment was sent like this, and so was what has a valid checksum otherwise.
pub fn is_header_corrupted(bytes: &[u8]) -> bool {
    match bytes.first().map(|first| first >> 4) {
        Some(4) => ipv4::is_header_corrupted(bytes),
        Some(6) => ipv6::is_header_corrupted(bytes),
        _ => true,
    }
}

/// How many bytes a packet is shorter than its IP header says: of a frame that ended early. 0 without a whole header, and if
/// the checksum (IPv4) of that is wrong.
pub fn missing(bytes: &[u8]) -> usize {
    let stated = match bytes.first().map(|first| first >> 4) {
        Some(4) => ipv4::stated_len(bytes),
        Some(6) => ipv6::stated_len(bytes),
        _ => None,
    };
    stated.unwrap_or(0).saturating_sub(bytes.len())
}

/// The first `N` bytes of `bytes`.
#[inline]
fn fixed<'a, const N: usize>(bytes: &'a [u8], part: &'static str) -> Result<&'a [u8; N], ParseError> {
    bytes.first_chunk().ok_or(ParseError::Truncated { part, needed: N, room: bytes.len() })
}

/// `bytes` from `start` up to `end`, which are in order.
#[inline]
fn body<'a>(bytes: &'a [u8], start: usize, end: usize, part: &'static str) -> Result<&'a [u8], ParseError> {
    bytes.get(start..end).ok_or(ParseError::Truncated { part, needed: end, room: bytes.len() })
}
