//! No packet is lost uncounted.

use crate::common;

use common::{HEADERS, Tagged, packet, share, us};
use headway_link::{Delivery, EnqueueResult, FrameCheck, Link, LinkConfig, QueueLimit};
use headway_units::{Duration, Instant, Rate};
use proptest::prelude::*;

fn any_config() -> impl Strategy<Value = LinkConfig> {
    let damage = prop::sample::select(vec![
        "none",
        "random:20%",
        "burst:10%:3",
        "burst:10%:3:time",
        "gilbert:5%:20%:1%:90%",
        "ber:1e-4",
        "gilbert-bit:1e-4:1e-3:0:0.1",
        "modem:30%",
        "modem:60%:split+join",
    ]);
    let queue = prop_oneof![
        (0u32..10).prop_map(QueueLimit::Packets),
        (0u64..10_000).prop_map(QueueLimit::Bytes),
        Just(QueueLimit::Unlimited)
    ];
    let check =
        prop_oneof![Just(FrameCheck::Keep), Just(FrameCheck::Drop), (0u32..4).prop_map(FrameCheck::Arq)];
    let some = || prop_oneof![2 => Just(0.0), 1 => 0.0..1.0f64];
    let rate = prop::option::of(1_000_000u64..100_000_000);
    let shares = (some(), some(), some());
    let policer = prop::sample::select(vec![None, Some("8mbit:5000B"), Some("100kbit:1500B")]);
    let steps = prop::sample::select(vec![
        None,
        Some("20ms@0s,0ms@40ms"),
        Some("1ms@0s,15ms@20ms,3ms@30ms,repeat@50ms"),
    ]);
    (damage, (queue, policer, steps), check, shares, rate, 0u64..20_000, 0u64..20_000, 0u64..20_000).prop_map(
        |(
            damage,
            (queue, policer, steps),
            frame_check,
            (duplicate, reorder, loss),
            rate,
            delay,
            jitter,
            held,
        )| {
            LinkConfig {
                rate: rate.map(Rate::from_bits_per_second),
                delay: Duration::from_micros(delay),
                delay_steps: steps.map(|steps| steps.parse().unwrap()),
                policer: policer.map(|policer| policer.parse().unwrap()),
                queue,
                jitter: Duration::from_micros(jitter),
                duplicate: share(duplicate),
                reorder: share(reorder),
                reorder_delay: Duration::from_micros(held),
                loss: share(loss).into(),
                damage: damage.parse().unwrap(),
                frame_check,
                ..LinkConfig::default()
            }
        },
    )
}

/// What the test itself saw, and the check against what the link counts.
#[derive(Default)]
struct Seen {
    offered: u64,
    refused: u64,
    originals: u64,
    duplicates: u64,
    last: Option<Instant>,
}

impl Seen {
    fn poll(&mut self, link: &mut Link<Tagged>, now: Instant) -> Result<(), TestCaseError> {
        while let Some(Delivery { packet, at, len, damage, duplicate, .. }) = link.poll(now) {
            prop_assert!(at <= now && self.last <= Some(at));
            self.last = Some(at);
            prop_assert_eq!(len, packet.bytes.len());
            // Packets are zeros: what is missing or follows does not show.
            if damage.is_none_or(|hit| hit.slips == 0 && !hit.no_end) {
                prop_assert_eq!(damage.is_some(), packet.bytes.iter().any(|byte| *byte != 0));
            }
            if duplicate {
                self.duplicates += 1;
            } else {
                self.originals += 1;
            }
        }
        self.check(link)
    }

    fn check(&self, link: &Link<Tagged>) -> Result<(), TestCaseError> {
        let c = link.counters();
        prop_assert_eq!(c.offered, self.offered);
        prop_assert_eq!(c.queue_drops, self.refused);
        prop_assert_eq!((c.delivered, c.duplicated), (self.originals + self.duplicates, self.duplicates));
        let gone = c.queue_drops + c.lost + c.frame_check_drops + c.joined;
        prop_assert_eq!(self.offered + c.split, self.originals + gone + link.in_link() as u64);
        prop_assert_eq!(c.queue_entered - c.queue_left, link.queue_len() as u64);
        Ok(())
    }
}

proptest! {
    #[test]
    fn every_packet_is_accounted_for(
        config in any_config(),
        seed: u64,
        steps in prop::collection::vec((0u64..3_000, 0usize..1500, any::<bool>(), any::<bool>()), 1..200),
    ) {
        let mut link = Link::new(config, seed);
        let mut seen = Seen::default();
        let mut now = 0;
        for (id, (gap, len, exposed, poll)) in steps.into_iter().enumerate() {
            now += gap;
            seen.offered += 1;
            match link.enqueue(us(now), packet(id, len), len, HEADERS, exposed) {
                EnqueueResult::Queued => {}
                EnqueueResult::Dropped(back) => {
                    prop_assert_eq!(back, packet(id, len));
                    seen.refused += 1;
                }
            }
            seen.check(&link)?;
            if poll {
                seen.poll(&mut link, us(now))?;
                prop_assert!(link.next_event().is_none_or(|next| next > us(now)));
            }
        }
        while let Some(next) = link.next_event() {
            seen.poll(&mut link, next)?;
        }
        prop_assert_eq!(link.in_link(), 0);
        prop_assert_eq!(link.queue_bytes(), 0);
    }

    /// When a link is polled changes nothing that arrives.
    #[test]
    fn polling_does_not_matter(config in any_config(), seed: u64) {
        let fates = |step: u64| {
            let mut link: Link<Tagged> = Link::new(config.clone(), seed);
            let mut all = Vec::new();
            for id in 0..100 {
                let now = us(700 * id);
                let _ = link.enqueue(now, packet(id as usize, 1000), 1000, HEADERS, true);
                if id % step == 0 {
                    all.extend(std::iter::from_fn(|| link.poll(now)));
                }
            }
            all.extend(std::iter::from_fn(|| link.poll(Instant::MAX)));
            (all, *link.counters())
        };
        prop_assert_eq!(fates(1), fates(17));
    }
}
