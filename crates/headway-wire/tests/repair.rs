//! Repairing headers: every outcome is compared with what was sent.

use headway_test_fixture::packet;
use headway_wire::{
    Ecn, Integrity, IpHeader, ParseError, Segment, SeqNumber, TcpFlags, TcpHeader, TcpOptions, Timestamps,
    V2, V2Ack, emit,
    ip::Datagram,
    options::kind,
    repair::{Field, HeaderRepair, at},
};
use proptest::{collection::vec, prelude::*, sample::Index};

const HEADER_LEN: usize = 44;
/// Behind timestamps, and kind, length and identifier.
const CRC_AT: usize = 36;

fn packet(v2: V2, payload: &[u8]) -> Vec<u8> {
    let [src, dst] = [([192, 0, 2, 1], 40_000).into(), ([192, 0, 2, 2], 80).into()];
    let (ip, tcp) = packet::headers(src, dst, TcpFlags::ACK);
    let ip = IpHeader { ecn: Ecn::Ect0, identification: 1, ..ip };
    let (seq, ack) = (SeqNumber(1_000_000_007), SeqNumber(4_000_000_009));
    let tcp = TcpHeader { seq, ack, window: 512, ..tcp };
    let timestamps = Some(Timestamps { tsval: 123_456_789, tsecr: 987_654_321 });
    let options = TcpOptions { timestamps, v2: Some(v2), ..TcpOptions::default() };
    packet::segment(&ip, &tcp, &options, payload)
}

fn data() -> Vec<u8> {
    packet(V2::data(), &[0x33; 64])
}

/// Bits of the header whose flips do not hide where its CRC is.
fn is_content(bit: usize) -> bool {
    let at = bit / 8;
    !(at == 12 || (20..24).contains(&at) || (32..36).contains(&at) || (16..18).contains(&at))
}

fn flip(packet: &mut [u8], bit: usize) {
    packet[20 + bit / 8] ^= 0x80 >> (bit % 8);
}

/// A place in a header, or one far from any.
fn place() -> impl Strategy<Value = usize> {
    prop_oneof![0_usize..80, any::<usize>()]
}

fn assume(packet: &[u8], header_len: usize, crc_at: usize) -> Option<HeaderRepair<'_>> {
    HeaderRepair::assume(&Datagram::parse(packet).ok()?, header_len, crc_at)
}

/// No two ways to flip up to two bits of the longest header have the same effect, so none is taken
/// for another. This is what a Hamming distance above 4 means.
#[test]
fn one_and_two_flips_are_told_apart() {
    let request = V2Ack::offsets_from(SeqNumber(0), (0..4).map(SeqNumber));
    let packet = packet(V2::ack(0, request), &[]);
    let repair = HeaderRepair::new(&packet).unwrap();
    assert_eq!((repair.header().len(), repair.syndrome()), (60, 0));
    let single: Vec<u32> = (0..480)
        .filter(|bit| !(128..144).contains(bit))
        .map(|bit| {
            let mut flipped = repair.clone();
            flipped.flip(bit);
            flipped.syndrome()
        })
        .collect();
    let mut all = vec![0];
    all.extend(&single);
    for (place, first) in single.iter().enumerate() {
        all.extend(single[place + 1..].iter().map(|second| first ^ second));
    }
    let patterns = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!((patterns, all.len()), (1 + 464 + 464 * 463 / 2, patterns));
}

#[test]
fn a_sound_header_needs_no_repair() {
    let packet = data();
    let mut repair = HeaderRepair::new(&packet).unwrap();
    assert!(repair.is_sound() && repair.repair(&[], 0));
    assert_eq!(repair.segment(), Ok(Segment::parse(&packet).unwrap()));
    assert_eq!(repair.header(), &packet[20..64]);
    assert_eq!(repair.value_at(kind::TIMESTAMPS), Some(24..32));
    assert_eq!(repair.value_at(kind::EXPERIMENT), Some(34..44));
    assert_eq!(repair.value_at(kind::SACK), None);
}

/// A data offset that is not that of the header is an error, whatever else is right.
#[test]
fn a_segment_has_the_header_that_its_offset_says() {
    let packet = data();
    for offset in 0..16 {
        let mut repair = HeaderRepair::new(&packet).unwrap();
        repair.set(12, &[offset << 4]);
        let got = usize::from(offset) * 4;
        if got == HEADER_LEN {
            assert!(repair.segment().is_ok());
        } else {
            assert_eq!(repair.segment(), Err(ParseError::DataOffset { got, room: HEADER_LEN }));
        }
    }
}

