//! Damage that changes the length of frames: each arrives as its edits say, and none is lost uncounted.

use crate::common;

use common::{HEADERS, Tagged, drain, enqueue, share, us};
use headway_link::{
    BitOrigin, Damage, Delivery, Edit, Fate, FrameCheck, Headers, Link, LinkConfig, Trace, TraceBuilder,
    share_hit,
};
use headway_units::{Duration, Instant, Share};
use proptest::prelude::*;

/// 8 Mbit/s: a microsecond for each byte.
fn replaying(text: &str) -> LinkConfig {
    let damage = Damage::Trace(text.parse::<Trace>().unwrap());
    LinkConfig { rate: Some("8mbit".parse().unwrap()), damage, ..LinkConfig::default() }
}

/// Packets of 100 bytes, with the number of the packet in each byte, all offered at the start.
fn run(config: LinkConfig, packets: u8) -> (Link<Vec<u8>>, Vec<Delivery<Vec<u8>>>) {
    let mut link = Link::new(config, 5);
    for number in 0..packets {
        let _ = link.enqueue(Instant::ZERO, vec![number; 100], 100, HEADERS, true);
    }
    let mut all = Vec::new();
    while let Some(now) = link.next_event() {
        all.extend(std::iter::from_fn(|| link.poll(now)));
    }
    assert_eq!(link.in_link(), 0);
    (link, all)
}

fn bytes(parts: &[(u8, usize)]) -> Vec<u8> {
    parts.iter().flat_map(|(number, len)| vec![*number; *len]).collect()
}

#[test]
fn a_frame_ends_early_or_is_split_or_slips() {
    let (link, all) =
        run(replaying("bits -320..\nbits /320\nbits -0..8\nbits +16*16\nbits -5\nbits -0..\nok"), 7);
    let lengths: Vec<_> = all.iter().map(|delivery| (delivery.packet.len(), delivery.len)).collect();
    assert_eq!(lengths, [(40, 40), (40, 40), (60, 60), (99, 99), (102, 102), (99, 99), (100, 100)]);
    assert_eq!(all[0].packet, bytes(&[(0, 40)]));
    assert_eq!((&all[1].packet, &all[2].packet), (&bytes(&[(1, 40)]), &bytes(&[(1, 60)])));
    assert_eq!((&all[4].packet[..2], &all[4].packet[4..]), (&[3; 2][..], &[3; 98][..]));
    // Of 00000100 again and again the first 1 is missing, and what is behind it has moved.
    assert_eq!(&all[5].packet[..3], [0, 0b0000_1000, 0b0000_1000]);
    assert_eq!(all[6].damage, None);
    let hits: Vec<_> = all[..6].iter().map(|delivery| delivery.damage.unwrap().to_string()).collect();
    assert_eq!(
        hits,
        [
            "0 bits flipped, 480 slipped, header hit",
            "0 bits flipped, 1 slipped, header hit",
            "0 bits flipped, 1 slipped, header hit",
            "0 bits flipped, 8 slipped, header hit",
            "0 bits flipped, 16 slipped, header hit",
            "0 bits flipped, 1 slipped, header hit",
        ]
    );
    // Nothing is left of the one that ends at once.
    let c = link.counters();
    assert_eq!((c.hit, c.slipped, c.split, c.joined, c.lost, c.delivered), (5, 5, 1, 0, 1, 7));
    assert!(all.iter().zip([100, 200, 200, 300, 400, 500, 700]).all(|(delivery, at)| delivery.at == us(at)));
}

