//! Links whose one-way delay changes, under a TCP: what it measures is the delay of the time.

use headway_link::Damage;
use headway_sim::race::{RunOutcome, RunSettings, Sample, Sampler, Scenario, oracle, run_sampled};
use headway_sim::{Content, OneWayDelays};
use headway_tcp::Variant;
use headway_units::{Duration, Instant, Size};

/// A sample each 10 ms.
#[derive(Default)]
struct Samples(Vec<Sample>);

impl Sampler for Samples {
    fn next(&self) -> Duration {
        self.0.last().map_or(Duration::ZERO, |last| last.at + Duration::from_millis(10))
    }

    fn sample(&mut self, sample: &Sample) {
        self.0.push(sample.clone());
    }
}

/// 10 Mbit/s for 9 s, with a window that needs no queue at the shortest delay.
fn scenario(forward: &str, reverse: &str) -> Scenario {
    let mut scenario = Scenario::default();
    for (link, steps) in [(&mut scenario.forward, forward), (&mut scenario.reverse, reverse)] {
        link.delay_steps = Some(steps.parse().expect("steps of the delay"));
    }
    scenario.forward.damage = Damage::None;
    scenario.window = Size::from_bytes(32 << 10);
    scenario.duration = Some(Duration::from_secs(9));
    scenario
}

fn run(scenario: &Scenario, variant: Variant) -> (RunOutcome, Vec<Sample>, OneWayDelays) {
    let content = Content::generated(100 << 20);
    let settings = RunSettings { scenario, content: &content, seed: 1, hash: false };
    let mut samples = Samples::default();
    let recording =
        run_sampled(settings, variant, || (), OneWayDelays::default(), &mut samples).expect("a run");
    (recording.outcome, samples.0, recording.tap)
}

/// The smoothed RTT in milliseconds at a time in seconds.
fn rtt(samples: &[Sample], seconds: f64) -> f64 {
    let last = samples.iter().rfind(|sample| sample.at.as_secs_f64() <= seconds).expect("a sample");
    1e3 * last.sender.smoothed_rtt.expect("an RTT").as_secs_f64()
}

#[test]
fn the_rtt_that_is_measured_follows_the_delay() {
    for variant in [Variant::Modern, Variant::Headway] {
        let steps = "25ms@0s,150ms@3s,50ms@6s";
        let (outcome, samples, _) = run(&scenario(steps, steps), variant);
        let measured = [2.9, 5.9, 8.9].map(|seconds| rtt(&samples, seconds));
        println!("{variant}: {measured:.1?} ms");
        for (measured, expected) in measured.into_iter().zip([50.0, 300.0, 100.0]) {
            // A window takes 26 ms to transmit.
            assert!(
                (expected..expected + 30.0).contains(&measured),
                "{variant}: {measured} ms, not {expected}"
            );
        }
        assert_eq!(outcome.metrics.retransmissions, Some(0), "{variant}: nothing is reordered");
    }
}

#[test]
fn each_path_has_its_own() {
    let (_, samples, delays) = run(&scenario("25ms@0s,75ms@3s", "25ms@0s,125ms@6s"), Variant::Modern);
    for (seconds, expected) in [(2.9, 50.0), (5.9, 100.0), (8.9, 200.0)] {
        let measured = rtt(&samples, seconds);
        assert!((expected..expected + 30.0).contains(&measured), "{measured} ms, not {expected}");
    }
    for packet in delays.arrived().iter().filter(|packet| packet.len == 1500) {
        // Of packets that leave the transmitter near the change either may be.
        let sent = packet.sent.saturating_since(Instant::ZERO).as_secs_f64();
        let expected = if sent < 2.9 {
            0.025
        } else if sent > 3.1 {
            0.075
        } else {
            continue;
        };
        let delay = packet.delay.as_secs_f64();
        assert!((expected..expected + 0.03).contains(&delay), "{delay} s for a packet sent at {sent} s");
    }
}

/// Bursts of damage, 40 % of which hit IP headers, and a delay that grows from 10 to 150 ms.
#[test]
fn silent_losses_on_a_longer_path_are_no_congestion() {
    let mut scenario = scenario("10ms@0s,150ms@10s", "10ms@0s,150ms@10s");
    scenario.forward.damage = "burst:5%:5".parse().expect("a damage model");
    scenario.forward.hit_zone = "ip+tcp".parse().expect("a zone");
    scenario.forward.header_hit = Some("40%".parse().expect("a share"));
    scenario.window = Size::from_bytes(16 << 20);
    scenario.duration = Some(Duration::from_secs(60));
    let shares = [1, 2, 3].map(|seed| {
        let content = Content::generated(100 << 20);
        let settings = RunSettings { scenario: &scenario, content: &content, seed, hash: false };
        let outcome =
            run_sampled(settings, Variant::Headway, || (), OneWayDelays::default(), &mut Samples::default());
        outcome.expect("a run").outcome.metrics.share_of_bound.expect("a bound")
    });
    println!("{shares:.3?} of the bound");
    // 0.2 if the longer path is taken for a queue that never ends.
    assert!(shares.iter().sum::<f64>() / 3.0 > 0.5, "{shares:.3?} of the bound");
}

#[test]
fn the_oracle_refuses_them() {
    let steps = "25ms@0s,75ms@3s";
    assert!(oracle(&scenario(steps, steps), 1 << 20, 1).is_none());
}
