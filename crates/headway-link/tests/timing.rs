//! Rate, delay and queue, to the nanosecond.

use crate::common;

use common::{HEADERS, Tagged, drain, enqueue, ms, packet, run, share, timetable, us};
use headway_link::{Delivery, EnqueueResult, Link, LinkConfig, QueueLimit};
use headway_units::{Duration, Instant, Rate};

fn ten_mbit() -> LinkConfig {
    LinkConfig {
        rate: Some(Rate::from_bits_per_second(10_000_000)),
        delay: Duration::from_millis(300),
        ..LinkConfig::default()
    }
}

#[test]
fn packets_leave_one_after_the_other() {
    let (_, deliveries) = run(ten_mbit(), 1, 3, 1500);
    assert_eq!(timetable(&deliveries), "0@301200 1@302400 2@303600");
}

#[test]
fn an_idle_link_starts_at_once() {
    let mut link = Link::new(ten_mbit(), 1);
    enqueue(&mut link, us(0), 0, 1500);
    enqueue(&mut link, us(1_000), 1, 500);
    // Free since 1600 us.
    enqueue(&mut link, us(2_000), 2, 1500);
    enqueue(&mut link, us(3_200), 3, 1500);
    assert_eq!(timetable(&drain(&mut link)), "0@301200 1@301600 2@303200 3@304400");
}

#[test]
fn overhead_takes_time_but_is_not_delivered() {
    let (link, deliveries) = run(LinkConfig { overhead: 250, ..ten_mbit() }, 1, 2, 1000);
    assert_eq!(timetable(&deliveries), "0@301000 1@302000");
    assert!(deliveries.iter().all(|d| d.len == 1000));
    let c = link.counters();
    assert_eq!((c.offered_bytes, c.transmitted_bytes, c.delivered_bytes), (2_000, 2_500, 2_000));
}

#[test]
fn without_a_rate_there_is_only_delay() {
    let config = LinkConfig { rate: None, queue: QueueLimit::Packets(0), ..ten_mbit() };
    let (link, deliveries) = run(config, 1, 3, 1500);
    assert_eq!(timetable(&deliveries), "0@300000 1@300000 2@300000");
    assert_eq!(link.counters().queue_entered, 0);
    let (_, deliveries) = run(LinkConfig::default(), 1, 2, 1500);
    assert_eq!(timetable(&deliveries), "0@0 1@0");
}

#[test]
fn a_rate_of_zero_never_delivers() {
    let config = LinkConfig { rate: Some(Rate::from_bits_per_second(0)), ..ten_mbit() };
    let mut link = Link::new(config, 1);
    enqueue(&mut link, ms(0), 0, 100);
    enqueue(&mut link, ms(1), 1, 100);
    assert_eq!(link.next_event(), Some(Instant::MAX));
    assert_eq!(link.poll(ms(1_000_000)), None);
    assert_eq!((link.queue_len(), link.in_link()), (1, 2));
}

/// The packet in transmission does not count.
#[test]
fn the_queue_holds_as_many_packets_as_it_may() {
    let mut link = Link::new(LinkConfig { queue: QueueLimit::Packets(2), ..ten_mbit() }, 1);
    for id in 0..3 {
        enqueue(&mut link, us(0), id, 1500);
    }
    assert_eq!((link.queue_len(), link.queue_bytes()), (2, 3_000));
    let full = link.enqueue(us(1_199), packet(3, 1500), 1500, HEADERS, true);
    assert_eq!(full, EnqueueResult::Dropped(packet(3, 1500)));
    // The next transmission begins: one place is free.
    enqueue(&mut link, us(1_200), 4, 1500);
    assert_eq!(link.queue_len(), 2);
    assert!(matches!(link.enqueue(us(1_200), packet(5, 40), 40, HEADERS, true), EnqueueResult::Dropped(_)));
    assert_eq!(timetable(&drain(&mut link)), "0@301200 1@302400 2@303600 4@304800");
    let c = link.counters();
    assert_eq!((c.offered, c.queue_drops, c.delivered, c.max_queue_packets), (6, 2, 4, 2));
    assert_eq!((c.queue_entered, c.queue_left, link.queue_len(), link.queue_bytes()), (3, 3, 0, 0));
}