/// What the receiver knows: where the sender is, what it acknowledged, its clock.
#[test]
fn known_fields_are_put_right() {
    let sent = data();
    let mut packet = sent.clone();
    // More than flips could explain, in each field.
    packet[20 + 4..20 + 12].fill(0xee);
    packet[20 + 14..20 + 16].fill(0x01);
    packet[20 + 24..20 + 32].fill(0x77);
    let mut repair = HeaderRepair::new(&packet).unwrap();
    assert_eq!(repair.integrity(), Integrity::Unreadable);
    let seq: Vec<u32> = (0..50).map(|segment| 1_000_000_007 - 20 * 1448 + 1448 * segment).collect();
    let echo = [987_654_300, 987_654_321];
    let fields = |window| {
        [
            Field { at: at::SEQ.start, len: 4, values: &seq },
            Field { at: at::ACK.start, len: 4, values: &[4_000_000_009] },
            Field { at: at::WINDOW.start, len: 2, values: window },
            Field { at: 24, len: 4, values: &[123_456_780, 123_456_789, 123_456_790] },
            Field { at: 28, len: 4, values: &echo },
        ]
    };
    // Without the right window there is nothing to be found, and nothing is changed.
    assert!(!repair.repair(&fields(&[511, 513]), 0));
    assert_eq!(repair.header(), &packet[20..64]);
    assert!(repair.repair(&fields(&[511, 512, 513]), 1));
    let fixed = repair.segment().unwrap();
    let expected = Segment::parse(&sent).unwrap();
    assert_eq!((fixed.tcp, fixed.options), (expected.tcp, expected.options));
    assert_eq!((fixed.header_len, fixed.payload), (64, &[0x33; 64][..]));
    // All of it arrived: the CRC of the payload stands in the repaired header.
    let verdicts = Integrity::Intact;
    assert_eq!(repair.integrity(), verdicts);
}

/// A hit that hides where the CRC is: the layout of the connection's other segments helps.
#[test]
fn the_layout_of_others_can_be_assumed() {
    let sent = data();
    for hidden in [20 + 12, 20 + 20, 20 + 23, 20 + 32, 20 + 33, 20 + 34] {
        let mut packet = sent.clone();
        packet[hidden] ^= 0xff;
        packet[80] ^= 1;
        assert!(HeaderRepair::new(&packet).is_none_or(|repair| !repair.is_sound()));
        let mut repair = assume(&packet, HEADER_LEN, CRC_AT).unwrap();
        repair.set(12, &[0xb0]);
        repair.set(20, &[1, 1, 8, 10]);
        repair.set(32, &[253, 12, 0x48, 0x57]);
        assert!(repair.is_sound(), "byte {hidden}");
        assert_eq!(repair.segment().unwrap().options, Segment::parse(&sent).unwrap().options);
        let verdicts = Integrity::Corrupted;
        assert_eq!(repair.integrity(), verdicts);
    }
}

#[test]
fn layouts_that_cannot_be() {
    let packet = data();
    for (header_len, crc_at) in [(16, 0), (20, 16), (44, 41), (44, 19), (42, 36), (64, 36), (0, 0)] {
        assert!(assume(&packet, header_len, crc_at).is_none(), "{header_len}, {crc_at}");
    }
    assert!(assume(&packet[..60], HEADER_LEN, CRC_AT).is_none());
    // A data offset that is not the assumed one.
    let repair = assume(&packet, 48, CRC_AT).unwrap();
    assert!(repair.segment().is_err());
}

/// A header with SYN has no CRC: one that is repaired into such is not believed.
#[test]
fn a_syn_is_not_believed() {
    let mut sent = packet(V2::data(), b"x");
    sent[20 + 13] |= 2;
    let mut repair = HeaderRepair::new(&sent).unwrap();
    let stored = u32::from_be_bytes(repair.header()[CRC_AT..CRC_AT + 4].try_into().unwrap());
    repair.set(CRC_AT, &(stored ^ repair.syndrome()).to_be_bytes());
    assert!(repair.is_sound());
    assert_eq!(repair.integrity(), Integrity::Unreadable);
}

