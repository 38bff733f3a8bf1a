//! Version 2 of TCP HACK: bytes as an independent program computed them, CRCs as they are defined,
//! and what is judged of damage.

use crate::common;

use common::{Input, any_v2, input};
use headway_wire::{
    ChecksumTrust, Integrity, IpHeader, Received, Segment, SeqNumber, Skipped, TcpFlags, TcpHeader,
    TcpOptions, Timestamps, V2, V2Ack, V2Offsets, emit, judge,
};
use proptest::{collection::vec, prelude::*};

/// CRC-32C bit by bit.
fn defined_crc32c(bytes: &[u8]) -> u32 {
    let mut register = !0_u32;
    for byte in bytes {
        register ^= u32::from(*byte);
        for _ in 0..8 {
            register = register >> 1 ^ if register & 1 == 1 { 0x82f6_3b78 } else { 0 };
        }
    }
    !register
}

/// The CRC of a header by its definition; `crc_at` counts from the start of the TCP header.
fn defined_header_crc(packet: &[u8], segment: &Segment<'_>, crc_at: usize) -> u32 {
    let mut header = packet[segment.ip_header_len..segment.header_len].to_vec();
    header[16..18].fill(0);
    header[crc_at..crc_at + 4].fill(0);
    let tcp_len = packet.len() - segment.ip_header_len;
    let mut bytes = if segment.ip.src.is_ipv4() {
        [&packet[12..20], &[0, 6], &(tcp_len as u16).to_be_bytes()].concat()
    } else {
        [&packet[8..40], &(tcp_len as u32).to_be_bytes(), &[0, 0, 0, 6]].concat()
    };
    bytes.extend(header);
    defined_crc32c(&bytes)
}

/// Where the option starts, in bytes from the start of the TCP header.
fn option_at(packet: &[u8], segment: &Segment<'_>) -> usize {
    let header = &packet[segment.ip_header_len..segment.header_len];
    let mut at = 20;
    loop {
        match header[at] {
            1 => at += 1,
            253 => return at,
            _ => at += usize::from(header[at + 1]),
        }
    }
}

fn segment_with(v2: V2, payload: &[u8]) -> Input {
    let is_syn = v2.as_syn().is_some();
    Input {
        ip: IpHeader { identification: 99, ..IpHeader::new([192, 0, 2, 1].into(), [192, 0, 2, 2].into()) },
        tcp: TcpHeader {
            src_port: 40_000,
            dst_port: 80,
            seq: SeqNumber(1_000_000_007),
            ack: SeqNumber(4_000_000_009),
            flags: match (is_syn, payload.is_empty()) {
                (true, _) => TcpFlags::SYN,
                (false, true) => TcpFlags::ACK,
                (false, false) => TcpFlags::ACK | TcpFlags::PSH,
            },
            window: 512,
            urgent: 0,
        },
        options: TcpOptions {
            mss: is_syn.then_some(1460),
            timestamps: (!is_syn).then_some(Timestamps { tsval: 123_456_789, tsecr: 987_654_321 }),
            v2: Some(v2),
            ..TcpOptions::default()
        },
        payload: payload.to_vec(),
    }
}

const ACK: SeqNumber = SeqNumber(4_000_000_009);

#[test]
fn each_form_is_known_as_itself_alone() {
    let forms = [V2::syn(true), V2::data(), V2::patch(), V2::ack(7, V2Offsets::default())];
    let read = |v2: &V2| {
        (
            v2.as_syn().map(|v2| V2::Syn(*v2)),
            v2.as_data().map(|v2| V2::Data(*v2)),
            v2.as_patch().map(|v2| V2::Patch(*v2)),
            v2.as_ack().map(|v2| V2::Ack(*v2)),
        )
    };
    let [syn, data, patch, ack] = forms;
    assert_eq!(read(&syn), (Some(syn), None, None, None));
    assert_eq!(read(&data), (None, Some(data), None, None));
    assert_eq!(read(&patch), (None, None, Some(patch), None));
    assert_eq!(read(&ack), (None, None, None, Some(ack)));
}

