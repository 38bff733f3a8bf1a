//! Buffers that grow with the path must not slow anything down.

use headway_link::QueueLimit;
use headway_sim::Content;
use headway_sim::race::{Scenario, run};
use headway_tcp::Variant;
use headway_units::{Duration, Size};

/// 10 Mbit/s and a queue of one round trip; up to 16 MiB of window.
fn scenario(one_way: u64, damage: &str, autotune: bool) -> Scenario {
    let mut scenario = Scenario::default();
    scenario.forward.delay = Duration::from_millis(one_way);
    scenario.reverse.delay = scenario.forward.delay;
    scenario.forward.damage = damage.parse().expect("a damage model");
    scenario.forward.queue =
        QueueLimit::Packets(u32::try_from(one_way * 2 * 10 / 12).expect("a queue").max(20));
    scenario.window = Size::from_bytes(16 << 20);
    scenario.features.set("autotune".parse().expect("a feature"), autotune);
    scenario
}

fn seconds(scenario: &Scenario, variant: Variant, seed: u64) -> f64 {
    let outcome = run(scenario, variant, &Content::generated(8 << 20), seed, true).expect("a run");
    assert_eq!((outcome.metrics.finished, outcome.metrics.sha256_ok), (true, Some(true)));
    outcome.metrics.seconds
}

#[test]
fn the_window_runs_ahead_of_the_sender() {
    for (one_way, damage) in
        [(10, "none"), (300, "none"), (10, "burst:5%:5"), (300, "random:5%"), (300, "burst:5%:5")]
    {
        for variant in [Variant::Modern, Variant::Headway] {
            if variant == Variant::Modern && damage != "none" {
                continue;
            }
            let seeds = if damage == "none" { 1..=1 } else { 1..=5 };
            let both = [false, true].map(|autotune| -> f64 {
                let scenario = scenario(one_way, damage, autotune);
                seeds.clone().map(|seed| seconds(&scenario, variant, seed)).sum()
            });
            let [fixed, tuned] = both;
            println!("{variant}, {one_way} ms, {damage}: fixed {fixed:.2} s, tuned {tuned:.2} s");
            assert!(tuned < 1.02 * fixed, "{variant}, {one_way} ms, {damage}: {fixed:.2} s and {tuned:.2} s");
        }
    }
}
