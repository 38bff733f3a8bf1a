//! ICMP (RFC 792) and ICMPv6 (RFC 4443), as far as a TCP needs them: what routers and hosts say of
//! segments, and answers to echo requests.

mod echo;
mod error;

use core::net::IpAddr;

use crate::{checksum::Sum, ip::Datagram};

pub use echo::answer_echo;
pub use error::{IcmpError, IcmpKind, Quoted};

/// The protocol number of ICMP, over IPv4.
pub const ICMP: u8 = 1;
/// The protocol number of ICMPv6, over IPv6.
pub const ICMPV6: u8 = 58;

/// Type, code, checksum, and four octets of which the type says what they are.
const HEADER: usize = 8;
const CHECKSUM_AT: usize = 2;

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
