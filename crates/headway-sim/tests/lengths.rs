//! Frames that end early, are split or joined, slip or have dense errors: what arrives is what was sent, and of a frame that
//! ended early only what is missing is retransmitted.

use headway_link::{HitZone, LinkConfig, QueueLimit};
use headway_sim::Content;
use headway_sim::race::{Frames, RunOutcome, Scenario, TcpSender, oracle, run};
use headway_units::{Duration, Rate, Size};

fn scenario(damage: &str) -> Scenario {
    let clean = LinkConfig {
        rate: Some(Rate::from_bits_per_second(10_000_000)),
        delay: Duration::from_millis(10),
        queue: QueueLimit::Packets(200),
        ..LinkConfig::default()
    };
    let forward = LinkConfig { damage: damage.parse().expect("a damage model"), ..clean.clone() };
    Scenario { forward, reverse: clean, window: Size::from_bytes(1 << 20), ..Scenario::default() }
}

fn transfer(scenario: &Scenario, sender: &str, size: u64, seed: u64) -> RunOutcome {
    transfer_of(&Content::generated(size), scenario, sender, seed)
}

fn transfer_of(content: &Content, scenario: &Scenario, sender: &str, seed: u64) -> RunOutcome {
    let sender: TcpSender = sender.parse().expect("a sender");
    let outcome = run(scenario, sender, content, seed, true).expect("a run");
    let what = format!("{sender}, {}, seed {seed}", scenario.forward.damage);
    assert_eq!((outcome.metrics.finished, outcome.metrics.sha256_ok), (true, Some(true)), "{what}");
    assert_eq!(outcome.metrics.damaged_bytes_delivered, 0, "{what}");
    outcome
}

#[test]
fn every_sender_delivers_what_was_sent() {
    for damage in [
        "modem:20%",
        "modem:20%:cut",
        "modem:20%:split",
        "modem:20%:join",
        "modem:20%:slip",
        "modem:20%:dense",
    ] {
        for sender in ["headway", "headway:cubic", "modern:bbr", "hack+sack", "xhack+sack", "newreno"] {
            for (frames, zone) in
                [(Frames::Count, HitZone::IpAndTcpHeader), (Frames::Drop, HitZone::TcpHeader)]
            {
                let mut scenario = Scenario { frames, ..scenario(damage) };
                scenario.forward.hit_zone = zone;
                scenario.reverse.hit_zone = zone;
                scenario.reverse.damage = damage.parse().expect("a damage model");
                for seed in 1..=2 {
                    transfer(&scenario, sender, 60_000, seed);
                }
            }
        }
        assert!(oracle(&scenario(damage), 200_000, 1).is_some(), "{damage}");
    }
}

/// A third of a frame and more arrives, which partial recovery keeps.
#[test]
fn the_front_of_a_frame_that_ended_early_is_kept() {
    let total = |frames, damage: &str| {
        let scenario = Scenario { frames, ..scenario(damage) };
        let runs = (1..=3).map(|seed| transfer(&scenario, "headway:bbr", 3_000_000, seed).metrics);
        runs.fold((0.0, 0), |(seconds, bytes), run| {
            (seconds + run.seconds, bytes + run.bytes_sent.unwrap_or(0))
        })
    };
    for damage in ["modem:40%:cut", "modem:40%:split"] {
        let [(slow, whole), (fast, parts)] =
            [Frames::Drop, Frames::Count].map(|frames| total(frames, damage));
        println!(
            "{damage}: {slow:.2} s and {whole} bytes sent without the fronts, {fast:.2} s and {parts} with them"
        );
        assert!(fast < 0.8 * slow && parts < whole - whole / 10, "{damage}: {fast:.2} and {slow:.2} s");
    }
}

/// TCP's checksum takes 0xFFFF for 0: zeros in place of what is missing would pass it.
#[test]
fn sums_of_16_bits_do_not_judge_what_is_missing() {
    let content = Content::from_bytes(vec![0xff; 200_000]);
    let scenario = Scenario { frames: Frames::Count, ..scenario("modem:30%:cut") };
    for sender in ["hack+sack", "modern:bbr", "headway"] {
        let outcome = transfer_of(&content, &scenario, sender, 1);
        assert_eq!(outcome.metrics.undetected_packets, Some(0), "{sender}");
    }
}
