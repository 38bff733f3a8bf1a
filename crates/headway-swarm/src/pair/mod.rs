//! Two hosts whose every packet is judged: random schedules of loss, duplication, reordering, truncation and damage in both
//! directions, of writes, reads and closes.

mod adversary;
mod bounds;
mod channel;
mod cut;
mod ending;
mod packet;
mod plan;
mod stages;
mod start;
mod world;

use headway_test_fixture::seeds::attempt;

use plan::Plan;
use world::World;

pub use plan::Senders;

use crate::capture::{Recording, Tape};
use crate::{Case, Outcome};

/// How a schedule is run.
#[derive(Clone, Copy, Default)]
pub struct Mode {
    /// Whose senders.
    pub senders: Senders,
    /// Print all that happens.
    pub trace: bool,
    /// Spoils what programs read, which then starts at that place of the stream: to show that it is
    /// noticed.
    pub sabotage: Option<fn(usize, &mut [u8])>,
}

/// Runs the schedule of `seed` with all that it has.
///
/// # Errors
///
/// What went wrong, and how to see it again.
pub fn run(seed: u64, mode: Mode) -> Result<Outcome, String> {
    let test = match mode.senders {
        Senders::Papers => "every_octet_arrives",
        Senders::Ours => "so_it_is_with_our_senders",
    };
    let command = format!("cargo test -p headway-swarm --test all {test} -- --nocapture");
    attempt(seed, &command, || {
        let mut world = World::new(Plan::new(seed, mode.senders), mode.trace, Tape::new(None, 2)?);
        world.sabotage = mode.sabotage;
        world.run()
    })
}

/// Runs the schedule of a world's seed, with the world's features.
pub(crate) fn run_case(case: &Case, senders: Senders, recording: Recording) -> Result<Outcome, String> {
    let mut plan = Plan::new(case.seed, senders);
    cut::cut(&mut plan, case);
    let mut world = World::new(plan, recording.trace, Tape::new(recording.capture, 2)?);
    world.sabotage = recording.sabotage;
    world.run()
}
