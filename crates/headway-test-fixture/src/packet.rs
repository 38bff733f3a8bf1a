//! Packets made by hand.

use std::net::{IpAddr, SocketAddr};

use headway_wire::checksum::Sum;
use headway_wire::icmp::{ICMP, ICMPV6};
use headway_wire::{IpHeader, SeqNumber, TcpFlags, TcpHeader, TcpOptions, emit};

/// An ordinary IP header.
pub fn ip(src: IpAddr, dst: IpAddr) -> IpHeader {
    IpHeader::new(src, dst)
}

/// A TCP header without numbers, between two ports.
pub fn tcp(src_port: u16, dst_port: u16, flags: TcpFlags) -> TcpHeader {
    let zero = SeqNumber(0);
    TcpHeader { src_port, dst_port, seq: zero, ack: zero, flags, window: 0, urgent: 0 }
}

/// The IP header and the TCP header of a segment from `src` to `dst`.
pub fn headers(src: SocketAddr, dst: SocketAddr, flags: TcpFlags) -> (IpHeader, TcpHeader) {
    (ip(src.ip(), dst.ip()), tcp(src.port(), dst.port(), flags))
}

/// A segment with sound checksums.
///
/// # Panics
///
/// If it cannot be built, as with too many options.
#[track_caller]
pub fn segment(ip: &IpHeader, tcp: &TcpHeader, options: &TcpOptions, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0; 120 + payload.len()];
    let len = emit(&mut packet, ip, tcp, options, (payload, &[])).expect("a segment that can be built");
    packet.truncate(len);
    packet
}

/// An ICMP or ICMPv6 message with a sound checksum: type and code, the second word, and the rest.
pub fn icmp(ip: &IpHeader, start: [u8; 2], second_word: [u8; 4], rest: &[u8]) -> Vec<u8> {
    let mut body = [&start[..], &[0, 0], &second_word, rest].concat();
    let (protocol, mut sum) = match ip.dst {
        IpAddr::V4(_) => (ICMP, Sum::default()),
        IpAddr::V6(_) => (ICMPV6, ip.pseudo_header_sum(ICMPV6, body.len())),
    };
    sum.add_bytes(&body);
    body[2..4].copy_from_slice(&sum.complement().to_be_bytes());
    let mut packet = vec![0; ip.emitted_len() + body.len()];
    let at = ip.emit(&mut packet, protocol, body.len()).expect("a message that can be built");
    packet[at..].copy_from_slice(&body);
    packet
}
