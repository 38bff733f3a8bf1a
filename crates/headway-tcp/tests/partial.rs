//! Partial recovery between two hosts, and with a peer that lies.

use std::collections::HashMap;
use std::sync::Arc;

use headway_tcp::hack::PayloadTag;
use headway_tcp::{Profile, Variant};
use headway_test_fixture::{
    packet,
    two_hosts::{CLIENT, SERVER, TwoHosts},
};
use headway_units::Duration;
use headway_wire::{
    Received, Segment, SeqNumber, TcpFlags, TcpHeader, TcpOptions, Timestamps, V2, V2Offsets, blocks,
    crc::crc16, patch::Choice,
};
use proptest::prelude::*;

/// Payload of a full segment.
const SEGMENT: usize = 1436;

/// A connection whose ends want partial recovery, or do not.
fn connected(partial: [bool; 2]) -> TwoHosts {
    connected_with(partial, false)
}

/// `tagged`: by a carrier that has tags of payloads.
fn connected_with(partial: [bool; 2], tagged: bool) -> TwoHosts {
    let profiles = partial.map(|partial| {
        let mut profile = Variant::Headway.apply(Profile::modern());
        profile.features.partial = partial;
        profile.tagged_payloads = tagged;
        profile.features.pacing = false;
        profile.features.tlp = false;
        profile
    });
    let mut pair = TwoHosts::with(profiles, ());
    pair.connect();
    pair
}

fn has_report(packet: &[u8]) -> bool {
    !Segment::parse(packet).unwrap().blocks.is_empty()
}

/// The sums of the blocks of a payload that arrived like this.
fn report_of(payload: &[u8]) -> Vec<u8> {
    blocks::sums((payload, &[])).flat_map(|(_, sum)| sum.to_be_bytes()).collect()
}

/// How long a patch with these blocks of a full segment is.
fn patch_len(numbers: &[usize]) -> usize {
    Choice::new(numbers.iter().fold(0, |all, number| all | 1 << number), 0).patch_len(SEGMENT)
}

fn wait(pair: &mut TwoHosts) {
    pair.wait(Duration::from_secs(2));
}

/// Flips two bits of the payload: more than the sum of a block corrects.
fn damage(packet: &mut [u8], byte: usize) {
    packet[64 + byte] ^= 0x11;
}

#[test]
fn only_the_blocks_that_were_hit_come_again() {
    let mut pair = connected([true; 2]);
    pair.write(CLIENT, 3 * SEGMENT);
    let mut flight = pair.sent(CLIENT);
    pair.advance(Duration::from_millis(20));
    // Blocks 14, 21 and 44 of the second segment.
    [450, 700, 1430].iter().for_each(|&byte| damage(&mut flight[1], byte));
    pair.deliver(SERVER, &flight);
    let answers = pair.sent(SERVER);
    assert_eq!(answers.iter().filter(|packet| has_report(packet)).count(), 1);
    pair.advance(Duration::from_millis(20));
    pair.deliver(CLIENT, &answers);
    let retransmitted = pair.sent(CLIENT);
    let lengths: Vec<usize> = retransmitted.iter().map(|packet| packet.len() - 64).collect();
    let patch = patch_len(&[14, 21, 44]);
    assert_eq!(lengths, [patch]);
    assert_eq!(pair.readable(SERVER), SEGMENT);
    pair.deliver(SERVER, &retransmitted);
    assert_eq!(pair.readable(SERVER), 3 * SEGMENT);
    assert_eq!(pair.statistics(SERVER).completed, 1);
    wait(&mut pair);
    let sender = pair.statistics(CLIENT);
    assert_eq!((sender.patches, sender.bytes_spared), (1, (SEGMENT - patch) as u64));
    assert_eq!((sender.unacknowledged, sender.pipe, sender.timeouts), (0, 0, 0));
}