#[test]
fn the_queue_holds_as_many_bytes_as_it_may() {
    let config = LinkConfig { queue: QueueLimit::Bytes(2_000), overhead: 1_000, ..ten_mbit() };
    let mut link = Link::new(config, 1);
    enqueue(&mut link, us(0), 0, 1500);
    enqueue(&mut link, us(0), 1, 1500);
    assert!(matches!(link.enqueue(us(0), packet(2, 501), 501, HEADERS, true), EnqueueResult::Dropped(_)));
    // A smaller one still fits.
    enqueue(&mut link, us(0), 3, 500);
    assert!(matches!(link.enqueue(us(0), packet(4, 1), 1, HEADERS, true), EnqueueResult::Dropped(_)));
    assert_eq!(link.counters().max_queue_bytes, 2_000);
    let ids: Vec<usize> = drain(&mut link).iter().map(|d| d.packet.id).collect();
    assert_eq!(ids, [0, 1, 3]);
}

#[test]
fn a_queue_of_none_passes_what_finds_the_link_idle() {
    let mut link = Link::new(LinkConfig { queue: QueueLimit::Packets(0), ..ten_mbit() }, 1);
    enqueue(&mut link, us(0), 0, 1500);
    assert!(matches!(
        link.enqueue(us(1_199), packet(1, 1500), 1500, HEADERS, true),
        EnqueueResult::Dropped(_)
    ));
    enqueue(&mut link, us(1_200), 2, 1500);
    assert_eq!(timetable(&drain(&mut link)), "0@301200 2@302400");
}

/// Nothing depends on how often a link is polled.
#[test]
fn late_polls_find_the_true_times() {
    let mut link: Link<Tagged> = Link::new(ten_mbit(), 1);
    for id in 0..5 {
        enqueue(&mut link, us(0), id, 1500);
    }
    let late: Vec<Delivery<Tagged>> = std::iter::from_fn(|| link.poll(us(303_600))).collect();
    assert_eq!(timetable(&late), "0@301200 1@302400 2@303600");
    assert_eq!(link.next_event(), Some(us(304_800)));
    assert_eq!(link.poll(us(304_799)), None);
    assert_eq!(timetable(&drain(&mut link)), "3@304800 4@306000");
}

/// A lost packet takes its time on the link; the next event passes over it.
#[test]
fn lost_packets_take_transmission_time() {
    let all = run(ten_mbit(), 3, 100, 1500).1;
    let config = LinkConfig { loss: share(0.5).into(), ..ten_mbit() };
    let (link, some) = run(config, 3, 100, 1500);
    assert!((30..70).contains(&some.len()));
    assert_eq!(link.counters().transmissions, 100);
    for delivery in some {
        assert_eq!(delivery.at, all[delivery.packet.id].at);
    }
    let (link, none) = run(LinkConfig { loss: share(1.0).into(), ..ten_mbit() }, 3, 100, 1500);
    assert_eq!((link.counters().lost, none.len()), (100, 0));
}

#[test]
fn dropped_frames_take_transmission_time() {
    let config = LinkConfig {
        damage: "random:50%".parse().unwrap(),
        frame_check: "drop".parse().unwrap(),
        ..ten_mbit()
    };
    let (link, some) = run(config, 3, 100, 1500);
    let c = link.counters();
    assert_eq!((c.hit, c.delivered, c.delivered_damaged), (c.frame_check_drops, 100 - c.hit, 0));
    assert!((30..70).contains(&c.hit));
    for delivery in some {
        assert_eq!(delivery.at, us(301_200 + 1_200 * delivery.packet.id as u64));
        assert!(delivery.packet.bytes.iter().all(|byte| *byte == 0));
    }
}
