//! Links that change: rates, delivery opportunities, times at which nothing gets through.

mod common;

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
