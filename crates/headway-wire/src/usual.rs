//! The usual header of a segment after the SYN: timestamps, then version 2 of TCP HACK. Forms of it that leave out what is
//! always the same are made of these parts.

use crate::{EXID, TcpFlags, options::kind, tcp::FIXED_LEN};

/// The longest TCP header (RFC 9293, 3.1).
pub const LONGEST: usize = 60;
/// What is before the two timestamps.
pub const TIMESTAMPS: [u8; 4] = [kind::NOP, kind::NOP, kind::TIMESTAMPS, 10];
/// What is before the two CRCs of a segment with data.
pub const V2_DATA: [u8; 4] = [kind::EXPERIMENT, 12, EXID.to_be_bytes()[0], EXID.to_be_bytes()[1]];
/// Where the header's CRC is, in bytes from the start of the header. On a segment with data that of the payload follows.
pub const HEADER_CRC: usize = FIXED_LEN + 16;

/// The parts of a usual header in which headers differ.
#[derive(Clone, Copy, Debug)]
pub struct Usual<'a> {
    /// Ports, numbers, data offset, flags and window.
    pub front: &'a [u8; 16],
    /// TSval and TSecr.
    pub timestamps: &'a [u8; 8],
    /// The option of version 2, and what follows it.
    pub v2: &'a [u8],
}

impl<'a> Usual<'a> {
    /// `header` is a TCP header with its options. `None` if it is longer than one can be, has no timestamps or has other
    /// options before them or behind them, or if it has SYN, URG or an urgent pointer.
    #[inline]
    pub fn of(header: &'a [u8]) -> Option<Self> {
        let (front, rest) = header.split_first_chunk::<16>()?;
        let ([_, _, urgent @ ..], rest) = rest.split_first_chunk::<4>()?;
        let (timestamps, v2) = rest.strip_prefix(&TIMESTAMPS)?.split_first_chunk::<8>()?;
        let is_usual = header.len() <= LONGEST
            && *urgent == [0; 2]
            && !TcpFlags::from_bits(front[13]).intersects(TcpFlags::SYN | TcpFlags::URG)
            && matches!(v2, [kind::EXPERIMENT, _, high, low, ..] if [*high, *low] == EXID.to_be_bytes());
        is_usual.then_some(Self { front, timestamps, v2 })
    }
}

/// A header put together of parts.
#[derive(Clone, Copy, Debug)]
pub struct HeaderBytes {
    bytes: [u8; LONGEST],
    len: usize,
}

impl HeaderBytes {
    /// The parts one after the other. `None` if they are longer than [`LONGEST`].
    #[inline]
    pub fn of(parts: &[&[u8]]) -> Option<Self> {
        let mut header = Self { bytes: [0; LONGEST], len: 0 };
        for part in parts {
            let end = header.len + part.len();
            header.bytes.get_mut(header.len..end)?.copy_from_slice(part);
            header.len = end;
        }
        Some(header)
    }

    /// The bytes of the parts.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or(&self.bytes)
    }

    /// Writes a number in network byte order, `at` bytes from the start; nothing if it has no room there.
    #[inline]
    pub fn put(&mut self, at: usize, value: u32) {
        if let Some(place) = self.bytes.get_mut(at..self.len).and_then(<[u8]>::first_chunk_mut) {
            *place = value.to_be_bytes();
        }
    }
}
