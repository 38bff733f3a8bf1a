//! Where bits are flipped: zones, numbers of flips, packets of odd shapes.

use crate::common;

use common::{HEADERS, Tagged, damaged_by, flipped, packet, run, share};
use headway_link::{Damage, EnqueueResult, Headers, HitZone, Link, LinkConfig};
use headway_units::{Instant, Share};
use proptest::prelude::*;

fn always(flips: Option<u32>) -> LinkConfig {
    LinkConfig { damage: Damage::Random { p: Share::ONE }, flips, ..LinkConfig::default() }
}

fn flips_in(config: LinkConfig, len: usize) -> Vec<Vec<usize>> {
    run(config, 9, 2_000, len).1.iter().map(|d| flipped(&d.packet.bytes)).collect()
}

#[test]
fn models_have_their_default_flips() {
    for (damage, expected) in [("random:100%", 1), ("burst:100%:5", 64), ("gilbert:0:0:100%:0", 64)] {
        assert!(flips_in(damaged_by(damage), 1500).iter().all(|bits| bits.len() == expected));
        let three = LinkConfig { flips: Some(3), ..damaged_by(damage) };
        assert!(flips_in(three, 1500).iter().all(|bits| bits.len() == 3));
    }
    // Models that count in bits say themselves.
    let bits = LinkConfig { flips: Some(3), ..damaged_by("ber:1e-3") };
    let mean = flips_in(bits, 1500).iter().map(Vec::len).sum::<usize>() as f64 / 2_000.0;
    assert!((mean / (1480.0 * 8.0 * 1e-3) - 1.0).abs() < 0.02, "{mean}");
}

#[test]
fn zones_start_where_they_should() {
    for (zone, start) in [(HitZone::TcpHeader, 160), (HitZone::IpAndTcpHeader, 0)] {
        for header_hit in [None, Some(Share::ONE)] {
            let config = LinkConfig { hit_zone: zone, header_hit, ..always(Some(64)) };
            let mut bits = flips_in(config, 100).concat();
            bits.sort_unstable();
            assert_eq!((bits[0], bits[bits.len() - 1]), (start, 799));
        }
    }
}

/// "A packet without payload that is hit is hit in its header."
#[test]
fn packets_without_payload_are_hit_in_the_header() {
    for h in [None, Some(Share::ZERO), Some(share(0.5)), Some(Share::ONE)] {
        for flips in [1, 64] {
            let config = LinkConfig { header_hit: h, ..always(Some(flips)) };
            for bits in flips_in(config, 52) {
                assert_eq!(bits.len(), flips as usize);
                assert!(bits.iter().all(|bit| (160..416).contains(bit)));
            }
        }
    }
}

#[test]
fn no_more_bits_are_flipped_than_there_are() {
    let all = flips_in(always(Some(u32::MAX)), 60);
    assert!(all.iter().all(|bits| bits.len() == 40 * 8));
    assert!(flips_in(always(Some(0)), 60).iter().all(|bits| bits.len() == 1));
    // Header not hit: all of the payload.
    let data = LinkConfig { header_hit: Some(Share::ZERO), ..always(Some(1_000)) };
    assert!(flips_in(data, 60).iter().all(|bits| *bits == (416..480).collect::<Vec<_>>()));
}

/// Nothing to flip: not hit. Lengths that contradict each other are no reason to panic.
#[test]
fn odd_shapes() {
    let pass = |len: usize, headers: Headers, zone: HitZone| {
        let mut link = Link::new(LinkConfig { hit_zone: zone, ..always(Some(8)) }, 1);
        assert_eq!(link.enqueue(Instant::ZERO, packet(0, 10), len, headers, true), EnqueueResult::Queued);
        let delivery = link.poll(Instant::ZERO).unwrap();
        assert_eq!(delivery.damage.is_some(), link.counters().hit == 1);
        (delivery.len, flipped(&delivery.packet.bytes).len())
    };
    let headers = |ip_header_len, header_len| Headers { ip_header_len, header_len };
    let tcp = HitZone::TcpHeader;
    assert_eq!(pass(0, headers(20, 40), tcp), (0, 0));
    assert_eq!(pass(10, headers(20, 40), tcp), (10, 0));
    assert_eq!(pass(10, headers(20, 40), HitZone::IpAndTcpHeader), (10, 8));
    assert_eq!(pass(10, headers(40, 4), tcp), (10, 8));
    assert_eq!(pass(10, headers(usize::MAX, usize::MAX), tcp), (10, 0));
    // Beyond the end of the buffer there is nothing to flip.
    assert_eq!(pass(usize::MAX, headers(9, 9), tcp), (usize::MAX, 8));
}

/// The rest of a pooled buffer is no part of the packet.
#[test]
fn only_the_packet_is_damaged() {
    let mut link = Link::new(always(Some(10_000)), 1);
    assert_eq!(link.enqueue(Instant::ZERO, packet(0, 2048), 100, HEADERS, true), EnqueueResult::Queued);
    let delivery = link.poll(Instant::ZERO).unwrap();
    assert_eq!(delivery.len, 100);
    assert_eq!(flipped(&delivery.packet.bytes), (160..800).collect::<Vec<_>>());
}

fn any_damage() -> impl Strategy<Value = Damage> {
    prop::sample::select(vec![
        "random:50%",
        "burst:20%:3",
        "gilbert:10%:20%:5%:90%",
        "ber:1e-3",
        "ber:0.6",
        "gilbert-bit:1e-3:1e-2:1e-4:0.5",
    ])
    .prop_map(|text| text.parse().unwrap())
}

proptest! {
    /// A hit always changes the bytes, says truly how many bits, and stays in its zone.
    #[test]
    fn hits_change_the_bytes_within_the_zone(
        damage in any_damage(),
        flips in prop::option::of(1u32..200),
        header_hit in prop::option::of(0.0..=1.0f64),
        whole in any::<bool>(),
        (ip, tcp, payload) in (0usize..60, 0usize..60, 0usize..200),
        seed: u64,
    ) {
        let hit_zone = if whole { HitZone::IpAndTcpHeader } else { HitZone::TcpHeader };
        let header_hit = header_hit.map(share);
        let config = LinkConfig { damage, flips, header_hit, hit_zone, ..LinkConfig::default() };
        let headers = Headers { ip_header_len: ip, header_len: ip + tcp };
        let len = ip + tcp + payload;
        let mut link: Link<Tagged> = Link::new(config, seed);
        for id in 0..50 {
            prop_assert_eq!(link.enqueue(Instant::ZERO, packet(id, len + 7), len, headers, true), EnqueueResult::Queued);
            let delivery = link.poll(Instant::ZERO).unwrap();
            let bits = flipped(&delivery.packet.bytes);
            let start = if whole { 0 } else { ip };
            prop_assert!(bits.iter().all(|bit| (start * 8..len * 8).contains(bit)));
            match delivery.damage {
                None => prop_assert!(bits.is_empty()),
                Some(hit) => {
                    prop_assert!(hit.flips >= 1);
                    prop_assert_eq!(bits.len(), hit.flips as usize);
                    prop_assert_eq!(bits.iter().any(|bit| *bit < (ip + tcp) * 8), hit.header);
                }
            }
        }
    }
}
