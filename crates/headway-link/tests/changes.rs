//! Links that change: rates, delivery opportunities, times at which nothing gets through.

use crate::common;

use common::{HEADERS, drain, enqueue, ms, packet, run, timetable};
use headway_link::{EnqueueResult, Link, LinkConfig};
use headway_units::Duration;

#[test]
fn a_queue_drains_at_the_rate_of_the_time() {
    let config = LinkConfig {
        rate_steps: Some("8mbit@0s,800kbit@2ms,repeat@22ms".parse().unwrap()),
        delay: Duration::from_millis(1),
        ..LinkConfig::default()
    };
    // 1 ms, 1 ms, 10 ms, 10 ms, 1 ms, 1 ms.
    let (_, deliveries) = run(config, 1, 6, 1000);
    assert_eq!(timetable(&deliveries), "0@2000 1@3000 2@13000 3@23000 4@24000 5@25000");
}

#[test]
fn packets_leave_at_the_opportunities_of_a_trace() {
    let config = LinkConfig {
        rate_trace: Some("1\n3\n3\n10\n".parse().unwrap()),
        delay: Duration::from_millis(1),
        queue: "4p".parse().unwrap(),
        ..LinkConfig::default()
    };
    let mut link = Link::new(config, 1);
    // The first is in the transmitter, four wait, and one finds the queue full.
    for id in 0..5 {
        enqueue(&mut link, ms(0), id, 750);
    }
    assert_eq!(
        link.enqueue(ms(0), packet(5, 750), 750, HEADERS, true),
        EnqueueResult::Dropped(packet(5, 750))
    );
    assert_eq!(timetable(&drain(&mut link)), "0@2000 1@2000 2@4000 3@4000 4@4000");
    // Half an opportunity at 3 ms was left and is wasted: the next is at 10 ms.
    enqueue(&mut link, ms(5), 6, 750);
    assert_eq!(timetable(&drain(&mut link)), "6@11000");
    assert_eq!(link.config().nominal_rate().unwrap().to_string(), "4800kbit");
}

/// 1 ms of transmission and 5 ms of propagation for each; mute from 10 to 20 ms.
fn mute(frame_check: &str) -> (Link<common::Tagged>, String) {
    let config = LinkConfig {
        rate: Some("8mbit".parse().unwrap()),
        delay: Duration::from_millis(5),
        mute: "10ms@10ms".parse().unwrap(),
        frame_check: frame_check.parse().unwrap(),
        ..LinkConfig::default()
    };
    let (link, deliveries) = run(config, 1, 30, 1000);
    let ids = deliveries.iter().map(|delivery| delivery.packet.id.to_string()).collect::<Vec<_>>().join(" ");
    (link, ids)
}

#[test]
fn a_mute_link_loses_what_is_on_the_air_and_its_queue_drains() {
    let (link, ids) = mute("keep");
    // Packet n is on the air from n to n + 6 ms. That which arrives at 10 ms is lost, that which begins at 20 ms
    // is not.
    assert_eq!(ids, "0 1 2 3 20 21 22 23 24 25 26 27 28 29");
    let counters = link.counters();
    assert_eq!((counters.lost, counters.muted, counters.transmissions), (16, 16, 30));
}

#[test]
fn a_link_arq_retransmits_what_a_mute_link_lost() {
    let (link, ids) = mute("arq:3");
    assert_eq!(ids, (0..30).map(|id| id.to_string()).collect::<Vec<_>>().join(" "));
    let counters = link.counters();
    assert!(counters.muted >= 16 && counters.lost == 0, "{counters:?}");
    assert_eq!(counters.arq_retransmissions, counters.muted);
}

