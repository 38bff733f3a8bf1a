//! A path that is interrupted: the return is noticed at once, and the window is what it was.

use headway_sim::Content;
use headway_sim::race::{Scenario, TcpSender, run};

/// Seconds to send 10 MB over 10 Mbit/s, one-way delay 50 ms, with 2 % damaged and the link mute after 3 s.
fn seconds(sender: &str, mute: &str, seed: u64) -> f64 {
    let mut scenario = Scenario::default();
    for link in [&mut scenario.forward, &mut scenario.reverse] {
        link.delay = headway_units::Duration::from_millis(50);
        link.mute = mute.parse().expect("times of silence");
    }
    scenario.forward.damage = "random:2%".parse().expect("a damage model");
    let sender: TcpSender = sender.parse().expect("a sender");
    let metrics = run(&scenario, sender, &Content::generated(10_000_000), seed, true).expect("a run").metrics;
    assert_eq!((metrics.finished, metrics.sha256_ok), (true, Some(true)), "{sender}");
    metrics.seconds
}

#[test]
fn the_timer_does_not_back_off_and_the_window_is_what_it_was() {
    let mean = |mute: &str| (1..=4).map(|seed| seconds("headway", mute, seed)).sum::<f64>() / 4.0;
    let undisturbed = mean("1ms@1000s");
    for (mute, length) in [("1s@3s", 1.0), ("10s@3s", 10.0), ("60s@3s", 60.0)] {
        let cost = mean(mute) - undisturbed - length;
        println!("{mute}: {cost:.2} s beyond the interruption");
        // The wait for the next probe, and ten round trips: the probe, its answer, and what was in the network.
        assert!(cost < length / 32.0 + 1.0, "{mute}: {cost:.2} s beyond the interruption");
    }
}

/// Without evidence of damage RFC 6298 holds: the backoff costs what it costs.
#[test]
fn others_back_off() {
    let cost = seconds("modern:bbr", "60s@3s", 1) - seconds("modern:bbr", "1ms@1000s", 1) - 60.0;
    assert!(cost > 1.0, "{cost:.2} s beyond the interruption");
}
