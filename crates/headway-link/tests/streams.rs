//! "Which packet is hit, and where, come from separate random streams": one parameter does not disturb
//! what the others decide.

use crate::common;

use common::{HEADERS, Tagged, damaged_by, flipped, packet, run, share};
use headway_link::{EnqueueResult, Headers, HitZone, Link, LinkConfig};
use headway_units::{Duration, Instant};

const MODELS: [&str; 5] =
    ["random:10%", "burst:5%:5", "gilbert:1%:20%:1%:80%", "ber:1e-4", "gilbert-bit:1e-4:1e-3:0:1e-1"];

fn hit_ids(config: LinkConfig) -> Vec<usize> {
    let (_, deliveries) = run(config, 11, 5_000, 200);
    let ids = deliveries.iter().filter(|d| d.damage.is_some() && !d.duplicate).map(|d| d.packet.id);
    let mut ids: Vec<usize> = ids.collect();
    ids.sort_unstable();
    assert!(ids.len() > 200);
    ids
}

#[test]
fn the_place_does_not_change_which_packets_are_hit() {
    for damage in MODELS {
        let plain = hit_ids(damaged_by(damage));
        for h in [0.0, 0.4, 0.95, 1.0] {
            assert_eq!(hit_ids(LinkConfig { header_hit: Some(share(h)), ..damaged_by(damage) }), plain);
        }
        assert_eq!(hit_ids(LinkConfig { flips: Some(17), ..damaged_by(damage) }), plain);
    }
    for damage in &MODELS[..3] {
        let plain = hit_ids(damaged_by(damage));
        assert_eq!(hit_ids(LinkConfig { hit_zone: HitZone::IpAndTcpHeader, ..damaged_by(damage) }), plain);
    }
}

#[test]
fn other_chance_does_not_change_which_packets_are_hit() {
    for damage in MODELS {
        let plain = damaged_by(damage);
        let ids = hit_ids(plain.clone());
        let (jitter, reorder_delay) = (Duration::from_millis(5), Duration::from_millis(9));
        let (duplicate, reorder) = (share(0.1), share(0.2));
        assert_eq!(hit_ids(LinkConfig { jitter, duplicate, reorder, reorder_delay, ..plain.clone() }), ids);

        // Lost packets move the model on: those that arrive are hit as before.
        let (_, deliveries) = run(LinkConfig { loss: share(0.3).into(), ..plain.clone() }, 11, 5_000, 200);
        assert!((3_000..4_000).contains(&deliveries.len()));
        for delivery in deliveries {
            assert_eq!(delivery.damage.is_some(), ids.binary_search(&delivery.packet.id).is_ok());
        }
    }
}

#[test]
fn damage_does_not_change_what_is_lost() {
    let ids = |config: LinkConfig| -> Vec<usize> {
        run(config, 11, 5_000, 200).1.iter().map(|d| d.packet.id).collect()
    };
    let plain = LinkConfig { loss: share(0.1).into(), ..LinkConfig::default() };
    let untouched = ids(plain.clone());
    for damage in MODELS {
        assert_eq!(ids(LinkConfig { damage: damage.parse().unwrap(), ..plain.clone() }), untouched);
    }
}

/// Packets that are not exposed are never hit, and those that are see the same damage without them.
#[test]
fn unexposed_packets_leave_no_trace() {
    for damage in MODELS {
        let outcome = |unexposed: bool| -> Vec<Vec<usize>> {
            let mut link: Link<Tagged> = Link::new(damaged_by(damage), 11);
            let mut exposed = Vec::new();
            for id in 0..5_000 {
                assert_eq!(
                    link.enqueue(Instant::ZERO, packet(id, 200), 200, HEADERS, true),
                    EnqueueResult::Queued
                );
                exposed.push(flipped(&link.poll(Instant::ZERO).unwrap().packet.bytes));
                if unexposed {
                    let headers = Headers { ip_header_len: 20, header_len: 28 };
                    assert_eq!(
                        link.enqueue(Instant::ZERO, packet(id, 900), 900, headers, false),
                        EnqueueResult::Queued
                    );
                    let delivery = link.poll(Instant::ZERO).unwrap();
                    assert!(delivery.damage.is_none() && flipped(&delivery.packet.bytes).is_empty());
                }
            }
            exposed
        };
        assert_eq!(outcome(false), outcome(true));
    }
}

#[test]
fn seeds_differ() {
    let hits = |seed| -> Vec<bool> {
        run(damaged_by("random:10%"), seed, 1_000, 100).1.iter().map(|d| d.damage.is_some()).collect()
    };
    assert_eq!(hits(1), hits(1));
    assert_ne!(hits(1), hits(2));
}
