//! Purely silent loss: nothing is reported. The operator may say that the path is theirs; otherwise it is found out.

use headway_link::QueueLimit;
use headway_sim::Content;
use headway_sim::race::{Scenario, TcpSender, run};
use headway_units::Duration;

/// 10 Mbit/s with this one-way delay in milliseconds, where as many of all packets are lost in silence.
fn scenario(own: bool, delay: u64, loss: &str) -> Scenario {
    let mut scenario = Scenario::default();
    for link in [&mut scenario.forward, &mut scenario.reverse] {
        link.delay = Duration::from_millis(delay);
        link.loss = loss.parse().expect("a loss rate");
    }
    scenario.forward.damage = "none".parse().expect("a damage model");
    scenario.features.set("own-path".parse().expect("a feature"), own);
    scenario
}

/// Seconds to send `bytes`.
fn seconds(scenario: &Scenario, bytes: u64, seed: u64) -> f64 {
    let sender: TcpSender = "headway".parse().expect("a sender");
    let metrics = run(scenario, sender, &Content::generated(bytes), seed, true).expect("a run").metrics;
    assert_eq!((metrics.finished, metrics.sha256_ok), (true, Some(true)), "seed {seed}");
    metrics.seconds
}

/// That what is lost does not depend on the volume in flight shows in Startup.
#[test]
fn what_is_lost_at_any_rate_slows_no_one_down() {
    for seed in 1..=5 {
        let [owner, guest] = [true, false].map(|own| seconds(&scenario(own, 150, "10%"), 5_000_000, seed));
        println!("seed {seed}: {owner:.2} s on a path of one's own, {guest:.2} s otherwise");
        assert!(guest < 1.5 * owner, "seed {seed}: {owner:.2} and {guest:.2} s");
        // 4.2 s at the rate of the link.
        assert!(owner < 13.0, "seed {seed}: {owner:.2} s");
    }
}

/// A sender that loses 2 % keeps more in flight than the half that would show whether this is damage, unless it sends less on purpose.
#[test]
fn what_loses_a_little_is_found_out_on_purpose() {
    let total = |own, rules_off: &str| {
        let mut scenario = scenario(own, 50, "2%");
        scenario.features.set_rules_off(rules_off.parse().expect("rules"));
        (1..=4).map(|seed| seconds(&scenario, 20_000_000, seed)).sum::<f64>()
    };
    let [owner, guest, without] =
        [(true, "none"), (false, "none"), (false, "deliberate")].map(|(own, off)| total(own, off));
    println!("{owner:.1} s on a path of one's own, {guest:.1} s otherwise, {without:.1} s without the rule");
    assert!(guest < 1.1 * owner && without > 1.1 * guest, "{owner:.1}, {guest:.1} and {without:.1} s");
}

/// Of 84 segments in flight nearly each round trip loses one. BBR tolerates that when it probes, and while no one else uses the path
/// also at other times.
#[test]
fn what_bbr_tolerates_does_not_slow_it_down_alone() {
    let total = |rules_off: &str| {
        let mut scenario = scenario(false, 10, "1%");
        scenario.forward.rate = Some("50mbit".parse().expect("a rate"));
        scenario.features.set_rules_off(rules_off.parse().expect("rules"));
        (1..=4).map(|seed| seconds(&scenario, 60_000_000, seed)).sum::<f64>()
    };
    let [with, without] = ["none", "tolerance"].map(total);
    println!("{with:.1} s, {without:.1} s without the rule");
    assert!(without > 1.06 * with, "{with:.1} and {without:.1} s");
}

/// A probe's own queue is long for several round trips. What the path loses meanwhile lowers no bound.
#[test]
fn what_the_path_loses_at_a_long_queue_slows_no_one_down() {
    let total = |rules_off: &str| {
        let mut scenario = scenario(true, 10, "20%");
        scenario.forward.queue = QueueLimit::Packets(17);
        scenario.features.set_rules_off(rules_off.parse().expect("rules"));
        (1..=4).map(|seed| seconds(&scenario, 20_000_000, seed)).sum::<f64>()
    };
    let [with, without] = ["none", "long-queue"].map(total);
    println!("{with:.1} s, {without:.1} s without the rule");
    assert!(without > 1.04 * with, "{with:.1} and {without:.1} s");
}
