//! The race: one file, one lossy link, several senders side by side.

mod arena;
mod run;
mod scenario;
mod summary;

pub use arena::Racer;
pub use run::{CompanionOutcome, Recording, RunError, RunOutcome, run, run_recorded};
pub use scenario::{Companion, CrossTraffic, ProfileName, Scenario, UnknownName};
pub use summary::{Spread, Summary, summarize};
