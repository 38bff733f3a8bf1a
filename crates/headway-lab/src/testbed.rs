//! Runs in real time: what the lab asks of the testbed that makes them.

use headway_sim::race::RunMetrics;

use crate::error::LabError;
use crate::experiment::Cell;

/// Makes runs in real time.
pub trait Testbed: Sync {
    /// Whether this machine can run all these cells; asked once, before any of them runs.
    ///
    /// # Errors
    ///
    /// It lacks a right or a program, and says which.
    fn prepare(&self, cells: &[&Cell]) -> Result<(), LabError>;

    /// Makes one run. The box between the hosts takes its random numbers from `seed`, as the simulator's link does.
    /// What follows from time and counts, such as goodput and the share of the oracle's, is the caller's to
    /// compute.
    ///
    /// # Errors
    ///
    /// The run could not be made. A connection that failed is an outcome.
    fn run(&self, cell: &Cell, seed: u64) -> Result<RunMetrics, LabError>;

    /// How many runs may take place side by side.
    fn jobs(&self) -> usize;
}
