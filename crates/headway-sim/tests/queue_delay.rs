//! Active queue management under a TCP: the queueing delay is about what each discipline aims at, and the link
//! stays busy.

use headway_sim::race::{Entrant, RunSettings, Scenario, run_recorded};
use headway_sim::{Content, OneWayDelays};
use headway_units::{Duration, Instant, Size};

/// 10 Mbit/s and an RTT of 40 ms, with a buffer of 600 ms.
fn scenario(aqm: &str, ecn: bool) -> Scenario {
    let mut scenario = Scenario::default();
    scenario.forward.delay = Duration::from_millis(20);
    scenario.reverse.delay = Duration::from_millis(20);
    scenario.forward.damage = headway_link::Damage::None;
    scenario.forward.queue = "500p".parse().expect("a limit");
    scenario.forward.aqm = aqm.parse().expect("a discipline");
    scenario.window = Size::from_bytes(4 << 20);
    scenario.duration = Some(Duration::from_secs(40));
    scenario.features.set("ecn".parse().expect("a feature"), ecn);
    scenario
}

struct Measured {
    /// Of full packets sent from the tenth second on, in milliseconds.
    mean: f64,
    median: f64,
    share_of_bound: f64,
    drops: u64,
}

fn measure(aqm: &str, ecn: bool) -> Measured {
    let scenario = scenario(aqm, ecn);
    let sender: Entrant = "modern:cubic".parse().expect("a sender");
    let content = Content::generated(100 << 20);
    let settings = RunSettings { scenario: &scenario, content: &content, seed: 1, hash: false };
    let recording = run_recorded(settings, sender, || (), OneWayDelays::default()).expect("a run");
    let path = Duration::from_millis(20) + scenario.forward.rate.expect("a rate").transmit_time(1500);
    let settled = Instant::ZERO + Duration::from_secs(10);
    let mut delays: Vec<f64> = recording
        .tap
        .arrived()
        .iter()
        .filter(|packet| packet.len == 1500 && packet.sent >= settled)
        .map(|packet| (packet.delay - path).as_secs_f64() * 1e3)
        .collect();
    delays.sort_by(f64::total_cmp);
    let metrics = recording.outcome.metrics;
    let measured = Measured {
        mean: delays.iter().sum::<f64>() / delays.len() as f64,
        median: delays[delays.len() / 2],
        share_of_bound: metrics.share_of_bound.expect("a bound"),
        drops: metrics.queue_drops.expect("counted"),
    };
    println!(
        "{aqm} ECN {ecn}: mean {:.1} ms, median {:.1} ms, {:.3} of the bound, {} drops",
        measured.mean, measured.median, measured.share_of_bound, measured.drops
    );
    measured
}

#[test]
fn drop_tail_fills_its_buffer() {
    let measured = measure("none", false);
    assert!(measured.mean > 200.0);
}

#[test]
fn codel_keeps_the_delay_about_its_target() {
    for aqm in ["codel", "fq-codel"] {
        for ecn in [false, true] {
            let measured = measure(aqm, ecn);
            assert!((1.0..15.0).contains(&measured.median), "{aqm}, ECN {ecn}");
            assert!(measured.share_of_bound > 0.93, "{aqm}, ECN {ecn}");
            assert_eq!(measured.drops == 0, ecn, "{aqm}, ECN {ecn}: {} drops", measured.drops);
        }
    }
}

#[test]
fn pie_keeps_the_delay_about_its_target() {
    for ecn in [false, true] {
        let measured = measure("pie", ecn);
        assert!((8.0..25.0).contains(&measured.mean), "ECN {ecn}");
        assert!(measured.share_of_bound > 0.93, "ECN {ecn}");
    }
}

/// Thresholds of 5 and 15 packets are 6 and 18 ms.
#[test]
fn red_keeps_the_average_queue_between_its_thresholds() {
    for ecn in [false, true] {
        let measured = measure("red", ecn);
        assert!((4.0..18.0).contains(&measured.mean), "ECN {ecn}");
        // The path holds 33 packets: with 15 at most in the queue a halved window leaves the link idle.
        assert!(measured.share_of_bound > 0.85, "ECN {ecn}");
    }
}