#[test]
fn a_frame_without_an_end_goes_on_with_the_next() {
    let (link, all) = run(replaying("bits 1 &\nbits 5 &\nok\nok\nbits &\nlost\nbits &"), 7);
    let arrived: Vec<_> = all.iter().map(|delivery| (delivery.packet.clone(), delivery.at)).collect();
    let mut joined = bytes(&[(0, 100), (1, 100), (2, 100)]);
    joined[0] ^= 0x40;
    joined[100] ^= 0x04;
    assert_eq!(
        arrived,
        [
            (joined, us(300)),
            (bytes(&[(3, 100)]), us(400)),
            // The next is lost, and nothing follows the last.
            (bytes(&[(4, 100)]), us(500)),
            (bytes(&[(6, 100)]), us(700)),
        ]
    );
    // The damage is that of the packet in front.
    let front = all[0].damage.map(|hit| (hit.flips, hit.slips, hit.header, hit.no_end));
    assert_eq!((front, all[1].damage), (Some((1, 0, true, true)), None));
    assert_eq!(all[2].damage.unwrap().to_string(), "0 bits flipped, end missing");
    let c = link.counters();
    assert_eq!((c.hit, c.joined, c.lost, c.delivered), (4, 2, 1, 4));
}

/// The first piece of a frame that is split goes on in the frame before it, and the next one in its last piece.
#[test]
fn a_split_frame_is_joined_at_both_ends() {
    let (link, all) = run(replaying("bits &\nbits 0 /320 &\nok\nok"), 4);
    let first = |number: u8| 0x80 ^ number;
    let arrived: Vec<_> = all.iter().map(|delivery| (delivery.packet.clone(), delivery.at)).collect();
    let joined = bytes(&[(0, 100), (first(1), 1), (1, 39)]);
    let behind = bytes(&[(1, 60), (2, 100)]);
    assert_eq!(arrived, [(joined, us(200)), (behind, us(300)), (bytes(&[(3, 100)]), us(400))]);
    let flips = |place: usize| all[place].damage.map(|hit| (hit.flips, hit.slips));
    assert_eq!((flips(0), flips(1), flips(2)), (Some((0, 0)), Some((1, 1)), None));
    let c = link.counters();
    assert_eq!((c.hit, c.split, c.joined, c.delivered), (2, 1, 2, 3));
}

/// "if that waits when its transmission ends": without a rate none does.
#[test]
fn what_comes_later_has_a_frame_of_its_own() {
    for (rate, gap, arrive) in [(Some("8mbit"), 100, 2), (Some("8mbit"), 99, 1), (None, 0, 2)] {
        let rate = rate.map(|rate| rate.parse().unwrap());
        let mut link = Link::new(LinkConfig { rate, ..replaying("bits &\nok") }, 1);
        enqueue(&mut link, Instant::ZERO, 1, 100);
        enqueue(&mut link, us(gap), 2, 100);
        assert_eq!(drain(&mut link).len(), arrive, "{gap}");
    }
    let mut link: Link<Tagged> = Link::new(replaying("bits &\nok"), 1);
    for exposed in [true, false] {
        let _ = link.enqueue(Instant::ZERO, common::packet(0, 100), 100, HEADERS, exposed);
    }
    let lengths: Vec<_> = drain(&mut link).iter().map(|delivery| delivery.len).collect();
    assert_eq!(lengths, [100, 100], "one that is not open to damage");
}

#[test]
fn a_frame_check_finds_both_of_two_that_are_joined() {
    // Requests for retransmission come after the first transmission of all.
    let delay = Duration::from_millis(1);
    let config = replaying("bits &\nok\nbits -320..\nbits /320\nok 100");
    let of = |frame_check| LinkConfig { frame_check, delay, ..config.clone() };
    let (link, all) = run(of(FrameCheck::Drop), 5);
    assert_eq!(all.iter().map(|delivery| delivery.packet[0]).collect::<Vec<_>>(), [4]);
    assert_eq!((link.counters().frame_check_drops, link.counters().delivered), (4, 1));
    let (link, all) = run(of(FrameCheck::Arq(1)), 5);
    assert_eq!(
        all.iter().map(|delivery| delivery.packet.clone()).collect::<Vec<_>>(),
        (0..5).map(|n| vec![n; 100]).collect::<Vec<_>>()
    );
    assert_eq!(link.counters().arq_retransmissions, 4);
}

