//! Headers as `headway_wire` writes them, damaged bit by bit.

mod wrong_repairs;

use alloc::vec;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr};

use headway_wire::{IpHeader, SackBlocks, Timestamps, V2, emit};
use proptest::prelude::*;

use super::*;

const IP: usize = 20;
const SEQ: u32 = 0x1234_5678;
const ACK: u32 = 0x9abc_def0;

fn ip() -> IpHeader {
    IpHeader {
        identification: 7,
        ..IpHeader::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2)))
    }
}

fn known(seal: Seal) -> Knowledge {
    let n = SeqNumber;
    Knowledge {
        repairs: true,
        ports: (5000, 80),
        seal,
        timestamps: Some((Span { newest: 70_000, ahead: 10 }, Span { newest: 90_000, ahead: 10 })),
        sack: true,
        seqs: (0..8).map(|place| n(SEQ + 1436 * place)).collect(),
        window_of_numbers: (n(SEQ - 100_000), n(SEQ + 1_000_000)),
        acks: [n(ACK); 3],
        ack_range: (n(ACK - 65_535), n(ACK)),
        window: 502,
    }
}

fn v2() -> Knowledge {
    known(Seal::V2)
}

/// A data segment in its packet, and the header that it has.
fn segment(known: &Knowledge, segments: u32, blocks: u32) -> (Vec<u8>, TcpHeader) {
    let tcp = TcpHeader {
        src_port: 5000,
        dst_port: 80,
        seq: SeqNumber(SEQ + 1436 * segments),
        ack: SeqNumber(ACK),
        flags: TcpFlags::ACK,
        window: 502,
        urgent: 0,
    };
    let mut sack = SackBlocks::default();
    for block in 0..blocks {
        sack.push((SeqNumber(ACK + 5000 + block * 3000), SeqNumber(ACK + 6000 + block * 3000)));
    }
    let (v2, hack) = match known.seal {
        Seal::V2 => (Some(V2::data()), None),
        Seal::Classic => (None, Some(0)),
    };
    let timestamps = Some(Timestamps { tsval: 70_002, tsecr: 90_001 });
    let options = TcpOptions { timestamps, v2, hack, sack, ..TcpOptions::default() };
    let mut packet = vec![0; 2000];
    let len = emit(&mut packet, &ip(), &tcp, &options, (&[0x5a; 1000], &[])).unwrap();
    packet.truncate(len);
    (packet, tcp)
}

fn repair(repairer: &mut Repairer, packet: &[u8], known: &Knowledge) -> Option<Repaired> {
    repairer.repair(&Datagram::parse(packet).unwrap(), known, &mut Budget::default())
}

fn flip(body: &mut [u8], bits: &[usize]) {
    for bit in bits {
        body[IP + bit / 8] ^= 0x80 >> (bit % 8);
    }
}

const CHECKSUM: core::ops::Range<usize> = 128..144;

/// Every single flip of a header is repaired, and pairs of flips: each with every 16th bit, and a
/// seventh of the others.
#[test]
fn v2_repairs_one_and_two_flips_anywhere() {
    let known = v2();
    let mut repairer = Repairer::default();
    for blocks in [0, 1] {
        let (sent, tcp) = segment(&known, 3, blocks);
        let count = 8 * (44 + if blocks > 0 { 4 + 8 * blocks as usize } else { 0 });
        for one in 0..count {
            for other in (one..count).step_by(if one % 16 == 0 { 1 } else { 7 }) {
                let mut body = sent.clone();
                let bits = [one, other];
                flip(&mut body, if one == other { &bits[..1] } else { &bits });
                if CHECKSUM.contains(&one) && CHECKSUM.contains(&other) {
                    continue;
                }
                let repaired = repair(&mut repairer, &body, &known);
                // A length that is hit may hide that there are SACK blocks at all.
                if blocks > 0 && [one, other].iter().any(|bit| (96..100).contains(bit)) {
                    assert!(repaired.is_none_or(|repaired| repaired.tcp == tcp), "{one} {other}");
                    continue;
                }
                let repaired = repaired.unwrap_or_else(|| panic!("bits {one} and {other}, {blocks} blocks"));
                assert_eq!(repaired.tcp, tcp, "bits {one} and {other}");
                assert_eq!(repaired.options.timestamps.unwrap().tsval, 70_002);
                assert_eq!(repaired.options.sack.len(), blocks as usize);
            }
        }
    }
}

/// The payload's CRC is repaired too: partial recovery trusts it.
#[test]
fn v2_repairs_the_crc_of_the_payload() {
    let known = v2();
    let (mut body, _) = segment(&known, 0, 0);
    flip(&mut body, &[8 * 40 + 3, 8 * 43 + 7]);
    let repaired = repair(&mut Repairer::default(), &body, &known).unwrap();
    let v2 = repaired.options.v2.unwrap();
    assert_eq!(v2.as_data().unwrap().payload_crc, headway_wire::crc::crc32c(&[0x5a; 1000]));
    assert_eq!(repaired.flips, 2);
}

