//! A sweep: which of its runs are there, which are missing, and where their rows go.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::error::LabError;
use crate::experiment::Experiment;
use crate::results::{Code, Journal, Line, Made, Manifest, Results, Row, write_tables};

/// The place of a run in an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlaceInSweep {
    /// Which of [`Experiment::cells`], from 0.
    pub cell: usize,
    /// Which run of the cell, from 0.
    pub run: u32,
}

/// A sweep under way, with its journal open. Rows may come from anywhere and in any order: the tables do not show it.
pub struct Sweep {
    folder: PathBuf,
    reuse: bool,
    manifest: Manifest,
    codes: Vec<Code>,
    /// For each cell the first whose runs have the same seeds.
    channels: Vec<usize>,
    rows: BTreeMap<String, Made>,
    journal: Journal,
    outdated: usize,
}

impl Sweep {
    /// Opens the folder of the results, which is made if it is not there. With `reuse`, rows count that were made
    /// by other code ([`crate::CODE`]).
    ///
    /// # Errors
    ///
    /// The folder cannot be read or written, or another sweep that is under way writes to it.
    pub fn begin(experiment: &Experiment, folder: &Path, reuse: bool) -> Result<Self, LabError> {
        std::fs::create_dir_all(folder)
            .map_err(|error| LabError::Unwritable { path: folder.into(), problem: error.to_string() })?;
        // First: what another sweep writes is not touched.
        let journal = Journal::open(folder)?;
        let rows = Journal::read(folder)?;
        let planned = Results::assemble(experiment, &rows);
        planned.manifest.write(folder)?;
        let outdated = if reuse { 0 } else { planned.outdated };
        let mut first = BTreeMap::new();
        let channels = experiment.cells.iter().enumerate();
        let channels =
            channels.map(|(place, cell)| *first.entry(&cell.channel_key).or_insert(place)).collect();
        Ok(Self {
            folder: folder.into(),
            reuse,
            manifest: planned.manifest,
            codes: experiment.cells.iter().map(|cell| Code::of(&cell.settings)).collect(),
            channels,
            rows,
            journal,
            outdated,
        })
    }

    /// The number of stored rows that were made by other code, and count as missing.
    pub fn outdated(&self) -> usize {
        self.outdated
    }

    /// The runs that are missing, cell by cell.
    pub fn missing(&self) -> Vec<PlaceInSweep> {
        let mut missing = Vec::new();
        for (cell, (code, manifest)) in self.codes.iter().zip(&self.manifest.cells).enumerate() {
            for (run, key) in (0..).zip(&manifest.keys) {
                let there = |made: &Made| self.reuse || code.gives(&made.code);
                if !self.rows.get(key).is_some_and(there) {
                    missing.push(PlaceInSweep { cell, run });
                }
            }
        }
        missing
    }

    /// The same; runs with the same seed, of which the oracle makes one, follow each other.
    pub fn missing_by_seed(&self) -> Vec<PlaceInSweep> {
        let mut missing = self.missing();
        missing.sort_by_key(|place| (self.channels[place.cell], place.run, place.cell));
        missing
    }

    /// Stores the row of a run; it survives whatever ends this program.
    ///
    /// # Errors
    ///
    /// The journal cannot be written.
    pub(crate) fn keep(&mut self, place: PlaceInSweep, row: Row) -> Result<(), LabError> {
        let key = &self.manifest.cells[place.cell].keys[place.run as usize];
        let made = Made { row, code: self.codes[place.cell].name.into() };
        self.journal.append(key, &made)?;
        self.rows.insert(key.clone(), made);
        Ok(())
    }

    /// Stores rows that another machine made, as lines of [`crate::RemoteMaker::make`]: of the first of these places, in
    /// their order. Returns how many.
    ///
    /// # Errors
    ///
    /// A line is damaged, or is not of the run that was asked for, or not of this code; or the journal cannot be written.
    /// The lines before it are stored.
    pub fn accept(&mut self, places: &[PlaceInSweep], lines: &[u8]) -> Result<usize, LabError> {
        let mut places = places.iter();
        let mut accepted = 0;
        for line in lines.split_inclusive(|&byte| byte == b'\n') {
            let bad = |problem: String| LabError::BadLine { line: accepted + 1, problem };
            let line = Line::parse(line).map_err(bad)?;
            let &place = places.next().ok_or_else(|| bad("expected no more rows than runs".into()))?;
            let cell = self.manifest.cells.get(place.cell);
            let Some(key) = cell.and_then(|cell| cell.keys.get(place.run as usize)) else {
                return Err(bad(format!("cell {}, run {}: there is no such run", place.cell, place.run)));
            };
            let code = self.codes[place.cell].name;
            if line.key != *key || line.row.run != place.run || line.code != code {
                return Err(bad(format!(
                    "expected run {} with key {key}, code {code}; found run {} with key {}, code {}",
                    place.run, line.row.run, line.key, line.code
                )));
            }
            self.keep(place, line.row)?;
            accepted += 1;
        }
        Ok(accepted)
    }

    /// Writes the tables.
    ///
    /// # Errors
    ///
    /// They cannot be written.
    pub fn finish(self) -> Result<Results, LabError> {
        let results = Results::pick(self.manifest, &self.rows);
        write_tables(&results, &self.folder)?;
        Ok(results)
    }
}
