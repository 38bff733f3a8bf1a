//! Any number of hosts and what is between them: links, boxes that change what passes, attackers; hosts that are restarted,
//! stand still, and whose clocks jump. Where the world is of gateways, each of them has an end of the sealed tunnel, and its
//! hosts' packets pass through that.

mod amount;
mod attack;
mod channel;
mod deliver;
mod drive;
mod ending;
mod faults;
mod middlebox;
mod node;
mod plan;
mod rewrite;
mod sealed;
mod stages;
mod wire;
mod world;

use plan::Plan;
use world::World;

use crate::capture::{Recording, Tape};
use crate::{Case, Outcome};

/// Runs a world of hosts, or of gateways.
pub(crate) fn run(case: &Case, is_sealed: bool, recording: Recording) -> Result<Outcome, String> {
    let plan = Plan::new(case, is_sealed);
    let tape = Tape::new(recording.capture, plan.hosts.len())?;
    let mut world = World::new(plan, recording.trace, tape);
    world.sabotage = recording.sabotage;
    world.run()
}
