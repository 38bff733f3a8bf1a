//! The modern congestion controllers on a link: alone, among their like, and where packets are lost
//! or damaged. The bounds hold for every seed, and are near what is measured: a controller that is changed
//! changes them, and must say so here.

use std::ops::RangeInclusive;

use headway_link::{Damage, QueueLimit};
use headway_sim::race::{Companion, RunOutcome, Scenario, TcpSender, run};
use headway_tcp::Variant;
use headway_tcp::congestion::Algorithm;
use headway_units::{Duration, Share, Size};

use crate::content;

const CUBIC: TcpSender = TcpSender { variant: Variant::Modern, congestion: Some(Algorithm::Cubic) };
const BBR: TcpSender = TcpSender { variant: Variant::Modern, congestion: Some(Algorithm::Bbr) };
const NEWRENO: TcpSender = TcpSender { variant: Variant::Modern, congestion: Some(Algorithm::Reno) };

/// 10 Mbit/s and a queue of one bandwidth-delay product.
fn scenario(round_trip: u64, seconds: u64) -> Scenario {
    let mut scenario = Scenario::default();
    scenario.forward.damage = Damage::None;
    // Without it runs on a clean link are the same whatever the seed.
    scenario.forward.jitter = Duration::from_millis(1);
    scenario.forward.delay = Duration::from_millis(round_trip) / 2;
    scenario.reverse.delay = scenario.forward.delay;
    scenario.forward.queue = QueueLimit::Packets((round_trip as u32 * 1250 / 1500).max(1));
    scenario.window = Size::from_bytes(8 << 20);
    scenario.duration = Some(Duration::from_secs(seconds));
    scenario
}

/// The seeds of each cell: every bound holds for all of them. With ten seeds a flow alone has shares that differ by 0.0004, and BBR
/// at 20 ms by 0.01; four have shares within 0.007, and indices within 0.02, where it is not said otherwise. Each bound is below
/// what the worst of the ten has.
const SEEDS: RangeInclusive<u64> = 1..=3;

const ROUND_TRIPS: [u64; 3] = [20, 150, 600];

fn race(scenario: &Scenario, sender: TcpSender, seed: u64) -> RunOutcome {
    run(scenario, sender, &content::long(), seed, false).expect("an explicable run")
}

/// Share of the bound that every sender reaches on a clean link. At 600 ms the start takes a part
/// of the minute: a sender that knows every loss at once has 0.937.
#[test]
fn a_clean_link_is_filled() {
    for (sender, least) in
        [(NEWRENO, [0.98, 0.985, 0.935]), (CUBIC, [0.998, 0.985, 0.935]), (BBR, [0.975, 0.98, 0.93])]
    {
        for (round_trip, least) in ROUND_TRIPS.into_iter().zip(least) {
            for seed in SEEDS {
                let outcome = race(&scenario(round_trip, 60), sender, seed);
                let share = outcome.metrics.share_of_bound.expect("a bound");
                println!("alone, {sender} at {round_trip} ms, seed {seed}: {share:.4}, at least {least}");
                assert!(share >= least, "{sender} at {round_trip} ms, seed {seed}: {share:.4}");
                assert_eq!(outcome.metrics.timeouts, Some(0), "{sender} at {round_trip} ms, seed {seed}");
            }
        }
    }
}

/// Jain's index of four flows, and what all of them have of the bound. At 150 ms the indices of NewReno are 0.956 to 0.997.
#[test]
fn flows_of_a_kind_share_alike() {
    for (sender, alike, filled) in [
        (NEWRENO, [0.99, 0.94, 0.99], [0.985, 0.985, 0.95]),
        (CUBIC, [0.99, 0.96, 0.99], [0.995, 0.985, 0.93]),
        (BBR, [0.99, 0.975, 0.985], [0.98, 0.96, 0.865]),
    ] {
        for ((round_trip, alike), filled) in ROUND_TRIPS.into_iter().zip(alike).zip(filled) {
            let mut scenario = scenario(round_trip, 60);
            scenario.companions = vec![Companion::new(sender); 3];
            for seed in SEEDS {
                let outcome = race(&scenario, sender, seed);
                let place = format!("{sender} at {round_trip} ms, seed {seed}");
                assert!(outcome.metrics.jain >= alike, "{place}: {:.4}", outcome.metrics.jain);
                let goodput = outcome.metrics.goodput_bps
                    + outcome.companions.iter().map(|flow| flow.goodput_bps).sum::<f64>();
                let share = goodput / scenario.bound().expect("a bound");
                let jain = outcome.metrics.jain;
                println!(
                    "four, {place}: Jain's index {jain:.4}, at least {alike}; {share:.4}, at least {filled}"
                );
                assert!(share >= filled, "{place}: all of them {share:.4}");
            }
        }
    }
}