proptest! {
    /// The syndrome that is kept up to date is that of the header taken anew.
    #[test]
    fn changes_add_up(changes in vec((0_usize..70, vec(any::<u8>(), 0..8)), 1..6)) {
        let packet = data();
        let mut repair = HeaderRepair::new(&packet).unwrap();
        for (at, bytes) in changes {
            let expected = repair.syndrome() ^ repair.change(at, &bytes);
            repair.set(at, &bytes);
            prop_assert_eq!(repair.syndrome(), expected);
        }
        let mut anew = packet.clone();
        anew[20..64].copy_from_slice(repair.header());
        let anew = assume(&anew, HEADER_LEN, CRC_AT).unwrap();
        prop_assert_eq!(anew.syndrome(), repair.syndrome());
    }

    /// One or two flips anywhere but where they hide the CRC are found, and found to be those.
    #[test]
    fn flips_are_found(first in any::<Index>(), second in any::<Index>(), v6 in any::<bool>()) {
        let mut sent = data();
        if v6 {
            // The same segment under IPv6.
            let segment = Segment::parse(&sent).unwrap();
            let addr = |n: u16| std::net::IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, n]);
            let ip = IpHeader { src: addr(1), dst: addr(2), ..segment.ip };
            let mut buf = vec![0; 200];
            let len = emit(&mut buf, &ip, &segment.tcp, &segment.options, (segment.payload, &[])).unwrap();
            buf.truncate(len);
            sent = buf;
        }
        let start = if v6 { 40 } else { 20 };
        let bits: Vec<usize> = (0..HEADER_LEN * 8).filter(|&bit| is_content(bit)).collect();
        let flipped = [*first.get(&bits), *second.get(&bits)];
        prop_assume!(flipped[0] != flipped[1]);
        for count in 1..=2 {
            let mut damaged = sent.clone();
            for bit in &flipped[..count] {
                damaged[start + bit / 8] ^= 0x80 >> (bit % 8);
            }
            let mut repair = HeaderRepair::new(&damaged).unwrap();
            prop_assert!(!repair.clone().repair(&[], count - 1));
            let found = repair.explain(repair.syndrome(), count, |_| true).unwrap();
            let mut found: Vec<usize> = found.iter().map(|&bit| usize::from(bit)).collect();
            found.sort_unstable();
            let mut expected = flipped[..count].to_vec();
            expected.sort_unstable();
            prop_assert_eq!(found, expected);
            prop_assert!(repair.repair(&[], count));
            prop_assert_eq!(repair.header(), &sent[start..start + HEADER_LEN]);
        }
    }

    /// Flips in a known field and in the rest together; where only the field may be wrong, flips in
    /// the rest are not looked for.
    #[test]
    fn candidates_and_flips_together(seq in any::<u32>(), flipped in any::<Index>()) {
        let sent = data();
        let outside: Vec<usize> =
            (0..HEADER_LEN * 8).filter(|&bit| is_content(bit) && !(32..64).contains(&bit)).collect();
        let mut damaged = sent.clone();
        damaged[20 + 4..20 + 8].copy_from_slice(&seq.to_be_bytes());
        flip(&mut damaged, *flipped.get(&outside));
        let values = [5, 1_000_000_007, 6];
        let fields = [Field { at: at::SEQ.start, len: 4, values: &values }];
        let mut repair = HeaderRepair::new(&damaged).unwrap();
        prop_assert!(!repair.repair(&fields, 0));
        prop_assert_eq!(repair.header(), &damaged[20..64]);
        prop_assert!(repair.repair(&fields, 1));
        prop_assert_eq!(repair.header(), &sent[20..64]);
    }

    /// Bits that must not be flipped are not.
    #[test]
    fn forbidden_bits_stay(bit in 0_usize..352) {
        prop_assume!(is_content(bit));
        let mut damaged = data();
        flip(&mut damaged, bit);
        let repair = HeaderRepair::new(&damaged).unwrap();
        let found = repair.explain(repair.syndrome(), 1, |candidate| usize::from(candidate) != bit);
        prop_assert_eq!(found, None);
    }

    #[test]
    fn nothing_panics(
        bytes in vec(any::<u8>(), 0..120), version in prop_oneof![Just(0x45), Just(0x60)],
        header_len in 0_usize..100, crc_at in 0_usize..100,
        fields in vec((place(), place(), vec(any::<u32>(), 0..3)), 0..4),
    ) {
        let mut bytes = bytes;
        if let Some(first) = bytes.first_mut() {
            *first = version;
        }
        if bytes.len() > 40 && version == 0x60 {
            let body = (bytes.len() - 40) as u16;
            bytes[4..6].copy_from_slice(&body.to_be_bytes());
            bytes[6] = 6;
        }
        let fields: Vec<Field<'_>> =
            fields.iter().map(|(at, len, values)| Field { at: *at, len: *len, values }).collect();
        let new = HeaderRepair::new(&bytes);
        let assumed = assume(&bytes, header_len, crc_at);
        for mut repair in new.into_iter().chain(assumed) {
            repair.repair(&fields, 2);
            repair.flip(u16::MAX);
            let _ = repair.segment();
            repair.integrity();
            repair.change(usize::MAX, &[1]);
            repair.value_at(kind::EXPERIMENT);
        }
    }
}
