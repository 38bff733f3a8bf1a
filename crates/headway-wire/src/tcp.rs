//! The fixed part of the TCP header (RFC 9293, 3.1).

use crate::SeqNumber;
use core::{
    fmt,
    ops::{BitOr, BitOrAssign},
};

/// The length of the header without options, in bytes.
pub(crate) const FIXED_LEN: usize = 20;
/// Where the checksum is, in bytes from the start of the header.
pub(crate) const CHECKSUM_AT: usize = 16;
/// TCP's number among the IP protocols.
pub(crate) const PROTOCOL: u8 = 6;

/// The control bits of a segment.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct TcpFlags(u8);

impl TcpFlags {
    /// No flag at all.
    pub const NONE: Self = Self(0);
    /// No more data from the sender.
    pub const FIN: Self = Self(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: Self = Self(0x02);
    /// Reset the connection.
    pub const RST: Self = Self(0x04);
    /// Push: hand the data to the application.
    pub const PSH: Self = Self(0x08);
    /// The acknowledgement number means something.
    pub const ACK: Self = Self(0x10);
    /// The urgent pointer means something.
    pub const URG: Self = Self(0x20);
    /// Echo of a congestion mark (RFC 3168, 6.1).
    pub const ECE: Self = Self(0x40);
    /// Congestion window reduced (RFC 3168, 6.1).
    pub const CWR: Self = Self(0x80);

    const NAMES: [(Self, &str); 8] = [
        (Self::FIN, "FIN"),
        (Self::SYN, "SYN"),
        (Self::RST, "RST"),
        (Self::PSH, "PSH"),
        (Self::ACK, "ACK"),
        (Self::URG, "URG"),
        (Self::ECE, "ECE"),
        (Self::CWR, "CWR"),
    ];

    /// The flags of the header's fourteenth byte.
    #[inline]
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// The header's fourteenth byte.
    #[inline]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Whether all of `flags` are set.
    #[inline]
    pub const fn contains(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// Whether any of `flags` is set.
    #[inline]
    pub const fn intersects(self, flags: Self) -> bool {
        self.0 & flags.0 != 0
    }

    /// Sets `flags`.
    #[inline]
    pub const fn insert(&mut self, flags: Self) {
        self.0 |= flags.0;
    }

    /// Clears `flags`.
    #[inline]
    pub const fn remove(&mut self, flags: Self) {
        self.0 &= !flags.0;
    }
}

impl BitOr for TcpFlags {
    type Output = Self;
    #[inline]
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for TcpFlags {
    #[inline]
    fn bitor_assign(&mut self, other: Self) {
        self.insert(other);
    }
}

/// The names, as in `SYN|ACK`.
impl fmt::Debug for TcpFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("none");
        }
        let set = Self::NAMES.iter().filter(|(flag, _)| self.contains(*flag));
        for (place, (_, name)) in set.enumerate() {
            if place > 0 {
                f.write_str("|")?;
            }
            f.write_str(name)?;
        }
        Ok(())
    }
}

/// The fields of the fixed header, in host byte order. Data offset and checksum follow from the
/// rest of the segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpHeader {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Sequence number of the first byte of data, or of the SYN.
    pub seq: SeqNumber,
    /// Acknowledgement number: the next byte expected.
    pub ack: SeqNumber,
    /// Control bits.
    pub flags: TcpFlags,
    /// Window as it stands in the header, not scaled.
    pub window: u16,
    /// Urgent pointer.
    pub urgent: u16,
}

impl TcpHeader {
    /// Reads the fixed header.
    #[inline]
    pub(crate) fn parse(bytes: &[u8; FIXED_LEN]) -> Self {
        let [s0, s1, d0, d1, q0, q1, q2, q3, a0, a1, a2, a3, _offset, flags, w0, w1, _c0, _c1, u0, u1] =
            *bytes;
        Self {
            src_port: u16::from_be_bytes([s0, s1]),
            dst_port: u16::from_be_bytes([d0, d1]),
            seq: SeqNumber(u32::from_be_bytes([q0, q1, q2, q3])),
            ack: SeqNumber(u32::from_be_bytes([a0, a1, a2, a3])),
            flags: TcpFlags(flags),
            window: u16::from_be_bytes([w0, w1]),
            urgent: u16::from_be_bytes([u0, u1]),
        }
    }

    /// The five 32-bit words of a header that is `header_len` bytes long with its options, with a
    /// checksum of zero.
    #[inline]
    pub(crate) fn words(&self, header_len: usize) -> [u32; 5] {
        let join = |high: u16, low: u16| u32::from(high) << 16 | u32::from(low);
        let offset_and_flags = (header_len as u16 / 4) << 12 | u16::from(self.flags.0);
        [
            join(self.src_port, self.dst_port),
            self.seq.0,
            self.ack.0,
            join(offset_and_flags, self.window),
            join(0, self.urgent),
        ]
    }
}

#[cfg(test)]
mod tests {
    extern crate alloc;
    use super::*;
    use alloc::format;

    #[test]
    fn flags_are_a_set() {
        let mut flags = TcpFlags::SYN | TcpFlags::ACK;
        assert!(flags.contains(TcpFlags::SYN) && flags.intersects(TcpFlags::SYN | TcpFlags::FIN));
        assert!(!flags.contains(TcpFlags::SYN | TcpFlags::FIN));
        flags.remove(TcpFlags::SYN);
        flags |= TcpFlags::CWR;
        assert_eq!(flags.bits(), 0x90);
    }

    #[test]
    fn flags_print_their_names() {
        assert_eq!(format!("{:?}", TcpFlags::ACK | TcpFlags::SYN), "SYN|ACK");
        assert_eq!(format!("{:?}", TcpFlags::NONE), "none");
    }
}
