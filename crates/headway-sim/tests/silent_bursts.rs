//! Bursts of damage that nothing reports, on a path that others may use: 10 Mbit/s, RTT 20 ms, and a queue of 17 packets, so that
//! a burst is as long as a third of it.

use headway_sim::Content;
use headway_sim::race::{Scenario, TcpSender, run};
use headway_units::{Duration, Size};

/// The mean share of the bound of five runs.
fn share(header_hit: &str) -> f64 {
    let mut scenario = Scenario { duration: Some(Duration::from_secs(30)), ..Scenario::default() };
    scenario.window = Size::from_bytes(16 << 20);
    for link in [&mut scenario.forward, &mut scenario.reverse] {
        link.delay = Duration::from_millis(10);
        link.queue = "17p".parse().expect("a length");
        link.header_hit = Some(header_hit.parse().expect("a share"));
        link.hit_zone = "ip+tcp".parse().expect("a zone");
    }
    scenario.forward.damage = "burst:5%:5".parse().expect("a damage model");
    let content = Content::generated(60 << 20);
    let one = |seed| {
        let sender: TcpSender = "headway".parse().expect("a sender");
        let metrics = run(&scenario, sender, &content, seed, true).expect("a run").metrics;
        metrics.share_of_bound.expect("a bound")
    };
    let mean = (1..=5).map(one).sum::<f64>() / 5.0;
    println!("{header_hit} of the headers hit: {mean:.4} of the bound");
    mean
}

#[test]
fn bursts_of_silent_loss_leave_no_link_idle() {
    // 0.895 where damage lowers BBR's short-term bounds.
    assert!(share("100%") > 0.918);
}

#[test]
fn bursts_that_are_found_late_are_no_bandwidth() {
    // 0.966 where they are: the queue that follows from it seems to be that of others.
    assert!(share("10%") > 0.972);
}