/// Each form as it stands on the wire, from the first byte of the TCP header. The CRCs and sums were
/// computed by another program.
fn examples() -> [(Input, &'static [u8]); 5] {
    let mut sack = segment_with(V2::ack(0x1234, V2Offsets::default()), &[]);
    sack.options.sack.push((ACK + 1448, ACK + 2 * 1448));
    sack.options.sack.push((ACK + 3 * 1448, ACK + 4 * 1448));
    [
        (
            segment_with(V2::syn(true), &[]),
            &[
                0x9c, 0x40, 0x00, 0x50, 0x3b, 0x9a, 0xca, 0x07, 0xee, 0x6b, 0x28, 0x09, 0x80, 0x02, 0x02,
                0x00, 0xec, 0x30, 0x00, 0x00, // MSS; version 2, partial recovery, path check
                0x02, 0x04, 0x05, 0xb4, 0xfd, 0x08, 0x48, 0x57, 0x02, 0x04, 0x05, 0xde,
            ],
        ),
        (
            segment_with(V2::data(), b"hello"),
            &[
                0x9c, 0x40, 0x00, 0x50, 0x3b, 0x9a, 0xca, 0x07, 0xee, 0x6b, 0x28, 0x09, 0xb0, 0x18, 0x02,
                0x00, 0xf1, 0xdf, 0x00, 0x00, // timestamps
                0x01, 0x01, 0x08, 0x0a, 0x07, 0x5b, 0xcd, 0x15, 0x3a, 0xde, 0x68, 0xb1,
                // identifier, CRC of the header, CRC of the payload
                0xfd, 0x0c, 0x48, 0x57, 0x39, 0x6b, 0x85, 0xb8, 0x9a, 0x71, 0xbb, 0x4c, 0x68, 0x65, 0x6c,
                0x6c, 0x6f,
            ],
        ),
        (
            sack,
            &[
                0x9c, 0x40, 0x00, 0x50, 0x3b, 0x9a, 0xca, 0x07, 0xee, 0x6b, 0x28, 0x09, 0xf0, 0x10, 0x02,
                0x00, 0xb6, 0xaa, 0x00, 0x00, // timestamps
                0x01, 0x01, 0x08, 0x0a, 0x07, 0x5b, 0xcd, 0x15, 0x3a, 0xde, 0x68, 0xb1,
                // identifier, CRC of the header, count; SACK in the same word
                0xfd, 0x0a, 0x48, 0x57, 0x29, 0x6a, 0x80, 0xd3, 0x12, 0x34, 0x05, 0x12, 0xee, 0x6b, 0x2d,
                0xb1, 0xee, 0x6b, 0x33, 0x59, 0xee, 0x6b, 0x39, 0x01, 0xee, 0x6b, 0x3e, 0xa9,
            ],
        ),
        (
            segment_with(V2::ack(7, V2Ack::offsets_from(ACK, [ACK + 1448, ACK])), &[]),
            &[
                0x9c, 0x40, 0x00, 0x50, 0x3b, 0x9a, 0xca, 0x07, 0xee, 0x6b, 0x28, 0x09, 0xd0, 0x10, 0x02,
                0x00, 0xb8, 0x49, 0x00, 0x00, // timestamps
                0x01, 0x01, 0x08, 0x0a, 0x07, 0x5b, 0xcd, 0x15, 0x3a, 0xde, 0x68, 0xb1,
                // identifier, CRC of the header, two offsets, count; NOP, NOP
                0xfd, 0x12, 0x48, 0x57, 0x57, 0xc4, 0x13, 0xd5, 0x00, 0x00, 0x05, 0xa8, 0x00, 0x00, 0x00,
                0x00, 0x00, 0x07, 0x01, 0x01,
            ],
        ),
        (
            segment_with(V2::ack(0xffff, V2Ack::offsets_from(ACK, [ACK + 1448])), &[0x11, 0x11, 0x22, 0x22]),
            &[
                0x9c, 0x40, 0x00, 0x50, 0x3b, 0x9a, 0xca, 0x07, 0xee, 0x6b, 0x28, 0x09, 0xc0, 0x18, 0x02,
                0x00, 0xa4, 0x80, 0x00, 0x00, // timestamps
                0x01, 0x01, 0x08, 0x0a, 0x07, 0x5b, 0xcd, 0x15, 0x3a, 0xde, 0x68, 0xb1,
                // identifier, CRC of the header, offset, count, NOP, NOP; two sums
                0xfd, 0x0e, 0x48, 0x57, 0xfe, 0xd2, 0x5d, 0x5f, 0x00, 0x00, 0x05, 0xa8, 0xff, 0xff, 0x01,
                0x01, 0x11, 0x11, 0x22, 0x22,
            ],
        ),
    ]
}

#[test]
fn vectors() {
    for (input, bytes) in examples() {
        let packet = input.packet();
        assert_eq!(&packet[20..], bytes, "{:?}", input.options);
        assert_eq!(judge(&packet), Ok(Integrity::Intact));
        let segment = Segment::parse(&packet).unwrap();
        if let Some(ack) = segment.options.v2.unwrap().as_ack() {
            let named: Vec<SeqNumber> = ack.named(segment.tcp.ack).collect();
            assert_eq!(ack.is_special(), !named.is_empty());
            assert!([&[][..], &[ACK + 1448, ACK], &[ACK + 1448]].contains(&&named[..]));
        }
    }
}

/// The appendix of the protocol's description shows the same packets.
#[test]
fn documented_examples() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/protocol.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (_, appendix) = text.split_once("## Appendix").unwrap();
    let shown: Vec<Vec<u8>> = appendix
        .split("```")
        .skip(1)
        .step_by(2)
        .map(|block| block.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect())
        .collect();
    assert_eq!(shown, examples().map(|(input, _)| input.packet()));
}

