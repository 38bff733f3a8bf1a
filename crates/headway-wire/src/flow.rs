//! Which flow a packet is of.

use crate::ip;

/// TCP, UDP, DCCP, SCTP and UDP-Lite: the ports are the first four bytes behind the IP header.
const WITH_PORTS: [u8; 5] = [6, 17, 33, 132, 136];

/// A hash of protocol, addresses and ports of an IP packet: the 5-tuple by which queues tell flows apart (RFC
/// 8290, section 4.1). Of protocols without ports the addresses count; what is no IP packet is one flow.
///
/// No checksum is verified. FNV-1a with 64 bits; whoever needs it in few bits has to mix it.
///
/// ```
/// assert_eq!(headway_wire::flow_hash(b"no packet"), headway_wire::flow_hash(b""));
/// ```
pub fn flow_hash(packet: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325;
    let mut add = |bytes: &[u8]| {
        for byte in bytes {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    };
    let Some((protocol, header_len)) = ip::layout(packet) else { return hash };
    let addresses = if packet[0] >> 4 == 4 { 12..20 } else { 8..40 };
    add(packet.get(addresses).unwrap_or_default());
    add(&[protocol]);
    if WITH_PORTS.contains(&protocol) {
        add(packet.get(header_len..header_len + 4).unwrap_or_default());
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IPv4 with TCP; `changed` gets another value.
    fn hash_with(changed: usize) -> u64 {
        let mut packet = [0; 60];
        packet[0] = 0x45;
        packet[3] = 60;
        packet[9] = 6;
        packet[32] = 0x50;
        packet[changed] ^= 0x21;
        flow_hash(&packet)
    }

    #[test]
    fn addresses_protocol_and_ports_count_and_nothing_else() {
        // The second byte of the traffic class is a place that never counts.
        let plain = hash_with(1);
        for place in 1..60 {
            // Protocol 0x27 has no ports.
            let counts = place == 9 || (12..24).contains(&place);
            assert_eq!(hash_with(place) != plain, counts, "byte {place}");
        }
    }

    #[test]
    fn ipv6_counts_its_addresses() {
        let mut packet = [0; 60];
        packet[0] = 0x60;
        packet[5] = 20;
        packet[6] = 6;
        let plain = flow_hash(&packet);
        for (place, counts) in [(2, false), (8, true), (39, true), (40, true), (43, true), (44, false)] {
            packet[place] ^= 1;
            assert_eq!(flow_hash(&packet) != plain, counts, "byte {place}");
            packet[place] ^= 1;
        }
    }
}