/// Of a block with one wrong bit the sum is enough. One block at least is in a patch, and of one that is damaged a flipped bit is
/// corrected too.
#[test]
fn of_a_block_with_one_wrong_bit_its_sum_comes() {
    let mut pair = connected([true; 2]);
    pair.write(CLIENT, 3 * SEGMENT);
    let mut flight = pair.sent(CLIENT);
    pair.advance(Duration::from_millis(20));
    [3, 450, 700, 1430].iter().for_each(|&byte| flight[1][64 + byte] ^= 4);
    pair.deliver(SERVER, &flight);
    let answers = pair.sent(SERVER);
    pair.advance(Duration::from_millis(20));
    pair.deliver(CLIENT, &answers);
    let mut patch = pair.sent(CLIENT);
    let expected = Choice::new(1, 1 << 14 | 1 << 21 | 1 << 44).patch_len(SEGMENT);
    assert_eq!(patch.iter().map(|packet| packet.len() - 64).collect::<Vec<_>>(), [expected]);
    patch[0][64 + 14 + 20] ^= 1;
    pair.deliver(SERVER, &patch);
    assert_eq!((pair.readable(SERVER), pair.statistics(SERVER).completed), (3 * SEGMENT, 1));
}

/// Three wrong bits of a block that change its sum as one does: the receiver corrects the wrong bit, which the CRC of the whole finds, and
/// the block comes.
#[test]
fn of_three_bits_that_look_like_one_the_block_comes_after_its_sum() {
    let sum_of = |bit: usize| {
        let mut block = [0; 32];
        block[bit / 8] ^= 1 << (bit % 8);
        crc16(&block) ^ crc16(&[0; 32])
    };
    // Two pairs that change the sum alike are a pair and a pair: three of these bits look like the fourth.
    let mut pairs = HashMap::new();
    let found = (0..256).flat_map(|one| (0..one).map(move |other| (one, other))).find_map(|pair| {
        let earlier = *pairs.entry(sum_of(pair.0) ^ sum_of(pair.1)).or_insert(pair);
        (earlier != pair).then_some([pair.0, pair.1, earlier.0])
    });
    let mut pair = connected([true; 2]);
    pair.write(CLIENT, 3 * SEGMENT);
    let mut flight = pair.sent(CLIENT);
    pair.advance(Duration::from_millis(20));
    // In block 4; and two bits of block 0.
    for bit in found.expect("a code word of weight 4") {
        flight[1][64 + 4 * 32 + bit / 8] ^= 1 << (bit % 8);
    }
    damage(&mut flight[1], 3);
    pair.deliver(SERVER, &flight);
    for expected in [Choice::new(1, 1 << 4), Choice::new(1 << 4, 0)] {
        assert_eq!(pair.statistics(SERVER).completed, 0);
        let answers = pair.sent(SERVER);
        pair.advance(Duration::from_millis(20));
        pair.deliver(CLIENT, &answers);
        let patch = pair.sent(CLIENT);
        let lengths: Vec<usize> = patch.iter().map(|packet| packet.len() - 64).collect();
        assert_eq!(lengths, [expected.patch_len(SEGMENT)], "{expected:?}");
        pair.advance(Duration::from_millis(20));
        pair.deliver(SERVER, &patch);
    }
    assert_eq!((pair.readable(SERVER), pair.statistics(SERVER).completed), (3 * SEGMENT, 1));
}

/// Each sum of a report counts for itself: one that was damaged has its block retransmitted too, and the others are spared. The
/// carrier says of it that it is intact, or, where it has tags, that it is not. A header that has only its CRC acknowledges nothing
/// there.
#[test]
fn a_damaged_report_is_of_use() {
    for (tagged, is_authentic) in [(false, true), (true, true), (true, false)] {
        let mut pair = connected([true; 2]);
        pair.write(CLIENT, 3 * SEGMENT);
        let mut flight = pair.sent(CLIENT);
        pair.advance(Duration::from_millis(20));
        damage(&mut flight[1], 450);
        pair.deliver(SERVER, &flight);
        let mut answers = pair.sent(SERVER);
        let special = answers.iter_mut().find(|packet| has_report(packet)).unwrap();
        let start = special.len() - Segment::parse(special).unwrap().blocks.len();
        // Of block 30, two bytes each.
        special[start + 60] ^= 1;
        pair.advance(Duration::from_millis(20));
        if tagged {
            let now = pair.now;
            for packet in &answers {
                let segment = Segment::parse(packet).unwrap();
                let tag: Arc<dyn PayloadTag> = Arc::new(TagOf(Vec::new(), is_authentic));
                match segment.blocks {
                    [] if is_authentic => pair.hosts[CLIENT].receive(now, &Received::Intact(segment)),
                    _ => pair.hosts[CLIENT].receive_tagged(now, &segment, &tag),
                }
            }
        } else {
            pair.deliver(CLIENT, &answers);
        }
        let retransmitted = pair.sent(CLIENT);
        if !is_authentic {
            assert!(
                retransmitted.is_empty() && pair.statistics(CLIENT).unacknowledged as usize == 3 * SEGMENT
            );
            continue;
        }
        assert_eq!(
            retransmitted.iter().map(|packet| packet.len() - 64).collect::<Vec<_>>(),
            [patch_len(&[14, 30])],
            "{tagged}"
        );
        pair.deliver(SERVER, &retransmitted);
        assert_eq!(pair.readable(SERVER), 3 * SEGMENT);
    }
}

