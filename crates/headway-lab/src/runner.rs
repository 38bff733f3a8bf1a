//! Running an experiment: over all cores, resumable, each result written as it comes.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

use headway_sim::race::{self, OracleOutcome, RunOutcome};
use headway_sim::{Content, derive_seed};
use headway_units::Size;
use rayon::prelude::*;

use crate::error::LabError;
use crate::experiment::{Cell, Experiment};
use crate::results::{CODE, Journal, Made, Results, Row, write_tables};

/// Hears of the progress of a sweep.
pub trait Progress: Sync {
    /// Runs to make, after those that are there already.
    fn begin(&self, runs: usize);
    /// One more is done.
    fn advance(&self);
    /// So many of them are there, but were made by other code; they are made again.
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
    /// Hears of the progress.
    pub progress: &'a dyn Progress,
}

/// Makes the runs that are missing in the folder, and the tables when all are there.
///
/// # Errors
///
/// The folder cannot be written, or a run shows a defect.
pub fn run(request: &Request<'_>) -> Result<Results, LabError> {
    let Request { experiment, folder, reuse, progress } = *request;
    std::fs::create_dir_all(folder)
        .map_err(|error| LabError::Unwritable { path: folder.into(), problem: error.to_string() })?;
    let mut rows = Journal::read(folder)?;
    let planned = Results::assemble(experiment, &rows);
    if !reuse {
        if planned.outdated > 0 {
            progress.outdated(planned.outdated);
        }
        rows.retain(|_, made| made.is_current());
    }
    planned.manifest.write(folder)?;
    let missing: Vec<(&Cell, u32, &str)> = experiment
        .cells
        .iter()
        .zip(&planned.manifest.cells)
        .flat_map(|(cell, keyed)| {
            keyed.keys.iter().enumerate().map(move |(run, key)| (cell, run as u32, key.as_str()))
        })
        .filter(|(_, _, key)| !rows.contains_key(*key))
        .collect();
    progress.begin(missing.len());
    let contents = contents(experiment);
    let oracles = Oracles::default();
    let journal = Mutex::new(Journal::open(folder)?);
    let made: Vec<(String, Row)> = missing
        .par_iter()
        .map(|&(cell, run, key)| {
            let row = make(experiment, cell, run, &contents[&cell.size.map(Size::bytes)], &oracles)?;
            let mut journal = journal.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            journal.append(key, &row)?;
            drop(journal);
            progress.advance();
            Ok((key.to_owned(), row))
        })
        .collect::<Result<_, LabError>>()?;
    rows.extend(made.into_iter().map(|(key, row)| (key, Made { row, code: CODE.into() })));
    let results = Results::assemble(experiment, &rows);
    write_tables(&results, folder)?;
    Ok(results)
}

/// One content for each size.
fn contents(experiment: &Experiment) -> BTreeMap<Option<u64>, Content> {
    let mut contents = BTreeMap::new();
    for cell in &experiment.cells {
        contents.entry(cell.size.map(Size::bytes)).or_insert_with(|| content(cell.size));
    }
    contents
}

/// So much, or more than any run of fixed duration can send.
pub(crate) fn content(size: Option<Size>) -> Content {
    Content::generated(size.map_or(u64::MAX, Size::bytes))
}

/// The oracle's runs, one for all senders that face the same fates.
#[derive(Default)]
struct Oracles(Mutex<BTreeMap<u64, Option<OracleOutcome>>>);

impl Oracles {
    fn of(&self, cell: &Cell, seed: u64) -> Option<OracleOutcome> {
        let known = || self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(outcome) = known().get(&seed) {
            return *outcome;
        }
        let outcome = race::oracle(&cell.scenario, cell.size.map_or(u64::MAX, Size::bytes), seed);
        known().insert(seed, outcome);
        outcome
    }
}

/// The seed of a run: of the experiment, the cell's link and the run, so that adding a cell changes no
/// other, and senders face the same fates.
pub(crate) fn run_seed(experiment: &Experiment, cell: &Cell, run: u32) -> u64 {
    derive_seed(experiment.seed, &format!("{}\n{}", experiment.name, cell.fate), run.into())
}

fn make(
    experiment: &Experiment,
    cell: &Cell,
    run: u32,
    content: &Content,
    oracles: &Oracles,
) -> Result<Row, LabError> {
    let seed = run_seed(experiment, cell, run);
    let outcome: RunOutcome = race::run(&cell.scenario, cell.sender, content, seed, cell.size.is_some())?;
    let oracle = oracles.of(cell, seed);
    let outcome = outcome.beside(oracle.as_ref());
    Ok(Row {
        run,
        seed,
        finished: outcome.finished,
        seconds: outcome.time.as_secs_f64(),
        goodput_bps: outcome.goodput,
        share_of_bound: outcome.share_of_bound,
        oracle_bps: oracle.map(|oracle| oracle.goodput),
        share_of_oracle: outcome.share_of_oracle,
        sha256_ok: outcome.sha256_ok,
        damaged_bytes_delivered: outcome.damaged_bytes_delivered,
        undetected_packets: outcome.undetected_packets,
        delivered_bytes: outcome.delivered,
        octets_sent: outcome.octets_sent,
        retransmissions: outcome.retransmissions,
        timeouts: outcome.timeouts,
        slow_starts: outcome.slow_starts,
        fast_recoveries: outcome.fast_recoveries,
        special_acks: outcome.special_acks,
        queue_drops: outcome.queue_drops,
        drops_per_megabyte: outcome.drops_per_megabyte,
        jain: outcome.jain,
        jain_alike: outcome.jain_alike,
        rival_goodput_bps: outcome.rival_goodput(),
        companions_bps: outcome.companions.iter().map(|other| other.goodput).collect(),
        failure: outcome.failure.map(|failure| failure.to_string()),
    })
}
