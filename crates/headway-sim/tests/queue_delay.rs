//! Active queue management under a TCP: the queueing delay is about what each discipline aims at, and the link
//! stays busy.

use headway_sim::race::{Entrant, RunSettings, Scenario, run_recorded};
use headway_sim::{Content, OneWayDelays, Passing, Tap};
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

/// What the packets from the sender took; the receiver's are left out.
#[derive(Default)]
struct FromSender(OneWayDelays);

impl Tap for FromSender {
    fn pass(&mut self, passing: &Passing<'_>) {
        // The third byte of an IPv4 source address.
        if passing.packet.get(14) == Some(&1) {
            self.0.pass(passing);
        }
    }
}

/// The measures of a run are those of a tap that finds each packet again by its bytes.
#[test]
fn one_way_delays_are_those_of_the_packets() {
    let mut variations = Vec::new();
    for jitter in [0, 4] {
        let mut scenario = scenario("codel", true);
        scenario.forward.jitter = Duration::from_millis(jitter);
        let content = Content::generated(100 << 20);
        let settings = RunSettings { scenario: &scenario, content: &content, seed: 1, hash: false };
        let sender: Entrant = "modern:cubic".parse().expect("a sender");
        let recording = run_recorded(settings, sender, || (), FromSender::default()).expect("a run");
        let metrics = recording.outcome.metrics;
        assert_eq!(metrics.queue_drops, Some(0), "no packet is there twice");
        let arrived = recording.tap.0.arrived().iter();
        let delays: Vec<f64> = arrived.map(|packet| packet.delay.as_secs_f64()).collect();
        let differences = delays.windows(2).map(|pair| (pair[1] - pair[0]).abs());
        let variation = differences.sum::<f64>() / (delays.len() - 1) as f64;
        let measured = metrics.delay_variation_seconds.expect("two packets");
        assert!((measured - variation).abs() < 2e-9, "jitter {jitter} ms: {measured} and {variation}");
        let mut sorted = delays;
        sorted.sort_by(f64::total_cmp);
        let quantiles = [
            (sorted[sorted.len().div_ceil(2) - 1], metrics.one_way_delay_median_seconds),
            (sorted[sorted.len() - sorted.len() / 20 - 1], metrics.one_way_delay_p95_seconds),
        ];
        for (exact, measured) in quantiles {
            let measured = measured.expect("packets");
            assert!(measured >= exact && measured <= 1.04 * exact, "{measured} and {exact}");
        }
        variations.push(measured);
    }
    assert!(variations[1] > variations[0], "{variations:?}");
}

/// A transfer before the measured one does not count.
#[test]
fn the_delays_of_a_warm_run_are_its_own() {
    let mut scenario = scenario("none", false);
    scenario.duration = None;
    scenario.warm = true;
    scenario.forward.queue = "1000p".parse().expect("a limit");
    let content = Content::generated(2 << 20);
    let settings = RunSettings { scenario: &scenario, content: &content, seed: 1, hash: false };
    let sender: Entrant = "modern:cubic".parse().expect("a sender");
    let recording = run_recorded(settings, sender, || (), FromSender::default()).expect("a run");
    let metrics = recording.outcome.metrics;
    let packets: Vec<_> = recording.tap.0.arrived().iter().collect();
    let end = packets.iter().rposition(|packet| packet.len == 1500).expect("data");
    let start = Duration::from_nanos((metrics.seconds * 1e9) as u64);
    let begins = |packet: &&&headway_sim::PacketDelay| packet.sent + start >= packets[end].sent;
    let mut delays: Vec<f64> =
        packets[..=end].iter().filter(begins).map(|packet| packet.delay.as_secs_f64()).collect();
    delays.sort_by(f64::total_cmp);
    let exact = delays[delays.len() / 2];
    let measured = metrics.one_way_delay_median_seconds.expect("packets");
    assert!((0.9 * exact..1.1 * exact).contains(&measured), "{measured} and {exact}");
    assert!(packets.len() > delays.len() * 3 / 2, "two transfers");
}
