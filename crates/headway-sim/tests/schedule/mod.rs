//! Random schedules: what they do, what must hold, and how one is replayed.

mod adversary;
mod bounds;
mod channel;
mod content;
mod ending;
mod ledger;
mod packet;
mod plan;
mod program;
mod random;
mod recorder;
mod stages;
mod start;
mod text;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};

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
    let result = catch_unwind(AssertUnwindSafe(|| {
        let mut world = World::new(Plan::new(seed, mode.senders), mode.trace);
        world.sabotage = mode.sabotage;
        world.run()
    }));
    let what = match result {
        Ok(Ok(outcome)) => return Ok(outcome),
        Ok(Err(what)) => what,
        Err(panic) => match panic.downcast::<String>() {
            Ok(text) => format!("panicked: {text}"),
            Err(panic) => format!("panicked: {}", panic.downcast_ref::<&str>().unwrap_or(&"")),
        },
    };
    let ours = if mode.senders == Senders::Ours { " HEADWAY_SCHEDULE_OURS=1" } else { "" };
    Err(format!(
        "schedule {seed:#018x}: {what}\n\
         replay it with a trace of all events:\n  \
         HEADWAY_SCHEDULE_SEED={seed:#018x}{ours} cargo test -p headway-sim --test schedules replay -- --nocapture"
    ))
}
