//! Compact headers: what is restored is what was sent, and damage is judged as in a whole header.

use crate::common;

use std::net::Ipv4Addr;

use common::Input;
use headway_test_fixture::rng::Rng;
use headway_wire::{
    Integrity, IpHeader, SackBlocks, SeqNumber, TcpFlags, TcpHeader, TcpOptions, Timestamps, V2, V2Ack,
    V2Offsets, V2Syn,
    compact::{LEFT_OUT, MOST_LEFT_OUT, compact, expand},
    judge,
    repair::HeaderRepair,
    usual::{HeaderBytes, LONGEST, Usual},
};
use proptest::{collection::vec, prelude::*};

const IP: usize = 20;
/// Where a datagram arrives in its buffer.
const AT: usize = IP + MOST_LEFT_OUT;
/// The half byte that says the layout, in bits.
const LAYOUT: std::ops::Range<usize> = 96..100;
/// By how many bytes a segment without data is shorter.
const ACK_LEFT_OUT: usize = 12;
const CHECKSUM: std::ops::Range<usize> = 16..18;

fn ip() -> IpHeader {
    let zero = Ipv4Addr::UNSPECIFIED.into();
    IpHeader::new(zero, zero)
}

fn tcp() -> TcpHeader {
    TcpHeader {
        src_port: 40_000,
        dst_port: 80,
        seq: SeqNumber(0x1234_5678),
        ack: SeqNumber(0x9abc_def0),
        flags: TcpFlags::ACK,
        window: 512,
        urgent: 0,
    }
}

fn with(v2: V2, blocks: u32) -> TcpOptions {
    let mut sack = SackBlocks::default();
    for block in 0..blocks {
        sack.push((SeqNumber(1000 * block), SeqNumber(1000 * block + 500)));
    }
    let timestamps = Some(Timestamps { tsval: 70_000, tsecr: 0x0102_0304 });
    TcpOptions { timestamps, v2: Some(v2), sack, ..TcpOptions::default() }
}

/// A segment without its IP header.
fn segment(tcp: TcpHeader, options: &TcpOptions, payload: &[u8]) -> Vec<u8> {
    let input = Input { ip: ip(), tcp, options: *options, payload: payload.to_vec() };
    input.packet().split_off(IP)
}

/// The datagram of a segment that has the compact form.
fn compacted(segment: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = segment.to_vec();
    let left_out = compact(&mut bytes)?;
    Some(bytes.split_off(left_out))
}

/// The packet that a datagram is to its receiver, and whether a header was restored.
fn received(datagram: &[u8]) -> (Vec<u8>, bool) {
    let mut room = vec![0xa5; AT];
    room.extend(datagram);
    let restored = expand(&mut room, AT, &ip());
    let mut packet = room.split_off(AT - restored - IP);
    let len = packet.len() - IP;
    ip().emit(&mut packet, 6, len).unwrap();
    (packet, restored > 0)
}

fn without_checksum(mut segment: Vec<u8>) -> Vec<u8> {
    segment[CHECKSUM].fill(0);
    segment
}

fn flip(bytes: &mut [u8], bit: usize) {
    bytes[bit / 8] ^= 0x80 >> (bit % 8);
}

/// One of each layout, with how many bytes its form is shorter.
fn one_of_each() -> Vec<(Vec<u8>, usize)> {
    let payload: Vec<u8> = (0..200).map(|byte| byte as u8).collect();
    let request = V2Ack::offsets_from(SeqNumber(0), [SeqNumber(7), SeqNumber(9)]);
    let ack = |request, blocks| segment(tcp(), &with(V2::ack(3, request), blocks), &[]);
    vec![
        (segment(tcp(), &with(V2::data(), 0), &payload), LEFT_OUT),
        (segment(tcp(), &with(V2::data(), 1), &payload), MOST_LEFT_OUT),
        (ack(V2Offsets::default(), 0), ACK_LEFT_OUT),
        (ack(V2Offsets::default(), 2), ACK_LEFT_OUT),
        (ack(request, 1), ACK_LEFT_OUT),
    ]
}

#[test]
fn lengths_are_as_specified() {
    for (segment, left_out) in one_of_each() {
        assert_eq!(segment.len() - compacted(&segment).unwrap().len(), left_out);
    }
}

fn usual_segment() -> impl Strategy<Value = Vec<u8>> {
    let options = (common::any_v2(), 0..3_u32).prop_map(|(v2, blocks)| with(v2, blocks));
    let numbers = any::<(u16, u16, u32, u32, u16, u8)>();
    (numbers, options, any::<(u32, u32)>(), vec(any::<u8>(), 0..300)).prop_filter_map(
        "a header has room",
        |((src_port, dst_port, seq, ack, window, bits), options, (tsval, tsecr), payload)| {
            let flags = TcpFlags::from_bits(bits & 0xc9) | TcpFlags::ACK;
            let (seq, ack) = (SeqNumber(seq), SeqNumber(ack));
            let tcp = TcpHeader { src_port, dst_port, seq, ack, flags, window, urgent: 0 };
            let options = TcpOptions { timestamps: Some(Timestamps { tsval, tsecr }), ..options };
            let has_form = match options.v2? {
                V2::Syn(_) | V2::Patch(_) => return None,
                V2::Data(_) => !payload.is_empty() && options.sack.len() < 2,
                V2::Ack(_) => true,
            };
            let payload = if options.v2?.as_ack().is_some() { &[][..] } else { &payload };
            (has_form && options.encoded_len() <= 40).then(|| segment(tcp, &options, payload))
        },
    )
}