/// Losses in runs take the place of independent ones; a forward and a reverse path are two links.
#[test]
fn losses_in_runs_lose_their_share() {
    let config = LinkConfig { loss: "burst:5%:8".parse().unwrap(), ..LinkConfig::default() };
    let (link, deliveries) = run(config, 3, 100_000, 100);
    assert!((4_500..5_500).contains(&link.counters().lost), "{}", link.counters().lost);
    let ids: Vec<usize> = deliveries.iter().map(|delivery| delivery.packet.id).collect();
    let gaps: Vec<usize> = ids.windows(2).map(|pair| pair[1] - pair[0] - 1).filter(|gap| *gap > 0).collect();
    let mean = gaps.iter().sum::<usize>() as f64 / gaps.len() as f64;
    assert!((7.3..8.7).contains(&mean), "{mean}");
}

/// Packets of 1 ms over a link whose one-way delay changes, one offered each 10 ms.
fn over_delays(config: LinkConfig, packets: u64) -> (Link<common::Tagged>, String) {
    let config = LinkConfig { rate: Some("8mbit".parse().unwrap()), ..config };
    let mut link = Link::new(config, 1);
    let mut deliveries = Vec::new();
    for id in 0..packets {
        enqueue(&mut link, ms(10 * id), id as usize, 1000);
        deliveries.extend(std::iter::from_fn(|| link.poll(ms(10 * id))));
    }
    deliveries.extend(drain(&mut link));
    let times = timetable(&deliveries);
    (link, times)
}

fn delays(steps: &str) -> LinkConfig {
    LinkConfig { delay_steps: Some(steps.parse().unwrap()), ..LinkConfig::default() }
}

#[test]
fn a_packet_has_the_delay_of_the_time_at_which_it_leaves_the_transmitter() {
    // The second packet is transmitted from 10 to 11 ms, and the delay changes before its end.
    let (link, times) = over_delays(delays("5ms@0s,20ms@10500us"), 4);
    assert_eq!(times, "0@6000 1@31000 2@41000 3@51000");
    assert_eq!(link.config().nominal_delay(), Duration::from_millis(5));
    assert_eq!(link.config().delay_text(), "5ms@0s,20ms@10.5ms");
    let (_, times) = over_delays(delays("5ms@0s,20ms@11001us"), 2);
    assert_eq!(times, "0@6000 1@16000", "one nanosecond and it would be the other");
    let (_, times) = over_delays(delays("5ms@0s,6ms@10ms,repeat@20ms"), 5);
    assert_eq!(times, "0@6000 1@17000 2@26000 3@37000 4@46000");
}

#[test]
fn nothing_overtakes_when_the_delay_falls() {
    let (link, times) = over_delays(delays("100ms@0s,5ms@15ms"), 15);
    // Packets 2 to 10 would overtake the second one, which arrives at 111 ms.
    assert_eq!(
        times,
        "0@101000 1@111000 2@111000 3@111000 4@111000 5@111000 6@111000 7@111000 8@111000 9@111000 10@111000 \
         11@116000 12@126000 13@136000 14@146000"
    );
    assert_eq!(link.counters().reordered, 0);
}

#[test]
fn one_step_is_a_constant_delay() {
    let constant = LinkConfig { delay: Duration::from_millis(30), ..LinkConfig::default() };
    for (jitter, model) in [(0, None), (7, None), (7, Some((false, "0%"))), (7, Some((true, "25%")))] {
        let impaired = |config: LinkConfig| LinkConfig {
            jitter: Duration::from_millis(jitter),
            jitter_model: model.map(|(ordered, correlation)| headway_link::JitterModel {
                table: None,
                correlation: correlation.parse().unwrap(),
                ordered,
            }),
            reorder: "10%".parse().unwrap(),
            reorder_delay: Duration::from_millis(15),
            damage: "random:20%".parse().unwrap(),
            loss: "10%".parse().unwrap(),
            mute: "30ms@50ms".parse().unwrap(),
            frame_check: if jitter == 0 { "arq:2" } else { "keep" }.parse().unwrap(),
            ..config
        };
        let (_, expected) = over_delays(impaired(constant.clone()), 200);
        let (_, times) = over_delays(impaired(delays("30ms@0s")), 200);
        assert_eq!(times, expected);
    }
}