#[test]
fn a_block_that_is_hit_again_is_asked_for_again() {
    let mut pair = connected([true; 2]);
    pair.write(CLIENT, 3 * SEGMENT);
    let mut flight = pair.sent(CLIENT);
    pair.advance(Duration::from_millis(20));
    damage(&mut flight[0], 3);
    pair.deliver(SERVER, &flight);
    for round in 0..4 {
        let answers = pair.sent(SERVER);
        pair.advance(Duration::from_millis(20));
        pair.deliver(CLIENT, &answers);
        let mut retransmitted = pair.sent(CLIENT);
        let lengths: Vec<usize> = retransmitted.iter().map(|packet| packet.len() - 64).collect();
        assert_eq!(lengths, [patch_len(&[0])], "round {round}");
        if round < 3 {
            // The block, its sum, and one of the two that say which it is.
            [10, 41, 5].into_iter().take(round + 1).for_each(|byte| damage(&mut retransmitted[0], byte));
        }
        pair.advance(Duration::from_millis(20));
        pair.deliver(SERVER, &[&retransmitted[0]]);
    }
    assert_eq!(pair.readable(SERVER), 3 * SEGMENT);
}

/// Of a patch that arrives damaged each block counts for itself, and which these are stands in it twice.
#[test]
fn a_damaged_patch_is_of_use() {
    for (hit, comes_again) in [
        (&[3_usize, 12][..], &[0_usize][..]),
        (&[3, 12, 46], &[0, 20]),
        (&[3, 80], &[44]),
        (&[110, 12], &[0]),
        (&[3, 110], &[0, 20, 44]),
    ] {
        let mut pair = connected([true; 2]);
        pair.write(CLIENT, 3 * SEGMENT);
        let mut flight = pair.sent(CLIENT);
        pair.advance(Duration::from_millis(20));
        [0, 650, 1430].iter().for_each(|&byte| damage(&mut flight[1], byte));
        pair.deliver(SERVER, &flight);
        for (hit, expected) in [(hit, &[0, 20, 44][..]), (&[], comes_again)] {
            let answers = pair.sent(SERVER);
            pair.advance(Duration::from_millis(20));
            pair.deliver(CLIENT, &answers);
            let mut patch = pair.sent(CLIENT);
            assert_eq!((patch.len(), patch[0].len() - 64), (1, patch_len(expected)), "{hit:?}");
            hit.iter().for_each(|&byte| damage(&mut patch[0], byte));
            pair.advance(Duration::from_millis(20));
            pair.deliver(SERVER, &patch);
        }
        assert_eq!((pair.readable(SERVER), pair.statistics(SERVER).completed), (3 * SEGMENT, 1), "{hit:?}");
    }
}

/// Two segments have arrived, and two more are in the network, the first with a flip in its header.
fn with_a_damaged_header() -> (TwoHosts, Vec<Vec<u8>>) {
    let mut pair = connected([true; 2]);
    pair.write(CLIENT, 2 * SEGMENT);
    wait(&mut pair);
    pair.write(CLIENT, 2 * SEGMENT);
    let mut flight = pair.sent(CLIENT);
    pair.advance(Duration::from_millis(20));
    flight[0][20 + 5] ^= 4;
    (pair, flight)
}

