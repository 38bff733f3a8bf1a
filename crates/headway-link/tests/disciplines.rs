//! What holds of every queue discipline: no packet is lost or invented, each flow keeps its order, lengths are
//! right, and when a link is polled does not matter.

use crate::common;

use common::{Tagged, packet, us};
use headway_link::{EnqueueResult, Headers, Link, LinkConfig, QueueLimit};
use headway_units::{Duration, Instant, Rate};
use proptest::prelude::*;

const HEADERS: Headers = Headers { ip_header_len: 20, header_len: 20 };

/// The start of an IPv4 packet that says its flow in its last address byte.
fn of_flow(id: usize, flow: u8, len: usize, capable: bool) -> Tagged {
    let mut packet = packet(id, len.max(20));
    packet.bytes[0] = 0x45;
    packet.bytes[1] = if capable { 2 } else { 0 };
    packet.bytes[19] = flow;
    packet
}

fn flow_of(bytes: &[u8]) -> u64 {
    bytes[19].into()
}

fn any_config() -> impl Strategy<Value = LinkConfig> {
    let aqm = prop::sample::select(vec![
        "none",
        "codel",
        "codel:1ms:10ms",
        "fq-codel",
        "fq-codel:1ms:10ms",
        "pie",
        "pie:1ms",
        "red",
        "red:1:3:50%",
    ]);
    let queue = prop_oneof![
        (0u32..60).prop_map(QueueLimit::Packets),
        (0u64..60_000).prop_map(QueueLimit::Bytes),
        Just(QueueLimit::Unlimited)
    ];
    (aqm, queue, 1_000_000u64..20_000_000, 0u64..5_000).prop_map(|(aqm, queue, rate, delay)| LinkConfig {
        rate: Some(Rate::from_bits_per_second(rate)),
        delay: Duration::from_micros(delay),
        queue,
        aqm: aqm.parse().unwrap(),
        ..LinkConfig::default()
    })
}

/// Gap in microseconds, length, flow, whether it knows ECN.
type Step = (u64, usize, u8, bool);

fn any_steps() -> impl Strategy<Value = Vec<Step>> {
    let gap = prop_oneof![10 => 0u64..800, 1 => 0u64..200_000];
    prop::collection::vec((gap, 20usize..1500, 0u8..5, any::<bool>()), 1..600)
}

fn link(config: &LinkConfig, seed: u64) -> Link<Tagged> {
    Link::new(config.clone(), seed).with_classifier(flow_of)
}

proptest! {
    #[test]
    fn no_packet_is_lost_or_invented_and_flows_keep_their_order(
        config in any_config(), seed: u64, steps in any_steps(),
    ) {
        let mut link = link(&config, seed);
        let (mut now, mut refused) = (0, 0);
        let mut waiting = vec![false; steps.len()];
        let mut last = [None; 5];
        let mut delivered = 0u64;
        let mut take = |link: &mut Link<Tagged>, at: Instant, waiting: &mut Vec<bool>| {
            while let Some(delivery) = link.poll(at) {
                let (id, bytes) = (delivery.packet.id, delivery.packet.bytes);
                prop_assert!(std::mem::take(&mut waiting[id]), "{id} arrives and was not on its way");
                let (_, len, flow, capable) = steps[id];
                prop_assert_eq!((delivery.len, bytes.len(), bytes[19]), (len, len, flow));
                let is_sound = if capable { bytes[1] == 2 || bytes[1] == 3 } else { bytes[1] == 0 };
                prop_assert!(is_sound, "traffic class {:#x}", bytes[1]);
                prop_assert!(last[usize::from(flow)] < Some(id), "flow {flow}: {id}");
                last[usize::from(flow)] = Some(id);
                delivered += 1;
            }
            Ok(())
        };
        for (id, &(gap, len, flow, capable)) in steps.iter().enumerate() {
            now += gap;
            waiting[id] = true;
            match link.enqueue(us(now), of_flow(id, flow, len, capable), len, HEADERS, true) {
                EnqueueResult::Queued => {}
                EnqueueResult::Dropped(back) => {
                    // It is this packet that comes back, and it will not arrive.
                    prop_assert_eq!(back.id, id);
                    waiting[id] = false;
                    refused += 1;
                }
            }
            take(&mut link, us(now), &mut waiting)?;
            let c = *link.counters();
            prop_assert_eq!(c.queue_entered - c.queue_left, link.queue_len() as u64);
            let is_within = match config.queue {
                QueueLimit::Packets(limit) => link.queue_len() <= limit as usize,
                QueueLimit::Bytes(limit) => link.queue_bytes() <= limit,
                QueueLimit::Unlimited => true,
            };
            prop_assert!(is_within);
        }
        while let Some(next) = link.next_event() {
            take(&mut link, next, &mut waiting)?;
        }
        let c = *link.counters();
        prop_assert_eq!((c.offered, c.delivered), (steps.len() as u64, delivered));
        prop_assert_eq!(c.offered, delivered + c.queue_drops);
        prop_assert!(c.queue_drops >= refused);
        prop_assert_eq!((link.in_link(), link.queue_len(), link.queue_bytes()), (0, 0, 0));
        prop_assert_eq!(waiting.iter().filter(|waits| **waits).count() as u64, c.queue_drops - refused);
    }

    #[test]
    fn polling_does_not_matter(config in any_config(), seed: u64, steps in any_steps()) {
        let run = |every: usize| {
            let (mut link, mut now, mut all) = (link(&config, seed), 0, Vec::new());
            for (id, &(gap, len, flow, capable)) in steps.iter().enumerate() {
                now += gap;
                let _ = link.enqueue(us(now), of_flow(id, flow, len, capable), len, HEADERS, true);
                if id % every == 0 {
                    all.extend(std::iter::from_fn(|| link.poll(us(now))));
                }
            }
            all.extend(std::iter::from_fn(|| link.poll(Instant::MAX)));
            (all, *link.counters())
        };
        prop_assert_eq!(run(1), run(23));
    }
}

/// Five flows at their own constant rates, three times what the link carries.
fn shares(aqm: &str) -> [u64; 5] {
    let config = LinkConfig {
        rate: Some("8mbit".parse().unwrap()),
        queue: "1000p".parse().unwrap(),
        aqm: aqm.parse().unwrap(),
        ..LinkConfig::default()
    };
    let mut link = link(&config, 7);
    let mut got = [0; 5];
    for tick in 0..200_000u64 {
        let now = us(100 * tick);
        // One packet of 1000 bytes a millisecond is 8 Mbit/s.
        for (flow, every) in [(0u8, 5u64), (1, 10), (2, 20), (3, 100), (4, 1000)] {
            if tick % every == 0 {
                let _ = link.enqueue(now, of_flow(0, flow, 1000, false), 1000, HEADERS, true);
            }
        }
        while let Some(delivery) = link.poll(now) {
            got[usize::from(delivery.packet.bytes[19])] += 1;
        }
    }
    got
}

/// 20,000 packets in 20 s, of 40,000, 20,000, 10,000, 2,000 and 200 that are sent.
#[test]
fn flow_queueing_shares_the_link_and_serves_modest_flows_in_full() {
    let got = shares("fq-codel");
    println!("{got:?}");
    assert!(got[3] >= 1_995 && got[4] == 200, "{got:?}");
    // The other three share the rest alike: 17,800 / 3 each.
    assert!(got[..3].iter().all(|&flow| (5_800..6_070).contains(&flow)), "{got:?}");
    let got = shares("codel");
    println!("{got:?}");
    assert!(got[0] > 2 * got[2] && got[4] < 150, "{got:?}");
}
