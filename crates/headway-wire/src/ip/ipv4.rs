//! The IPv4 header (RFC 791, 3.1).

use super::{Dscp, Ecn, Fixed, Frame, IpHeader, body, fixed};
use crate::{EmitError, ParseError, checksum, words::Words};
use core::net::Ipv4Addr;

/// The length of the header without options, in bytes.
pub(super) const FIXED_LEN: usize = 20;
const CHECKSUM_AT: usize = 10;
const DONT_FRAGMENT: u32 = 0x4000;
const MORE_FRAGMENTS_AND_OFFSET: u16 = 0x3fff;

/// Checks a header and finds the body. `fail` makes of an error what the caller wants.
#[inline]
pub(super) fn parse<E>(bytes: &[u8], fail: impl Fn(ParseError) -> E) -> Result<Frame<'_>, E> {
    let fixed: &[u8; FIXED_LEN] = fixed(bytes, "an IPv4 header").map_err(&fail)?;
    let header_len = usize::from(fixed[0] & 0xf) * 4;
    if header_len < FIXED_LEN {
        return Err(fail(ParseError::Ipv4Length { part: "header length", min: FIXED_LEN, got: header_len }));
    }
    // The checksum first: what a damaged length would say is of no interest.
    let header = body(bytes, 0, header_len, "an IPv4 header with options").map_err(&fail)?;
    let sum = if header_len == FIXED_LEN { checksum::sum_header(fixed) } else { checksum::sum(header) };
    if !sum.is_sound() {
        return Err(fail(ParseError::Ipv4Checksum));
    }
    let total_len = usize::from(u16::from_be_bytes([fixed[2], fixed[3]]));
    if total_len < header_len {
        return Err(fail(ParseError::Ipv4Length { part: "total length", min: header_len, got: total_len }));
    }
    if u16::from_be_bytes([fixed[6], fixed[7]]) & MORE_FRAGMENTS_AND_OFFSET != 0 {
        return Err(fail(ParseError::Fragment));
    }
    let body = body(bytes, header_len, total_len, "an IPv4 datagram").map_err(&fail)?;
    Ok(Frame { fixed: Fixed::V4(fixed), protocol: fixed[9], header_len, body })
}

/// Whether the header is damaged for certain.
pub(super) fn is_header_corrupted(bytes: &[u8]) -> bool {
    stated_len(bytes).is_none_or(|stated| bytes.len() < stated)
}

/// The length of the packet, if the checksum of the header is right.
pub(super) fn stated_len(bytes: &[u8]) -> Option<usize> {
    let header = layout(bytes).and_then(|(_, header_len)| bytes.get(..header_len));
    let header = header.filter(|header| checksum::sum(header).is_sound())?;
    Some(u16::from_be_bytes([header[2], header[3]]).into())
}

/// Takes a header apart.
#[inline]
pub(super) fn header(fixed: &[u8; FIXED_LEN]) -> IpHeader {
    let [_, tos, _, _, i0, i1, _, _, ttl, _, _, _, s0, s1, s2, s3, d0, d1, d2, d3] = *fixed;
    IpHeader {
        src: Ipv4Addr::new(s0, s1, s2, s3).into(),
        dst: Ipv4Addr::new(d0, d1, d2, d3).into(),
        dscp: Dscp::from_traffic_class(tos),
        ecn: Ecn::from_bits(tos),
        hop_limit: ttl,
        identification: u16::from_be_bytes([i0, i1]),
    }
}

/// Protocol and header length.
#[inline]
pub(super) fn layout(bytes: &[u8]) -> Option<(u8, usize)> {
    let fixed: &[u8; FIXED_LEN] = bytes.first_chunk()?;
    let header_len = usize::from(fixed[0] & 0xf) * 4;
    (header_len >= FIXED_LEN).then_some((fixed[9], header_len))
}

/// Writes a header for a datagram of `total_len` bytes, header included, which `buf` has room for.
#[inline]
pub(super) fn emit(
    buf: &mut [u8],
    ip: &IpHeader,
    src: Ipv4Addr,
    dst: Ipv4Addr,
    protocol: u8,
    total_len: usize,
) -> Result<(), EmitError> {
    let room = buf.len();
    let too_small = EmitError::BufferTooSmall { needed: FIXED_LEN, room };
    let header: &mut [u8; FIXED_LEN] = buf.first_chunk_mut().ok_or(too_small)?;
    let len = u16::try_from(total_len).map_err(|_| EmitError::TooLong { len: total_len })?;
    let mut words = Words::new(header);
    words.put(0x4500_0000 | u32::from(ip.dscp.traffic_class(ip.ecn)) << 16 | u32::from(len));
    words.put(u32::from(ip.identification) << 16 | DONT_FRAGMENT);
    words.put(u32::from(ip.hop_limit) << 24 | u32::from(protocol) << 16);
    words.put(src.to_bits());
    words.put(dst.to_bits());
    let [high, low] = words.sum().complement().to_be_bytes();
    header[CHECKSUM_AT] = high;
    header[CHECKSUM_AT + 1] = low;
    Ok(())
}