proptest! {
    #[test]
    fn what_is_restored_is_what_was_sent(segment in usual_segment()) {
        let datagram = compacted(&segment).expect("a compact form");
        let saved = segment.len() - datagram.len();
        prop_assert!((ACK_LEFT_OUT..=MOST_LEFT_OUT).contains(&saved));
        let (packet, restored) = received(&datagram);
        prop_assert!(restored);
        prop_assert_eq!(judge(&packet), Ok(Integrity::Intact));
        prop_assert_eq!(&packet[IP..], &without_checksum(segment));
    }

    /// A whole segment stays as it is.
    #[test]
    fn what_is_not_compact_is_left_alone(input in common::input()) {
        let packet = input.packet();
        let at = if input.ip.src.is_ipv4() { IP } else { 40 };
        let segment = &packet[at..];
        let (received, restored) = received(segment);
        prop_assert!(!restored);
        prop_assert_eq!(&received[IP..], segment);
    }

    /// Whatever arrives, wherever.
    #[test]
    fn any_bytes_are_read(mut bytes in vec(any::<u8>(), 0..120), at in 0..130_usize, layout in any::<u8>()) {
        if let Some(byte) = bytes.get_mut(at.wrapping_add(12)) {
            *byte = layout & 0x7f;
        }
        let before = bytes.clone();
        let longer = expand(&mut bytes, at, &ip());
        prop_assert!(longer <= MOST_LEFT_OUT);
        if longer == 0 {
            prop_assert_eq!(&bytes, &before);
        } else {
            prop_assert!(longer <= at);
            // What was restored has that compact form, and CRCs that decide.
            let mut again = bytes.split_off(at - longer);
            prop_assert_eq!(compact(&mut again), Some(longer));
        }
        let mut bytes = before;
        let left_out = compact(&mut bytes);
        prop_assert!(left_out.is_none_or(|left_out| left_out <= MOST_LEFT_OUT));
    }

    #[test]
    fn parts_of_any_bytes(bytes in vec(any::<u8>(), 0..70)) {
        prop_assert!(Usual::of(&bytes).is_none_or(|usual| usual.v2.len() <= LONGEST - 32));
        let header = HeaderBytes::of(&[&bytes]);
        prop_assert_eq!(header.is_some(), bytes.len() <= LONGEST);
        if let Some(mut header) = header {
            header.put(57, 0);
            header.put(usize::MAX, 0);
            prop_assert_eq!(header.bytes().len(), bytes.len());
        }
    }
}

#[test]
fn other_segments_have_no_compact_form() {
    let data = with(V2::data(), 0);
    assert!(compacted(&segment(tcp(), &data, b"x")).is_some());
    assert!(compacted(&segment(tcp(), &data, b"")).is_none(), "the form for data without data");
    assert!(compacted(&segment(TcpHeader { urgent: 1, ..tcp() }, &data, b"x")).is_none());
    let ack = with(V2::ack(1, V2Offsets::default()), 0);
    assert!(compacted(&segment(tcp(), &ack, b"x")).is_none(), "the form without data with data");
    for bits in 0..=u8::MAX {
        let flags = TcpFlags::from_bits(bits);
        let has_form = bits & 0x36 == 0x10;
        let segment = segment(TcpHeader { flags, ..tcp() }, &data, b"x");
        assert_eq!(compacted(&segment).is_some(), has_form, "{flags:?}");
    }
    let others = [
        TcpOptions::default(),
        TcpOptions { timestamps: None, ..data },
        TcpOptions { v2: None, ..data },
        TcpOptions { v2: None, hack: Some(0), ..data },
        TcpOptions { v2: Some(V2::Syn(V2Syn::default())), ..data },
        TcpOptions { mss: Some(1400), ..data },
        TcpOptions { window_scale: Some(7), ..data },
        TcpOptions { sack_permitted: true, ..data },
        TcpOptions { hack: Some(1), ..data },
    ];
    for options in others {
        for payload in [&b"x"[..], b""] {
            assert!(compacted(&segment(tcp(), &options, payload)).is_none(), "{options:?}");
        }
    }
    // Other values where the form leaves something out, and no whole header.
    let whole = segment(tcp(), &data, b"x");
    for bit in (100..104).chain(144..192).chain(256..288) {
        let mut segment = whole.clone();
        flip(&mut segment, bit);
        assert!(compacted(&segment).is_none(), "bit {bit}");
    }
    for len in 0..44 {
        assert!(compacted(&whole[..len]).is_none(), "{len} bytes");
    }
}

