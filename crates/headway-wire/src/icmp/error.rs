//! ICMP error messages about TCP segments.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::HEADER;
use crate::{SeqNumber, ip::Datagram};

/// The protocol number of TCP.
const TCP: u8 = 6;
/// The ports and the sequence number: "the first 64 bits of the original datagram's data" (RFC 792).
const QUOTED_TCP: usize = 8;

/// An ICMP error message about a TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IcmpError {
    /// The sender of the message. Anyone can send one: see RFC 5927.
    pub from: IpAddr,
    /// The error.
    pub kind: IcmpKind,
    /// The segment that it is about.
    pub segment: Quoted,
}

/// The error that an ICMP message reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum IcmpKind {
    /// The segment is longer than the next link carries (RFC 1191, 4; RFC 4443, 3.2).
    PacketTooBig {
        /// The MTU of that link, in bytes; `None` where the router does not say (RFC 1191, 5).
        mtu: Option<u16>,
    },
    /// The host has no TCP.
    ProtocolUnreachable,
    /// No program listens at the port.
    PortUnreachable,
    /// A filter does not let it pass.
    Prohibited,
    /// The network cannot be reached for now.
    NetworkUnreachable,
    /// The host cannot be reached for now.
    HostUnreachable,
    /// It passed too many routers.
    TimeExceeded,
    /// A router or host cannot make sense of a field of the IP header.
    ParameterProblem,
}

impl IcmpKind {
    /// Whether trying again is of no use: RFC 1122, 4.2.3.9 calls "protocol" and "port unreachable"
    /// "hard error conditions"; RFC 5461, 2.1 counts ICMPv6's "administratively prohibited" with them,
    /// and it is the same over IPv4 (RFC 1812, 5.2.7.1).
    pub const fn is_hard(self) -> bool {
        matches!(self, Self::ProtocolUnreachable | Self::PortUnreachable | Self::Prohibited)
    }
}

/// The part of a segment that an error message quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quoted {
    /// Where it came from.
    pub src: SocketAddr,
    /// Where it was to go.
    pub dst: SocketAddr,
    /// Its sequence number.
    pub seq: SeqNumber,
    /// The length of the whole IP packet, in bytes.
    pub len: u16,
}

impl IcmpError {
    /// Reads a message whose checksum is right; `None` if it is not an error message about a TCP segment.
    pub(super) fn parse(datagram: &Datagram<'_>, header: &[u8; HEADER], quote: &[u8]) -> Option<Self> {
        let [kind, code, _, _, a, b, c, d] = *header;
        let (kind, segment) = if datagram.header.dst.is_ipv4() {
            (kind_v4(kind, code, u16::from_be_bytes([c, d]))?, Quoted::v4(quote)?)
        } else {
            (kind_v6(kind, code, u32::from_be_bytes([a, b, c, d]))?, Quoted::v6(quote)?)
        };
        Some(Self { from: datagram.header.src, kind, segment })
    }
}

/// RFC 792, RFC 1122 (3.2.2.1), RFC 1191 (4), RFC 1812 (5.2.7.1).
const fn kind_v4(kind: u8, code: u8, mtu: u16) -> Option<IcmpKind> {
    Some(match (kind, code) {
        (3, 2) => IcmpKind::ProtocolUnreachable,
        (3, 3) => IcmpKind::PortUnreachable,
        // RFC 1191, 5: routers that do not know of it send a zero.
        (3, 4) => IcmpKind::PacketTooBig { mtu: if mtu == 0 { None } else { Some(mtu) } },
        (3, 9 | 10 | 13) => IcmpKind::Prohibited,
        // RFC 1122, 3.2.2.1: 6 is an unknown network, 11 one that is unreachable for this type of service.
        (3, 0 | 6 | 11) => IcmpKind::NetworkUnreachable,
        (3, _) => IcmpKind::HostUnreachable,
        (11, _) => IcmpKind::TimeExceeded,
        (12, _) => IcmpKind::ParameterProblem,
        _ => return None,
    })
}

/// RFC 4443, 3.
const fn kind_v6(kind: u8, code: u8, parameter: u32) -> Option<IcmpKind> {
    Some(match (kind, code) {
        (1, 1) => IcmpKind::Prohibited,
        (1, 4) => IcmpKind::PortUnreachable,
        (1, 0) => IcmpKind::NetworkUnreachable,
        (1, _) => IcmpKind::HostUnreachable,
        (2, _) => {
            let mtu = if parameter > u16::MAX as u32 { u16::MAX } else { parameter as u16 };
            IcmpKind::PacketTooBig { mtu: Some(mtu) }
        }
        (3, _) => IcmpKind::TimeExceeded,
        // "Unrecognized Next Header type encountered": the host has no TCP.
        (4, 1) => IcmpKind::ProtocolUnreachable,
        (4, _) => IcmpKind::ParameterProblem,
        _ => return None,
    })
}

impl Quoted {
    fn v4(quote: &[u8]) -> Option<Self> {
        let fixed: &[u8; 20] = quote.first_chunk()?;
        let [first, _, l0, l1, _, _, f0, f1, _, protocol, _, _, s0, s1, s2, s3, d0, d1, d2, d3] = *fixed;
        let header_len = usize::from(first & 0xf) * 4;
        // Its checksum and time to live may have been changed on the way. We send no fragments.
        let fragment = u16::from_be_bytes([f0, f1]) & 0x3fff;
        if first >> 4 != 4 || header_len < fixed.len() || protocol != TCP || fragment != 0 {
            return None;
        }
        let addresses = (Ipv4Addr::new(s0, s1, s2, s3), Ipv4Addr::new(d0, d1, d2, d3));
        let len = u16::from_be_bytes([l0, l1]);
        Self::tcp((addresses.0.into(), addresses.1.into()), len, quote.get(header_len..)?)
    }

    /// Our segments have no extension headers.
    fn v6(quote: &[u8]) -> Option<Self> {
        let (fixed, tcp) = quote.split_first_chunk::<40>()?;
        if fixed[0] >> 4 != 6 || fixed[6] != TCP {
            return None;
        }
        let src = Ipv6Addr::from(*fixed[8..].first_chunk::<16>()?);
        let dst = Ipv6Addr::from(*fixed[24..].first_chunk::<16>()?);
        let len = u16::from_be_bytes([fixed[4], fixed[5]]).saturating_add(fixed.len() as u16);
        Self::tcp((src.into(), dst.into()), len, tcp)
    }

    fn tcp((src, dst): (IpAddr, IpAddr), len: u16, tcp: &[u8]) -> Option<Self> {
        let [s0, s1, d0, d1, seq @ ..] = *tcp.first_chunk::<QUOTED_TCP>()?;
        Some(Self {
            src: SocketAddr::new(src, u16::from_be_bytes([s0, s1])),
            dst: SocketAddr::new(dst, u16::from_be_bytes([d0, d1])),
            seq: SeqNumber(u32::from_be_bytes(seq)),
            len,
        })
    }
}
