//! The IPv6 header and the extension headers that may stand before a segment (RFC 8200, 3 and 4).

use super::{Dscp, Ecn, Fixed, Frame, IpHeader, body, fixed};
use crate::{EmitError, ParseError};
use core::net::Ipv6Addr;

/// The length of the header without extension headers, in bytes.
pub(super) const FIXED_LEN: usize = 40;
/// How many extension headers are skipped at most: one of each kind, and destination options twice,
/// is what a sender should send (RFC 8200, 4.1). The rest is room for the odd one.
const MAX_EXTENSION_HEADERS: usize = 8;

const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const DESTINATION: u8 = 60;

/// Finds the body.
#[inline]
pub(super) fn parse(bytes: &[u8]) -> Result<Frame<'_>, ParseError> {
    let fixed: &[u8; FIXED_LEN] = fixed(bytes, "an IPv6 header")?;
    let end = FIXED_LEN + usize::from(u16::from_be_bytes([fixed[4], fixed[5]]));
    let datagram = body(bytes, 0, end, "an IPv6 datagram")?;
    let (protocol, header_len) = walk(datagram)?;
    let body = body(datagram, header_len, end, "an IPv6 datagram")?;
    Ok(Frame { fixed: Fixed::V6(fixed), protocol, header_len, body })
}

/// The length of the packet, whether or not the header is right.
pub(super) fn stated_len(bytes: &[u8]) -> Option<usize> {
    let fixed = bytes.first_chunk::<FIXED_LEN>()?;
    Some(FIXED_LEN + usize::from(u16::from_be_bytes([fixed[4], fixed[5]])))
}

/// Whether the header is damaged for certain.
pub(super) fn is_header_corrupted(bytes: &[u8]) -> bool {
    let Some(datagram) = stated_len(bytes).and_then(|end| bytes.get(..end)) else { return true };
    matches!(walk(datagram), Err(ParseError::Truncated { .. } | ParseError::TooManyExtensionHeaders { .. }))
}

/// Takes a header apart.
#[inline]
pub(super) fn header(fixed: &[u8; FIXED_LEN]) -> IpHeader {
    let (src, dst) = (fixed[8..].first_chunk::<16>(), fixed[24..].first_chunk::<16>());
    let address = |octets: Option<&[u8; 16]>| octets.map_or(Ipv6Addr::UNSPECIFIED, |o| Ipv6Addr::from(*o));
    // It straddles the first two bytes.
    let class = fixed[0] << 4 | fixed[1] >> 4;
    IpHeader {
        src: address(src).into(),
        dst: address(dst).into(),
        dscp: Dscp::from_traffic_class(class),
        ecn: Ecn::from_bits(class),
        hop_limit: fixed[7],
        identification: 0,
    }
}

/// The protocol behind the extension headers, and where it starts.
#[inline]
pub(super) fn walk(bytes: &[u8]) -> Result<(u8, usize), ParseError> {
    let fixed: &[u8; FIXED_LEN] = fixed(bytes, "an IPv6 header")?;
    match fixed[6] {
        next @ (HOP_BY_HOP | ROUTING | FRAGMENT | DESTINATION) => skip_extensions(bytes, next),
        protocol => Ok((protocol, FIXED_LEN)),
    }
}

fn skip_extensions(bytes: &[u8], mut next: u8) -> Result<(u8, usize), ParseError> {
    let mut at = FIXED_LEN;
    for _ in 0..=MAX_EXTENSION_HEADERS {
        match next {
            HOP_BY_HOP | ROUTING | DESTINATION => {}
            FRAGMENT => return Err(ParseError::Fragment),
            protocol => return Ok((protocol, at)),
        }
        let part = "an IPv6 extension header";
        let truncated = |needed| ParseError::Truncated { part, needed, room: bytes.len() };
        let start: &[u8; 4] =
            bytes.get(at..).and_then(<[u8]>::first_chunk).ok_or(truncated(at.saturating_add(4)))?;
        // "If, while processing a received packet, a node encounters a Routing header with an
        // unrecognized Routing Type value [...] if Segments Left is zero, the node must ignore the
        // Routing header and proceed to process the next header in the packet" (RFC 8200, 4.4).
        // Otherwise the packet is not for this host, and the pseudo-header has another address.
        if next == ROUTING && start[3] != 0 {
            return Err(ParseError::RoutingHeader { segments_left: start[3] });
        }
        next = start[0];
        at += (usize::from(start[1]) + 1) * 8;
        if at > bytes.len() {
            return Err(truncated(at));
        }
    }
    Err(ParseError::TooManyExtensionHeaders { max: MAX_EXTENSION_HEADERS })
}

/// Writes a header for `body_len` bytes behind it, which `buf` has room for.
#[inline]
pub(super) fn emit(
    buf: &mut [u8],
    ip: &IpHeader,
    src: &Ipv6Addr,
    dst: &Ipv6Addr,
    protocol: u8,
    body_len: usize,
) -> Result<(), EmitError> {
    let room = buf.len();
    let too_small = EmitError::BufferTooSmall { needed: FIXED_LEN, room };
    let header: &mut [u8; FIXED_LEN] = buf.first_chunk_mut().ok_or(too_small)?;
    let len = u16::try_from(body_len).map_err(|_| EmitError::TooLong { len: body_len })?.to_be_bytes();
    let class = ip.dscp.traffic_class(ip.ecn);
    let start = [0x60 | class >> 4, class << 4, 0, 0, len[0], len[1], protocol, ip.hop_limit];
    header[..8].copy_from_slice(&start);
    header[8..24].copy_from_slice(&src.octets());
    header[24..].copy_from_slice(&dst.octets());
    Ok(())
}