/// A header with data is followed by data; one without is as long as such headers are.
#[test]
fn other_lengths_are_no_compact_form() {
    for (segment, left_out) in one_of_each() {
        let datagram = compacted(&segment).unwrap();
        let header = 4 * usize::from(segment[12] >> 4) - left_out;
        let is_ack = left_out == ACK_LEFT_OUT;
        // What cannot have the layout may be damage of another one.
        let has_its_form = |datagram: &[u8]| {
            let (packet, restored) = received(datagram);
            restored && packet.len() == IP + datagram.len() + left_out
        };
        for len in 0..=header {
            let may = is_ack && len >= 32 && len % 4 == 0;
            assert!(may || !has_its_form(&datagram[..len]), "{len} of {} bytes", datagram.len());
        }
        for more in [1, 2, 3, 100] {
            let longer = [&datagram[..], &vec![0; more]].concat();
            assert_eq!(has_its_form(&longer), !is_ack, "{} bytes", longer.len());
        }
    }
}

/// Of the bits of a compact header one is flipped: in the half byte of the layout it changes nothing; elsewhere the header
/// is unreadable, and that of a segment with data is repaired by one flip.
#[test]
fn every_flipped_bit_of_a_header_is_found() {
    for (segment, left_out) in one_of_each() {
        let datagram = compacted(&segment).unwrap();
        let header = 4 * usize::from(segment[12] >> 4) - left_out;
        for bit in 0..8 * header {
            let mut hit = datagram.clone();
            flip(&mut hit, bit);
            let (packet, restored) = received(&hit);
            if LAYOUT.contains(&bit) {
                assert!(restored && judge(&packet) == Ok(Integrity::Intact), "bit {bit} of {header} bytes");
                assert_eq!(packet[IP..], without_checksum(segment.clone()));
                continue;
            }
            let verdict = judge(&packet);
            if left_out == ACK_LEFT_OUT {
                // Damage may hide where the CRC is.
                assert!(matches!(verdict, Ok(Integrity::Unreadable) | Err(_)), "bit {bit} of {header} bytes");
                continue;
            }
            assert_eq!((restored, verdict), (true, Ok(Integrity::Unreadable)), "bit {bit} of {header} bytes");
            let mut repair = HeaderRepair::new(&packet).unwrap();
            assert!(repair.repair(&[], 1), "bit {bit} of {header} bytes");
            assert_eq!(repair.header(), &without_checksum(segment.clone())[..header + left_out]);
        }
    }
}

/// As of a whole header: what is judged intact is what was sent, and a damaged payload with a valid header is readable.
#[test]
fn damage_is_never_taken_for_data() {
    let seed = 0x0c0_11ec7;
    let mut rng = Rng::new(seed);
    for (segment, left_out) in one_of_each() {
        let datagram = compacted(&segment).unwrap();
        let header = 4 * usize::from(segment[12] >> 4) - left_out;
        let sent = without_checksum(segment);
        for round in 0..100_000 {
            let mut hit = datagram.clone();
            for _ in 0..1 + rng.next() % 5 {
                rng.flip_bit(&mut hit);
            }
            let (packet, restored) = received(&hit);
            let verdict = judge(&packet);
            if verdict == Ok(Integrity::Intact) {
                assert_eq!(packet[IP..], sent, "seed {seed}, round {round}");
            }
            if hit[..header] == datagram[..header] {
                assert!(restored);
                let damaged = hit[header..] != datagram[header..];
                let expected = if damaged { Integrity::Corrupted } else { Integrity::Intact };
                assert_eq!(verdict, Ok(expected), "seed {seed}, round {round}");
            }
        }
    }
}

/// Two flips, one of them in the half byte of the layout of a segment with data.
#[test]
fn a_damaged_layout_hides_no_other_damage() {
    let (segment, left_out) = one_of_each().swap_remove(0);
    let datagram = compacted(&segment).unwrap();
    for layout_bit in LAYOUT {
        for bit in (0..8 * (44 - left_out)).filter(|bit| !LAYOUT.contains(bit)) {
            let mut hit = datagram.clone();
            flip(&mut hit, layout_bit);
            flip(&mut hit, bit);
            let (packet, _) = received(&hit);
            assert_ne!(judge(&packet), Ok(Integrity::Intact), "bits {layout_bit} and {bit}");
            assert_ne!(judge(&packet), Ok(Integrity::Corrupted), "bits {layout_bit} and {bit}");
        }
    }
}

/// A whole segment whose data offset is damaged is not taken for a compact one.
#[test]
fn a_damaged_data_offset_stays_what_it_is() {
    let payload = [0x33; 200];
    let classic = TcpOptions { v2: None, hack: Some(0), ..with(V2::data(), 0) };
    for options in [with(V2::data(), 0), with(V2::data(), 1), classic] {
        let segment = segment(tcp(), &options, &payload);
        for bit in LAYOUT {
            let mut hit = segment.clone();
            flip(&mut hit, bit);
            let (packet, restored) = received(&hit);
            assert!(!restored, "bit {bit} of {options:?}");
            assert_eq!(packet[IP..], hit);
        }
    }
}
