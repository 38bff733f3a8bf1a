//! Purely silent loss: nothing is reported. The operator may say that the path is theirs; otherwise it is found out.

use headway_sim::Content;
use headway_sim::race::{Scenario, TcpSender, run};
use headway_units::Duration;

/// Seconds to send 5 MB over 10 Mbit/s, one-way delay 150 ms, with 10 % of all packets lost in silence.
fn seconds(own: bool, seed: u64) -> f64 {
    let mut scenario = Scenario::default();
    for link in [&mut scenario.forward, &mut scenario.reverse] {
        link.delay = Duration::from_millis(150);
        link.loss = "10%".parse().expect("a loss rate");
    }
    scenario.forward.damage = "none".parse().expect("a damage model");
    scenario.features.set("own-path".parse().expect("a feature"), own);
    let sender: TcpSender = "headway".parse().expect("a sender");
    let metrics = run(&scenario, sender, &Content::generated(5_000_000), seed, true).expect("a run").metrics;
    assert_eq!((metrics.finished, metrics.sha256_ok), (true, Some(true)), "seed {seed}");
    metrics.seconds
}

/// That what is lost does not depend on the volume in flight shows in Startup.
#[test]
fn what_is_lost_at_any_rate_slows_no_one_down() {
    for seed in 1..=5 {
        let [owner, guest] = [true, false].map(|own| seconds(own, seed));
        println!("seed {seed}: {owner:.2} s on a path of one's own, {guest:.2} s otherwise");
        assert!(guest < 1.5 * owner, "seed {seed}: {owner:.2} and {guest:.2} s");
        // 4.2 s at the rate of the link.
        assert!(owner < 13.0, "seed {seed}: {owner:.2} s");
    }
}
