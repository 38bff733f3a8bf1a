//! A start from a rate that is told: right, wrong, and beside damage.

use headway_sim::Content;
use headway_sim::race::{RunMetrics, Scenario, TcpSender, run};
use headway_units::{Duration, Size};

/// 30 s over 10 Mbit/s, RTT 600 ms, a queue of `packets` (521 are a bandwidth-delay product).
fn scenario(packets: u32) -> Scenario {
    let mut scenario = Scenario { duration: Some(Duration::from_secs(30)), ..Scenario::default() };
    scenario.window = Size::from_bytes(16 << 20);
    scenario.forward.damage = headway_link::Damage::None;
    scenario.forward.queue = headway_link::QueueLimit::Packets(packets);
    scenario
}

fn send(scenario: &Scenario, sender: &str, told: Option<u32>, seed: u64) -> RunMetrics {
    let scenario = Scenario { told, ..scenario.clone() };
    let sender: TcpSender = sender.parse().expect("a sender");
    let metrics = run(&scenario, sender, &Content::generated(60 << 20), seed, true).expect("a run").metrics;
    println!("{sender} told {told:?}: {} bytes, {:?} drops", metrics.delivered_bytes, metrics.queue_drops);
    metrics
}

fn drops(metrics: &RunMetrics) -> u64 {
    metrics.queue_drops.expect("a count")
}

/// What arrives from the second round trip on, less what the first one of the search for more costs.
#[test]
fn a_right_rate_fills_the_link_one_round_trip_after_the_handshake() {
    for sender in ["headway:bbr", "headway:cubic"] {
        let plain = send(&scenario(521), sender, None, 1);
        let told = send(&scenario(521), sender, Some(100), 1);
        assert!(told.delivered_bytes > plain.delivered_bytes + 1_000_000, "{sender}");
        assert!(drops(&told) <= drops(&plain), "{sender}");
    }
    // The link is full from 1.5 s on: 28.5 s of 1436 bytes of each 1500.
    let bound = 1_250_000.0 * 1436.0 / 1500.0 * 28.5;
    let told = send(&scenario(521), "headway", Some(100), 1);
    assert!(told.delivered_bytes as f64 > 0.99 * bound, "{} of {bound:.0}", told.delivered_bytes);
}

#[test]
fn a_wrong_rate_costs_no_goodput_and_no_drops() {
    for packets in [130, 521] {
        for sender in ["headway:bbr", "headway:cubic"] {
            let plain = send(&scenario(packets), sender, None, 1);
            for told in [50, 200, 1000] {
                let wrong = send(&scenario(packets), sender, Some(told), 1);
                assert!(wrong.delivered_bytes * 100 >= plain.delivered_bytes * 95, "{sender} told {told} %");
                // The initial window leaves sooner: the search that follows overflows the queue at another moment.
                assert!(drops(&wrong) * 50 <= drops(&plain) * 51, "{sender} told {told} %");
            }
        }
    }
}

/// The initial window may be hit, and then the start is a plain one.
#[test]
fn damage_and_silent_loss_leave_it_no_slower_than_a_plain_start() {
    let mut damaged = scenario(521);
    damaged.forward.damage = "random:5%".parse().expect("a damage model");
    let mut lossy = scenario(521);
    lossy.forward.loss = "1%".parse().expect("a share");
    for scenario in [&damaged, &lossy] {
        let total =
            |told| (1..=5).map(|seed| send(scenario, "headway", told, seed).delivered_bytes).sum::<u64>();
        let (plain, told) = (total(None), total(Some(100)));
        assert!(told * 100 >= plain * 98, "{told} and {plain}");
    }
}
