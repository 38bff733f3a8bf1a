//! A link takes the place of another while packets are in it.

use crate::common;

use common::{HEADERS, Tagged, drain, enqueue, packet, run, share, timetable, us};
use headway_link::{Delivery, Link, LinkConfig, LinkCounters};
use headway_units::{Duration, Rate};

fn mbit(rate: u64, delay_us: u64) -> LinkConfig {
    LinkConfig {
        rate: Some(Rate::from_bits_per_second(rate * 1_000_000)),
        delay: Duration::from_micros(delay_us),
        ..LinkConfig::default()
    }
}

/// Everything that both links still have, in the order of arrival.
fn drain_both(earlier: &mut Link<Tagged>, later: &mut Link<Tagged>) -> Vec<Delivery<Tagged>> {
    let mut all = drain(earlier);
    all.extend(drain(later));
    all.sort_by_key(|delivery| delivery.at);
    all
}

#[test]
fn what_waits_is_transmitted_first_at_its_own_rate() {
    // 1200 us for each packet.
    let mut earlier = Link::new(mbit(10, 5_000), 1);
    for id in 0..3 {
        enqueue(&mut earlier, us(0), id, 1500);
    }
    // 120 us for each packet.
    let mut later = Link::succeeding(mbit(100, 5_000), 2, &earlier);
    enqueue(&mut later, us(100), 3, 1500);
    enqueue(&mut later, us(100), 4, 1500);
    assert_eq!(later.queue_len(), 2, "the transmitter is busy until 3600 us");
    let all = drain_both(&mut earlier, &mut later);
    assert_eq!(timetable(&all), "0@6200 1@7400 2@8600 3@8720 4@8840");
}

#[test]
fn a_shorter_delay_overtakes_nothing() {
    let mut earlier = Link::new(mbit(10, 300_000), 1);
    enqueue(&mut earlier, us(0), 0, 1500);
    enqueue(&mut earlier, us(0), 1, 1500);
    let mut later = Link::succeeding(mbit(10, 1_000), 2, &earlier);
    enqueue(&mut later, us(2_400), 2, 1500);
    enqueue(&mut later, us(400_000), 3, 1500);
    // The third would be there at 4600 us.
    assert_eq!(timetable(&drain_both(&mut earlier, &mut later)), "0@301200 1@302400 2@302400 3@402200");
}

#[test]
fn nothing_overtakes_whatever_the_links_are() {
    for seed in 0..200 {
        let jitter = Duration::from_micros(seed * 53 % 7_000);
        let earlier =
            LinkConfig { jitter, loss: share(0.1).into(), ..mbit(1 + seed % 20, seed * 97 % 9_000) };
        let config = mbit(1 + seed % 33, seed * 31 % 5_000);
        let mut earlier = Link::new(earlier, seed);
        for id in 0..20 {
            enqueue(&mut earlier, us(seed * 10), id, 1000);
        }
        let mut later = Link::succeeding(config, seed, &earlier);
        for id in 20..40 {
            enqueue(&mut later, us(seed * 10 + 1), id, 1000);
        }
        let all = drain_both(&mut earlier, &mut later);
        assert!(all.is_sorted_by_key(|delivery| delivery.packet.id), "seed {seed}: {}", timetable(&all));
    }
}

#[test]
fn an_empty_link_leaves_nothing_behind() {
    let (earlier, _) = run(mbit(10, 5_000), 1, 3, 1500);
    let (mut fresh, mut later) = (Link::new(mbit(100, 50), 2), Link::succeeding(mbit(100, 50), 2, &earlier));
    for link in [&mut fresh, &mut later] {
        enqueue(link, us(50_000), 0, 1500);
    }
    assert_eq!(drain(&mut fresh), drain(&mut later));
}

#[test]
fn counters_add_up() {
    let config = LinkConfig { loss: share(0.2).into(), duplicate: share(0.3), ..mbit(10, 100) };
    let mut sum = LinkCounters::default();
    let mut offered = 0;
    for n in [5, 30, 2] {
        let (link, deliveries) = run(config.clone(), n as u64, n, 100);
        offered += n as u64;
        sum += *link.counters();
        assert!(sum.delivered >= deliveries.len() as u64);
    }
    assert_eq!((sum.offered, sum.offered_bytes), (offered, offered * 100));
    assert_eq!(sum.offered, sum.delivered - sum.duplicated + sum.lost);
    assert_eq!(sum.max_queue_packets, 29, "the largest of all, not a sum");
}

#[test]
fn hits_are_put_into_words() {
    let words = |flips: u32| {
        let damage = "random:100%".parse().unwrap();
        let config = LinkConfig { damage, flips: Some(flips), header_hit: Some(share(1.0)), ..mbit(10, 0) };
        let mut link = Link::new(config, 1);
        assert_eq!(
            link.enqueue(us(0), packet(0, 100), 100, HEADERS, true),
            headway_link::EnqueueResult::Queued,
            "an idle link takes it"
        );
        drain(&mut link)[0].damage.unwrap().to_string()
    };
    assert_eq!(words(1), "1 bit flipped, header hit");
    assert_eq!(words(3), "3 bits flipped, header hit");
}