#[test]
fn dense_errors_have_their_rate_and_their_place() {
    let config = replaying("bits ~416..800@15%");
    let mut link = Link::new(LinkConfig { rate: None, ..config }, 9);
    let packets = 5_000;
    for id in 0..packets {
        enqueue(&mut link, Instant::ZERO, id, 100);
    }
    let flipped: Vec<usize> =
        drain(&mut link).iter().flat_map(|delivery| common::flipped(&delivery.packet.bytes)).collect();
    assert!(flipped.iter().all(|bit| *bit >= 416));
    let rate = flipped.len() as f64 / (packets * 384) as f64;
    assert!((rate - 0.15).abs() < 0.001, "{rate}");
    assert_eq!(link.counters().flipped_bits, flipped.len() as u64);
}

/// A share of the packets, and each error as often as the others.
#[test]
fn the_errors_of_a_modem_come_true() {
    let config = |damage: &str, header_hit| LinkConfig {
        rate: Some("8mbit".parse().unwrap()),
        header_hit,
        ..common::damaged_by(damage)
    };
    let packets = 40_000;
    let damage = "modem:20%";
    let (link, all) = {
        let mut link = Link::new(config(damage, Some(share(0.3))), 5);
        for id in 0..packets {
            enqueue(&mut link, Instant::ZERO, id, 1500);
        }
        let all = drain(&mut link);
        (link, all)
    };
    let c = link.counters();
    let of = |count: u64| count as f64 / packets as f64;
    assert!((of(c.hit) - 0.2).abs() < 0.006, "{}", of(c.hit));
    for count in [c.split, c.joined] {
        assert!((of(count) - 0.04).abs() < 0.004, "{}", of(count));
    }
    let cut = all.iter().filter(|delivery| delivery.len < 1480 && delivery.damage.is_some()).count() as u64;
    // Three frames for two such hits, 1 % of them hardly shorter, and 4 % joined to the frame before.
    assert!((of(cut) - 0.114).abs() < 0.005, "{}", of(cut));
    let in_header = c.hit_in_header as f64 / (c.hit - c.joined) as f64;
    assert!((in_header - 0.3).abs() < 0.02, "{in_header}");
    let dense = all.iter().filter_map(|delivery| delivery.damage.filter(|hit| hit.flips > 1)).count() as u64;
    assert!((of(dense) - 0.04).abs() < 0.004, "{}", of(dense));
    let rates = all.iter().filter(|delivery| delivery.damage.is_some_and(|hit| hit.flips > 500));
    assert!(rates.clone().count() > 100);
    let untouched = of(c.transmissions - c.hit - c.joined);
    // A joined packet that is hit itself is in both counts.
    let expected = 1.0 - share_hit(&damage.parse().unwrap(), 1480);
    assert!((untouched - expected).abs() < 0.015, "{untouched}, not {expected}");
    for (text, slipped, split, joined) in [
        ("cut", true, false, false),
        ("split", true, true, false),
        ("join", false, false, true),
        ("slip", true, false, false),
        ("dense", false, false, false),
    ] {
        let mut link = Link::new(config(&format!("modem:10%:{text}"), None), 5);
        for id in 0..1_000 {
            enqueue(&mut link, Instant::ZERO, id, 1500);
        }
        drain(&mut link);
        let c = link.counters();
        assert_eq!(
            (c.slipped > 0, c.split > 0, c.joined > 0, c.hit > 50),
            (slipped, split, joined, true),
            "{text}"
        );
    }
}

