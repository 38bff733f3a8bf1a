//! BBR as draft-ietf-ccwg-bbr-06 has it, on a link: alone, with losses by chance, among its like, and beside CUBIC. The
//! bounds hold for every seed.

use std::ops::RangeInclusive;

use headway_link::{Damage, QueueLimit};
use headway_sim::Content;
use headway_sim::race::{Companion, RunOutcome, Scenario, TcpSender, run};
use headway_tcp::Variant;
use headway_tcp::congestion::Algorithm;
use headway_units::{Duration, Share, Size};

const DRAFT: TcpSender = TcpSender { variant: Variant::Modern, congestion: Some(Algorithm::DraftBbr) };
const CUBIC: TcpSender = TcpSender { variant: Variant::Modern, congestion: Some(Algorithm::Cubic) };

const SEEDS: RangeInclusive<u64> = 1..=5;

/// 10 Mbit/s, and a queue of `queues` bandwidth-delay products.
fn scenario(round_trip: u64, queues: u32, seconds: u64) -> Scenario {
    let mut scenario = Scenario::default();
    scenario.forward.damage = Damage::None;
    // Without it runs on a clean link are the same whatever the seed.
    scenario.forward.jitter = Duration::from_millis(1);
    scenario.forward.delay = Duration::from_millis(round_trip) / 2;
    scenario.reverse.delay = scenario.forward.delay;
    scenario.forward.queue = QueueLimit::Packets((round_trip as u32 * 1250 / 1500).max(1) * queues);
    scenario.window = Size::from_bytes(8 << 20);
    scenario.duration = Some(Duration::from_secs(seconds));
    scenario
}

fn race(scenario: &Scenario, sender: TcpSender, seed: u64) -> RunOutcome {
    run(scenario, sender, &Content::generated(200 << 20), seed, false).expect("an explicable run")
}

fn share(scenario: &Scenario, sender: TcpSender, seed: u64) -> f64 {
    race(scenario, sender, seed).metrics.share_of_bound.expect("a bound")
}

/// ProbeRTT takes half of the rate for a round trip and more, each five seconds, and the start a part of the first minute: at
/// 300 ms both are long.
#[test]
fn a_clean_link_is_filled() {
    for (round_trip, seconds, least) in [(20, 60, 0.97), (300, 60, 0.92), (300, 120, 0.93)] {
        for seed in SEEDS {
            let outcome = race(&scenario(round_trip, 1, seconds), DRAFT, seed);
            let share = outcome.metrics.share_of_bound.expect("a bound");
            let place = format!("{round_trip} ms, {seconds} s, seed {seed}: {share:.4}");
            println!("alone at {place}");
            assert!(share >= least, "{place}");
            assert_eq!(outcome.metrics.timeouts, Some(0), "{place}");
        }
    }
}

/// Losses below LossThresh end no probe. In ProbeBW_CRUISE the rate falls by what was lost, each round.
#[test]
fn losses_by_chance_slow_it_down_until_the_next_probe() {
    for (round_trip, least) in [(20, 0.92), (300, 0.8)] {
        let mut scenario = scenario(round_trip, 1, 60);
        scenario.forward.loss = Share::new(0.01).expect("a share").into();
        for seed in SEEDS {
            let share = share(&scenario, DRAFT, seed);
            println!("1 % lost at {round_trip} ms, seed {seed}: {share:.4}");
            assert!(share >= least, "{round_trip} ms, seed {seed}: {share:.4}");
        }
    }
}

#[test]
fn two_flows_share_alike() {
    for (round_trip, alike, filled) in [(20, 0.99, 0.97), (150, 0.985, 0.955)] {
        let mut scenario = scenario(round_trip, 1, 60);
        scenario.companions = vec![Companion::new(DRAFT)];
        for seed in SEEDS {
            let outcome = race(&scenario, DRAFT, seed);
            let all = outcome.metrics.goodput_bps + outcome.companions[0].goodput_bps;
            let share = all / scenario.bound().expect("a bound");
            println!("two at {round_trip} ms, seed {seed}: {:.4}, all {share:.4}", outcome.metrics.jain);
            assert!(
                outcome.metrics.jain >= alike,
                "{round_trip} ms, seed {seed}: {:.4}",
                outcome.metrics.jain
            );
            assert!(share >= filled, "{round_trip} ms, seed {seed}: {share:.4}");
        }
    }
}

/// Half would be each one's part.
#[test]
fn neither_it_nor_cubic_starves_the_other() {
    for (round_trip, queues, least) in [(20, 1, 0.38), (20, 4, 0.38), (150, 1, 0.25), (150, 4, 0.27)] {
        let mut scenario = scenario(round_trip, queues, 120);
        scenario.companions = vec![Companion { rival: true, ..Companion::new(CUBIC) }];
        for seed in SEEDS {
            let outcome = race(&scenario, DRAFT, seed);
            let bound = scenario.bound().expect("a bound");
            let [draft, cubic] =
                [outcome.metrics.goodput_bps, outcome.companions[0].goodput_bps].map(|bps| bps / bound);
            let place = format!("{round_trip} ms, queue {queues}, seed {seed}: {draft:.3} and {cubic:.3}");
            println!("beside CUBIC {place}");
            assert!(draft >= least && cubic >= least, "{place}");
            assert!(draft + cubic >= 0.975, "{place}");
        }
    }
}

/// With the recovery of `headway` the ledger explains damage, as it does for CUBIC: the controller is told of other losses
/// alone.
#[test]
fn with_a_ledger_damage_slows_it_down_no_more_than_it_hits() {
    let mut scenario = scenario(20, 1, 60);
    scenario.forward.header_hit = Some(Share::ZERO);
    scenario.forward.damage = Damage::Random { p: Share::new(0.1).expect("a share") };
    let sender = TcpSender { variant: Variant::Headway, congestion: Some(Algorithm::DraftBbr) };
    let (with, without) = (share(&scenario, sender, 1), share(&scenario, DRAFT, 1));
    println!("10 % damaged: {with:.4} with a ledger, {without:.4} without");
    assert!(with >= 0.95 && without < 0.4, "{with:.4} and {without:.4}");
}
