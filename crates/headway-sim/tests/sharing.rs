//! What a connection leaves behind for the next one over the path (RFC 9040).

use headway_link::QueueLimit;
use headway_sim::Content;
use headway_sim::race::{Scenario, oracle, run};
use headway_sim::statistics::quantile;
use headway_tcp::Variant;

const SIZE: u64 = 2 << 20;

/// 10 Mbit/s, one-way delay 300 ms, a queue of `packets`: 500 are one round trip.
fn scenario(damage: &str, packets: u32) -> Scenario {
    let mut scenario = Scenario::default();
    scenario.forward.damage = damage.parse().expect("a damage model");
    scenario.forward.queue = QueueLimit::Packets(packets);
    scenario
}

fn seconds(scenario: &Scenario, variant: Variant, seed: u64) -> f64 {
    let outcome = run(scenario, variant, &Content::generated(SIZE), seed, true).expect("a run");
    assert_eq!((outcome.metrics.finished, outcome.metrics.sha256_ok), (true, Some(true)));
    outcome.metrics.seconds
}

/// A second transfer of 2 MB against the oracle, which starts from nothing: as times of it.
fn warm(variant: Variant, damage: &str, packets: u32, seed: u64) -> f64 {
    let cold = scenario(damage, packets);
    let oracle = oracle(&cold, SIZE, seed).expect("an oracle").time.as_secs_f64();
    seconds(&Scenario { warm: true, ..cold }, variant, seed) / oracle
}

#[test]
fn a_second_transfer_starts_from_what_the_first_learnt() {
    for variant in [Variant::Modern, Variant::Headway] {
        for (packets, most) in [(100, 0.78), (500, 0.70)] {
            let ratio = warm(variant, "none", packets, 1);
            println!("{variant}, queue of {packets}: {ratio:.3} of the oracle's time");
            assert!(ratio < most, "{variant}, queue of {packets}: {ratio:.2} of the oracle's time");
        }
    }
    let first = seconds(&scenario("none", 500), Variant::Modern, 1);
    let second = seconds(&Scenario { warm: true, ..scenario("none", 500) }, Variant::Modern, 1);
    assert!(second < 0.7 * first, "{second:.2} s after {first:.2} s");
}

#[test]
fn damage_does_not_hide_what_the_path_carries() {
    for (damage, packets) in
        [("random:2%", 100), ("random:2%", 500), ("burst:5%:5", 100), ("burst:5%:5", 500)]
    {
        let mut ratios: Vec<f64> =
            (1..=9).map(|seed| warm(Variant::Headway, damage, packets, seed)).collect();
        ratios.sort_by(f64::total_cmp);
        let median = quantile(&ratios, 0.5).expect("ratios");
        println!("{damage}, queue of {packets}: {ratios:.2?}");
        assert!(median < 1.2, "{damage}, queue of {packets}: {median:.2} of the oracle's time");
    }
}

/// The first transfer has seen 10 Mbit/s, the second finds 1 Mbit/s: the jump is too far, and the retreat
/// costs no more than slow start would have.
#[test]
fn a_path_that_has_become_slow_is_noticed() {
    for variant in [Variant::Modern, Variant::Headway] {
        for packets in [100, 500] {
            let fast = scenario("none", packets);
            // Between the last byte of the first transfer and the first of the second.
            let first = seconds(&fast, variant, 1);
            let change = (1000.0 * (first + 0.3)) as u64;
            let mut changed = Scenario { warm: true, ..fast };
            changed.forward.rate_steps =
                Some(format!("10mbit@0s,1mbit@{change}ms").parse().expect("steps of the rate"));
            let mut slow = scenario("none", packets);
            slow.forward.rate = Some("1mbit".parse().expect("a rate"));
            let (resumed, cold) = (seconds(&changed, variant, 1), seconds(&slow, variant, 1));
            println!("{variant}, queue of {packets}: {resumed:.2} s, without a past {cold:.2} s");
            assert!(resumed < 1.1 * cold, "{variant}, queue of {packets}: {resumed:.2} s and {cold:.2} s");
        }
    }
}
