//! A whole packet: IP header, TCP header, options and payload.

use crate::{
    EmitError, IpHeader, OptionError, ParseError, TcpFlags, TcpHeader, TcpOptions, V2,
    checksum::{self, Sum},
    crc::{crc32c, crc32c_append},
    header_crc,
    ip::{self, Frame},
    tcp::{self, FIXED_LEN},
    words::Words,
};

/// A TCP segment in its IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment<'a> {
    /// The IP header.
    pub ip: IpHeader,
    /// The fixed TCP header.
    pub tcp: TcpHeader,
    /// The TCP options.
    pub options: TcpOptions,
    /// The data.
    pub payload: &'a [u8],
    /// What follows the header of a segment that has no data by version 2 of TCP HACK, and concerns the [`blocks`](crate::blocks) of one that
    /// arrived damaged: their sums as they arrived ([`V2Ack`](crate::V2Ack)), or some of them once more ([`V2::Patch`]). It
    /// takes no sequence space. No CRC covers all of the sums: each counts for itself.
    pub blocks: &'a [u8],
    /// The length of the IP header, in bytes: where the TCP header starts.
    pub ip_header_len: usize,
    /// The length of IP and TCP header with options, in bytes: where the payload starts.
    pub header_len: usize,
}

/// Where the headers of a packet end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderLayout {
    /// The length of the IP header, in bytes: where the TCP header starts.
    pub ip_header_len: usize,
    /// The length of IP and TCP header with options, in bytes: where the payload starts.
    pub header_len: usize,
}

impl<'a> Segment<'a> {
    /// Reads an IP packet that carries TCP. The TCP checksum is not looked at: see
    /// [`Received::parse`](crate::Received::parse).
    ///
    /// Version 2 of TCP HACK is read in the form that belongs to the segment. A SYN's is left out
    /// too if its path check is wrong: where a middlebox rewrites what the CRC of every later header
    /// covers, version 2 must not be agreed upon.
    ///
    /// # Errors
    ///
    /// If the IP packet cannot be read (see [`Datagram::parse`](crate::ip::Datagram::parse)), carries another protocol, is too
    /// short, or if the TCP data offset or the options make no sense.
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ParseError> {
        Self::of_parts(&Parts::parse(bytes)?, Ok, |error| Err(error.into()))
    }

    /// Reads the segment and gives it to `done`, or to `failed` what is wrong with its options. So it is
    /// built where it goes: it is large, and a copy of it is a noticeable part of receiving a packet.
    #[inline]
    pub(crate) fn of_parts<T>(
        parts: &Parts<'a>,
        done: impl Fn(Self) -> T,
        failed: impl Fn(OptionError) -> T,
    ) -> T {
        let frame = parts.frame;
        let with = |options| Self {
            ip: frame.header(),
            tcp: TcpHeader::parse(parts.fixed),
            options,
            payload: parts.payload,
            blocks: &[],
            ip_header_len: frame.header_len,
            header_len: frame.header_len + FIXED_LEN + parts.options.len(),
        };
        // Two paths to the same: on the first one nothing of it is copied.
        match TcpOptions::parse_usual(parts.options) {
            Some(options) => done(with(options).with_blocks()),
            None => {
                let mut segment = with(TcpOptions::default());
                if let Err(error) = segment.options.read(parts.options) {
                    return failed(error);
                }
                segment.drop_undue_v2(parts.fixed);
                done(segment.with_blocks())
            }
        }
    }

    /// The segment with what it has as its payload in the place of [`blocks`](Self::blocks), if its header says so.
    #[inline]
    #[must_use]
    pub fn with_blocks(mut self) -> Self {
        if matches!(self.options.v2, Some(V2::Ack(_) | V2::Patch(_))) {
            self.blocks = core::mem::take(&mut self.payload);
        }
        self
    }

    /// Leaves out the option of version 2 if its form is not that of such a segment, or if the path
    /// check of a SYN is wrong.
    #[inline(never)]
    pub(crate) fn drop_undue_v2(&mut self, fixed: &[u8; FIXED_LEN]) {
        let is_syn = self.tcp.flags.contains(TcpFlags::SYN);
        let is_due = match self.options.v2.as_ref().map(V2::as_syn) {
            None => return,
            Some(Some(syn)) => is_syn && syn.path_check == header_crc::path_check(&self.ip, fixed),
            Some(None) => !is_syn,
        };
        if !is_due {
            self.options.v2 = None;
        }
    }

