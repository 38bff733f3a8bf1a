//! Jitter, reordering and duplication.

use crate::common;

use common::{Tagged, drain, enqueue, run, share, us};
use headway_link::{Delivery, Link, LinkConfig};
use headway_units::{Duration, Rate};

fn base() -> LinkConfig {
    LinkConfig {
        rate: Some(Rate::from_bits_per_second(10_000_000)),
        delay: Duration::from_millis(100),
        ..LinkConfig::default()
    }
}

fn in_order(deliveries: &[Delivery<Tagged>]) -> bool {
    deliveries.is_sorted_by_key(|d| d.packet.id)
}

/// Packets sent so far apart that none catches another: each is late by 0 to the jitter, uniformly.
#[test]
fn jitter_is_uniform() {
    let config = LinkConfig { jitter: Duration::from_micros(500), ..base() };
    let mut link = Link::new(config, 5);
    let n = 50_000;
    for id in 0..n {
        enqueue(&mut link, us(2_000 * id), id as usize, 1500);
    }
    let late: Vec<u64> = drain(&mut link)
        .iter()
        .map(|d| d.at.as_nanos() - us(2_000 * d.packet.id as u64 + 101_200).as_nanos())
        .collect();
    assert!(late.iter().all(|late| *late <= 500_000));
    let mean = late.iter().sum::<u64>() as f64 / n as f64;
    assert!((mean - 250_000.0).abs() < 3_000.0, "{mean}");
    let quarter = late.iter().filter(|late| **late < 125_000).count() as f64 / n as f64;
    assert!((quarter - 0.25).abs() < 0.01, "{quarter}");
}

#[test]
fn jitter_keeps_the_order() {
    let (_, deliveries) = run(LinkConfig { jitter: Duration::from_millis(20), ..base() }, 5, 1_000, 1500);
    assert!(in_order(&deliveries) && deliveries.is_sorted_by_key(|d| d.at));
    for delivery in &deliveries {
        let earliest = us(101_200 + 1_200 * delivery.packet.id as u64);
        assert!(earliest <= delivery.at && delivery.at <= earliest + Duration::from_millis(20));
    }
}

#[test]
fn reordered_packets_are_held_back_and_no_others() {
    let reorder_delay = Duration::from_millis(4);
    let (link, deliveries) =
        run(LinkConfig { reorder: share(0.1), reorder_delay, ..base() }, 5, 10_000, 1500);
    assert!(deliveries.is_sorted_by_key(|d| d.at) && !in_order(&deliveries));
    let mut held = 0;
    for delivery in &deliveries {
        let on_time = us(101_200 + 1_200 * delivery.packet.id as u64);
        let late = delivery.at.saturating_since(on_time);
        assert!(late.is_zero() || late == reorder_delay);
        held += u64::from(!late.is_zero());
    }
    assert_eq!(held, link.counters().reordered);
    assert!((900..1_100).contains(&held), "{held}");
    // Held back by three to four packet times: three overtake, unless they are held back too.
    let first = deliveries.windows(2).find(|pair| pair[0].packet.id + 1 != pair[1].packet.id).unwrap();
    assert!(first[1].packet.id == first[0].packet.id + 2);
}

/// Where packets may overtake, an event is announced early enough for the one in front.
#[test]
fn next_event_is_never_late() {
    let config = LinkConfig {
        reorder: share(0.3),
        reorder_delay: Duration::from_secs(1),
        jitter: Duration::from_millis(3),
        loss: share(0.2).into(),
        ..base()
    };
    let mut link = Link::new(config, 5);
    (0..2_000).for_each(|id| enqueue(&mut link, us(0), id, 1500));
    while let Some(now) = link.next_event() {
        while let Some(delivery) = link.poll(now) {
            assert_eq!(delivery.at, now);
        }
    }
    assert_eq!(link.in_link(), 0);
}

#[test]
fn duplicates_follow_their_originals() {
    let config = LinkConfig { duplicate: share(0.2), damage: "random:30%".parse().unwrap(), ..base() };
    let (link, deliveries) = run(config, 5, 10_000, 1500);
    let c = link.counters();
    assert_eq!(c.delivered, 10_000 + c.duplicated);
    assert!((1_900..2_100).contains(&c.duplicated), "{}", c.duplicated);
    assert_eq!(deliveries.iter().filter(|d| d.duplicate).count() as u64, c.duplicated);
    assert!(!deliveries[0].duplicate);
    for pair in deliveries.windows(2).filter(|pair| pair[1].duplicate) {
        let mut copy = pair[1].clone();
        copy.duplicate = false;
        assert_eq!(pair[0], copy);
    }
    // They take no transmission time.
    assert_eq!(
        (c.transmissions, deliveries[deliveries.len() - 1].at),
        (10_000, us(100_000 + 1_200 * 10_000))
    );
}