/// Two blocks of SACK, or four names and no SACK: what fits beside timestamps.
#[test]
fn what_fits_beside_timestamps() {
    let len = |names: u32, blocks: u32| {
        let request = V2Ack::offsets_from(ACK, (0..names).map(|name| ACK + name));
        let mut options = segment_with(V2::ack(0, request), &[]).options;
        for block in 0..blocks {
            options.sack.push((ACK + block, ACK));
        }
        options.encoded_len()
    };
    assert_eq!((len(0, 0), len(0, 1), len(0, 2), len(0, 3)), (24, 32, 40, 48));
    assert_eq!((len(1, 0), len(1, 1), len(2, 1), len(2, 2)), (28, 36, 40, 48));
    assert_eq!((len(4, 0), len(5, 0)), (40, 44));
}

/// No more names than there is room for in the option.
#[test]
fn names_are_bounded() {
    let request = V2Ack::offsets_from(ACK, (0..20).map(|name| ACK + name));
    assert_eq!(request.as_slice(), [0, 1, 2, 3, 4, 5, 6]);
    // A byte before the acknowledgement number is far behind it.
    let request = V2Ack::offsets_from(ACK, [SeqNumber(ACK.0 - 1)]);
    let ack = V2::ack(0, request);
    assert_eq!(ack.as_ack().unwrap().reported.as_slice(), [u32::MAX]);
}

/// Other experiments, other versions and lengths that no form has.
#[test]
fn what_is_not_ours_is_skipped() {
    let unknown: [&[u8]; 6] = [
        &[253, 2],
        &[253, 3, 0x48],
        &[253, 4, 0x48, 0x58],
        &[253, 8, 0xf9, 0x89, 2, 1, 0, 0],
        &[254, 8, 0x48, 0x57, 2, 1, 0, 0],
        &[253, 12, 0x57, 0x48, 0, 0, 0, 0, 0, 0, 0, 0],
    ];
    for bytes in unknown {
        assert_eq!(TcpOptions::parse(bytes), Ok((TcpOptions::default(), None)), "{bytes:?}");
    }
    let mut third = vec![253, 8, 0x48, 0x57, 3, 1, 0, 0];
    let skipped = |length| Ok((TcpOptions::default(), Some(Skipped { kind: 253, length })));
    assert_eq!(TcpOptions::parse(&third), skipped(8), "version 3");
    third[4] = 2;
    assert!(TcpOptions::parse(&third).unwrap().0.v2.is_some());
    for length in (4..=40).filter(|length| ![8, 10, 12, 14, 18, 22, 26, 30, 34, 38].contains(length)) {
        let mut bytes = vec![2; usize::from(length)];
        bytes[..4].copy_from_slice(&[253, length, 0x48, 0x57]);
        assert_eq!(TcpOptions::parse(&bytes), skipped(length), "{length}");
    }
    // Unknown flags of a SYN.
    let flags = TcpOptions::parse(&[253, 8, 0x48, 0x57, 2, 0xf9, 0, 9]).unwrap().0;
    assert_eq!(flags.v2.unwrap(), V2::Syn(headway_wire::V2Syn { path_check: 9, ..Default::default() }));
}

