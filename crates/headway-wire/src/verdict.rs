//! What a checksum says about a segment, and what the header's own checksum adds.

use crate::{
    ExId, IpHeader, ParseError, Segment, TcpFlags,
    checksum::{self, Sum},
    crc::crc32c,
    header_crc::{Seal, header_crc},
    options::{kind, walk::Walk},
    segment::Parts,
    tcp::{self, FIXED_LEN},
};

/// What is known of a segment's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HeaderVerdict {
    /// It is what was sent.
    Good,
    /// It may be anything.
    Bad,
    /// It arrived damaged, and what was sent has been inferred. Never the outcome of a checksum:
    /// the one who repairs sets it.
    Repaired,
}

/// What is known of a segment's payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PayloadVerdict {
    /// It is what was sent.
    Good,
    /// It may be anything.
    Bad,
    /// Somebody else vouches for it, and nobody looked here. Never the outcome of a checksum: a
    /// carrier whose hardware has checked says so.
    Unchecked,
}

/// What is known of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Verdicts {
    /// Of its header.
    pub header: HeaderVerdict,
    /// Of its payload.
    pub payload: PayloadVerdict,
}

impl Verdicts {
    /// All is well.
    pub const GOOD: Self = Self { header: HeaderVerdict::Good, payload: PayloadVerdict::Good };
    /// The header can be believed, the payload cannot.
    pub const SALVAGED: Self = Self { header: HeaderVerdict::Good, payload: PayloadVerdict::Bad };
    /// Nothing can be believed.
    pub const BAD: Self = Self { header: HeaderVerdict::Bad, payload: PayloadVerdict::Bad };
}

/// Judges segments, with version 2 of TCP HACK known by an identifier.
///
/// A segment with that option (in a form with CRCs, and without SYN) is judged by its CRC-32Cs
/// alone, whatever the TCP checksum says:
///
/// - the header's CRC does not hold: [`Verdicts::BAD`], even if the checksum passes;
/// - it holds and the payload's does not: [`Verdicts::SALVAGED`], even if the checksum passes;
/// - both hold: [`Verdicts::GOOD`], even if the checksum fails. They cover all that it covers, so
///   what was hit is the checksum field, on which nothing depends.
///
/// The form without a payload's CRC on a segment that has a payload all the same leaves that to the
/// checksum. Any other segment is judged by the checksum and, if that fails, by a Header Checksum
/// (kind 14).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Judge {
    /// The identifier of version 2.
    pub exid: ExId,
}

impl Judge {
    /// Judges a whole IP packet that carries TCP. Options that cannot be told apart are no error
    /// here: the TCP checksum still says whether they arrived as they were sent.
    ///
    /// # Errors
    ///
    /// If the IP packet cannot be read, carries another protocol or is too short, or if the TCP data
    /// offset makes no sense.
    #[inline]
    pub fn packet(self, bytes: &[u8]) -> Result<Verdicts, ParseError> {
        let parts = Parts::parse(bytes)?;
        let Parts { frame, fixed, options, payload } = parts;
        let pseudo = frame.pseudo_header_sum();
        Ok(self.parts(pseudo, || frame.header(), fixed, options, payload))
    }

    /// Judges a segment that was parsed from `bytes`. With other bytes the verdict says nothing.
    #[inline]
    pub fn segment(self, segment: &Segment<'_>, bytes: &[u8]) -> Verdicts {
        let header = bytes.get(segment.ip_header_len..segment.header_len);
        let Some((fixed, options)) = header.and_then(<[u8]>::split_first_chunk) else { return Verdicts::BAD };
        let tcp_len = FIXED_LEN + options.len() + segment.payload.len();
        let pseudo = segment.ip.pseudo_header_sum(tcp::PROTOCOL, tcp_len);
        self.parts(pseudo, || segment.ip, fixed, options, segment.payload)
    }

    #[inline]
    fn parts(
        self,
        pseudo: Sum,
        ip: impl FnOnce() -> IpHeader,
        fixed: &[u8; FIXED_LEN],
        options: &[u8],
        payload: &[u8],
    ) -> Verdicts {
        match Seal::find(options, self.exid) {
            Some(seal) if !is_syn(fixed) => by_crcs(&seal, &ip(), pseudo, fixed, options, payload),
            _ => by_sums(pseudo, fixed, options, payload),
        }
    }
}

/// [`Judge::packet`], with the default identifier.
///
/// # Errors
///
/// As there.
#[inline]
pub fn judge(bytes: &[u8]) -> Result<Verdicts, ParseError> {
    Judge::default().packet(bytes)
}

/// [`Judge::segment`], with the default identifier.
#[inline]
pub fn judge_segment(segment: &Segment<'_>, bytes: &[u8]) -> Verdicts {
    Judge::default().segment(segment, bytes)
}

#[inline]
fn is_syn(fixed: &[u8; FIXED_LEN]) -> bool {
    TcpFlags::from_bits(fixed[13]).contains(TcpFlags::SYN)
}

/// The verdict of the CRC-32Cs of version 2.
#[inline(never)]
fn by_crcs(
    seal: &Seal,
    ip: &IpHeader,
    pseudo: Sum,
    fixed: &[u8; FIXED_LEN],
    options: &[u8],
    payload: &[u8],
) -> Verdicts {
    let tcp_len = FIXED_LEN + options.len() + payload.len();
    if header_crc(ip, tcp_len, fixed, options, seal.crc_at) != seal.header_crc {
        return Verdicts::BAD;
    }
    let is_payload_sound = match seal.payload_crc {
        Some(crc) => crc32c(payload) == crc,
        None => payload.is_empty() || by_sums(pseudo, fixed, options, payload) == Verdicts::GOOD,
    };
    if is_payload_sound { Verdicts::GOOD } else { Verdicts::SALVAGED }
}

/// The verdict of the TCP checksum and of the Header Checksum.
#[inline]
fn by_sums(pseudo: Sum, fixed: &[u8; FIXED_LEN], options: &[u8], payload: &[u8]) -> Verdicts {
    // A header is whole words, so the payload starts on an even offset.
    let mut header_sum = pseudo;
    header_sum.add(checksum::sum_header(fixed));
    header_sum.add(checksum::sum_header(options));
    let mut sum = header_sum;
    sum.add_bytes(payload);
    if sum.is_sound() {
        Verdicts::GOOD
    } else if is_header_sound(header_sum, fixed, options) {
        Verdicts::SALVAGED
    } else {
        Verdicts::BAD
    }
}

/// Whether the header of a segment with a wrong TCP checksum is vouched for by a Header Checksum
/// option. `sum` is that of pseudo-header and header as they are.
fn is_header_sound(mut sum: Sum, fixed: &[u8; FIXED_LEN], options: &[u8]) -> bool {
    // The value on a SYN is no sum.
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
/// [`TcpOptions::parse`](crate::TcpOptions::parse)) and where it stands in the options. `None` if
/// there is none or if the options cannot be told apart: nobody could act on such a header.
fn find_hack(options: &[u8]) -> Option<(u16, usize)> {
    let mut found = None;
    for option in Walk::new(options) {
        let option = option.ok()?;
        if let (kind::HACK, Ok(value)) = (option.kind, option.value.try_into()) {
            found = Some((u16::from_be_bytes(value), option.value_at));
        }
    }
    found
}
