//! ICMP (RFC 792) and ICMPv6 (RFC 4443), as far as a TCP needs them: error messages about segments, and
//! replies to echo requests.

mod echo;
mod error;
mod unreachable;

use core::net::IpAddr;

use crate::{checksum::Sum, ip::Datagram};

pub use echo::EchoRequest;
pub use error::{IcmpError, IcmpKind, Quoted};
pub use unreachable::Unreachable;

/// The protocol number of ICMP, over IPv4.
pub const ICMP: u8 = 1;
/// The protocol number of ICMPv6, over IPv6.
pub const ICMPV6: u8 = 58;

/// Type, code, checksum, and four bytes whose meaning depends on the type.
const HEADER: usize = 8;
const CHECKSUM_AT: usize = 2;

/// What an ICMP packet says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IcmpMessage<'a> {
    /// An error message about a TCP segment.
    Error(IcmpError),
    /// An echo request.
    EchoRequest(EchoRequest<'a>),
    /// Anything else: of another type or about another protocol, with a wrong checksum, or of the other
    /// IP version.
    Other,
}

impl<'a> IcmpMessage<'a> {
    /// Reads an IP packet and verifies the checksum of the ICMP message in it.
    pub fn parse(datagram: &Datagram<'a>) -> Self {
        let Some((header, rest)) = message(datagram) else { return Self::Other };
        if let Some(error) = IcmpError::parse(datagram, header, rest) {
            return Self::Error(error);
        }
        EchoRequest::new(datagram, header[0], header[1]).map_or(Self::Other, Self::EchoRequest)
    }
}

/// The header and what follows it, if `datagram` holds a message of its family whose checksum is right.
fn message<'a>(datagram: &Datagram<'a>) -> Option<(&'a [u8; HEADER], &'a [u8])> {
    let mut sum = Sum::default();
    match (datagram.header.dst, datagram.protocol) {
        (IpAddr::V4(_), ICMP) => {}
        (IpAddr::V6(_), ICMPV6) => {
            sum = datagram.header.pseudo_header_sum(ICMPV6, datagram.body.len());
        }
        _ => return None,
    }
    sum.add_bytes(datagram.body);
    if !sum.is_sound() {
        return None;
    }
    datagram.body.split_first_chunk()
}