#[test]
fn another_identifier_is_ignored() {
    let mut option = [253, 8, 0x48, 0x57, 2, 0, 0, 9];
    assert!(TcpOptions::parse(&option).unwrap().0.v2.is_some());
    option[3] ^= 1;
    assert_eq!(TcpOptions::parse(&option), Ok((TcpOptions::default(), None)));
}

/// Every single flip, one at a time, with what is judged then.
#[test]
fn every_single_bit() {
    let ack = V2::ack(3, V2Ack::offsets_from(ACK, [ACK + 1448]));
    for (v2, payload) in [(V2::data(), &[0x5a; 101][..]), (ack, &[])] {
        let mut input = segment_with(v2, payload);
        for v6 in [false, true] {
            if v6 {
                input.ip.src = "2001:db8::1".parse().unwrap();
                input.ip.dst = "2001:db8::2".parse().unwrap();
            }
            let packet = input.packet();
            let segment = Segment::parse(&packet).unwrap();
            for bit in segment.ip_header_len * 8..packet.len() * 8 {
                let mut damaged = packet.clone();
                damaged[bit / 8] ^= 0x80 >> (bit % 8);
                let expected = match bit / 8 {
                    at if at >= segment.header_len => Integrity::Corrupted,
                    // The checksum field: both CRCs say that nothing else is wrong.
                    at if (16..18).contains(&(at - segment.ip_header_len)) => Integrity::Intact,
                    _ => Integrity::Unreadable,
                };
                // A data offset may lead out of the packet.
                let verdict = judge(&damaged).unwrap_or(Integrity::Unreadable);
                assert_eq!(verdict, expected, "bit {bit} of {:?}", input.options);
            }
        }
    }
}

/// What 16-bit sums cannot see: two flips of opposite directions in one column.
#[test]
fn damage_that_the_checksum_does_not_see() {
    let mut packet = segment_with(V2::data(), &[0x55; 100]).packet();
    let header_len = Segment::parse(&packet).unwrap().header_len;
    let sound = packet.clone();
    packet[header_len] ^= 0x01;
    packet[header_len + 2] ^= 0x01;
    packet[header_len + 2] = packet[header_len + 2].wrapping_add(2);
    // 0x55 -> 0x54 and 0x55 -> 0x56.
    assert_eq!((packet[header_len], packet[header_len + 2]), (0x54, 0x56));
    assert_eq!(judge(&packet), Ok(Integrity::Corrupted));

    // In the header: sequence and acknowledgement number, one up and one down.
    let mut packet = sound;
    packet[20 + 7] = packet[20 + 7].wrapping_add(1);
    packet[20 + 11] = packet[20 + 11].wrapping_sub(1);
    let (sum, tcp_len) = (Segment::parse(&packet).unwrap(), packet.len() - 20);
    let mut all = sum.ip.pseudo_header_sum(6, tcp_len);
    all.add_bytes(&packet[20..]);
    assert!(all.is_sound(), "the checksum passes");
    assert_eq!(judge(&packet), Ok(Integrity::Unreadable));
}

