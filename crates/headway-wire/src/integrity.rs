//! What checksums say of a segment, and what the header's own checksum adds.

use crate::{
    ParseError, TcpFlags,
    checksum::{self, Sum},
    crc::crc32c,
    header_crc::Seal,
    options::{kind, walk::Walk},
    segment::Parts,
    tcp::FIXED_LEN,
};

pub use crate::header_crc::header_crc;

/// How much of a segment arrived as it was sent, as far as checksums can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Integrity {
    /// All of it.
    Intact,
    /// A corrupted segment: the header is valid, the payload is not.
    Corrupted,
    /// Nothing can be relied on.
    Unreadable,
}

/// Judges a whole IP packet that carries TCP. Options that cannot be parsed are no error here: the TCP
/// checksum still says whether they arrived as they were sent.
///
/// A segment with version 2 of TCP HACK (in a form with CRCs, and without SYN) is judged by its
/// CRC-32Cs alone, whatever the TCP checksum says:
///
/// - the header's CRC does not hold: [`Integrity::Unreadable`], even if the checksum passes;
/// - it holds and the payload's does not: [`Integrity::Corrupted`], even if the checksum passes;
/// - both hold: [`Integrity::Intact`], even if the checksum fails. They cover all that it covers, so
///   what was hit is the checksum field, on which nothing depends.
///
/// What follows an [ACK](crate::V2Ack) is not data: the header decides alone. Any other segment is judged by the checksum and, if that fails, by a Header Checksum
/// (kind 14).
///
/// # Errors
///
/// If the IP packet cannot be read, carries another protocol or is too short, or if the TCP data
/// offset makes no sense.
#[inline]
pub fn judge(bytes: &[u8]) -> Result<Integrity, ParseError> {
    Parts::parse(bytes).map(|parts| of_parts(&parts))
}

/// Whether CRC-32Cs decide what [`judge`] says of an IP packet, and not sums of 16 bits.
pub fn is_judged_by_crc(bytes: &[u8]) -> bool {
    Parts::parse(bytes).is_ok_and(|parts| Seal::find(parts.options).is_some() && !is_syn(parts.fixed))
}

#[inline]
pub(crate) fn of_parts(parts: &Parts<'_>) -> Integrity {
    match Seal::find(parts.options) {
        Some(seal) if !is_syn(parts.fixed) => by_crcs(&seal, parts),
        _ => by_sums(parts),
    }
}

#[inline]
fn is_syn(fixed: &[u8; FIXED_LEN]) -> bool {
    TcpFlags::from_bits(fixed[13]).contains(TcpFlags::SYN)
}

/// What the CRC-32Cs of version 2 say.
#[inline(never)]
fn by_crcs(seal: &Seal, parts: &Parts<'_>) -> Integrity {
    let Parts { frame, fixed, options, payload } = parts;
    if header_crc(&frame.header(), frame.body.len(), fixed, options, seal.crc_at) != seal.header_crc {
        return Integrity::Unreadable;
    }
    let is_payload_valid = match seal.payload_crc {
        Some(crc) => crc32c(payload) == crc,
        // What follows are sums of blocks: each counts for itself.
        None => true,
    };
    if is_payload_valid { Integrity::Intact } else { Integrity::Corrupted }
}

/// What the TCP checksum and the Header Checksum say.
#[inline]
fn by_sums(parts: &Parts<'_>) -> Integrity {
    let Parts { frame, fixed, options, payload } = parts;
    // A header is whole words, so the payload starts on an even offset.
    let mut header_sum = frame.pseudo_header_sum();
    header_sum.add(checksum::sum_header(*fixed));
    header_sum.add(checksum::sum_header(options));
    let mut sum = header_sum;
    // An ACK has none.
    if !payload.is_empty() {
        sum.add_bytes(payload);
    }
    if sum.is_sound() {
        Integrity::Intact
    } else if is_header_valid(header_sum, fixed, options) {
        Integrity::Corrupted
    } else {
        Integrity::Unreadable
    }
}

/// Whether a Header Checksum option confirms the header of a segment with a wrong TCP checksum. `sum` is
/// that of pseudo-header and header as they are.
fn is_header_valid(mut sum: Sum, fixed: &[u8; FIXED_LEN], options: &[u8]) -> bool {
    // The value on a SYN is not a checksum.
    if is_syn(fixed) {
        return false;
    }
    let Some((value, value_at)) = find_hack(options) else { return false };
    // The sum was taken with the checksum field and the value as zero: take both out again, by
    // adding their complements. At an odd offset the value's bytes are in other halves of words.
    let [.., c0, c1, _u0, _u1] = *fixed;
    sum.add_u16(!u16::from_be_bytes([c0, c1]));
    let as_summed = if value_at % 2 == 1 { value.swap_bytes() } else { value };
    sum.add_u16(!as_summed);
    sum.add_u16(value);
    sum.is_sound()
}

/// The value of the Header Checksum option (of the last one, as in
/// [`TcpOptions::parse`](crate::TcpOptions::parse)) and where it is in the options. `None` if
/// there is none or if the options cannot be parsed: no receiver could act on such a header.
pub(crate) fn find_hack(options: &[u8]) -> Option<(u16, usize)> {
    let mut found = None;
    for option in Walk::new(options) {
        let option = option.ok()?;
        if let (kind::HACK, Ok(value)) = (option.kind, option.value.try_into()) {
            found = Some((u16::from_be_bytes(value), option.value_at));
        }
    }
    found
}