/// RFC 9438, section 5.1: with 1 % of losses, 12 segments are under way on average, as with AIMD(1, 0.5):
/// the square root of 1.5 / 0.01. BBR answers losses above 2 % only.
#[test]
fn losses_by_chance_slow_cubic_as_its_formula_says_and_bbr_hardly() {
    let mut scenario = scenario(150, 120);
    scenario.forward.loss = Share::new(0.01).expect("a share").into();
    let expected = 12.25 * 1448.0 * 8.0 / 0.150;
    let mut sum = 0.0;
    // One run has 0.96 to 1.39 times as much as the formula says: that takes several for a mean.
    const RUNS: u64 = 10;
    for seed in 1..=RUNS {
        let cubic = race(&scenario, CUBIC, seed).metrics.goodput_bps / expected;
        println!("losses, CUBIC, seed {seed}: {cubic:.3}");
        assert!((0.9..1.45).contains(&cubic), "seed {seed}: {cubic:.3} times the formula");
        sum += cubic;
    }
    for seed in SEEDS {
        let bbr = race(&scenario, BBR, seed).metrics.share_of_bound.expect("a bound");
        println!("losses, BBR, seed {seed}: {bbr:.4}");
        assert!(bbr >= 0.87, "seed {seed}: {bbr:.4} of the bound");
    }
    let mean = sum / RUNS as f64;
    assert!((1.0..1.2).contains(&mean), "{mean:.3} times the formula on average");
}

/// Damage that special ACKs name slows no controller down, and makes none lose more packets to a full
/// queue than it does on a clean link.
#[test]
fn damage_that_is_named_costs_what_it_hits() {
    for (algorithm, least, most) in
        [(Algorithm::Reno, 0.945, 0.0045), (Algorithm::Cubic, 0.965, 0.0035), (Algorithm::Bbr, 0.965, 0.01)]
    {
        let sender = TcpSender { variant: Variant::ModernHack, congestion: Some(algorithm) };
        let mut scenario = scenario(20, 60);
        scenario.forward.header_hit = Some(Share::ZERO);
        scenario.forward.damage = Damage::Random { p: Share::new(0.2).expect("a share") };
        for seed in SEEDS {
            let outcome = race(&scenario, sender, seed);
            let share = outcome.metrics.share_of_bound.expect("a bound");
            assert!(share >= least, "{sender}, seed {seed}: {share:.4}");
            let [drops, sent] =
                [outcome.metrics.queue_drops, outcome.metrics.bytes_sent].map(Option::unwrap_or_default);
            let rate = 1448.0 * drops as f64 / sent as f64;
            println!("damage, {sender}, seed {seed}: {share:.4} at least {least}, {rate:.5} at most {most}");
            assert!(rate <= most, "{sender}, seed {seed}: {drops} drops, {rate:.5} of the packets");
        }
    }
}

/// BBR and CUBIC live on one link, whether its queue is short or long. Half would be each one's part.
#[test]
fn neither_bbr_nor_cubic_starves_the_other() {
    for (round_trip, queues, least) in [(20, 1, 0.37), (20, 4, 0.36), (150, 1, 0.22), (150, 4, 0.22)] {
        let mut scenario = scenario(round_trip, 120);
        let packets = round_trip as u32 * 1250 / 1500;
        scenario.forward.queue = QueueLimit::Packets(packets * queues);
        scenario.companions = vec![Companion { rival: true, ..Companion::new(CUBIC) }];
        for seed in SEEDS {
            let outcome = race(&scenario, BBR, seed);
            let bound = scenario.bound().expect("a bound");
            let (bbr, cubic) =
                (outcome.metrics.goodput_bps / bound, outcome.companions[0].goodput_bps / bound);
            let place = format!("{round_trip} ms, queue {queues}, seed {seed}: {bbr:.3} and {cubic:.3}");
            println!("beside, {place}, at least {least}");
            assert!(bbr >= least && cubic >= least, "{place}");
            assert!(bbr + cubic >= 0.975, "{place}");
        }
    }
}
