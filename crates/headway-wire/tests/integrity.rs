//! What the checksums say of damage, and that the Header Checksum is what its definition says.

use crate::common;

use common::{Input, data_with_hack, input};
use headway_wire::{
    ChecksumTrust, Ecn, Integrity, IpHeader, Received, Segment, SeqNumber, TcpFlags, TcpHeader, TcpOptions,
    Timestamps, ip::Datagram, judge,
};
use proptest::{collection::vec, prelude::*};

/// An ordinary data segment.
fn data(addr: &str) -> Input {
    let addr = addr.parse().unwrap();
    Input {
        ip: IpHeader { ecn: Ecn::Ect0, identification: 99, ..IpHeader::new(addr, addr) },
        tcp: TcpHeader {
            src_port: 40_000,
            dst_port: 80,
            seq: SeqNumber(1_000_000_007),
            ack: SeqNumber(4_000_000_009),
            flags: TcpFlags::ACK | TcpFlags::PSH,
            window: 512,
            urgent: 0,
        },
        options: TcpOptions {
            timestamps: Some(Timestamps { tsval: 123_456_789, tsecr: 987_654_321 }),
            hack: Some(0),
            ..TcpOptions::default()
        },
        payload: (0..101).collect(),
    }
}

/// The header's sum by its definition: pseudo-header and header with options, checksum field and
/// value as zero, complemented. `value_at` counts from the start of the TCP header.
fn defined_sum(packet: &[u8], ip_header_len: usize, header_len: usize, value_at: usize) -> u16 {
    let mut header = packet[ip_header_len..header_len].to_vec();
    header[16..18].fill(0);
    header[value_at..value_at + 2].fill(0);
    let tcp_len = (packet.len() - ip_header_len) as u32;
    let mut bytes = if ip_header_len == 20 { packet[12..20].to_vec() } else { packet[8..40].to_vec() };
    bytes.extend(tcp_len.to_be_bytes());
    bytes.extend([0, 0, 0, 6]);
    bytes.extend(header);
    let mut sum: u32 = bytes.chunks_exact(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Where the value of kind 14 is in options that have no other byte 14 before it.
fn value_at(packet: &[u8], segment: &Segment<'_>) -> usize {
    let mut at = 20;
    let header = &packet[segment.ip_header_len..segment.header_len];
    loop {
        match header[at] {
            1 => at += 1,
            14 => return at + 2,
            _ => at += usize::from(header[at + 1]),
        }
    }
}

/// Flips bit `bit` of `packet`, the first bit of a byte first.
fn flip(packet: &mut [u8], bit: usize) {
    packet[bit / 8] ^= 0x80 >> (bit % 8);
}

/// Every single flip, one at a time, with what is judged then.
#[test]
fn every_single_bit_of_a_data_segment() {
    for addr in ["192.0.2.1", "2001:db8::1"] {
        let packet = data(addr).packet();
        let segment = Segment::parse(&packet).unwrap();
        for bit in 0..packet.len() * 8 {
            let mut damaged = packet.clone();
            flip(&mut damaged, bit);
            let at = bit / 8;
            let verdict = judge(&damaged);
            let context = format!("{addr}, byte {at}, bit {}: {verdict:?}", bit % 8);
            if at < segment.ip_header_len {
                // IPv4 has its own checksum. IPv6 has none: what the pseudo-header does not cover
                // (traffic class, flow label, hop limit) may change.
                let is_covered = packet[0] >> 4 == 4 || at == 4 || at == 5 || at >= 8;
                assert!(verdict.is_err() || !is_covered || verdict == Ok(Integrity::Unreadable), "{context}");
                continue;
            }
            let in_checksum = (16..18).contains(&(at - segment.ip_header_len));
            if at >= segment.header_len || in_checksum {
                // The TCP checksum field is no part of the header's own sum.
                assert_eq!(verdict, Ok(Integrity::Corrupted), "{context}");
            } else {
                assert!(verdict.is_err() || verdict == Ok(Integrity::Unreadable), "{context}");
            }
            if let Ok(parsed) = Segment::parse(&damaged) {
                let received = match verdict {
                    Ok(Integrity::Intact) => Received::Intact(parsed),
                    Ok(Integrity::Corrupted) => Received::Corrupted(parsed),
                    _ => Received::Unreadable(Datagram::parse(&damaged).ok()),
                };
                assert_eq!(Received::parse(&damaged, ChecksumTrust::None), received, "{context}");
            }
        }
    }
}

proptest! {
    #[test]
    fn the_value_is_the_defined_sum(input in data_with_hack()) {
        let packet = input.packet();
        let segment = Segment::parse(&packet).unwrap();
        let at = value_at(&packet, &segment);
        prop_assert_eq!(at % 2, 0);
        let expected = defined_sum(&packet, segment.ip_header_len, segment.header_len, at);
        prop_assert_eq!(segment.options.hack, Some(expected));
    }

    #[test]
    fn payload_damage_leaves_the_header_good(input in data_with_hack(), flips in vec(any::<prop::sample::Index>(), 1..64)) {
        let mut packet = input.packet();
        let sent = packet.clone();
        let header_len = Segment::parse(&packet).unwrap().header_len;
        for place in flips {
            flip(&mut packet, header_len * 8 + place.index(input.payload.len() * 8));
        }
        let verdicts = judge(&packet).unwrap();
        prop_assert_ne!(verdicts, Integrity::Unreadable);
        if verdicts == Integrity::Intact {
            // Flips that undo each other, or one of the few that this checksum cannot see.
            let sum = |bytes: &[u8]| headway_wire::checksum::sum(bytes).fold();
            prop_assert_eq!(sum(&packet[header_len..]), sum(&sent[header_len..]));
        } else {
            prop_assert_eq!(verdicts, Integrity::Corrupted);
        }
    }

    /// The fixed header except for data offset, flags and checksum: what a flip there cannot do is
    /// change which bytes are summed.
    #[test]
    fn one_flip_in_the_header_makes_it_bad(input in data_with_hack(), bit in 0_usize..160) {
        prop_assume!(!(96..100).contains(&bit) && !(104..112).contains(&bit) && !(128..144).contains(&bit));
        let mut packet = input.packet();
        let ip_header_len = Segment::parse(&packet).unwrap().ip_header_len;
        flip(&mut packet, ip_header_len * 8 + bit);
        prop_assert_eq!(judge(&packet), Ok(Integrity::Unreadable));
    }

    #[test]
    fn without_the_option_damage_makes_everything_bad(mut input in input(), place in any::<prop::sample::Index>()) {
        input.options.hack = None;
        input.options.v2 = None;
        input.payload.push(1);
        let mut packet = input.packet();
        let header_len = Segment::parse(&packet).unwrap().header_len;
        flip(&mut packet, header_len * 8 + place.index(input.payload.len() * 8));
        prop_assert_eq!(judge(&packet), Ok(Integrity::Unreadable));
    }

    #[test]
    fn the_value_on_a_syn_is_written_as_given_and_vouches_for_nothing(mut input in data_with_hack(), value in any::<u16>()) {
        // The right value of the same segment without SYN must not count either.
        for value in [value, 0x5848] {
            input.tcp.flags.insert(TcpFlags::SYN);
            input.options.hack = Some(value);
            let mut packet = input.packet();
            prop_assert_eq!(Segment::parse(&packet).unwrap().options.hack, Some(value));
            prop_assert_eq!(judge(&packet), Ok(Integrity::Intact));
            let last = packet.len() - 1;
            packet[last] ^= 1;
            prop_assert_eq!(judge(&packet), Ok(Integrity::Unreadable));
        }
    }

    #[test]
    fn nothing_panics(mut packet in vec(any::<u8>(), 0..200), version in prop_oneof![Just(0x45), Just(0x46), Just(0x60)]) {
        if let Some(first) = packet.first_mut() {
            *first = version;
        }
        let _ = judge(&packet);
        let _ = Segment::parse(&packet);
    }
}

/// Another implementation may put the option anywhere, at an odd offset too.
#[test]
fn a_value_at_an_odd_offset_is_verified() {
    for (nops_before, nops_after) in [(0, 4), (1, 3), (2, 2), (3, 1)] {
        let mut input = data("192.0.2.1");
        input.options = TcpOptions::default();
        // Two words of options, by hand.
        let mut packet = input.packet();
        let mut options = vec![1_u8; nops_before];
        options.extend([14, 4, 0, 0]);
        options.extend(vec![1; nops_after]);
        packet.splice(40..40, options);
        packet[32] = 7 << 4;
        let len = (packet.len() as u16).to_be_bytes();
        packet[2..4].copy_from_slice(&len);
        packet[10..12].fill(0);
        let check = headway_wire::checksum::sum(&packet[..20]).complement();
        packet[10..12].copy_from_slice(&check.to_be_bytes());
        let at = 20 + nops_before + 2;
        let value = defined_sum(&packet, 20, 48, at);
        packet[20 + at..20 + at + 2].copy_from_slice(&value.to_be_bytes());

        // The TCP checksum is that of the segment before: wrong.
        assert_eq!(judge(&packet), Ok(Integrity::Corrupted), "{nops_before} NOPs before");
        packet[20 + at] ^= 0x10;
        assert_eq!(judge(&packet), Ok(Integrity::Unreadable), "{nops_before} NOPs before");
    }
}

/// Options that cannot be separated, with a right TCP checksum: they were sent like that.
#[test]
fn judging_needs_no_options() {
    let mut input = data("192.0.2.1");
    input.options = TcpOptions { mss: Some(1460), ..TcpOptions::default() };
    let mut packet = input.packet();
    // MSS with a length of 0 instead of 4; the checksum field makes up for it.
    packet[41] = 0;
    let check = u16::from_be_bytes([packet[36], packet[37]]);
    let fixed = headway_wire::checksum::update(check, 0x0204, 0x0200);
    packet[36..38].copy_from_slice(&fixed.to_be_bytes());
    assert!(matches!(Segment::parse(&packet), Err(headway_wire::ParseError::Options(_))));
    assert_eq!(judge(&packet), Ok(Integrity::Intact));
}

/// Padding of the layer below is no part of the segment.
#[test]
fn padding_is_not_judged() {
    for addr in ["192.0.2.1", "2001:db8::1"] {
        let mut packet = data(addr).packet();
        packet.extend([0xff; 9]);
        assert_eq!(judge(&packet), Ok(Integrity::Intact));
        let segment = Segment::parse(&packet).unwrap();
        assert_eq!(segment.payload.len(), 101);
        assert_eq!(Received::parse(&packet, ChecksumTrust::None), Received::Intact(segment));
    }
}
