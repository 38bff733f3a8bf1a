//! ECN from end to end (RFC 3168): routers mark, receivers echo, senders slow down before anything is dropped.

use headway_link::QueueLimit;
use headway_sim::Content;
use headway_sim::race::{RunOutcome, Scenario, run};
use headway_units::Duration;

/// 10 Mbit/s, one-way delay 20 ms, a queue of 100 packets: three round trips.
fn scenario(damage: &str, marks: bool, ecn: bool) -> Scenario {
    let mut scenario = Scenario::default();
    scenario.forward.delay = Duration::from_millis(20);
    scenario.reverse.delay = scenario.forward.delay;
    scenario.forward.damage = damage.parse().expect("a damage model");
    scenario.forward.queue = QueueLimit::Packets(100);
    scenario.forward.mark = marks.then_some(QueueLimit::Packets(30));
    scenario.features.set("ecn".parse().expect("a feature"), ecn);
    // The window finds the queue's end, not the path's.
    scenario.features.set("hystart".parse().expect("a feature"), false);
    scenario
}

fn transfer(scenario: &Scenario, sender: &str, seed: u64) -> RunOutcome {
    let sender: headway_sim::race::Entrant = sender.parse().expect("a sender");
    let outcome = run(scenario, sender, &Content::generated(20 << 20), seed, true).expect("a run");
    assert_eq!((outcome.metrics.finished, outcome.metrics.sha256_ok), (true, Some(true)));
    outcome
}

#[test]
fn marks_keep_the_queue_from_overflowing() {
    for sender in ["modern:newreno", "modern:cubic"] {
        let dropped = transfer(&scenario("none", true, false), sender, 1).metrics;
        let drops = dropped.queue_drops.expect("counted");
        assert!(drops > 20, "{sender} without ECN: {drops}");
        let marked = transfer(&scenario("none", true, true), sender, 1).metrics;
        println!("{sender}: {drops} drops {} s and no drops {} s", dropped.seconds, marked.seconds);
        assert_eq!((marked.timeouts, marked.fast_recoveries), (Some(0), Some(0)), "{sender}");
        assert_eq!(marked.queue_drops, Some(0), "{sender}");
        // The link stays busy: 20 MiB take 17.5 s.
        assert!(marked.seconds < 18.5, "{sender}: {} s", marked.seconds);
    }
}

/// What is damaged is marked like any other, and its mark is echoed: a sender that does not answer damage
/// answers the queue.
#[test]
fn damage_does_not_hide_marks() {
    for seed in 1..=3 {
        let [marked, unmarked] = [true, false].map(|marks| {
            let outcome = transfer(&scenario("random:20%", marks, true), "headway:cubic", seed);
            outcome.metrics.queue_drops.expect("counted")
        });
        assert!(unmarked > 0, "seed {seed}: the window reaches the queue's end");
        assert_eq!(marked, 0, "seed {seed}");
    }
}
