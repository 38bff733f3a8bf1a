//! What boxes between two ends of TCP over UDP do to its segments; each says whether the segment goes on.

use std::net::IpAddr;

use headway_test_fixture::packet;
use headway_wire::checksum;

/// The checksum of a segment in a datagram: with addresses of zero.
fn sum(segment: &[u8]) -> checksum::Sum {
    let zero = IpAddr::from([0; 4]);
    let mut sum = packet::ip(zero, zero).pseudo_header_sum(6, segment.len());
    sum.add(checksum::sum(segment));
    sum
}

pub(crate) fn drops_damage(_: bool, segment: &mut [u8]) -> bool {
    sum(segment).is_sound()
}

/// Overwrites the HACK options of SYNs to the server, as a firewall does with unknown options, and
/// reduces the MSS.
pub(crate) fn strips_hack(there: bool, segment: &mut [u8]) -> bool {
    const SYN: u8 = 2;
    if !there || segment[13] & SYN == 0 {
        return true;
    }
    let mut at = 20;
    while at < usize::from(segment[12] >> 4) * 4 {
        let len = if segment[at] < 2 { 1 } else { usize::from(segment[at + 1]) };
        match segment[at] {
            2 => segment[at + 2..at + 4].copy_from_slice(&1200_u16.to_be_bytes()),
            14 | 253 => segment[at..at + len].fill(1),
            _ => {}
        }
        at += len;
    }
    segment[16..18].fill(0);
    let check = sum(segment).complement();
    segment[16..18].copy_from_slice(&check.to_be_bytes());
    true
}
