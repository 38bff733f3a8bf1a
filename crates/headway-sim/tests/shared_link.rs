//! Races on a link that others share.

use headway_link::Damage;
use headway_sim::Content;
use headway_sim::race::{Companion, CrossTraffic, Scenario, run};
use headway_tcp::Variant;
use headway_units::{Duration, Share};

fn content() -> Content {
    Content::from_bytes(
        (0..400_000u32).map(|i| (i.wrapping_mul(0x9E37_79B1) >> 13) as u8).collect::<Vec<u8>>(),
    )
}

fn scenario() -> Scenario {
    let mut scenario = Scenario::default();
    scenario.forward.delay = Duration::from_millis(10);
    scenario.reverse.delay = scenario.forward.delay;
    scenario.forward.damage = Damage::Random { p: Share::new(0.1).expect("a share") };
    scenario
}

/// Two flipped bits pass TCP's sum in 3 % of the cases. What is delivered then must be traced back to a
/// damaged packet that passed every check, also behind a router.
#[test]
fn undetected_damage_is_known_behind_routers() {
    let mut scenario = scenario();
    scenario.forward.header_hit = Some(Share::ZERO);
    scenario.forward.flips = Some(2);
    scenario.companions = vec![Companion::new(Variant::Sack.into())];
    let damaged: u64 = (1..=5)
        .map(|seed| run(&scenario, Variant::HackSack, &content(), seed, true).expect("an explicable run"))
        .map(|outcome| outcome.metrics.damaged_bytes_delivered)
        .sum();
    assert!(damaged > 0, "damage that passed was delivered somewhere in five runs");
}

/// Damage that is limited to some flows spares the others.
#[test]
fn damage_spares_whom_it_should() {
    let mut scenario = scenario();
    scenario.companions = vec![Companion { damaged: false, ..Companion::new(Variant::Sack.into()) }];
    let spared = run(&scenario, Variant::Sack, &content(), 1, true).expect("a run");
    scenario.companions[0].damaged = true;
    let hit = run(&scenario, Variant::Sack, &content(), 1, true).expect("a run");
    assert_eq!(spared.companions[0].delivered_bytes, 400_000, "the undamaged companion is done first");
    assert!(
        spared.metrics.jain < hit.metrics.jain,
        "{} when one is spared, {} when both are hit",
        spared.metrics.jain,
        hit.metrics.jain
    );
}

/// Traffic that does not answer to congestion takes its share of the rate.
#[test]
fn cross_traffic_takes_its_rate() {
    let mut scenario = scenario();
    scenario.forward.damage = Damage::None;
    let alone = run(&scenario, Variant::Sack, &content(), 1, true).expect("a run");
    scenario.cross = Some(CrossTraffic::Constant { rate: "9mbit".parse().expect("a rate"), packet: 1500 });
    let beside = run(&scenario, Variant::Sack, &content(), 1, true).expect("a run");
    assert!(alone.metrics.finished && beside.metrics.finished);
    assert!(
        beside.metrics.goodput_bps < alone.metrics.goodput_bps / 2.0,
        "{} beside, {} alone",
        beside.metrics.goodput_bps,
        alone.metrics.goodput_bps
    );
}
