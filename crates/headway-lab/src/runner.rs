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
use crate::results::{Code, Journal, Made, Results, Row, write_tables};
use crate::testbed::Testbed;

/// Is notified of the progress of a sweep.
pub trait Progress: Sync {
    /// Runs to make, after those that are there already.
    fn begin(&self, runs: usize);
    /// One more is done.
    fn advance(&self);
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

/// A run that is missing.
#[derive(Clone, Copy)]
struct Missing<'a> {
    cell: &'a Cell,
    run: u32,
    key: &'a str,
}

/// Makes the runs that are missing in the folder, and the tables when all are there. Those in virtual time
/// come first.
///
/// # Errors
///
/// The folder cannot be written, a run shows a defect, or cells run in real time and cannot.
pub fn run(request: &Request<'_>) -> Result<Results, LabError> {
    let Request { experiment, folder, reuse, testbed, progress } = *request;
    if testbed.is_none() && experiment.cells.iter().any(|cell| cell.clock == Clock::Real) {
        return Err(LabError::NoRealTime { name: experiment.name.clone() });
    }
    std::fs::create_dir_all(folder)
        .map_err(|error| LabError::Unwritable { path: folder.into(), problem: error.to_string() })?;
    let mut rows = Journal::read(folder)?;
    let planned = Results::assemble(experiment, &rows);
    if !reuse && planned.outdated > 0 {
        progress.outdated(planned.outdated);
    }
    planned.manifest.write(folder)?;
    let mut missing: Vec<Missing<'_>> = Vec::new();
    for (cell, keyed) in experiment.cells.iter().zip(&planned.manifest.cells) {
        let code = Code::of(&cell.settings);
        for (run, key) in keyed.keys.iter().enumerate() {
            let there = |made: &Made| reuse || code.gives(&made.code);
            if !rows.get(key).is_some_and(there) {
                missing.push(Missing { cell, run: run as u32, key });
            }
        }
    }
    progress.begin(missing.len());
    let oracles = Oracles::default();
    let journal = Mutex::new(Journal::open(folder)?);
    let keep = |missing: &Missing<'_>, row: Row| -> Result<(String, Made), LabError> {
        let made = Made { row, code: Code::of(&missing.cell.settings).name.into() };
        journal.lock().unwrap_or_else(PoisonError::into_inner).append(missing.key, &made)?;
        progress.advance();
        Ok((missing.key.to_owned(), made))
    };
    let (real, simulated): (Vec<_>, Vec<_>) =
        missing.into_iter().partition(|missing| missing.cell.clock == Clock::Real);
    let contents = contents(experiment);
    let made: Vec<(String, Made)> = simulated
        .par_iter()
        .map(|missing| {
            let content = &contents[&missing.cell.size.map(Size::bytes)];
            keep(missing, simulate(experiment, missing.cell, missing.run, content, &oracles)?)
        })
        .collect::<Result<_, LabError>>()?;
    rows.extend(made);
    if let Some(testbed) = testbed.filter(|_| !real.is_empty()) {
        rows.extend(run_in_real_time(testbed, experiment, real, &oracles, &keep)?);
    }
    let results = Results::assemble(experiment, &rows);
    write_tables(&results, folder)?;
    Ok(results)
}

/// Makes runs in real time, at most that many at the same time; each cell's first run before any cell's second, so that
/// what disturbs the machine for a while does not hit one cell alone.
fn run_in_real_time<'a>(
    testbed: &dyn Testbed,
    experiment: &Experiment,
    mut missing: Vec<Missing<'a>>,
    oracles: &Oracles,
    keep: &(impl Fn(&Missing<'a>, Row) -> Result<(String, Made), LabError> + Sync),
) -> Result<Vec<(String, Made)>, LabError> {
    testbed.prepare(&missing.iter().map(|missing| missing.cell).collect::<Vec<_>>())?;
    missing.sort_by_key(|missing| missing.run);
    let next = AtomicUsize::new(0);
    let work = || -> Result<Vec<(String, Made)>, LabError> {
        let mut made = Vec::new();
        while let Some(missing) = missing.get(next.fetch_add(1, Ordering::Relaxed)) {
            let seed = experiment.run_seed(missing.cell, missing.run);
            let metrics = testbed.run(missing.cell, seed).inspect_err(|_| {
                // The others end what they are at, and begin nothing.
                next.store(usize::MAX / 2, Ordering::Relaxed);
            })?;
            let metrics = metrics
                .of_single_flow(&missing.cell.scenario)
                .beside(oracles.of(missing.cell, seed).as_ref());
            made.push(keep(missing, Row { run: missing.run, seed, metrics })?);
        }
        Ok(made)
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..testbed.jobs().min(missing.len())).map(|_| scope.spawn(work)).collect();
        let mut made = Vec::new();
        for worker in workers {
            made.extend(worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
        }
        Ok(made)
    })
}

/// One content for each size.
fn contents(experiment: &Experiment) -> BTreeMap<Option<u64>, Content> {
    let mut contents = BTreeMap::new();
    for cell in &experiment.cells {
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

fn simulate(
    experiment: &Experiment,
    cell: &Cell,
    run: u32,
    content: &Content,
    oracles: &Oracles,
) -> Result<Row, LabError> {
    let seed = experiment.run_seed(cell, run);
    let Sender::Ours(entrant) = cell.sender else {
        unreachable!("the check finds senders that are not of virtual time");
    };
    let outcome: RunOutcome = race::run(&cell.scenario, entrant, content, seed, cell.size.is_some())?;
    Ok(Row { run, seed, metrics: outcome.metrics.beside(oracles.of(cell, seed).as_ref()) })
}