/// The pieces of a frame, bit by bit, where a bit of chance is `None`; what is missing, added and split; what is flipped.
fn expected(sent: &[u8], edits: &[Edit]) -> (Vec<Vec<Option<bool>>>, u32, u32) {
    let bits = sent.len() as u32 * 8;
    let (mut pieces, mut slips, mut flips) = (vec![Vec::new()], 0, 0);
    for bit in 0..bits {
        let within = |from: u32, to: Option<u32>| from <= bit && to.is_none_or(|to| bit < to);
        let is_missing = |bit: u32| {
            edits.iter().any(|edit| matches!(edit, Edit::Missing { from, to } if *from <= bit && to.is_none_or(|to| bit < to)))
        };
        for edit in edits {
            match *edit {
                Edit::Break(at) if at == bit && bit > 0 && !(is_missing(bit - 1) && is_missing(bit)) => {
                    pieces.push(Vec::new());
                    slips += 1;
                }
                Edit::Added { before, count } if before == bit => {
                    pieces.last_mut().unwrap().extend(vec![None; count as usize]);
                    slips += count;
                }
                _ => {}
            }
        }
        if is_missing(bit) {
            slips += 1;
            continue;
        }
        let value = sent[bit as usize / 8] & (0x80 >> (bit % 8)) != 0;
        let is_flipped = edits.iter().any(|edit| match *edit {
            Edit::Flip(flip) => flip == bit,
            Edit::Dense { from, to, .. } => within(from, to),
            _ => false,
        });
        flips += u32::from(is_flipped);
        pieces.last_mut().unwrap().push(Some(value != is_flipped));
    }
    (pieces, slips, flips)
}

fn any_edit() -> impl Strategy<Value = Edit> {
    let range =
        || (0u32..900, prop::option::of(1u32..60)).prop_map(|(from, len)| (from, len.map(|len| from + len)));
    prop_oneof![
        4 => (0u32..900).prop_map(Edit::Flip),
        2 => range().prop_map(|(from, to)| Edit::Missing { from, to }),
        2 => (0u32..900, 1u32..20).prop_map(|(before, count)| Edit::Added { before, count }),
        1 => range().prop_map(|(from, to)| Edit::Dense { from, to, rate: Share::ONE }),
        2 => (0u32..900).prop_map(Edit::Break),
    ]
}

proptest! {
    /// What arrives is what the edits say, bit by bit.
    #[test]
    fn edits_do_what_they_say(edits in prop::collection::vec(any_edit(), 1..8), sent in prop::collection::vec(any::<u8>(), 1..110)) {
        let mut builder = TraceBuilder::new();
        builder.push(Fate::Edits { from: BitOrigin::Ip, edits: edits.clone().into() }).unwrap();
        let trace = builder.finish("").unwrap();
        prop_assert_eq!(trace.to_string().parse(), Ok(trace.clone()));
        let sorted = match trace.fates().next() {
            Some(Fate::Edits { edits, .. }) => edits.to_vec(),
            Some(Fate::Bits { bits, .. }) => bits.iter().map(|bit| Edit::Flip(*bit)).collect(),
            other => panic!("{other:?}"),
        };
        let mut link = Link::new(LinkConfig { damage: Damage::Trace(trace), ..LinkConfig::default() }, 3);
        let headers = Headers { ip_header_len: 0, header_len: 0 };
        let _ = link.enqueue(Instant::ZERO, sent.clone(), sent.len(), headers, true);
        let arrived: Vec<_> = std::iter::from_fn(|| link.poll(Instant::ZERO)).collect();
        let (pieces, slips, flips) = expected(&sent, &sorted);
        let pieces: Vec<_> = pieces.iter().map(|piece| &piece[..piece.len() / 8 * 8]).filter(|piece| !piece.is_empty()).collect();
        prop_assert_eq!(arrived.len(), pieces.len());
        for (delivery, piece) in arrived.iter().zip(&pieces) {
            prop_assert_eq!((delivery.packet.len(), delivery.len), (piece.len() / 8, piece.len() / 8));
            for (at, bit) in piece.iter().enumerate() {
                let arrived = delivery.packet[at / 8] & (0x80 >> (at % 8)) != 0;
                prop_assert!(bit.is_none_or(|bit| bit == arrived), "bit {at} of {}", piece.len());
            }
            let found = delivery.damage.map(|hit| (hit.flips, hit.slips));
            prop_assert_eq!(found, (flips + slips > 0).then_some((flips, slips)));
        }
    }
}
