//! Answers to echo requests.

use core::net::IpAddr;

use super::{CHECKSUM_AT, ICMP, ICMPV6, message};
use crate::{Ecn, EmitError, IpHeader, checksum, checksum::Sum, ip::Datagram};

const ECHO_REQUEST_V4: u8 = 8;
const ECHO_REPLY_V4: u8 = 0;
const ECHO_REQUEST_V6: u8 = 128;
const ECHO_REPLY_V6: u8 = 129;

/// Writes the answer to an echo request, from the address that it was sent to, to the front of `buf`
/// and returns its length; `None` if `datagram` is no sound echo request.
///
/// RFC 1122, 3.2.2.6: "Data received in an ICMP Echo Request MUST be entirely included in the
/// resulting Echo Reply." RFC 4443, 4.2 says the same of IPv6.
///
/// # Errors
///
/// `buf` is too short.
pub fn answer_echo(datagram: &Datagram<'_>, buf: &mut [u8]) -> Result<Option<usize>, EmitError> {
    let Some((header, _)) = message(datagram) else { return Ok(None) };
    let (protocol, reply) = match (datagram.header.dst, header[0], header[1]) {
        (IpAddr::V4(_), ECHO_REQUEST_V4, 0) => (ICMP, ECHO_REPLY_V4),
        (IpAddr::V6(_), ECHO_REQUEST_V6, 0) => (ICMPV6, ECHO_REPLY_V6),
        _ => return Ok(None),
    };
    let ip = IpHeader {
        src: datagram.header.dst,
        dst: datagram.header.src,
        ecn: Ecn::NotEct,
        hop_limit: 64,
        identification: 0,
    };
    let len = datagram.body.len();
    let start = ip.emit(buf, protocol, len)?;
    let body = &mut buf[start..start + len];
    body.copy_from_slice(datagram.body);
    body[0] = reply;
    body[CHECKSUM_AT..CHECKSUM_AT + 2].fill(0);
    let mut sum = if protocol == ICMPV6 { ip.pseudo_header_sum(ICMPV6, len) } else { Sum::default() };
    sum.add(checksum::sum(body));
    body[CHECKSUM_AT..CHECKSUM_AT + 2].copy_from_slice(&sum.complement().to_be_bytes());
    Ok(Some(start + len))
}