    /// Whether it carries data, or blocks of the data of another segment.
    #[inline]
    pub const fn carries_data(&self) -> bool {
        !self.payload.is_empty() || self.is_patch()
    }

    /// Whether it carries blocks of the data of another segment.
    #[inline]
    pub const fn is_patch(&self) -> bool {
        matches!(self.options.v2, Some(V2::Patch(_)))
    }

    /// How much sequence space the segment takes: its data, and one each for SYN and FIN (RFC 9293,
    /// 3.4: SEG.LEN).
    #[inline]
    pub const fn sequence_len(&self) -> u32 {
        self.payload.len() as u32
            + self.tcp.flags.contains(TcpFlags::SYN) as u32
            + self.tcp.flags.contains(TcpFlags::FIN) as u32
    }
}

/// The parts of a packet that carries TCP, separated by lengths alone.
pub(crate) struct Parts<'a> {
    pub(crate) frame: Frame<'a>,
    pub(crate) fixed: &'a [u8; FIXED_LEN],
    pub(crate) options: &'a [u8],
    pub(crate) payload: &'a [u8],
}

impl<'a> Parts<'a> {
    #[inline]
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, ParseError> {
        let frame = Frame::parse(bytes)?;
        if frame.protocol != tcp::PROTOCOL {
            return Err(ParseError::NotTcp(frame.protocol));
        }
        Self::of_frame(frame).ok_or_else(|| misfit(frame.body))
    }

    /// The parts of a packet whose protocol is TCP. `None` if its lengths do not fit.
    #[inline]
    pub(crate) fn of_frame(frame: Frame<'a>) -> Option<Self> {
        let (fixed, rest) = frame.body.split_first_chunk::<FIXED_LEN>()?;
        let options_len = tcp_header_len(fixed).checked_sub(FIXED_LEN)?;
        let (options, payload) = rest.split_at_checked(options_len)?;
        Some(Self { frame, fixed, options, payload })
    }
}

/// What is wrong with the lengths in the body of a packet that has no [parts](Parts::of_frame).
#[cold]
pub(crate) fn misfit(body: &[u8]) -> ParseError {
    let room = body.len();
    match body.first_chunk() {
        Some(fixed) => ParseError::DataOffset { got: tcp_header_len(fixed), room },
        None => ParseError::Truncated { part: "a TCP header", needed: FIXED_LEN, room },
    }
}

/// The data offset, in bytes.
#[inline]
const fn tcp_header_len(header: &[u8; FIXED_LEN]) -> usize {
    (header[12] >> 4) as usize * 4
}

/// Where the headers of a TCP packet end, or `None` if it is not one or too short to tell. Looks at
/// lengths only: no sum is checked.
#[inline]
pub fn layout(bytes: &[u8]) -> Option<HeaderLayout> {
    let (protocol, ip_header_len) = ip::layout(bytes)?;
    let fixed: &[u8; FIXED_LEN] = bytes.get(ip_header_len..)?.first_chunk()?;
    let tcp_header_len = tcp_header_len(fixed);
    let header_len = ip_header_len + tcp_header_len;
    let is_whole = protocol == tcp::PROTOCOL && tcp_header_len >= FIXED_LEN && header_len <= bytes.len();
    is_whole.then_some(HeaderLayout { ip_header_len, header_len })
}

/// Writes a whole packet to the front of `buf` and returns its length. The payload is the two
/// slices one after the other, as a ring buffer has them.
///
/// All checksums are computed here. That includes the value of the Header Checksum option if
/// [`TcpOptions::hack`] is some and the segment is not a SYN: the given value is ignored then. On a
/// SYN, whose value is a message of its own, and beside version 2, whose CRC covers it, it is
/// written as given. Of version 2 the CRCs and the path check are computed.
///
/// # Errors
///
/// If the options take more than 40 bytes, the packet is longer than IP can say or than `buf`, or
/// the addresses are of two families. What `buf` holds is unspecified then.
///
/// A segment with version 2 and without data may have sums of blocks, or blocks, in the place of the payload.
#[inline]
pub fn emit(
    buf: &mut [u8],
    ip: &IpHeader,
    tcp: &TcpHeader,
    options: &TcpOptions,
    payload: (&[u8], &[u8]),
) -> Result<usize, EmitError> {
    // Decided once, so that segments without version 2 lose no time over it.
    match &options.v2 {
        None => emit_with(buf, ip, tcp, options, None, payload),
        Some(v2) => emit_sealed(buf, ip, tcp, options, v2, payload),
    }
}

