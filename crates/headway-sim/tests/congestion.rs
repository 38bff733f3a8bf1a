//! The modern congestion controllers on a link: alone, among their like, and where packets are lost
//! or damaged.

use headway_link::{Damage, QueueLimit};
use headway_sim::Content;
use headway_sim::race::{Companion, RunOutcome, Scenario, TcpSender, run};
use headway_tcp::Variant;
use headway_tcp::congestion::Algorithm;
use headway_units::{Duration, Share, Size};

const CUBIC: TcpSender = TcpSender { variant: Variant::Modern, congestion: Some(Algorithm::Cubic) };
const BBR: TcpSender = TcpSender { variant: Variant::Modern, congestion: Some(Algorithm::Bbr) };
const NEWRENO: TcpSender = TcpSender { variant: Variant::Modern, congestion: Some(Algorithm::Reno) };

/// 10 Mbit/s and a queue of one bandwidth-delay product.
fn scenario(round_trip: u64, seconds: u64) -> Scenario {
    let mut scenario = Scenario::default();
    scenario.forward.damage = Damage::None;
    scenario.forward.delay = Duration::from_millis(round_trip) / 2;
    scenario.reverse.delay = scenario.forward.delay;
    scenario.forward.queue = QueueLimit::Packets((round_trip as u32 * 1250 / 1500).max(1));
    scenario.window = Size::from_bytes(8 << 20);
    scenario.duration = Some(Duration::from_secs(seconds));
    scenario
}

fn race(scenario: &Scenario, sender: TcpSender, seed: u64) -> RunOutcome {
    run(scenario, sender, &Content::generated(200 << 20), seed, false).expect("an explicable run")
}

/// Share of the bound that every sender is to reach on a clean link. At 600 ms the start takes a part
/// of the minute: a sender that knows every loss at once has 0.937.
#[test]
fn a_clean_link_is_filled() {
    for (sender, least) in
        [(NEWRENO, [0.95, 0.97, 0.92]), (CUBIC, [0.98, 0.97, 0.92]), (BBR, [0.98, 0.97, 0.91])]
    {
        for (round_trip, least) in [20, 150, 600].into_iter().zip(least) {
            let outcome = race(&scenario(round_trip, 60), sender, 1);
            let share = outcome.metrics.share_of_bound.expect("a bound");
            assert!(share >= least, "{sender} at {round_trip} ms: {share:.3}");
            assert_eq!(outcome.metrics.timeouts, Some(0), "{sender} at {round_trip} ms");
        }
    }
}

#[test]
fn flows_of_a_kind_share_alike() {
    for sender in [NEWRENO, CUBIC, BBR] {
        for round_trip in [20, 150, 600] {
            let mut scenario = scenario(round_trip, 60);
            scenario.companions = vec![Companion { sender, damaged: true, rival: false }; 3];
            let outcome = race(&scenario, sender, 1);
            assert!(outcome.metrics.jain >= 0.95, "{sender} at {round_trip} ms: {:.3}", outcome.metrics.jain);
            let goodput = outcome.metrics.goodput_bps
                + outcome.companions.iter().map(|flow| flow.goodput_bps).sum::<f64>();
            let share = goodput / scenario.bound().expect("a bound");
            assert!(share >= 0.87, "{sender} at {round_trip} ms: all of them {share:.3}");
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
    let cubic = race(&scenario, CUBIC, 1).metrics.goodput_bps / expected;
    assert!((0.7..1.3).contains(&cubic), "{cubic:.2} times the formula");
    let bbr = race(&scenario, BBR, 1).metrics.share_of_bound.expect("a bound");
    assert!(bbr >= 0.8, "{bbr:.3} of the bound");
}

/// Damage that special ACKs name slows no controller down, and makes none lose more packets to a full
/// queue than it does on a clean link.
#[test]
fn damage_that_is_named_costs_what_it_hits() {
    for algorithm in [Algorithm::Reno, Algorithm::Cubic, Algorithm::Bbr] {
        let sender = TcpSender { variant: Variant::ModernHack, congestion: Some(algorithm) };
        let mut scenario = scenario(20, 60);
        scenario.forward.header_hit = Some(Share::ZERO);
        scenario.forward.damage = Damage::Random { p: Share::new(0.2).expect("a share") };
        let outcome = race(&scenario, sender, 1);
        let share = outcome.metrics.share_of_bound.expect("a bound");
        assert!(share >= 0.93, "{sender}: {share:.3}");
        let [drops, sent] =
            [outcome.metrics.queue_drops, outcome.metrics.bytes_sent].map(Option::unwrap_or_default);
        let rate = drops as f64 / sent as f64;
        assert!(rate * 1448.0 <= 0.015, "{sender}: {drops} drops");
    }
}

/// BBR and CUBIC live on one link, whether its queue is short or long.
#[test]
fn neither_bbr_nor_cubic_starves_the_other() {
    for (round_trip, queues) in [(20, 1), (20, 4), (150, 1), (150, 4)] {
        let mut scenario = scenario(round_trip, 120);
        let packets = round_trip as u32 * 1250 / 1500;
        scenario.forward.queue = QueueLimit::Packets(packets * queues);
        scenario.companions = vec![Companion { sender: CUBIC, damaged: true, rival: true }];
        let outcome = race(&scenario, BBR, 1);
        let bound = scenario.bound().expect("a bound");
        let (bbr, cubic) = (outcome.metrics.goodput_bps / bound, outcome.companions[0].goodput_bps / bound);
        assert!(bbr >= 0.15 && cubic >= 0.15, "{round_trip} ms, queue {queues}: {bbr:.3} and {cubic:.3}");
    }
}
