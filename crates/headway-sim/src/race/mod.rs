//! The race: one file, one lossy link, several senders side by side.

mod run;
mod scenario;
mod summary;

pub use run::{Racer, Recording, RunError, RunOutcome, run, run_recorded};
pub use scenario::{ProfileName, Scenario, UnknownName};
pub use summary::{Spread, Summary, summarize};
