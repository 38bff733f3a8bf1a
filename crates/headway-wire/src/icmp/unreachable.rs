//! Destination unreachable messages to be sent (RFC 792, RFC 4443 section 3.1).

use core::net::IpAddr;

use super::{CHECKSUM_AT, HEADER, ICMP, ICMPV6};
use crate::{EmitError, IpHeader, checksum, checksum::Sum};

/// Why a destination cannot be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreachable {
    /// There is no route to its network.
    Network,
    /// It does not answer where it should be.
    Host,
    /// A rule forbids it.
    Prohibited,
}

impl Unreachable {
    /// Type and code.
    fn code(self, v4: bool) -> (u8, u8) {
        match (self, v4) {
            (Self::Network, true) => (3, 0),
            (Self::Host, true) => (3, 1),
            // RFC 1812, 5.2.7.1: communication administratively prohibited.
            (Self::Prohibited, true) => (3, 13),
            (Self::Network, false) => (1, 0),
            (Self::Prohibited, false) => (1, 1),
            (Self::Host, false) => (1, 3),
        }
    }

    /// The length of a message that quotes `quoted` bytes of a packet.
    pub fn message_len(src: IpAddr, quoted: usize) -> usize {
        (if src.is_ipv4() { 20 } else { 40 }) + HEADER + quoted
    }

    /// Writes a message from `src` to `dst` to the front of `buf` and returns its length. `quoted` is the beginning of
    /// the packet that could not be delivered: its IP header and at least 8 bytes.
    ///
    /// # Errors
    ///
    /// `buf` is too short.
    pub fn emit(self, buf: &mut [u8], src: IpAddr, dst: IpAddr, quoted: &[u8]) -> Result<usize, EmitError> {
        let (protocol, len) = (if src.is_ipv4() { ICMP } else { ICMPV6 }, HEADER + quoted.len());
        let ip = IpHeader::new(src, dst);
        let start = ip.emit(buf, protocol, len)?;
        let body = &mut buf[start..start + len];
        let (kind, code) = self.code(src.is_ipv4());
        body[..HEADER].copy_from_slice(&[kind, code, 0, 0, 0, 0, 0, 0]);
        body[HEADER..].copy_from_slice(quoted);
        let mut sum = if protocol == ICMPV6 { ip.pseudo_header_sum(ICMPV6, len) } else { Sum::default() };
        sum.add(checksum::sum(body));
        body[CHECKSUM_AT..CHECKSUM_AT + 2].copy_from_slice(&sum.complement().to_be_bytes());
        Ok(start + len)
    }
}