/// A SYN's path check holds only where nothing that later CRCs cover is rewritten; what else is
/// rewritten of SYNs (MSS, window, ECN) does no harm.
#[test]
fn a_rewritten_syn_offers_nothing() {
    let input = segment_with(V2::syn(true), &[]);
    assert!(Segment::parse(&input.packet()).unwrap().options.v2.is_some());
    let rewritten = |rewrite: &dyn Fn(&mut Input)| {
        let sent = Segment::parse(&input.packet()).unwrap().options.v2;
        let mut rewritten = input.clone();
        rewrite(&mut rewritten);
        rewritten.options.v2 = None;
        let mut options = [0; 40];
        // The option as it was sent, in what is sent on.
        let mut kept = rewritten.options;
        kept.v2 = sent;
        let len = kept.emit(&mut options).unwrap();
        let mut packet = rewritten.packet();
        packet.splice(40.., options[..len].iter().copied());
        packet[32] = ((20 + len) as u8 / 4) << 4;
        let total = (packet.len() as u16).to_be_bytes();
        packet[2..4].copy_from_slice(&total);
        packet[10..12].fill(0);
        let check = headway_wire::checksum::sum(&packet[..20]).complement();
        packet[10..12].copy_from_slice(&check.to_be_bytes());
        Segment::parse(&packet).unwrap().options.v2
    };
    assert!(rewritten(&|_| {}).is_some());
    assert!(rewritten(&|input| input.options.mss = Some(1200)).is_some());
    assert!(rewritten(&|input| input.options.mss = None).is_some());
    assert!(rewritten(&|input| input.tcp.window = 9).is_some());
    assert!(rewritten(&|input| input.tcp.flags.insert(TcpFlags::ECE | TcpFlags::CWR)).is_some());
    assert_eq!(rewritten(&|input| input.ip.src = [198, 51, 100, 7].into()), None);
    assert_eq!(rewritten(&|input| input.ip.dst = [198, 51, 100, 7].into()), None);
    assert_eq!(rewritten(&|input| input.tcp.src_port = 1), None);
    assert_eq!(rewritten(&|input| input.tcp.dst_port = 1), None);
    assert_eq!(rewritten(&|input| input.tcp.seq = SeqNumber(5)), None);
    assert_eq!(rewritten(&|input| input.tcp.ack = SeqNumber(5)), None);
}

/// A form that does not belong to the segment is not read, and on a SYN it is not believed either.
#[test]
fn forms_out_of_place() {
    let mut input = segment_with(V2::syn(false), b"data");
    input.tcp.flags = TcpFlags::ACK;
    let packet = input.packet();
    assert_eq!(Segment::parse(&packet).unwrap().options.v2, None);
    assert_eq!(judge(&packet), Ok(Integrity::Intact));

    let mut input = segment_with(V2::data(), b"data");
    input.tcp.flags = TcpFlags::SYN;
    let mut packet = input.packet();
    assert_eq!(Segment::parse(&packet).unwrap().options.v2, None);
    let last = packet.len() - 1;
    packet[last] ^= 1;
    assert_eq!(judge(&packet), Ok(Integrity::Unreadable));
}

/// Beside version 2 the classic option says nothing.
#[test]
fn the_classic_option_beside_it() {
    let mut input = segment_with(V2::data(), b"data");
    input.options.hack = Some(0xabcd);
    let mut packet = input.packet();
    assert_eq!(Segment::parse(&packet).unwrap().options.hack, Some(0xabcd));
    assert_eq!(judge(&packet), Ok(Integrity::Intact));
    let last = packet.len() - 1;
    packet[last] ^= 1;
    assert_eq!(judge(&packet), Ok(Integrity::Corrupted));
    packet[20] ^= 1;
    assert_eq!(judge(&packet), Ok(Integrity::Unreadable));
}

/// Another implementation may put the option anywhere.
#[test]
fn an_option_at_any_offset_is_verified() {
    for before in 0..=3 {
        let mut bare = segment_with(V2::data(), b"at any offset");
        bare.options = TcpOptions::default();
        let mut packet = bare.packet();
        let mut options = vec![1_u8; before];
        options.extend([253, 12, 0x48, 0x57, 0, 0, 0, 0]);
        options.extend(defined_crc32c(&bare.payload).to_be_bytes());
        options.resize(16, 0);
        packet.splice(40..40, options);
        packet[32] = 9 << 4;
        let total = (packet.len() as u16).to_be_bytes();
        packet[2..4].copy_from_slice(&total);
        packet[10..12].fill(0);
        let check = headway_wire::checksum::sum(&packet[..20]).complement();
        packet[10..12].copy_from_slice(&check.to_be_bytes());
        let segment = Segment::parse(&packet).unwrap();
        let crc = defined_header_crc(&packet, &segment, 24 + before);
        packet[44 + before..48 + before].copy_from_slice(&crc.to_be_bytes());
        // The checksum is that of the bare segment: wrong.
        assert_eq!(judge(&packet), Ok(Integrity::Intact), "{before} NOPs before");
        packet[44 + before] ^= 0x10;
        assert_eq!(judge(&packet), Ok(Integrity::Unreadable), "{before} NOPs before");
    }
}