/// A flip in the header alone: the payload is kept, and one block shows that it is the right one. So does a block of a patch that
/// arrives damaged; and the header of a patch is repaired too.
#[test]
fn a_patch_completes_what_came_under_a_repaired_header() {
    for header in [false, true] {
        let (mut pair, mut flight) = with_a_damaged_header();
        [0, 650].iter().for_each(|&byte| damage(&mut flight[0], byte));
        pair.deliver(SERVER, &flight);
        for (turn, blocks) in [&[0, 20][..], &[20], &[20]].into_iter().enumerate() {
            let answers = pair.sent(SERVER);
            pair.advance(Duration::from_millis(20));
            pair.deliver(CLIENT, &answers);
            let mut patch = pair.sent(CLIENT);
            assert_eq!((patch.len(), patch[0].len() - 64), (1, patch_len(blocks)), "{turn}");
            if turn == 0 {
                damage(&mut patch[0], 50);
            } else if turn == 1 && header {
                patch[0][20 + 5] ^= 4;
            }
            pair.advance(Duration::from_millis(20));
            pair.deliver(SERVER, &patch);
            if pair.readable(SERVER) == 4 * SEGMENT {
                assert_eq!(turn, 1);
                break;
            }
        }
        assert_eq!(pair.hosts[SERVER].counters().repaired, 1 + u64::from(header));
        assert_eq!(pair.readable(SERVER), 4 * SEGMENT, "{header}");
    }
}

/// A flip in the header alone: the payload is kept, and one block shows that it is the right one.
#[test]
fn a_repaired_header_has_its_payload_kept() {
    let (mut pair, flight) = with_a_damaged_header();
    pair.deliver(SERVER, &flight);
    assert_eq!(pair.readable(SERVER), 2 * SEGMENT, "it delivers nothing by itself");
    let answers = pair.sent(SERVER);
    pair.advance(Duration::from_millis(20));
    pair.deliver(CLIENT, &answers);
    let retransmitted = pair.sent(CLIENT);
    assert_eq!((retransmitted.len(), retransmitted[0].len()), (1, 64 + patch_len(&[0])));
    pair.deliver(SERVER, &[&retransmitted[0]]);
    assert_eq!(pair.readable(SERVER), 4 * SEGMENT);
}

#[test]
fn both_ends_must_want_it() {
    for partial in [[true, false], [false, true], [false, false]] {
        let mut pair = connected(partial);
        pair.write(CLIENT, 3 * SEGMENT);
        let mut flight = pair.sent(CLIENT);
        pair.advance(Duration::from_millis(20));
        damage(&mut flight[1], 0);
        pair.deliver(SERVER, &flight);
        let answers = pair.sent(SERVER);
        assert!(!answers.iter().any(|packet| has_report(packet)));
        pair.advance(Duration::from_millis(20));
        pair.deliver(CLIENT, &answers);
        wait(&mut pair);
        assert_eq!(pair.readable(SERVER), 3 * SEGMENT);
        assert_eq!(pair.statistics(CLIENT).patches, 0);
    }
}

/// A tag that cannot be forged: what was sent. The header has one too, or not.
#[derive(Debug)]
struct TagOf(Vec<u8>, bool);

impl PayloadTag for TagOf {
    fn holds(&self, payload: &[u8]) -> bool {
        payload == self.0
    }

    fn has_authentic_header(&self) -> bool {
        self.1
    }
}

/// The second of three segments arrives damaged, with the tag of `payload`. Returns what is retransmitted for it.
fn damage_tagged(pair: &mut TwoHosts, payload: impl FnOnce(&[u8]) -> Option<Vec<u8>>) -> Vec<Vec<u8>> {
    pair.write(CLIENT, 3 * SEGMENT);
    let mut flight = pair.sent(CLIENT);
    pair.advance(Duration::from_millis(20));
    let tag = payload(Segment::parse(&flight[1]).unwrap().payload);
    damage(&mut flight[1], 450);
    pair.deliver(SERVER, &flight[..1]);
    let (now, damaged) = (pair.now, Segment::parse(&flight[1]).unwrap());
    match tag {
        Some(tag) => {
            let tag: Arc<dyn PayloadTag> = Arc::new(TagOf(tag, false));
            pair.hosts[SERVER].receive_tagged(now, &damaged, &tag);
        }
        None => pair.hosts[SERVER].receive(now, &Received::Corrupted(damaged)),
    }
    pair.deliver(SERVER, &flight[2..]);
    let answers = pair.sent(SERVER);
    pair.advance(Duration::from_millis(20));
    pair.deliver(CLIENT, &answers);
    pair.sent(CLIENT)
}

