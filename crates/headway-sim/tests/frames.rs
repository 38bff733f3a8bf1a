//! Damage that does not spare IP headers, between hosts that drop such packets and hosts that count them.

use headway_link::{HitZone, QueueLimit};
use headway_sim::Content;
use headway_sim::race::{Companion, Frames, RunOutcome, Scenario, TcpSender, oracle, run};
use headway_sim::statistics::quantile;
use headway_units::Size;

const SIZE: u64 = 20_000_000;

/// 10 Mbit/s, one-way delay 300 ms; 64 bits of each damaged packet are flipped anywhere in it, so three fifths of
/// those packets have a damaged IP header.
fn scenario(frames: Frames) -> Scenario {
    let mut scenario = Scenario { window: Size::from_bytes(8 << 20), frames, ..Scenario::default() };
    scenario.forward.damage = "burst:5%:5".parse().expect("a damage model");
    scenario.forward.header_hit = None;
    scenario.forward.hit_zone = HitZone::IpAndTcpHeader;
    scenario.forward.queue = QueueLimit::Packets(500);
    scenario
}

fn transfer(scenario: &Scenario, sender: &str, size: u64, seed: u64) -> RunOutcome {
    let sender: TcpSender = sender.parse().expect("a sender");
    let outcome = run(scenario, sender, &Content::generated(size), seed, true).expect("a run");
    assert_eq!((outcome.metrics.finished, outcome.metrics.sha256_ok), (true, Some(true)), "{sender}, {seed}");
    assert_eq!(outcome.metrics.damaged_bytes_delivered, 0);
    outcome
}

/// One in 600 of these packets still looks like something else that was sent so: a fragment, another protocol.
#[test]
fn a_count_of_such_packets_is_worth_as_much_as_a_report_of_each() {
    let scenario = scenario(Frames::Count);
    let mut ratios: Vec<f64> = (1..=9)
        .map(|seed| {
            let best = oracle(&scenario, SIZE, seed).expect("an oracle").time.as_secs_f64();
            transfer(&scenario, "headway:bbr", SIZE, seed).metrics.seconds / best
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    let median = quantile(&ratios, 0.5).expect("ratios");
    println!("times of the oracle's time: {ratios:.3?}");
    assert!(median < 1.03, "{median:.3} of the oracle's time");
    assert!(ratios.iter().all(|ratio| *ratio < 1.1), "{ratios:.3?}");
}

/// Without the count these packets are silent losses. Here they are more than the ledger believes of an unknown path,
/// and CUBIC takes a part of them for congestion.
#[test]
fn the_count_keeps_such_losses_from_reducing_the_window() {
    let total = |frames| -> f64 {
        let mut scenario = scenario(frames);
        scenario.forward.damage = "burst:15%:5".parse().expect("damage");
        (1..=5).map(|seed| transfer(&scenario, "headway:cubic", 2_000_000, seed).metrics.seconds).sum()
    };
    let [dropped, counted] = [Frames::Drop, Frames::Count].map(total);
    println!("{counted:.2} s with the count, {dropped:.2} s without");
    assert!(2.0 * counted < dropped, "{counted:.2} and {dropped:.2} s");
}

#[test]
fn senders_without_the_count_are_not_affected() {
    for sender in ["newreno", "hack+sack", "modern:cubic"] {
        let [dropped, counted] = [Frames::Drop, Frames::Count]
            .map(|frames| transfer(&scenario(frames), sender, 100_000, 1).metrics.seconds);
        assert_eq!(dropped, counted, "{sender}");
    }
}

/// A packet that a router would have to forward by its address is lost there.
#[test]
fn hosts_behind_routers_have_no_only_peer() {
    let sender: TcpSender = "headway".parse().expect("a sender");
    let companion = Companion::new(sender);
    let shared = Scenario { companions: vec![companion], ..scenario(Frames::Count) };
    let problem = shared.check(sender).expect_err("routers").to_string();
    assert!(problem.starts_with("frames: expected no other flows"), "{problem}");
    assert_eq!(Scenario { frames: Frames::Drop, ..shared }.check(sender), Ok(()));
}
