//! What a race gave: the senders beside one another, as rows of a table and as a page.

mod dots;
mod graphs;
mod overlay;
mod page;
mod runs;
mod scenario;
mod summary;
pub(crate) mod zoom;

use headway_sim::race::{Entrant, RunOutcome, Scenario};
use headway_trace::TimeSequence;

use crate::page::series;

pub use page::page;
pub use summary::{COLUMNS, groups, notes, row, sent};

/// What the first run of a sender left to look at.
pub struct FirstRun {
    /// Who sent.
    pub sender: Entrant,
    /// How it ended.
    pub outcome: RunOutcome,
    /// What the sender did, where it was recorded.
    pub sequence: Option<TimeSequence>,
}

/// Everything that a race gave.
pub struct Results {
    /// What was run.
    pub scenario: Scenario,
    /// `None` in runs of fixed duration.
    pub content_len: Option<u64>,
    /// Every run of every sender.
    pub runs: Vec<RunOutcome>,
    /// The first of each sender.
    pub first_runs: Vec<FirstRun>,
}

impl Results {
    /// How a sender looks in all figures.
    fn look(&self, sender: Entrant) -> usize {
        let place = self.first_runs.iter().position(|first| first.sender == sender);
        place.map_or(0, |place| looks(&self.first_runs)[place])
    }
}

/// How the senders of these runs look in all figures of a page.
fn looks(runs: &[FirstRun]) -> Vec<usize> {
    series::looks(&runs.iter().map(|first| first.sender.to_string()).collect::<Vec<_>>())
}
