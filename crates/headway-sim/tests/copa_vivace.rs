//! Copa and PCC Vivace on a link: alone, with losses by chance, among their like, and beside CUBIC.

use headway_link::{Damage, QueueLimit};
use headway_sim::race::{Companion, RunOutcome, Scenario, TcpSender, run};
use headway_tcp::Variant;
use headway_tcp::congestion::Algorithm;
use headway_units::{Duration, Share, Size};

use crate::content;

const COPA: TcpSender = TcpSender { variant: Variant::Modern, congestion: Some(Algorithm::Copa) };
const VIVACE: TcpSender = TcpSender { variant: Variant::Modern, congestion: Some(Algorithm::Vivace) };
const CUBIC: TcpSender = TcpSender { variant: Variant::Modern, congestion: Some(Algorithm::Cubic) };

/// 10 Mbit/s, RTT 100 ms, and a queue of two bandwidth-delay products.
fn scenario(seconds: u64) -> Scenario {
    let mut scenario = Scenario::default();
    scenario.forward.damage = Damage::None;
    scenario.forward.delay = Duration::from_millis(50);
    scenario.reverse.delay = scenario.forward.delay;
    scenario.forward.queue = QueueLimit::Packets(168);
    scenario.window = Size::from_bytes(8 << 20);
    scenario.duration = Some(Duration::from_secs(seconds));
    scenario
}

fn race(scenario: &Scenario, sender: TcpSender) -> RunOutcome {
    run(scenario, sender, &content::long(), 1, false).expect("an explicable run")
}

/// What `sender` and the CUBIC beside it have of the link.
fn beside_cubic(sender: TcpSender) -> [f64; 2] {
    let mut scenario = scenario(60);
    scenario.companions = vec![Companion { rival: true, ..Companion::new(CUBIC) }];
    let outcome = race(&scenario, sender);
    let bound = scenario.bound().expect("a bound");
    [outcome.metrics.goodput_bps, outcome.companions[0].goodput_bps].map(|bps| bps / bound)
}

/// A packet takes 1.2 ms. CUBIC has a queue of 160 ms here.
#[test]
fn a_clean_link_is_filled_and_its_queue_is_short() {
    for (sender, least, longest) in [(COPA, 0.98, 0.01), (VIVACE, 0.89, 0.012)] {
        let outcome = race(&scenario(40), sender);
        let share = outcome.metrics.share_of_bound.expect("a bound");
        let queue = outcome.metrics.queue_delay_p95_seconds.expect("a queue");
        println!("{sender}: {share:.3}, queue {queue:.4} s");
        assert!(share >= least && queue <= longest, "{sender}: {share:.3}, queue {queue:.4} s");
    }
}

#[test]
fn losses_by_chance_are_tolerated() {
    for (sender, least) in [(COPA, 0.85), (VIVACE, 0.75)] {
        let mut scenario = scenario(40);
        scenario.forward.loss = Share::new(0.05).expect("a share").into();
        let share = race(&scenario, sender).metrics.share_of_bound.expect("a bound");
        println!("5 % lost, {sender}: {share:.3}");
        assert!(share >= least, "{sender}: {share:.3}");
    }
}

#[test]
fn two_flows_share_alike() {
    for (sender, alike, filled) in [(COPA, 0.98, 0.97), (VIVACE, 0.95, 0.85)] {
        let mut scenario = scenario(60);
        scenario.companions = vec![Companion::new(sender)];
        let outcome = race(&scenario, sender);
        let all = outcome.metrics.goodput_bps + outcome.companions[0].goodput_bps;
        let (jain, share) = (outcome.metrics.jain, all / scenario.bound().expect("a bound"));
        println!("two of {sender}: {jain:.3}, all {share:.3}");
        assert!(jain >= alike && share >= filled, "{sender}: {jain:.3}, all {share:.3}");
    }
}

/// In its default mode Copa would leave all to a flow that fills the queue.
#[test]
fn copa_competes_with_cubic() {
    let [copa, cubic] = beside_cubic(COPA);
    println!("{copa:.3}, and CUBIC {cubic:.3}");
    assert!(copa >= 0.13 && cubic >= 0.5, "{copa:.3}, and CUBIC {cubic:.3}");
}

#[test]
fn vivace_yields_to_cubic() {
    let [vivace, cubic] = beside_cubic(VIVACE);
    println!("{vivace:.3}, and CUBIC {cubic:.3}");
    assert!((0.02..=0.15).contains(&vivace) && cubic >= 0.8, "{vivace:.3}, and CUBIC {cubic:.3}");
}
