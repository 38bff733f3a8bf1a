//! Which UDP flows are QUIC.
//!
//! QUIC takes a packet for lost when one that was sent three later is acknowledged (RFC 9002, 6.1.1), so it slows down where
//! the trunk delivers what was repaired behind what was sent later. Its flows keep their order.

use std::collections::HashMap;

use headway_units::{Duration, Instant};

/// The protocol number of UDP, and the length of its header.
const UDP: u8 = 17;
const UDP_HEADER: usize = 8;
/// RFC 9000, 15, and RFC 9369, 3.1.
const VERSIONS: [[u8; 4]; 2] = [[0, 0, 0, 1], [0x6b, 0x33, 0x43, 0xcf]];
/// Flows that were silent for so long are forgotten. If there are too many others, new ones are delivered in any order.
const SILENCE: Duration = Duration::from_secs(600);
const MOST: usize = 1 << 16;

/// The QUIC flows that were seen lately.
#[derive(Debug, Default)]
pub(crate) struct QuicFlows {
    /// When each was seen last.
    seen: HashMap<u64, Instant>,
    /// When those that were silent were last looked for.
    swept: Option<Instant>,
}

impl QuicFlows {
    /// Whether `packet`, of the flow with that number, belongs to a QUIC connection. Connections begin with packets that
    /// show it; later ones do not (RFC 8999, 5).
    pub(crate) fn contains(&mut self, now: Instant, flow: u64, packet: &[u8]) -> bool {
        let Some(payload) = datagram(packet) else { return false };
        if let Some(seen) = self.seen.get_mut(&flow)
            && now.saturating_since(*seen) < SILENCE
        {
            *seen = now;
            return true;
        }
        if !has_long_header(payload) {
            return false;
        }
        if self.seen.len() >= MOST {
            self.sweep(now);
        }
        let is_kept = self.seen.len() < MOST || self.seen.contains_key(&flow);
        if is_kept {
            self.seen.insert(flow, now);
        }
        is_kept
    }

    /// Forgets flows that were silent for long, once a second at most: a host that opens flows without end is to cost little.
    fn sweep(&mut self, now: Instant) {
        if self.swept.is_none_or(|swept| now.saturating_since(swept) >= Duration::from_secs(1)) {
            self.swept = Some(now);
            self.seen.retain(|_, seen| now.saturating_since(*seen) < SILENCE);
        }
    }
}

/// RFC 9000, 17.2: the form bit and the fixed bit are set, and the version follows.
fn has_long_header(payload: &[u8]) -> bool {
    payload.first().is_some_and(|first| first & 0xc0 == 0xc0)
        && payload.get(1..5).is_some_and(|version| VERSIONS.iter().any(|known| known == version))
}

/// What a UDP packet carries.
fn datagram(packet: &[u8]) -> Option<&[u8]> {
    let first = packet.first()?;
    let (protocol, header) = match first >> 4 {
        4 => (packet.get(9)?, usize::from(first & 15) * 4),
        6 => (packet.get(6)?, 40),
        _ => return None,
    };
    if *protocol == UDP { packet.get(header + UDP_HEADER..) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Initial packets of the two versions, a later packet, and what else goes over UDP: DNS, RTP, STUN, DTLS, a version
    /// that is not known, version negotiation, and nothing.
    const FIRST: [&[u8]; 2] = [&[0xc3, 0, 0, 0, 1, 8, 1, 2], &[0xd0, 0x6b, 0x33, 0x43, 0xcf, 8]];
    const LATER: &[u8] = &[0x41, 7, 7, 7, 7, 7];
    const OTHERS: [&[u8]; 8] = [
        &[0x12, 0x34, 1, 0, 0, 1],
        &[0x80, 0, 0, 0, 1, 0],
        &[0, 1, 0, 0, 0, 1],
        &[22, 0xfe, 0xfd, 0, 0, 0],
        &[0xc0, 0, 0, 0, 2, 8],
        &[0xc0, 0, 0, 0, 0, 8],
        &[0xc0, 0, 0, 0],
        &[],
    ];

    fn packet(version: u8, protocol: u8, payload: &[u8]) -> Vec<u8> {
        let mut packet = match version {
            4 => vec![0x46; 24],
            _ => vec![0x60; 40],
        };
        packet[if version == 4 { 9 } else { 6 }] = protocol;
        packet.extend_from_slice(&[0; UDP_HEADER]);
        packet.extend_from_slice(payload);
        packet
    }

    #[test]
    fn a_flow_is_quic_from_its_first_packet_on() {
        for (version, first) in [4, 6].into_iter().flat_map(|version| FIRST.map(|first| (version, first))) {
            let mut flows = QuicFlows::default();
            let mut is_quic =
                |flow, payload| flows.contains(Instant::ZERO, flow, &packet(version, UDP, payload));
            assert!(!is_quic(1, LATER), "its first packet was not seen");
            assert!(OTHERS.iter().all(|other| !is_quic(1, other)));
            assert!(is_quic(1, first) && is_quic(1, LATER));
            assert!(!is_quic(2, LATER), "another flow");
            assert!(!flows.contains(Instant::ZERO, 3, &packet(version, 6, first)), "TCP");
        }
    }

    #[test]
    fn any_bytes_do_no_harm() {
        let mut flows = QuicFlows::default();
        for (version, header) in [(4, 24), (6, 40)] {
            let whole = packet(version, UDP, FIRST[0]);
            for len in 0..whole.len() {
                let is_quic = flows.contains(Instant::ZERO, len as u64, &whole[..len]);
                assert_eq!(is_quic, len >= header + UDP_HEADER + 5, "{len} of {}", whole.len());
            }
        }
        assert!(!flows.contains(Instant::ZERO, 99, &[0xff; 60]));
    }

    #[test]
    fn flows_without_end_are_bounded() {
        let mut flows = QuicFlows::default();
        let first = packet(4, UDP, FIRST[0]);
        let later = packet(4, UDP, LATER);
        let at = |seconds| Instant::ZERO + Duration::from_secs(seconds);
        for flow in 0..MOST as u64 + 10 {
            assert_eq!(flows.contains(at(0), flow, &first), flow < MOST as u64);
        }
        assert_eq!(flows.seen.len(), MOST);
        assert!(flows.contains(at(1), 5, &later) && !flows.contains(at(1), MOST as u64 + 1, &later));
        assert!(!flows.contains(at(600), 6, &later), "it was silent for long");
        // The others were silent, and make room.
        assert!(flows.contains(at(600), MOST as u64 + 1, &first));
        assert!(flows.contains(at(600), MOST as u64 + 1, &later) && flows.contains(at(600), 5, &later));
        assert_eq!(flows.seen.len(), 2);
    }
}
