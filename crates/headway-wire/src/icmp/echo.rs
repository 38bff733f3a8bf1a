//! Echo requests and their replies.

use core::net::IpAddr;

use super::{CHECKSUM_AT, ICMP, ICMPV6};
use crate::{EmitError, IpHeader, checksum, checksum::Sum, ip::Datagram};

const ECHO_REQUEST_V4: u8 = 8;
const ECHO_REPLY_V4: u8 = 0;
const ECHO_REQUEST_V6: u8 = 128;
const ECHO_REPLY_V6: u8 = 129;

/// An echo request with a right checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EchoRequest<'a> {
    ip: IpHeader,
    body: &'a [u8],
}

impl<'a> EchoRequest<'a> {
    pub(super) fn new(datagram: &Datagram<'a>, kind: u8, code: u8) -> Option<Self> {
        let is_request = matches!(
            (datagram.header.dst, kind, code),
            (IpAddr::V4(_), ECHO_REQUEST_V4, 0) | (IpAddr::V6(_), ECHO_REQUEST_V6, 0)
        );
        is_request.then_some(Self { ip: datagram.header, body: datagram.body })
    }

    /// The length of the reply, in bytes. An IPv4 header with options, or extension headers, do not come
    /// back.
    pub fn reply_len(&self) -> usize {
        self.ip.emitted_len() + self.body.len()
    }

    /// Writes the reply, from the address that the request was sent to, to the front of `buf` and
    /// returns its length.
    ///
    /// RFC 1122, 3.2.2.6: "Data received in an ICMP Echo Request MUST be entirely included in the
    /// resulting Echo Reply." RFC 4443, 4.2 says the same of IPv6.
    ///
    /// # Errors
    ///
    /// `buf` is too short.
    pub fn reply(&self, buf: &mut [u8]) -> Result<usize, EmitError> {
        let (protocol, reply) = match self.ip.dst {
            IpAddr::V4(_) => (ICMP, ECHO_REPLY_V4),
            IpAddr::V6(_) => (ICMPV6, ECHO_REPLY_V6),
        };
        // As asked: the answer is to take as long as such packets take.
        let ip = IpHeader { dscp: self.ip.dscp, ..IpHeader::new(self.ip.dst, self.ip.src) };
        let len = self.body.len();
        let start = ip.emit(buf, protocol, len)?;
        let body = &mut buf[start..start + len];
        body.copy_from_slice(self.body);
        body[0] = reply;
        body[CHECKSUM_AT..CHECKSUM_AT + 2].fill(0);
        let mut sum = if protocol == ICMPV6 { ip.pseudo_header_sum(ICMPV6, len) } else { Sum::default() };
        sum.add(checksum::sum(body));
        body[CHECKSUM_AT..CHECKSUM_AT + 2].copy_from_slice(&sum.complement().to_be_bytes());
        Ok(start + len)
    }
}