#[test]
fn jitter_varies_the_delay_of_the_time_and_keeps_the_order_of_the_steps() {
    let config = LinkConfig {
        jitter: Duration::from_millis(1),
        jitter_model: Some(headway_link::JitterModel {
            table: None,
            correlation: "0%".parse().unwrap(),
            ordered: false,
        }),
        ..delays("50ms@0s,5ms@15ms")
    };
    let (_, times) = over_delays(config, 12);
    let arrivals: Vec<(u64, u64)> = times
        .split(' ')
        .map(|entry| entry.split_once('@').expect("an arrival"))
        .map(|(id, at)| (id.parse().unwrap(), at.parse().unwrap()))
        .collect();
    for (id, at) in arrivals {
        // 61 ms is when the last packet of the long delay is due, and those that would overtake it.
        let due = if id == 0 { 51_000 } else { (10_000 * id + 6_000).max(61_000) };
        assert!(at.abs_diff(due) <= 1_000, "{id} at {at}");
    }
}

/// A frame is damaged; its retransmission is asked for at the delay of the time.
#[test]
fn a_link_arq_retransmits_after_the_delays_of_the_time() {
    let config = |steps: &str| LinkConfig {
        mute: "1us@500us".parse().unwrap(),
        frame_check: "arq:1".parse().unwrap(),
        ..delays(steps)
    };
    // Ends at 1 ms, arrives at 6 ms, is asked for again by 11 ms, and is there after 1 + 5 ms.
    let (link, times) = over_delays(config("5ms@0s"), 1);
    assert_eq!((times.as_str(), link.counters().arq_retransmissions), ("0@17000", 1));
    // The request takes 20 ms, and so does the retransmission: from 26 to 27 ms, and there at 47 ms.
    assert_eq!(over_delays(config("5ms@0s,20ms@3ms"), 1).1, "0@47000");
    // The request is back at 7 ms, before the second packet is offered.
    assert_eq!(over_delays(config("5ms@0s,1ms@3ms"), 2).1, "0@9000 1@12000");
}

/// Requests of a link ARQ keep their order too: the first of two damaged frames is retransmitted first.
#[test]
fn requests_of_a_link_arq_keep_their_order() {
    for steps in ["40ms@0s,1ms@12ms", "40ms@0s,1ms@45ms", "40ms@0s,1ms@55ms", "40ms@0s,1ms@30ms,30ms@60ms"] {
        let config = LinkConfig {
            mute: "15ms@1ms".parse().unwrap(),
            frame_check: "arq:3".parse().unwrap(),
            ..delays(steps)
        };
        let (link, times) = over_delays(config, 8);
        let ids: Vec<&str> = times.split(' ').map(|entry| &entry[..1]).collect();
        assert_eq!(ids.concat(), "01234567", "{steps}: {times}");
        assert!(link.counters().arq_retransmissions > 0, "{steps}");
    }
}

/// What is on the air for the time of the day: a longer delay has more packets there.
#[test]
fn a_mute_link_loses_what_is_on_the_air_at_the_delay_of_the_time() {
    let lost = |steps: &str| {
        let config = LinkConfig { mute: "1ms@100ms".parse().unwrap(), ..delays(steps) };
        over_delays(config, 20).0.counters().lost
    };
    assert_eq!((lost("5ms@0s"), lost("45ms@0s"), lost("5ms@0s,45ms@50ms")), (1, 5, 5));
}

#[test]
fn a_new_link_waits_for_packets_of_a_long_delay() {
    let config = |steps: &str| LinkConfig { rate: Some("8mbit".parse().unwrap()), ..delays(steps) };
    let mut earlier = Link::new(config("30ms@0s,1ms@2500us"), 1);
    (0..4).for_each(|id| enqueue(&mut earlier, ms(0), id, 1000));
    let mut later = Link::succeeding(config("1ms@0s"), 1, &earlier);
    enqueue(&mut later, ms(0), 4, 1000);
    assert_eq!(timetable(&drain(&mut earlier)), "0@31000 1@32000 2@32000 3@32000");
    // The steps say that nothing arrives after 32.5 ms.
    assert_eq!(timetable(&drain(&mut later)), "4@32500");
}
