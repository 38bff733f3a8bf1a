//! Runs that are made on other machines: what these need to make them, and what they answer.

use std::collections::BTreeMap;

use headway_scenario::{Clock, KeyError, Sender, Traces};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::error::LabError;
use crate::experiment::{Cell, Experiment, run_seed, stored_cell};
use crate::recorded;
use crate::results::{Code, Line, Made, run_key};
use crate::runner::Maker;
use crate::sweep::PlaceInSweep;

/// An experiment without what only tables and figures need. Recorded links are in it: no file is.
#[derive(Serialize, Deserialize)]
struct Description {
    name: String,
    seed: u64,
    /// The settings of each cell.
    cells: Vec<IndexMap<String, String>>,
    recordings: IndexMap<String, String>,
}

/// What another machine needs to make runs of the experiment ([`RemoteMaker::read`]). It is meant for the same version of
/// this program.
///
/// # Errors
///
/// Cells run in real time.
pub fn describe(experiment: &Experiment) -> Result<Vec<u8>, LabError> {
    experiment.check_virtual()?;
    let description = Description {
        name: experiment.name.clone(),
        seed: experiment.seed,
        cells: experiment.cells.iter().map(|cell| cell.settings.clone()).collect(),
        recordings: experiment.recordings.clone(),
    };
    // Strings, numbers and lists: nothing in it can fail to serialize.
    Ok(serde_json::to_vec(&description).unwrap_or_default())
}

/// Makes runs of an experiment that was described elsewhere.
pub struct RemoteMaker {
    name: String,
    seed: u64,
    cells: Vec<Cell>,
    maker: Maker,
}

impl RemoteMaker {
    /// Reads what [`describe`] wrote.
    ///
    /// # Errors
    ///
    /// It is damaged, or was written by another version.
    pub fn read(description: &[u8]) -> Result<Self, LabError> {
        let Description { name, seed, cells, recordings } = serde_json::from_slice(description)
            .map_err(|error| LabError::BadDescription { problem: error.to_string() })?;
        let cells = read_cells(&cells, &recordings)
            .map_err(|error| LabError::BadDescription { problem: format!("{name}: {error}") })?;
        let maker = Maker::of(&cells);
        Ok(Self { name, seed, cells, maker })
    }

    /// Makes a run, and returns the line that is stored of it, for [`crate::Sweep::accept`].
    ///
    /// # Errors
    ///
    /// There is no such cell, or the run shows a defect.
    pub fn make(&self, place: PlaceInSweep) -> Result<String, LabError> {
        let cell = self.cells.get(place.cell).ok_or_else(|| LabError::BadDescription {
            problem: format!("{}: cell {}: expected one of {}", self.name, place.cell, self.cells.len()),
        })?;
        let seed = run_seed(&self.name, self.seed, cell, place.run);
        let row = self.maker.make(cell, place.run, seed)?;
        let made = Made { row, code: Code::of(&cell.settings).name.into() };
        Ok(Line::of(&run_key(&cell.identity, seed), &made).text())
    }
}

/// The cells with these settings; those with the same recordings share what was read of them.
fn read_cells(
    all: &[IndexMap<String, String>],
    recordings: &IndexMap<String, String>,
) -> Result<Vec<Cell>, KeyError> {
    let mut known: BTreeMap<Vec<String>, Traces<'_>> = BTreeMap::new();
    let mut read = |settings| {
        let named = recordings_of(settings, recordings);
        let traces = known.entry(named).or_insert_with(|| recorded::traces(settings, recordings));
        let cell = stored_cell(settings, traces)?;
        let problem = match (&cell.sender, cell.clock) {
            (Sender::Ours(_), Clock::Virtual) => return Ok(cell),
            (sender, clock) => format!("{sender}, clock {}: expected a sender in virtual time", clock.name()),
        };
        Err(KeyError { key: "clock", problem })
    };
    all.iter().map(&mut read).collect()
}

/// Which of the recordings these settings name.
fn recordings_of(settings: &IndexMap<String, String>, recordings: &IndexMap<String, String>) -> Vec<String> {
    let settings = settings.iter().map(|(key, value)| format!("{key}={value}"));
    settings.filter(|setting| recordings.contains_key(setting)).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::experiment::Overrides;

    /// Every experiment file of the repository, recorded links among them: the cells that another machine reads are those
    /// that were described.
    #[test]
    fn cells_arrive_as_they_are() {
        let (mut experiments, mut recorded) = (0, 0);
        for folder in ["../../papers", "../../beyond"] {
            for entry in Path::new(folder).read_dir().expect(folder) {
                let path = entry.expect(folder).path();
                if path.extension().is_none_or(|ending| ending != "toml") {
                    continue;
                }
                let experiment = Experiment::load(&path, &Overrides::default()).expect("an experiment");
                let there = RemoteMaker::read(&describe(&experiment).expect("a description"));
                let there = there.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
                assert_eq!(there.cells.len(), experiment.cells.len());
                for (there, here) in there.cells.iter().zip(&experiment.cells) {
                    let (values, drawn) = (here.values.clone(), here.drawn.clone());
                    let same = Cell { values, drawn, ..there.clone() };
                    assert_eq!(format!("{same:?}"), format!("{here:?}"), "{}", path.display());
                }
                experiments += 1;
                recorded += usize::from(!experiment.recordings.is_empty());
            }
        }
        assert!(experiments > 90 && recorded >= 3, "{experiments} experiments, {recorded} of recorded links");
    }
}
