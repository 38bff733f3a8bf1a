//! Bursts that damage 15 % of the packets, silent loss of 5 % beside them, of ACKs too: many losses at once, and D-SACK blocks without
//! any reordering; and with some.

use headway_sim::Content;
use headway_sim::race::{Scenario, TcpSender, run};
use headway_units::Duration;

/// Seconds to send 20 MB over 10 Mbit/s at RTT 300 ms, with a queue of one bandwidth-delay product.
fn seconds(reordered: &str, seed: u64) -> f64 {
    let mut scenario = Scenario::default();
    for link in [&mut scenario.forward, &mut scenario.reverse] {
        link.delay = Duration::from_millis(150);
        link.loss = "5%".parse().expect("a loss rate");
    }
    scenario.forward.damage = "burst:15%:5".parse().expect("a damage model");
    scenario.forward.header_hit = Some("40%".parse().expect("a share"));
    scenario.forward.hit_zone = "ip+tcp".parse().expect("a zone");
    scenario.forward.queue = headway_link::QueueLimit::Packets(250);
    scenario.forward.reorder = reordered.parse().expect("a share");
    scenario.window = "16MiB".parse().expect("a size");
    let sender: TcpSender = "headway".parse().expect("a sender");
    let metrics = run(&scenario, sender, &Content::generated(20_000_000), seed, true).expect("a run").metrics;
    assert_eq!((metrics.finished, metrics.sha256_ok), (true, Some(true)), "seed {seed}");
    metrics.seconds
}

#[test]
fn many_losses_are_not_taken_for_reordering() {
    let seconds: Vec<f64> = (1..=5).map(|seed| seconds("0%", seed)).collect();
    println!("{seconds:.1?} s");
    assert!(seconds.iter().all(|&seconds| seconds < 80.0), "{seconds:.1?} s");
}

/// Once packets have overtaken each other, a loss is found a quarter of a round trip later than what is damaged behind it is
/// reported. It belongs to the burst of damage that it was near then. Taken for one of its own, it made losses seem to depend on the
/// rate, and for half a minute and more all of them were congestion: these seeds took 75 to 189 s. Of the seeds 1 to 40, one now takes
/// 62 s, where the sequential test errs, and all others 38 to 49 s.
#[test]
fn losses_that_are_found_late_belong_to_their_burst() {
    let seconds: Vec<f64> = [3, 6, 15, 16].map(|seed| seconds("0.1%", seed)).to_vec();
    println!("{seconds:.1?} s");
    assert!(seconds.iter().all(|&seconds| seconds < 70.0), "{seconds:.1?} s");
}