#[inline(never)]
fn emit_sealed(
    buf: &mut [u8],
    ip: &IpHeader,
    tcp: &TcpHeader,
    options: &TcpOptions,
    v2: &V2,
    payload: (&[u8], &[u8]),
) -> Result<usize, EmitError> {
    emit_with(buf, ip, tcp, options, Some(v2), payload)
}

/// [`emit`] with `v2` for the option of version 2.
#[inline(always)]
fn emit_with(
    buf: &mut [u8],
    ip: &IpHeader,
    tcp: &TcpHeader,
    options: &TcpOptions,
    v2: Option<&V2>,
    payload: (&[u8], &[u8]),
) -> Result<usize, EmitError> {
    let tcp_header_len = FIXED_LEN + options.checked_len(v2)?;
    let tcp_len = tcp_header_len.saturating_add(payload.0.len()).saturating_add(payload.1.len());
    let ip_header_len = ip.emit(buf, tcp::PROTOCOL, tcp_len)?;
    let len = ip_header_len + tcp_len;

    // There is room for all of it, or the IP header would not have been written.
    let room = buf.len();
    let too_small = EmitError::BufferTooSmall { needed: len, room };
    let (header, data) = buf
        .get_mut(ip_header_len..len)
        .and_then(|body| body.split_at_mut_checked(tcp_header_len))
        .ok_or(too_small)?;

    let is_syn = tcp.flags.contains(TcpFlags::SYN);
    let mut words = Words::new(header);
    for word in tcp.words(tcp_header_len) {
        words.put(word);
    }
    let is_summed = options.hack.is_some() && !is_syn && v2.is_none();
    let hack = if is_summed { Some(0) } else { options.hack };
    options.put(&mut words, hack, v2, false);
    let mut sum = words.sum();
    sum.add(ip.pseudo_header_sum(tcp::PROTOCOL, tcp_len));

    if is_summed {
        // Checksum field and value are zero so far, as the definition has it.
        let value = sum.complement();
        put_u16(header, FIXED_LEN + options.hack_at() + 2, value);
        sum.add_u16(value);
    }

    let (first, second) = data.split_at_mut_checked(payload.0.len()).ok_or(too_small)?;
    // An ACK has no payload.
    if !first.is_empty() {
        sum.add(checksum::copy_and_sum(first, payload.0));
    }
    if !second.is_empty() {
        let is_odd = payload.0.len() % 2 == 1;
        sum.add_at(is_odd, checksum::copy_and_sum(second, payload.1));
    }
    if let Some(v2) = v2 {
        sum.add(seal(header, v2, options.v2_at(), ip, tcp_len, payload));
    }
    put_u16(header, tcp::CHECKSUM_AT, sum.complement());
    Ok(len)
}

/// Puts in what is computed of version 2, whose option starts at `at` in the options, and returns
/// the sum of that.
fn seal(
    header: &mut [u8],
    v2: &V2,
    at: usize,
    ip: &IpHeader,
    tcp_len: usize,
    payload: (&[u8], &[u8]),
) -> Sum {
    let mut sum = Sum::default();
    // Kind, length and identifier; then, on a SYN, version and flags.
    let value_at = at + 4;
    match v2 {
        V2::Syn(_) => {
            if let Some(fixed) = header.first_chunk() {
                let check = header_crc::path_check(ip, fixed);
                put_u16(header, FIXED_LEN + value_at + 2, check);
                sum.add_u16(check);
            }
            return sum;
        }
        V2::Data(_) | V2::Patch(_) => {
            let crc = crc32c_append(crc32c(payload.0), payload.1);
            put_u32(header, FIXED_LEN + value_at + 4, crc);
            sum.add_u32(crc);
        }
        V2::Ack(_) => {}
    }
    if let Some((fixed, options)) = header.split_first_chunk() {
        let crc = header_crc::header_crc(ip, tcp_len, fixed, options, value_at);
        put_u32(header, FIXED_LEN + value_at, crc);
        sum.add_u32(crc);
    }
    sum
}

#[inline]
fn put_u32(header: &mut [u8], at: usize, value: u32) {
    if let Some(place) = header.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
        *place = value.to_be_bytes();
    }
}

#[inline]
fn put_u16(header: &mut [u8], at: usize, value: u16) {
    if let Some(place) = header.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
        *place = value.to_be_bytes();
    }
}
