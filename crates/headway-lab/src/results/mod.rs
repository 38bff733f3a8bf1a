//! Results: one row a run.

mod columns;
mod journal;
mod manifest;
mod stored_table;
mod tables;
mod writer;

use std::collections::BTreeMap;
use std::path::Path;

use headway_scenario::{Scope, Sender, key};
use headway_sim::Value;
use headway_sim::race::RunMetrics;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

pub use columns::{Column, columns, record};
pub(crate) use journal::{Journal, Line, Made};
pub(crate) use manifest::run_key;
pub use manifest::{Manifest, ManifestCell};
pub(crate) use tables::write_tables;

use crate::error::LabError;
use crate::experiment::{Experiment, Measure};

/// What the results of this code are known by: the digest of its packets in `results.lock`, where that is of
/// this code; otherwise a fingerprint of the sources of the TCP, the link and the simulator. Each row is stored
/// with it. Where the program was built from a package, it is the version.
pub const CODE: &str = env!("HEADWAY_CODE");

/// What all rows of this program are known by: of our senders, on shared paths and on their own, of runs through a trunk,
/// and of other TCPs. Programs with the same fingerprint give the same rows.
pub fn fingerprint() -> String {
    [Code::OURS, Code::OWN_PATH, Code::TRUNK, Code::LINK].map(|code| code.name).join("-")
}

/// The code that determines the results of some cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Code {
    /// What rows are stored with.
    pub(crate) name: &'static str,
    /// Other code that gives the same, separated by spaces.
    same: &'static str,
}

impl Code {
    const OURS: Self = Self { name: CODE, same: env!("HEADWAY_SAME") };
    const OWN_PATH: Self = Self { name: env!("HEADWAY_OWN_PATH_CODE"), same: env!("HEADWAY_OWN_PATH_SAME") };
    const TRUNK: Self = Self { name: env!("HEADWAY_TRUNK_CODE"), same: env!("HEADWAY_TRUNK_SAME") };
    const HOPS: Self = Self { name: env!("HEADWAY_HOPS_CODE"), same: env!("HEADWAY_HOPS_SAME") };
    const LINK: Self = Self { name: env!("HEADWAY_LINK_CODE"), same: env!("HEADWAY_LINK_SAME") };

    /// The code of a cell with these settings. Other TCPs have their own; only the link is ours. What moves
    /// packets in real time is not in it. What concerns paths of one's own, gateways, links of the hosts' own, or several
    /// links in a row is in no other runs.
    pub(crate) fn of(settings: &IndexMap<String, String>) -> Self {
        let variant = settings.get("variant").map(|name| name.parse());
        let has = |scope| settings.keys().any(|name| key(name).is_some_and(|key| key.scope == scope));
        if matches!(variant, Some(Ok(Sender::Foreign(_)))) {
            Self::LINK
        } else if has(Scope::Trunk) {
            Self::TRUNK
        } else if has(Scope::Hops) {
            Self::HOPS
        } else if settings.get("own-path").is_some_and(|value| value == "on") {
            Self::OWN_PATH
        } else {
            Self::OURS
        }
    }

    /// Whether a row that is stored with `name` is what this code gives.
    pub(crate) fn gives(self, name: &str) -> bool {
        name == self.name || self.same.split_whitespace().any(|same| same == name)
    }
}

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The run within its cell, from 0.
    pub run: u32,
    /// The seed of the run.
    pub seed: u64,
    /// What was measured.
    #[serde(flatten)]
    pub metrics: RunMetrics,
}

impl Row {
    /// A measure in its own unit.
    pub fn measure(&self, measure: Measure) -> Option<f64> {
        measure.metric().of(&self.metrics).number()
    }
}

/// An experiment's results: the rows of each cell, in the order of the runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// What was run.
    pub manifest: Manifest,
    /// For each cell of the manifest.
    pub rows: Vec<Vec<Row>>,
    /// How many of them were made by other code than this program's ([`CODE`]).
    pub outdated: usize,
}

impl Results {
    /// Of an experiment of which nothing has been run.
    pub fn none(experiment: &Experiment) -> Self {
        Self::assemble(experiment, &BTreeMap::new())
    }

    /// Reads the results of a finished or unfinished experiment from its folder.
    ///
    /// # Errors
    ///
    /// The folder holds no results, or they are damaged.
    pub fn load(folder: &Path) -> Result<Self, LabError> {
        let manifest = Manifest::load(folder)?;
        Ok(Self::pick(manifest, &Journal::read(folder)?))
    }

    /// The rows of `runs.csv` and `runs.parquet`: the values of [`columns`], cell by cell.
    pub fn records(&self) -> Vec<Vec<Value>> {
        let cells = self.manifest.cells.iter().zip(&self.rows);
        let of = |cell: &ManifestCell, row| record(&cell.parameters, cell.link(), row);
        cells.flat_map(|(cell, rows)| rows.iter().map(move |row| of(cell, row))).collect()
    }

    /// The table of these results, which were loaded from `folder`, as a Parquet file: `runs.parquet`, where it holds
    /// all of them; of a sweep that is not finished, the runs that are there.
    ///
    /// # Errors
    ///
    /// The file cannot be read, is damaged, or holds something else.
    pub fn table(&self, folder: &Path) -> Result<Vec<u8>, LabError> {
        stored_table::read(self, folder)
    }

    /// Runs that were asked for.
    pub fn wanted(&self) -> usize {
        self.manifest.cells.iter().map(|cell| cell.keys.len()).sum()
    }

    /// Runs that are still missing.
    pub fn missing(&self) -> usize {
        self.wanted() - self.rows.iter().map(Vec::len).sum::<usize>()
    }

    /// Runs that did not finish.
    pub fn unfinished(&self) -> usize {
        self.rows.iter().flatten().filter(|row| !row.metrics.finished).count()
    }

    pub(crate) fn assemble(experiment: &Experiment, journal: &BTreeMap<String, Made>) -> Self {
        Self::pick(Manifest::of(experiment), journal)
    }

    /// The rows that belong to the experiment.
    pub(crate) fn pick(manifest: Manifest, journal: &BTreeMap<String, Made>) -> Self {
        let mut outdated = 0;
        let mut row = |key: &String, code: Code| {
            let made = journal.get(key)?;
            outdated += usize::from(!code.gives(&made.code));
            Some(made.row.clone())
        };
        let rows = manifest
            .cells
            .iter()
            .map(|cell| {
                let code = Code::of(&cell.settings);
                cell.keys.iter().filter_map(|key| row(key, code)).collect()
            })
            .collect();
        Self { manifest, rows, outdated }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_of_the_code_that_they_go_through() {
        for (settings, code) in [
            (&[("variant", "headway")][..], Code::OURS),
            (&[("variant", "headway"), ("own-path", "off")], Code::OURS),
            (&[("variant", "headway"), ("own-path", "on")], Code::OWN_PATH),
            (&[("variant", "newreno"), ("trunk", "headway")], Code::TRUNK),
            (&[("variant", "quinn:bbr"), ("own-path", "off")], Code::LINK),
        ] {
            let settings = settings.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
            assert_eq!(Code::of(&settings), code, "{settings:?}");
        }
    }
}
