//! Marking instead of dropping (RFC 3168, section 5): packets whose sender knows ECN get the codepoint CE
//! while the queue is long.

use crate::{Frame, LinkCounters};

/// The ECN field's codepoints: 00 is no ECN, 11 is CE (RFC 3168, 5).
const CE: u8 = 3;

/// Whether a packet carries CE, perhaps since now: what a discipline does in place of dropping it.
pub(crate) fn mark_capable<P: AsMut<[u8]>>(frame: &mut Frame<P>, counters: &mut LinkCounters) -> bool {
    let packet = frame.bytes_mut();
    if mark(packet) {
        counters.marked += 1;
        return true;
    }
    carries_ce(packet)
}

/// Whether an earlier link marked it.
fn carries_ce(packet: &[u8]) -> bool {
    match packet {
        [first, second, ..] if first >> 4 == 4 => second & CE == CE,
        [first, second, ..] if first >> 4 == 6 => second >> 4 & CE == CE,
        _ => false,
    }
}

/// Marks the IP packet at the start of `packet`, if its sender knows ECN. Says whether it carries CE then
/// and did not before.
pub(crate) fn mark(packet: &mut [u8]) -> bool {
    match packet.first() {
        Some(first) if first >> 4 == 4 => mark_v4(packet),
        Some(first) if first >> 4 == 6 => mark_v6(packet),
        _ => false,
    }
}

fn mark_v4(packet: &mut [u8]) -> bool {
    let Some(header) = packet.first_chunk_mut::<20>() else { return false };
    let before = header[1];
    if !may_mark(before) {
        return false;
    }
    header[1] |= CE;
    // RFC 1624, equation 3: "HC' = ~(~HC + ~m + m')", the word being version, length and this byte.
    let change = u32::from(!u16::from(before)) + u32::from(header[1]);
    let sum = u32::from(!u16::from_be_bytes([header[10], header[11]])) + change;
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    [header[10], header[11]] = (!(folded as u16)).to_be_bytes();
    true
}

/// IPv6 has no header checksum; the traffic class straddles the first two bytes (RFC 8200, 3).
fn mark_v6(packet: &mut [u8]) -> bool {
    let Some(byte) = packet.get_mut(1) else { return false };
    if !may_mark(*byte >> 4) {
        return false;
    }
    *byte |= CE << 4;
    true
}

fn may_mark(class: u8) -> bool {
    !matches!(class & 3, 0 | CE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum_is_sound(header: &[u8]) -> bool {
        let sum: u32 = header.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
        let folded = (sum & 0xffff) + (sum >> 16);
        (folded & 0xffff) + (folded >> 16) == 0xffff
    }

    /// A header with these last bytes of the addresses and this traffic class.
    fn header(tos: u8, last: [u8; 2]) -> [u8; 20] {
        let mut header = [0x45, tos, 5, 220, 0, 9, 64, 0, 64, 6, 0, 0, 10, 0, 0, last[0], 10, 0, 1, last[1]];
        let sum: u32 = header.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
        let folded = (sum & 0xffff) + (sum >> 16);
        [header[10], header[11]] = (!(folded as u16)).to_be_bytes();
        header
    }

    #[test]
    fn ipv4_is_marked_and_its_sum_follows() {
        for tos in 0..=255 {
            for last in [[1, 2], [0, 0], [255, 255], [7, 191]] {
                let mut packet = header(tos, last);
                assert!(sum_is_sound(&packet));
                let capable = matches!(tos & 3, 1 | 2);
                assert_eq!(mark(&mut packet), capable);
                assert_eq!(packet[1], if capable { tos | 3 } else { tos });
                assert!(sum_is_sound(&packet), "{tos:#x} {last:?}");
            }
        }
    }

    #[test]
    fn ipv6_is_marked() {
        for (before, after) in [(0x20, 0x30), (0x1f, 0x3f), (0x00, 0x00), (0x30, 0x30)] {
            let mut packet = [0; 40];
            packet[..2].copy_from_slice(&[0x6a, before]);
            assert_eq!(mark(&mut packet), before != after);
            assert_eq!(packet[..2], [0x6a, after]);
        }
    }

    #[test]
    fn what_is_no_packet_stays() {
        for mut packet in [vec![], vec![0x45; 3], vec![0x62], vec![0x15; 40]] {
            let before = packet.clone();
            assert!(!mark(&mut packet));
            assert_eq!(packet, before);
        }
    }
}