#[test]
fn where_payloads_have_tags_the_tag_decides() {
    let mut pair = connected_with([true; 2], true);
    let retransmitted = damage_tagged(&mut pair, |sent| Some(sent.to_vec()));
    assert_eq!(retransmitted.iter().map(|packet| packet.len() - 64).collect::<Vec<_>>(), [patch_len(&[14])]);
    pair.deliver(SERVER, &retransmitted);
    assert_eq!((pair.readable(SERVER), pair.statistics(SERVER).completed), (3 * SEGMENT, 1));
    wait(&mut pair);
    assert_eq!(pair.statistics(CLIENT).timeouts, 0);
}

/// What was completed has the sent bytes and a CRC that holds, but the tag is another's: nothing is delivered by it,
/// and the rest is sent too.
#[test]
fn what_has_not_the_right_tag_is_sent_again_although_its_crc_holds() {
    let mut pair = connected_with([true; 2], true);
    let retransmitted = damage_tagged(&mut pair, |sent| Some(sent[1..].to_vec()));
    pair.deliver(SERVER, &retransmitted);
    assert_eq!((pair.readable(SERVER), pair.statistics(SERVER).completed), (SEGMENT, 0));
    wait(&mut pair);
    assert_eq!((pair.readable(SERVER), pair.statistics(SERVER).completed), (3 * SEGMENT, 0));
}

#[test]
fn where_payloads_have_tags_nothing_is_kept_without() {
    let mut pair = connected_with([true; 2], true);
    let retransmitted = damage_tagged(&mut pair, |_| None);
    assert_eq!(retransmitted.iter().map(|packet| packet.len() - 64).collect::<Vec<_>>(), [SEGMENT]);
    pair.deliver(SERVER, &retransmitted);
    assert_eq!(pair.readable(SERVER), 3 * SEGMENT);

    // Nor that of a repaired header.
    wait(&mut pair);
    pair.write(CLIENT, 2 * SEGMENT);
    let mut flight = pair.sent(CLIENT);
    pair.advance(Duration::from_millis(20));
    flight[0][20 + 5] ^= 4;
    pair.deliver(SERVER, &flight);
    assert_eq!(pair.hosts[SERVER].counters().repaired, 1);
    let answers = pair.sent(SERVER);
    pair.advance(Duration::from_millis(20));
    pair.deliver(CLIENT, &answers);
    assert_eq!(pair.sent(CLIENT).iter().map(|packet| packet.len() - 64).collect::<Vec<_>>(), [SEGMENT]);
}

/// A receiver that says what it likes of the segment at this offset from `ack`, or of none. `from` is a packet that it answers.
fn lie(
    from: &Segment<'_>,
    ack: SeqNumber,
    report: Option<(u32, &[u8])>,
    sack: &[(SeqNumber, SeqNumber)],
) -> Vec<u8> {
    let (mut reported, mut sums) = (V2Offsets::default(), &[][..]);
    if let Some((offset, report)) = report {
        reported.push(offset);
        sums = report;
    }
    let header = packet::tcp(from.tcp.dst_port, from.tcp.src_port, TcpFlags::ACK);
    let tcp = TcpHeader { seq: from.tcp.ack, ack, window: 8000, ..header };
    let stamps = from.options.timestamps.unwrap();
    let mut options = TcpOptions {
        timestamps: Some(Timestamps { tsval: stamps.tsecr.wrapping_add(50), tsecr: stamps.tsval }),
        v2: Some(V2::ack(0, reported)),
        ..TcpOptions::default()
    };
    sack.iter().for_each(|&block| {
        options.sack.push(block);
    });
    packet::segment(&packet::ip(from.ip.dst, from.ip.src), &tcp, &options, sums)
}

