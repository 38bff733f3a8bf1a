//! Partial recovery over a link that damages packets: what arrives is what was sent, and more of it
//! than senders of whole packets can bring across.

use headway_link::{Damage, LinkConfig, QueueLimit, bound, share_hit};
use headway_sim::race::{RunOutcome, Scenario, run};
use headway_sim::{Content, derive_seed};
use headway_tcp::Variant;
use headway_units::{Duration, Rate, Size};

const RATE: Rate = Rate::from_bits_per_second(10_000_000);

fn transfer(damage: &str, flips: Option<u32>, header_hit: Option<&str>, size: u64, seed: u64) -> RunOutcome {
    let clean = LinkConfig {
        rate: Some(RATE),
        delay: Duration::from_millis(10),
        queue: QueueLimit::Packets(500),
        ..LinkConfig::default()
    };
    let damage: Damage = damage.parse().unwrap();
    let header_hit = header_hit.map(|share| share.parse().unwrap());
    let mut scenario = Scenario {
        forward: LinkConfig { damage, flips, header_hit, ..clean.clone() },
        reverse: clean,
        window: Size::from_bytes(4 << 20),
        ..Scenario::default()
    };
    scenario.features.set("partial".parse().unwrap(), true);
    let bytes: Vec<u8> =
        (0..size.div_ceil(8)).flat_map(|at| derive_seed(seed, "content", at).to_le_bytes()).collect();
    let outcome = run(&scenario, Variant::Headway, &Content::from_bytes(bytes), seed, true).unwrap();
    assert!(outcome.metrics.finished, "{} of {size} bytes", outcome.metrics.delivered_bytes);
    assert_eq!(outcome.metrics.damaged_bytes_delivered, 0);
    assert_eq!(outcome.metrics.sha256_ok, Some(true));
    outcome
}

#[test]
fn no_damaged_octet_is_delivered() {
    for (damage, flips, header_hit) in [
        ("ber:1e-5", None, None),
        ("ber:1e-4", None, None),
        ("random:20%", Some(2), None),
        ("random:20%", Some(2), Some("50%")),
        ("random:20%", Some(3), Some("100%")),
        ("burst:5%:5", None, Some("95%")),
    ] {
        for seed in 1..=3 {
            transfer(damage, flips, header_hit, 3_000_000, seed);
        }
    }
}

/// 1500 bytes of IP carry 1436 of payload.
#[test]
fn the_bound_of_whole_packets_is_passed() {
    for (damage, gain) in [("ber:1e-5", 1.05), ("ber:3e-5", 1.25), ("random:5%", 1.01)] {
        let whole = bound(RATE, 1436, 1500, share_hit(&damage.parse().unwrap(), 1480));
        let outcome = transfer(damage, None, None, 20_000_000, 8);
        let share = outcome.metrics.goodput_bps / whole;
        assert!(share > gain, "{damage}: {share:.3} of the bound");
    }
}