/// 16 bits: a flip in one place is repaired if no other explanation is near.
#[test]
fn classic_repairs_most_single_flips_and_none_wrongly() {
    let known = known(Seal::Classic);
    let (sent, tcp) = segment(&known, 0, 0);
    let bits: Vec<usize> = (0..8 * 36).filter(|bit| !CHECKSUM.contains(bit)).collect();
    let mut right = 0;
    for bit in &bits {
        let mut body = sent.clone();
        flip(&mut body, &[*bit]);
        if let Some(repaired) = repair(&mut Repairer::default(), &body, &known) {
            assert_eq!(repaired.tcp, tcp, "bit {bit}");
            assert_eq!(repaired.options.timestamps.unwrap().tsval, 70_002, "bit {bit}");
            right += 1;
        }
    }
    assert!(right * 10 >= bits.len() * 8, "{right} of {}", bits.len());
}

#[test]
fn only_what_can_be_is_accepted() {
    let known = v2();
    let mut repairer = Repairer::default();
    let mut refused = |change: &dyn Fn(&mut Knowledge)| {
        let (mut body, _) = segment(&known, 1, 0);
        flip(&mut body, &[3]);
        assert!(repair(&mut repairer, &body, &known).is_some());
        let mut other = known.clone();
        change(&mut other);
        assert_eq!(repair(&mut repairer, &body, &other), None);
    };
    refused(&|known| known.window_of_numbers.1 = SeqNumber(SEQ + 1436));
    refused(&|known| known.ack_range.1 = SeqNumber(ACK - 1));
    refused(&|known| {
        known.timestamps = Some((Span { newest: 71_000, ahead: 10 }, known.timestamps.unwrap().1));
    });
    refused(&|known| known.ports = (0x6c77, 0x8350));
    refused(&|known| known.timestamps = None);
    refused(&|known| known.seal = Seal::Classic);
}

#[test]
fn the_work_has_a_bound() {
    let mut known = v2();
    known.seqs = (0..4096).map(|place| SeqNumber(SEQ ^ place)).collect();
    known.acks = [0, 1, 2].map(|step| SeqNumber(ACK - step));
    known.timestamps =
        Some((Span { newest: 70_000, ahead: u32::MAX }, Span { newest: 90_000, ahead: u32::MAX }));
    let (body, _) = segment(&known, 0, 0);
    let layout = Layout::candidates(&known, &body[IP..]).next().unwrap();
    let mut tried = 0;
    combinations::each(&fields::of(&layout.draft(&known, &body[IP..]), &known, None), |_| tried += 1);
    assert!((1000..=MAX_COMBINATIONS).contains(&tried), "{tried}");
}

proptest! {
    /// Three to eight flips: what is found is what was sent.
    #[test]
    fn v2_does_not_find_what_was_not_sent(
        bits in prop::collection::btree_set(0..8 * 44_usize, 3..9),
        segments in 0..8u32,
    ) {
        let known = v2();
        let (mut body, tcp) = segment(&known, segments, 0);
        flip(&mut body, &bits.into_iter().collect::<Vec<_>>());
        if let Some(repaired) = repair(&mut Repairer::default(), &body, &known) {
            prop_assert_eq!(repaired.tcp, tcp);
        }
    }

    /// Whatever comes, nothing panics; noise is no header.
    #[test]
    fn noise_is_no_header(
        noise in prop::collection::vec(any::<u8>(), 0..200),
        offset in 0..16u8,
        classic: bool,
    ) {
        let mut noise = noise;
        if let Some(byte) = noise.get_mut(12) {
            *byte = offset << 4 | *byte & 15;
        }
        let known = if classic { known(Seal::Classic) } else { v2() };
        let mut packet = vec![0; 20];
        packet.extend(&noise);
        ip().emit(&mut packet, 6, noise.len()).unwrap();
        prop_assert_eq!(repair(&mut Repairer::default(), &packet, &known), None);
    }
}

#[test]
fn one_and_two_flips_are_as_many_as_there_are_bits_and_pairs() {
    // 160 bits have 160 * 159 / 2 pairs.
    assert_eq!([0, 1, 2, 3, 160].map(ways_to_flip_two), [1, 2, 4, 7, 1 + 160 + 12_720]);
}

#[test]
fn data_is_admitted_with_an_acknowledgment_and_without_syn_reset_and_urgent_data() {
    let known = v2();
    for flags in [TcpFlags::default(), TcpFlags::PSH, TcpFlags::FIN] {
        assert!(known.admits_flags(flags | TcpFlags::ACK) && !known.admits_flags(flags));
        for other in [TcpFlags::SYN, TcpFlags::RST, TcpFlags::URG] {
            assert!(!known.admits_flags(flags | TcpFlags::ACK | other));
        }
    }
}
