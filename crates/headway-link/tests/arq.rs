//! A link that retransmits damaged frames itself.

use crate::common;

use common::{Tagged, drain, enqueue, run, share, timetable, us};
use headway_link::{FrameCheck, Link, LinkConfig, share_hit};
use headway_units::{Duration, Rate};

fn arq(damage: &str, retransmissions: u32) -> LinkConfig {
    LinkConfig {
        rate: Some(Rate::from_bits_per_second(10_000_000)),
        delay: Duration::from_millis(3),
        damage: damage.parse().unwrap(),
        frame_check: FrameCheck::Arq(retransmissions),
        ..LinkConfig::default()
    }
}

/// A seed with which the transmissions fare as `fates` says: `x` is damaged.
fn seed_for(config: LinkConfig, fates: &str) -> u64 {
    let plain = LinkConfig { frame_check: FrameCheck::Keep, ..config.clone() };
    let fares = |seed| {
        let (_, deliveries) = run(plain.clone(), seed, fates.len(), 1500);
        deliveries.iter().map(|d| if d.damage.is_some() { 'x' } else { '.' }).collect::<String>()
    };
    (0..100_000).find(|seed| fares(*seed) == fates).expect("a seed that fits")
}

fn timetable_for(config: LinkConfig, fates: &str, packets: usize) -> (String, Link<Tagged>) {
    let (link, deliveries) = run(config.clone(), seed_for(config, fates), packets, 1500);
    (timetable(&deliveries), link)
}

#[test]
fn without_damage_it_is_an_ordinary_link() {
    let (link, deliveries) = run(arq("none", 3), 1, 3, 1500);
    assert_eq!(timetable(&deliveries), "0@4200 1@5400 2@6600");
    assert_eq!(link.counters().arq_retransmissions, 0);
}

/// Packet 0 is damaged. Its transmission ends at 1.2 ms, its retransmission is due at 7.2 ms, when packet 5
/// ends (6 x 1.2), and arrives at 7.2 + 1.2 + 3 ms. Packets 1 to 5 wait for it; 6 follows.
#[test]
fn a_retransmission_takes_a_round_trip_and_its_turn() {
    let (times, link) = timetable_for(arq("random:20%", 1), "x.......", 7);
    assert_eq!(times, "0@11400 1@11400 2@11400 3@11400 4@11400 5@11400 6@12600");
    let c = link.counters();
    assert_eq!((c.arq_retransmissions, c.transmissions, c.hit, c.frame_check_drops), (1, 8, 1, 0));
    assert_eq!((c.delivered, c.delivered_damaged), (7, 0));
}

/// With only four packets the link falls idle at 4.8 ms and waits for the request.
#[test]
fn an_idle_link_retransmits_when_asked() {
    let (times, _) = timetable_for(arq("random:20%", 1), "x....", 4);
    assert_eq!(times, "0@11400 1@11400 2@11400 3@11400");
}

/// A request that comes during a transmission waits for its end, then goes before the queue: with
/// 1 ms of overhead time a packet, due at 8.2 ms, sent after the fourth (8.8 ms).
#[test]
fn a_retransmission_goes_to_the_head_of_the_queue() {
    let config = LinkConfig { overhead: 1_250, ..arq("random:20%", 1) };
    let (times, _) = timetable_for(config, "x.......", 6);
    assert_eq!(times, "0@14000 1@14000 2@14000 3@14000 4@16200 5@18400");
}

/// Packet 1 is damaged three times: given up when the last copy arrives. Those behind it go on then.
#[test]
fn after_the_last_retransmission_the_sequence_goes_on() {
    let (times, link) = timetable_for(arq("random:30%", 2), ".x..xx", 4);
    // Retransmissions end at 8.4 + 1.2 and 15.6 + 1.2 ms; the last copy arrives 3 ms later.
    assert_eq!(times, "0@4200 2@19800 3@19800");
    let c = link.counters();
    assert_eq!((c.arq_retransmissions, c.hit, c.frame_check_drops, c.delivered), (2, 3, 1, 3));
}

#[test]
fn no_retransmissions_is_a_drop_in_order() {
    let (link, deliveries) = run(arq("random:30%", 0), 3, 1_000, 1500);
    let c = link.counters();
    assert_eq!((c.arq_retransmissions, c.frame_check_drops), (0, c.hit));
    let dropped = LinkConfig { frame_check: FrameCheck::Drop, ..arq("random:30%", 0) };
    assert_eq!(deliveries, run(dropped, 3, 1_000, 1500).1);
}

#[test]
fn order_holds_and_what_is_handed_up_is_intact() {
    for (damage, retransmissions) in
        [("random:30%", 3), ("burst:5%:5", 2), ("ber:1e-4", 1), ("random:100%", 4)]
    {
        let (link, deliveries) = run(arq(damage, retransmissions), 3, 5_000, 1500);
        assert!(deliveries.is_sorted_by(|a, b| a.packet.id < b.packet.id && a.at <= b.at));
        assert!(
            deliveries.iter().all(|d| d.damage.is_none() && d.packet.bytes.iter().all(|byte| *byte == 0))
        );
        let c = link.counters();
        assert_eq!(c.delivered + c.frame_check_drops, 5_000);
        assert_eq!(c.transmissions, 5_000 + c.arq_retransmissions);
        assert_eq!(c.hit, c.arq_retransmissions + c.frame_check_drops);
        let expected = share_hit(&arq(damage, retransmissions).damage, 1480);
        assert!((c.hit as f64 / c.transmissions as f64 - expected).abs() < 0.02);
    }
}

/// Each damaged frame needs N + 1 hits in a row to be dropped.
#[test]
fn drops_are_as_rare_as_they_should_be() {
    let (link, _) = run(arq("random:30%", 2), 3, 100_000, 100);
    let dropped = link.counters().frame_check_drops as f64 / 100_000.0;
    assert!((dropped - 0.027).abs() < 0.002, "{dropped}");
}

#[test]
fn silent_loss_is_not_repaired() {
    let config = LinkConfig { loss: share(0.1).into(), ..arq("random:20%", 5) };
    let (link, deliveries) = run(config, 3, 10_000, 1500);
    let c = link.counters();
    assert!((900..1_100).contains(&c.lost), "{}", c.lost);
    assert_eq!(deliveries.len() as u64 + c.lost + c.frame_check_drops, 10_000);
}

/// Frames kept for a retransmission take no room in the queue, but count as in the link.
#[test]
fn retransmissions_do_not_count_as_queued() {
    let config = LinkConfig { queue: "1p".parse().unwrap(), ..arq("random:100%", 1) };
    let mut link = Link::new(config, 1);
    for id in 0..5 {
        enqueue(&mut link, us(1_200 * id), id as usize, 1500);
        // Without a bit to flip it passes intact, but in its turn.
        enqueue(&mut link, us(1_200 * id), id as usize, 0);
    }
    let c = *link.counters();
    assert_eq!((c.queue_drops, c.max_queue_packets, link.in_link()), (0, 1, 10));
    let deliveries = drain(&mut link);
    assert!(deliveries.len() == 5 && deliveries.iter().all(|d| d.len == 0));
    // The first retransmission follows the last first transmission: 7.2 + 1.2 + 3 ms.
    assert_eq!(deliveries[0].at, us(11_400));
    assert_eq!(link.counters().frame_check_drops, 5);
}