/// A peer that says it holds what it does not have gets it, as soon as it asks for it, or after two timeouts.
#[test]
fn what_was_never_held_is_sent() {
    for asks in [true, false] {
        let mut pair = connected([true; 2]);
        pair.write(CLIENT, 3 * SEGMENT);
        let flight = pair.sent(CLIENT);
        pair.advance(Duration::from_millis(20));
        let second = Segment::parse(&flight[1]).unwrap();
        let una = second.tcp.seq;
        pair.deliver(CLIENT, &[lie(&second, una, Some((0, &report_of(second.payload))), &[])]);
        let retransmitted = pair.sent(CLIENT);
        let patch = retransmitted.iter().map(|packet| Segment::parse(packet).unwrap());
        let patch = patch.into_iter().find(Segment::is_patch).unwrap();
        assert_eq!((patch.tcp.seq, patch.blocks.len()), (una, patch_len(&[0])));
        let is_whole = |packets: &[Vec<u8>]| {
            let mut segments = packets.iter().map(|packet| Segment::parse(packet).unwrap());
            segments.any(|segment| (segment.tcp.seq, segment.payload.len()) == (una, SEGMENT))
        };
        if asks {
            pair.advance(Duration::from_millis(20));
            pair.deliver(CLIENT, &[lie(&patch, una, Some((0, &[])), &[])]);
            assert!(is_whole(&pair.sent(CLIENT)));
        } else {
            let mut timeouts = 0;
            while !is_whole(&pair.sent(CLIENT)) {
                pair.advance(Duration::from_millis(100));
                timeouts = pair.statistics(CLIENT).timeouts;
                assert!(timeouts <= 2);
            }
            assert_eq!(timeouts, 2);
        }
    }
}

/// A flood of requests: each copy of a segment is asked for once, and its parts become shorter.
#[test]
fn requests_without_end_cost_no_more_than_damage_would() {
    let mut pair = connected([true; 2]);
    pair.write(CLIENT, 10 * SEGMENT);
    let flight = pair.sent(CLIENT);
    let una = Segment::parse(&flight[0]).unwrap().tcp.seq;
    let before = pair.statistics(CLIENT);
    let mut retransmitted = 0;
    for round in 0..2000_u32 {
        if round % 100 == 0 {
            pair.advance(Duration::from_millis(1));
        }
        let segment = Segment::parse(&flight[round as usize % flight.len()]).unwrap();
        let mut report = report_of(segment.payload);
        report[round as usize % 60] ^= (round % 3) as u8;
        let offset = (segment.tcp.seq - una) as u32 + round % 2 * 300;
        pair.deliver(CLIENT, &[lie(&segment, una, Some((offset, &report)), &[])]);
        retransmitted += pair.sent(CLIENT).iter().map(|packet| packet.len() - 64).sum::<usize>();
    }
    let after = pair.statistics(CLIENT);
    assert!(after.patches <= 10, "{}", after.patches);
    assert!(retransmitted <= 10 * SEGMENT * 2, "{retransmitted} bytes retransmitted");
    assert!(after.memory < before.memory + 64 * 1024, "{} bytes", after.memory);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Any damage to any packet in any round trip, header and payload alike: what is delivered is what
    /// was sent, and all of it is in the end.
    #[test]
    fn what_is_delivered_is_what_was_sent(
        rounds in prop::collection::vec(
            prop::collection::vec((0..16_usize, 160..12_000_usize, 0..4_usize), 0..24), 1..12,
        ),
    ) {
        let mut pair = connected([true; 2]);
        let all = 12 * SEGMENT + 333;
        pair.write(CLIENT, all);
        for hits in rounds {
            pair.advance(Duration::from_millis(15));
            let mut flight = pair.sent(CLIENT);
            for (place, bit, more) in hits {
                let Some(packet) = flight.get_mut(place) else { continue };
                let bits = packet.len() * 8;
                for step in 0..=more {
                    // Behind the IP header, which has a sum of its own.
                    let bit = 160 + (bit + step * 1741) % (bits - 160);
                    packet[bit / 8] ^= 0x80 >> (bit % 8);
                }
            }
            pair.deliver(SERVER, &flight);
            pair.readable(SERVER);
            pair.advance(Duration::from_millis(15));
            let answers = pair.sent(SERVER);
            pair.deliver(CLIENT, &answers);
        }
        for _ in 0..4 {
            wait(&mut pair);
        }
        prop_assert_eq!(pair.readable(SERVER), all);
        prop_assert_eq!(pair.statistics(CLIENT).pipe, 0);
    }
}
