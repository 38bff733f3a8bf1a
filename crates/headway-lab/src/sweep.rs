//! A sweep: which of its runs are there, which are missing, and where their rows go.

use std::collections::BTreeMap;
use std::path::Path;

use crate::error::LabError;
use crate::experiment::Experiment;
use crate::results::{Code, Journal, Made, Results, Row, write_tables};

/// The place of a run in an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// Which of [`Experiment::cells`], from 0.
    pub(crate) cell: usize,
    /// Which run of the cell, from 0.
    pub(crate) run: u32,
}

/// A sweep under way, with its journal open. Rows may come from anywhere and in any order: the tables do not show it.
pub(crate) struct Sweep<'a> {
    experiment: &'a Experiment,
    folder: &'a Path,
    reuse: bool,
    /// The key of each run of each cell.
    keys: Vec<Vec<String>>,
    rows: BTreeMap<String, Made>,
    journal: Journal,
    outdated: usize,
}

impl<'a> Sweep<'a> {
    /// Opens the folder of the results, which is made if it is not there. With `reuse`, rows count that were made
    /// by other code ([`crate::CODE`]).
    ///
    /// # Errors
    ///
    /// The folder cannot be read or written.
    pub(crate) fn begin(experiment: &'a Experiment, folder: &'a Path, reuse: bool) -> Result<Self, LabError> {
        std::fs::create_dir_all(folder)
            .map_err(|error| LabError::Unwritable { path: folder.into(), problem: error.to_string() })?;
        let rows = Journal::read(folder)?;
        let planned = Results::assemble(experiment, &rows);
        planned.manifest.write(folder)?;
        let outdated = if reuse { 0 } else { planned.outdated };
        let keys = planned.manifest.cells.into_iter().map(|cell| cell.keys).collect();
        let journal = Journal::open(folder)?;
        Ok(Self { experiment, folder, reuse, keys, rows, journal, outdated })
    }

    /// The number of stored rows that were made by other code, and count as missing.
    pub(crate) fn outdated(&self) -> usize {
        self.outdated
    }

    /// The runs that are missing, cell by cell.
    pub(crate) fn missing(&self) -> Vec<Place> {
        let mut missing = Vec::new();
        for (cell, keys) in self.keys.iter().enumerate() {
            let code = Code::of(&self.experiment.cells[cell].settings);
            for (run, key) in (0..).zip(keys) {
                let there = |made: &Made| self.reuse || code.gives(&made.code);
                if !self.rows.get(key).is_some_and(there) {
                    missing.push(Place { cell, run });
                }
            }
        }
        missing
    }

    /// Stores the row of a run; it survives whatever ends this program.
    ///
    /// # Errors
    ///
    /// The journal cannot be written.
    pub(crate) fn keep(&mut self, place: Place, row: Row) -> Result<(), LabError> {
        let cell = &self.experiment.cells[place.cell];
        let key = &self.keys[place.cell][place.run as usize];
        let made = Made { row, code: Code::of(&cell.settings).name.into() };
        self.journal.append(key, &made)?;
        self.rows.insert(key.clone(), made);
        Ok(())
    }

    /// Writes the tables.
    ///
    /// # Errors
    ///
    /// They cannot be written.
    pub(crate) fn finish(self) -> Result<Results, LabError> {
        let results = Results::assemble(self.experiment, &self.rows);
        write_tables(&results, self.folder)?;
        Ok(results)
    }
}
