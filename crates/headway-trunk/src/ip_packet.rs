//! What the gateway reads of the IP packets that it carries as they are.

use std::net::IpAddr;

/// Source and destination.
pub(crate) fn ends(packet: &[u8]) -> Option<(IpAddr, IpAddr)> {
    let v4 = |at: usize| packet.get(at..at + 4)?.first_chunk::<4>().map(|bytes| IpAddr::from(*bytes));
    let v6 = |at: usize| packet.get(at..at + 16)?.first_chunk::<16>().map(|bytes| IpAddr::from(*bytes));
    match packet.first()? >> 4 {
        4 => Some((v4(12)?, v4(16)?)),
        6 => Some((v6(8)?, v6(24)?)),
        _ => None,
    }
}

/// The number of the protocol in it; of IPv6 that of the first header that follows.
pub(crate) fn protocol(packet: &[u8]) -> Option<u8> {
    match packet.first()? >> 4 {
        4 => packet.get(9).copied(),
        _ => packet.get(6).copied(),
    }
}
