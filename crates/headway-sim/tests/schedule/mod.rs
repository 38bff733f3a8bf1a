//! Random schedules: what they do, what must hold, and how one is replayed.

mod adversary;
mod bounds;
mod channel;
mod ending;
mod ledger;
mod packet;
mod plan;
mod program;
mod recorder;
mod stages;
mod start;
mod text;
mod world;

use headway_test_fixture::seeds::attempt;

use plan::Plan;
use world::World;

pub(crate) use plan::Senders;
pub(crate) use world::Outcome;

/// How a schedule is run.
#[derive(Clone, Copy, Default)]
pub(crate) struct Mode {
    /// Whose senders.
    pub(crate) senders: Senders,
    /// Print all that happens.
    pub(crate) trace: bool,
    /// Spoils what programs read, which then starts at that place of the stream: to show that it is
    /// noticed.
    pub(crate) sabotage: Option<fn(usize, &mut [u8])>,
}

/// Runs the schedule of `seed`. The error says what went wrong and how to see it again.
pub(crate) fn run(seed: u64, mode: Mode) -> Result<Outcome, String> {
    let test = match mode.senders {
        Senders::Papers => "every_octet_arrives",
        Senders::Ours => "so_it_is_with_our_senders",
    };
    let command = format!("cargo test -p headway-sim --test all {test} -- --nocapture");
    attempt(seed, &command, || {
        let mut world = World::new(Plan::new(seed, mode.senders), mode.trace);
        world.sabotage = mode.sabotage;
        world.run()
    })
}
