//! Measures partial recovery: the goodput of one transfer over a path that damages packets, without it
//! and with it, against the bound of senders of whole packets and against what is possible.
//!
//! `cargo run --release -p headway-sim --example partial_gain [-- MEGABYTES [SEEDS]]`

use headway_link::{Damage, LinkConfig, QueueLimit, bound, share_hit};
use headway_sim::race::{RunOutcome, Scenario, run};
use headway_sim::{Content, derive_seed};
use headway_tcp::Variant;
use headway_units::{Duration, Rate, Size};

const RATE: Rate = Rate::from_bits_per_second(10_000_000);
/// Payload of a full segment beside timestamps and the option of version 2, and its IP packet.
const PAYLOAD: u32 = 1436;
const PACKET: u32 = 1500;
/// Headers of a data segment, and the first block of its payload.
const HEADERS: u32 = PACKET - PAYLOAD;
const BLOCK: u32 = 32;

fn scenario(damage: &Damage, one_way: Duration, partial: bool) -> Scenario {
    let clean = LinkConfig {
        rate: Some(RATE),
        delay: one_way,
        queue: QueueLimit::Packets(500),
        ..LinkConfig::default()
    };
    let mut scenario = Scenario {
        forward: LinkConfig { damage: damage.clone(), ..clean.clone() },
        reverse: clean,
        window: Size::from_bytes(4 << 20),
        ..Scenario::default()
    };
    scenario.features.set("partial".parse().expect("a feature"), partial);
    scenario
}

/// What can be had if each damaged segment costs one segment of one block more, and that is damaged as
/// its length has it.
fn possible(damage: &Damage) -> f64 {
    let whole = share_hit(damage, (PACKET - 20) as usize);
    let part = share_hit(damage, (BLOCK + HEADERS - 20) as usize);
    let cost = f64::from(PACKET) + whole * f64::from(BLOCK + HEADERS) / (1.0 - part);
    RATE.bits_per_second() as f64 * f64::from(PAYLOAD) / cost
}

fn mean(outcomes: &[RunOutcome], of: impl Fn(&RunOutcome) -> f64) -> f64 {
    outcomes.iter().map(of).sum::<f64>() / outcomes.len() as f64
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse().expect("a number"));
    let size = arguments.next().unwrap_or(200_u64) * 1_000_000;
    let seeds = arguments.next().unwrap_or(2);
    let bytes: Vec<u8> =
        (0..size.div_ceil(8)).flat_map(|at| derive_seed(1, "content", at).to_le_bytes()).collect();
    let content = Content::from_bytes(bytes);
    println!(
        "| damage | one-way delay |  bound of whole packets, Mbit/s | possible | whole segments, of the bound | \
         partial recovery, of the bound | of what is possible | payload sent in excess: whole segments | partial recovery | damaged bytes delivered |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for damage in ["ber:1e-5", "ber:3e-5", "random:5%"] {
        let damage: Damage = damage.parse().expect("a model");
        for one_way in [Duration::from_millis(10), Duration::from_millis(300)] {
            let bound = bound(RATE, PAYLOAD, PACKET, share_hit(&damage, (PACKET - 20) as usize));
            let [whole, part] = [false, true].map(|partial| {
                (1..=seeds)
                    .map(|seed| {
                        let scenario = scenario(&damage, one_way, partial);
                        run(&scenario, Variant::Headway, &content, seed, false).expect("a sound run")
                    })
                    .collect::<Vec<_>>()
            });
            let twice = |outcome: &RunOutcome| {
                100.0
                    * (outcome.metrics.bytes_sent.unwrap_or_default() as f64
                        / outcome.metrics.delivered_bytes.max(1) as f64
                        - 1.0)
            };
            let goodput = |outcome: &RunOutcome| outcome.metrics.goodput_bps;
            println!(
                "| `{damage}` | {one_way} | {:.2} | {:.2} | {:.3} | {:.3} | {:.3} | {:.1} % | {:.1} % | {} |",
                bound / 1e6,
                possible(&damage) / 1e6,
                mean(&whole, goodput) / bound,
                mean(&part, goodput) / bound,
                mean(&part, goodput) / possible(&damage),
                mean(&whole, twice),
                mean(&part, twice),
                whole.iter().chain(&part).map(|outcome| outcome.metrics.damaged_bytes_delivered).sum::<u64>(),
            );
        }
    }
}
