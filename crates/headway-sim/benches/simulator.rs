//! How fast virtual time runs. `cargo bench -p headway-sim`.
//!
//! `transfer` is the yardstick: 2 MiB over 10 Mbit/s, one-way delay 150 ms, 1 % random damage, SACK, with
//! real bytes, real checksums and every delivered byte compared, without the SHA-256.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use divan::counter::ItemsCount;
use headway_link::Damage;
use headway_sim::{Content, Passing, Tap, race};
use headway_tcp::Variant;
use headway_units::{Duration, Share};

fn main() {
    divan::main();
}

fn scenario() -> race::Scenario {
    let mut scenario = race::Scenario::default();
    scenario.forward.delay = Duration::from_millis(150);
    scenario.reverse.delay = scenario.forward.delay;
    scenario.forward.damage = Damage::Random { p: Share::new(0.01).unwrap_or(Share::ZERO) };
    scenario
}

fn content() -> Content {
    Content::from_bytes(
        (0..2u32 << 20).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect::<Vec<u8>>(),
    )
}

/// Time of one transfer, and packet events a second.
#[divan::bench(args = [Variant::Sack, Variant::HackSack, Variant::XhackSack])]
fn transfer(bencher: divan::Bencher<'_, '_>, variant: &Variant) {
    let (scenario, content) = (scenario(), content());
    let events = race::run(&scenario, *variant, &content, 1, false).map_or(0, |outcome| outcome.events);
    bencher
        .counter(ItemsCount::new(events))
        .bench(|| race::run(&scenario, *variant, &content, 1, false).map(|outcome| outcome.metrics.seconds));
}

/// The same with a tap that is asked after each event whether the run is to end.
#[divan::bench]
fn transfer_that_may_be_stopped(bencher: divan::Bencher<'_, '_>) {
    let (scenario, content) = (scenario(), content());
    let stop = Arc::new(AtomicBool::new(false));
    bencher.bench(|| {
        let settings = race::RunSettings { scenario: &scenario, content: &content, seed: 1, hash: false };
        let recording = race::run_recorded(settings, Variant::Sack, || (), Stop(stop.clone()));
        recording.map(|recording| recording.outcome.metrics.seconds)
    });
}

struct Stop(Arc<AtomicBool>);

impl Tap for Stop {
    const ENABLED: bool = false;

    fn pass(&mut self, _passing: &Passing<'_>) {}

    fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