proptest! {
    #[test]
    fn the_crcs_are_the_defined_ones(mut input in input(), v2 in any_v2(), split in any::<prop::sample::Index>()) {
        input.options.sack.clear();
        input.options.xhack_ack.clear();
        input.options.v2 = Some(v2);
        prop_assume!(input.options.encoded_len() <= 40);
        match v2.as_syn() {
            Some(_) => input.tcp.flags.insert(TcpFlags::SYN),
            None => input.tcp.flags.remove(TcpFlags::SYN),
        }
        let packet = input.packet_split(split.index(input.payload.len() + 1));
        let segment = Segment::parse(&packet).unwrap();
        let at = option_at(&packet, &segment);
        match segment.options.v2.unwrap() {
            V2::Syn(syn) => {
                let addresses = if input.ip.src.is_ipv4() { &packet[12..20] } else { &packet[8..40] };
                let ends = &packet[segment.ip_header_len..][..12];
                prop_assert_eq!(syn.path_check, defined_crc32c(&[addresses, ends].concat()) as u16);
            }
            V2::Data(data) | V2::Patch(data) => {
                prop_assert_eq!(data.payload_crc, defined_crc32c(&input.payload));
                prop_assert_eq!(data.header_crc, defined_header_crc(&packet, &segment, at + 4));
            }
            V2::Ack(ack) => {
                prop_assert_eq!(ack.header_crc, defined_header_crc(&packet, &segment, at + 4));
            }
        }
        prop_assert_eq!(judge(&packet), Ok(Integrity::Intact));
        prop_assert_eq!(Received::parse(&packet, ChecksumTrust::None), Received::Intact(segment));
    }

    /// Whatever is flipped in the payload, the header stays good and the damage is seen.
    #[test]
    fn a_corrupted_payload_leaves_the_header_valid(payload in vec(any::<u8>(), 1..300), flips in vec(any::<prop::sample::Index>(), 1..64)) {
        let packet = segment_with(V2::data(), &payload).packet();
        let mut damaged = packet.clone();
        let start = packet.len() - payload.len();
        for place in flips {
            let bit = place.index(payload.len() * 8);
            damaged[start + bit / 8] ^= 0x80 >> (bit % 8);
        }
        let expected = if damaged == packet { Integrity::Intact } else { Integrity::Corrupted };
        prop_assert_eq!(judge(&damaged), Ok(expected));
    }

    /// Up to five flips in a header are seen always, and these cases by luck of 2^-32 beyond. Not in
    /// the bytes that say where the CRC is, without which there is only the checksum.
    #[test]
    fn header_damage_is_bad(payload in vec(any::<u8>(), 0..50), flips in vec(any::<prop::sample::Index>(), 1..40)) {
        let packet = segment_with(V2::data(), &payload).packet();
        let mut damaged = packet.clone();
        for place in flips {
            let bit = place.index(44 * 8);
            let at = bit / 8;
            let says_where = at == 12 || at == 13 || (20..24).contains(&at) || (32..36).contains(&at);
            if !says_where && !(16..18).contains(&at) {
                damaged[20 + at] ^= 0x80 >> (bit % 8);
            }
        }
        let expected = if damaged == packet { Integrity::Intact } else { Integrity::Unreadable };
        prop_assert_eq!(judge(&damaged), Ok(expected));
    }
}

/// What follows a header without a CRC for the payload is no data, and its damage is none of the header's.
#[test]
fn a_report_is_no_data() {
    let mut packet = segment_with(V2::ack(0, V2Offsets::default()), b"sums of blocks").packet();
    for damage in [0, 1] {
        let last = packet.len() - 1;
        packet[last] ^= damage;
        assert_eq!(judge(&packet), Ok(Integrity::Intact));
        let segment = Segment::parse(&packet).unwrap();
        assert_eq!((segment.payload.len(), segment.blocks.len(), segment.sequence_len()), (0, 14, 0));
    }
}

/// Options too long for a header are an error with version 2 too.
#[test]
fn too_many_options() {
    let mut input = segment_with(V2::ack(0, V2Ack::offsets_from(ACK, [ACK; 5])), &[]);
    input.options.sack.push((ACK, ACK));
    let mut buf = [0; 200];
    let result = emit(&mut buf, &input.ip, &input.tcp, &input.options, (&[], &[]));
    assert_eq!(result, Err(headway_wire::EmitError::OptionsTooLong { len: 52 }));
}
