//! A policer on a link that damages packets too. Nothing waits there, so its drops look like damage that no one reported.

use headway_link::{HitZone, QueueLimit};
use headway_sim::race::{Scenario, TcpSender, run};
use headway_units::{Duration, Share, Size};

use crate::content;

/// Packets that are dropped for each megabyte that arrives, of 14 Mbit/s that a link of 50 passes.
fn drops(rules_off: &str, seed: u64) -> f64 {
    let mut scenario = Scenario::default();
    let link = &mut scenario.forward;
    link.rate = Some("50mbit".parse().expect("a rate"));
    link.policer = Some("14mbit:250KB".parse().expect("a policer"));
    link.queue = QueueLimit::Packets(150);
    link.delay = Duration::from_millis(8);
    link.jitter = Duration::from_millis(1);
    link.damage = "burst:3%:2".parse().expect("a damage model");
    link.header_hit = Some(Share::new(0.4).expect("a share"));
    link.hit_zone = HitZone::IpAndTcpHeader;
    scenario.reverse.delay = link.delay;
    scenario.reverse.rate = link.rate;
    scenario.window = Size::from_bytes(64 << 20);
    scenario.duration = Some(Duration::from_secs(45));
    scenario.features.set_rules_off(rules_off.parse().expect("rules"));
    let sender: TcpSender = "headway".parse().expect("a sender");
    let metrics = run(&scenario, sender, &content::long(), seed, false).expect("a run").metrics;
    assert_eq!(metrics.damaged_bytes_delivered, 0, "seed {seed}");
    metrics.queue_drops.expect("a link with a queue") as f64 * 1e6 / metrics.delivered_bytes as f64
}

/// Only a sender that sends less for a while finds out that less is lost then.
#[test]
fn a_policer_is_found_out_behind_damage() {
    let mean = |rules_off| {
        let drops = (1..=6).map(|seed| drops(rules_off, seed));
        drops.inspect(|drops| println!("{rules_off}: {drops:.0} drops for each megabyte")).sum::<f64>() / 6.0
    };
    let (found, blind) = (mean("none"), mean("rate-test"));
    assert!(found < 350.0 && blind > 700.0, "seeds 1 to 6: {found:.0} and {blind:.0}");
}
