//! The CRC-32C over a header, and where it is in the options (version 2 of TCP HACK).

use crate::{
    IpHeader, V2, V2Ack, V2Data,
    crc::{crc32c, crc32c_append},
    options::{kind, walk::Walk},
    tcp::{CHECKSUM_AT, FIXED_LEN, PROTOCOL},
};
use core::net::IpAddr;

/// What judging needs of the option.
pub(crate) struct Seal {
    /// Where the header's CRC is, in bytes from the start of the options.
    pub(crate) crc_at: usize,
    pub(crate) header_crc: u32,
    /// The form for segments without data has none.
    pub(crate) payload_crc: Option<u32>,
}

impl Seal {
    /// Finds the option: the last one, as in [`TcpOptions::parse`](crate::TcpOptions::parse). `None`
    /// if there is none, if it has the form for a SYN, which has no CRC, or if the options cannot be
    /// parsed.
    #[inline]
    pub(crate) fn find(options: &[u8]) -> Option<Self> {
        // What nearly every segment without it carries: timestamps alone, or Header Checksum too.
        // Compared by the word, it costs next to nothing.
        const TIMESTAMPS: [u8; 4] = [kind::NOP, kind::NOP, kind::TIMESTAMPS, 10];
        let starts = |at: usize, with: &[u8]| options.get(at..).is_some_and(|rest| rest.starts_with(with));
        let is_plain = match options.len() {
            0 => true,
            12 => starts(0, &TIMESTAMPS),
            16 => starts(0, &TIMESTAMPS) && starts(12, &[kind::HACK, 4]),
            _ => false,
        };
        if is_plain { None } else { Self::find_any(options) }
    }

    #[inline(never)]
    fn find_any(options: &[u8]) -> Option<Self> {
        let mut found = None;
        for option in Walk::new(options) {
            let option = option.ok()?;
            if let Some((id, value)) = option.value.split_first_chunk()
                && option.kind == kind::EXPERIMENT
                && V2::has_id(*id)
                && let Some(v2) = V2::parse(*id, value)
            {
                found = Self::of(&v2, option.value_at + 2);
            }
        }
        found
    }

    fn of(v2: &V2, crc_at: usize) -> Option<Self> {
        let (header_crc, payload_crc) = match *v2 {
            V2::Syn(_) => return None,
            V2::Data(V2Data { header_crc, payload_crc }) | V2::Patch(V2Data { header_crc, payload_crc }) => {
                (header_crc, Some(payload_crc))
            }
            V2::Ack(V2Ack { header_crc, .. }) => (header_crc, None),
        };
        Some(Self { crc_at, header_crc, payload_crc })
    }
}

/// Pseudo-header and header, put together.
struct Covered {
    bytes: [u8; 40 + 60],
    len: usize,
}

impl Covered {
    #[inline]
    fn push(&mut self, bytes: &[u8]) {
        if let Some(place) = self.bytes.get_mut(self.len..self.len + bytes.len()) {
            place.copy_from_slice(bytes);
            self.len += bytes.len();
        }
    }

    #[inline]
    fn clear(&mut self, at: usize, len: usize) {
        if let Some(place) = self.bytes.get_mut(at..at + len) {
            place.fill(0);
        }
    }
}

/// The CRC-32C of the pseudo-header of a segment of `tcp_len` bytes and of its header with all
/// options, with the TCP checksum and the CRC's own four bytes, at `crc_at` in `options`, as zero:
/// what version 2 of TCP HACK has for a header ([`V2Data::header_crc`], [`V2Ack::header_crc`]).
///
/// [`emit()`](crate::emit()) computes it. This is for a header of which something is left out on the
/// way. Of `ip` only the addresses count; `tcp_len` is the length of the segment with its payload.
#[inline]
pub fn header_crc(
    ip: &IpHeader,
    tcp_len: usize,
    fixed: &[u8; FIXED_LEN],
    options: &[u8],
    crc_at: usize,
) -> u32 {
    let mut covered = Covered { bytes: [0; 100], len: 0 };
    // RFC 9293, 3.1, and RFC 8200, 8.1.
    match (ip.src, ip.dst) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            covered.push(&src.octets());
            covered.push(&dst.octets());
            covered.push(&[0, PROTOCOL]);
            covered.push(&(tcp_len as u16).to_be_bytes());
        }
        (src, dst) => {
            push_address(&mut covered, src);
            push_address(&mut covered, dst);
            covered.push(&(tcp_len as u32).to_be_bytes());
            covered.push(&[0, 0, 0, PROTOCOL]);
        }
    }
    let start = covered.len;
    covered.push(fixed);
    covered.push(options);
    covered.clear(start + CHECKSUM_AT, 2);
    covered.clear(start + FIXED_LEN + crc_at, 4);
    crc32c(covered.bytes.get(..covered.len).unwrap_or_default())
}

fn push_address(covered: &mut Covered, addr: IpAddr) {
    match addr {
        IpAddr::V4(addr) => covered.push(&addr.octets()),
        IpAddr::V6(addr) => covered.push(&addr.octets()),
    }
}

/// The path check of a SYN: the lower half of the CRC-32C of both addresses and of the first twelve
/// bytes of the header, which are ports, sequence and acknowledgement number.
#[inline]
pub(crate) fn path_check(ip: &IpHeader, fixed: &[u8; FIXED_LEN]) -> u16 {
    let mut addresses = Covered { bytes: [0; 100], len: 0 };
    push_address(&mut addresses, ip.src);
    push_address(&mut addresses, ip.dst);
    let crc = crc32c(addresses.bytes.get(..addresses.len).unwrap_or_default());
    crc32c_append(crc, fixed.first_chunk::<12>().map_or(&[], |ends| ends)) as u16
}
