//! Running an experiment: resumable, each result written as it comes; virtual time over all cores.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use headway_scenario::{Clock, Sender};
use headway_sim::Content;
use headway_sim::race::{self, OracleOutcome, RunOutcome};
use headway_units::Size;
use rayon::prelude::*;

use crate::error::LabError;
use crate::experiment::{Cell, Experiment};
use crate::results::{Results, Row};
use crate::sweep::{PlaceInSweep, Sweep};
use crate::testbed::Testbed;

/// Is notified of the progress of a sweep.
pub trait Progress: Sync {
    /// Runs to make, after those that are there already.
    fn begin(&self, runs: usize);
    /// One more is done.
    fn advance(&self);
    /// Whether the sweep is to end: no more runs begin, and those under way are stored.
    fn is_interrupted(&self) -> bool {
        false
    }
    /// The number of stored rows that were made by other code; they are made again.
    fn outdated(&self, _runs: usize) {}
}

impl Progress for () {
    fn begin(&self, _runs: usize) {}
    fn advance(&self) {}
}

/// What to run and where to put it.
pub struct Request<'a> {
    /// The experiment.
    pub experiment: &'a Experiment,
    /// The folder of its results.
    pub folder: &'a Path,
    /// Keep rows that were made by other code ([`crate::CODE`]) rather than make them again.
    pub reuse: bool,
    /// Makes the runs of cells in real time; `None` where cells run in virtual time only.
    pub testbed: Option<&'a dyn Testbed>,
    /// Is notified of the progress.
    pub progress: &'a dyn Progress,
}

/// Makes the runs that are missing in the folder, and the tables when all are there. Those in virtual time
/// come first.
///
/// # Errors
///
/// The folder cannot be written, a run shows a defect, cells run in real time and cannot, or the sweep was
/// interrupted: then the rows that there are remain.
pub fn run(request: &Request<'_>) -> Result<Results, LabError> {
    let Request { experiment, folder, reuse, testbed, progress } = *request;
    if testbed.is_none() {
        experiment.check_virtual()?;
    }
    let sweep = Sweep::begin(experiment, folder, reuse)?;
    if sweep.outdated() > 0 {
        progress.outdated(sweep.outdated());
    }
    let missing = sweep.missing();
    progress.begin(missing.len());
    let sweep = Mutex::new(sweep);
    let keep = |place: PlaceInSweep, row: Row| -> Result<(), LabError> {
        sweep.lock().unwrap_or_else(PoisonError::into_inner).keep(place, row)?;
        progress.advance();
        if progress.is_interrupted() { Err(LabError::Interrupted) } else { Ok(()) }
    };
    let (real, simulated): (Vec<_>, Vec<_>) =
        missing.into_iter().partition(|place| experiment.cells[place.cell].clock == Clock::Real);
    let maker = Maker::of(&experiment.cells);
    simulated.par_iter().try_for_each(|&place| {
        if progress.is_interrupted() {
            return Err(LabError::Interrupted);
        }
        let cell = &experiment.cells[place.cell];
        keep(place, maker.make(cell, place.run, experiment.run_seed(cell, place.run))?)
    })?;
    if let Some(testbed) = testbed.filter(|_| !real.is_empty()) {
        run_in_real_time(testbed, experiment, &maker.oracles, real, &keep)?;
    }
    sweep.into_inner().unwrap_or_else(PoisonError::into_inner).finish()
}

/// Makes runs in real time, at most that many at the same time; each cell's first run before any cell's second, so that
/// what disturbs the machine for a while does not hit one cell alone.
fn run_in_real_time(
    testbed: &dyn Testbed,
    experiment: &Experiment,
    oracles: &Oracles,
    mut missing: Vec<PlaceInSweep>,
    keep: &(impl Fn(PlaceInSweep, Row) -> Result<(), LabError> + Sync),
) -> Result<(), LabError> {
    let cell = |place: &PlaceInSweep| &experiment.cells[place.cell];
    testbed.prepare(&missing.iter().map(cell).collect::<Vec<_>>())?;
    missing.sort_by_key(|place| place.run);
    let next = AtomicUsize::new(0);
    let work = || -> Result<(), LabError> {
        while let Some(place) = missing.get(next.fetch_add(1, Ordering::Relaxed)) {
            let cell = cell(place);
            let seed = experiment.run_seed(cell, place.run);
            let metrics = testbed.run(cell, seed).inspect_err(|_| {
                // The others end what they are at, and begin nothing.
                next.store(usize::MAX / 2, Ordering::Relaxed);
            })?;
            let metrics = metrics.of_single_flow(&cell.scenario).beside(oracles.of(cell, seed).as_ref());
            keep(*place, Row { run: place.run, seed, metrics })?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..testbed.jobs().min(missing.len())).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        }
        Ok(())
    })
}

/// Makes runs in virtual time.
pub(crate) struct Maker {
    contents: BTreeMap<Option<u64>, Content>,
    oracles: Oracles,
}

impl Maker {
    /// Of these cells.
    pub(crate) fn of(cells: &[Cell]) -> Self {
        Self { contents: contents(cells), oracles: Oracles::default() }
    }

    /// Makes a run of one of the cells. The row is the same wherever and whenever it is made.
    ///
    /// # Errors
    ///
    /// It shows a defect.
    pub(crate) fn make(&self, cell: &Cell, run: u32, seed: u64) -> Result<Row, LabError> {
        let Sender::Ours(entrant) = &cell.sender else {
            unreachable!("the check finds senders that are not of virtual time");
        };
        let content = &self.contents[&cell.size.map(Size::bytes)];
        let outcome: RunOutcome = race::run(&cell.scenario, *entrant, content, seed, cell.size.is_some())?;
        Ok(Row { run, seed, metrics: outcome.metrics.beside(self.oracles.of(cell, seed).as_ref()) })
    }
}

/// One content for each size.
fn contents(cells: &[Cell]) -> BTreeMap<Option<u64>, Content> {
    let mut contents = BTreeMap::new();
    for cell in cells {
        contents.entry(cell.size.map(Size::bytes)).or_insert_with(|| content(cell.size));
    }
    contents
}

/// The size, or more than any run of fixed duration can send.
pub(crate) fn content(size: Option<Size>) -> Content {
    Content::generated(size.map_or(u64::MAX, Size::bytes))
}

/// The oracle's runs, one for all senders that face the same fates.
#[derive(Default)]
struct Oracles(Mutex<BTreeMap<u64, Option<OracleOutcome>>>);

impl Oracles {
    fn of(&self, cell: &Cell, seed: u64) -> Option<OracleOutcome> {
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(outcome) = known().get(&seed) {
            return *outcome;
        }
        let outcome = race::oracle(&cell.scenario, cell.size.map_or(u64::MAX, Size::bytes), seed);
        known().insert(seed, outcome);
        outcome
    }
}
