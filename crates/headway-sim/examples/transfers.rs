//! Transfers of the benchmark, one for each seed from 1 on: `cargo run --release -p headway-sim --example
//! transfers -- 100`. `reference/speed/run` measures their CPU time.

use headway_link::Damage;
use headway_sim::{Content, race};
use headway_tcp::Variant;
use headway_units::{Duration, Share};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runs: u64 = std::env::args().nth(1).ok_or("expected a number of transfers")?.parse()?;
    let mut scenario = race::Scenario::default();
    scenario.forward.delay = Duration::from_millis(150);
    scenario.reverse.delay = scenario.forward.delay;
    scenario.forward.damage = Damage::Random { p: Share::new(0.01).unwrap_or(Share::ZERO) };
    let content = Content::generated(2 << 20);
    for seed in 1..=runs {
        race::run(&scenario, Variant::Sack, &content, seed, false)?;
    }
    Ok(())
}
