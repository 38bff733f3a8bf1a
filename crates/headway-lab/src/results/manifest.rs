//! What was run, beside the results: enough to draw and judge them later.

use std::path::Path;

use headway_sim::Value;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::tables::write_whole;
use crate::error::LabError;
use crate::experiment::{Claim, DrawnLinks, Experiment, Figure, LINK_AXIS};

pub(super) const FILE: &str = "experiment.json";

/// An experiment as it was run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Its name.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// Where it comes from.
    pub source: String,
    /// Which reading was taken, and why.
    pub reading: String,
    /// What the command line changed in its conditions, as `KEY=VALUE`: then its claims are not judged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<String>,
    /// The axes whose values are readings of a source.
    pub readings: Vec<String>,
    /// Runs of each cell.
    pub runs: u32,
    /// The seed.
    pub seed: u64,
    /// The axes.
    pub axes: IndexMap<String, Vec<String>>,
    /// The links that were drawn from the seed, if any were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draw: Option<DrawnLinks>,
    /// The combinations.
    pub cells: Vec<ManifestCell>,
    /// What became of each packet of the recorded links that cells name, as text, by the setting that
    /// names them: the results need no file beside them.
    #[serde(default)]
    pub recordings: IndexMap<String, String>,
    /// How it is drawn.
    pub figure: Figure,
    /// What the source says.
    pub claims: Vec<Claim>,
}

/// A cell as it was run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ManifestCell {
    /// The value of each axis.
    pub values: IndexMap<String, String>,
    /// What was drawn for its link; empty if no links were drawn.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub drawn: IndexMap<String, String>,
    /// Every parameter, in the order of the columns.
    pub parameters: Vec<Value>,
    /// The keys of `[scenario]` with the values of the axes filled in: the cell can be run again from them.
    pub settings: IndexMap<String, String>,
    /// The key of each run: a digest of all that determines it.
    pub keys: Vec<String>,
}

impl ManifestCell {
    /// Its value of an axis, or what was drawn for its link.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.values.get(name).or_else(|| self.drawn.get(name)).map(String::as_str)
    }

    /// The number of its link, if links were drawn.
    pub fn link(&self) -> Option<u64> {
        self.values.get(LINK_AXIS).filter(|_| !self.drawn.is_empty())?.parse().ok()
    }
}

impl Manifest {
    pub(crate) fn of(experiment: &Experiment) -> Self {
        let cells = experiment
            .cells
            .iter()
            .map(|cell| ManifestCell {
                values: cell.values.clone(),
                drawn: cell.drawn.clone(),
                parameters: cell.parameters.clone(),
                settings: cell.settings.clone(),
                keys: (0..experiment.runs)
                    .map(|run| run_key(&cell.identity, experiment.run_seed(cell, run)))
                    .collect(),
            })
            .collect();
        Self {
            name: experiment.name.clone(),
            title: experiment.title.clone(),
            source: experiment.source.clone(),
            reading: experiment.reading.clone(),
            changes: experiment.changes.clone(),
            readings: experiment.readings.clone(),
            runs: experiment.runs,
            seed: experiment.seed,
            axes: experiment.axes.clone(),
            draw: experiment.draw.clone(),
            cells,
            recordings: experiment.recordings.clone(),
            figure: experiment.figure.clone(),
            claims: experiment.claims.clone(),
        }
    }

    pub(super) fn load(folder: &Path) -> Result<Self, LabError> {
        let path = folder.join(FILE);
        let text = std::fs::read_to_string(&path)
            .map_err(|source| LabError::Unreadable { path: path.clone(), source })?;
        serde_json::from_str(&text).map_err(|error| LabError::Malformed {
            file: path.display().to_string(),
            line: error.line(),
            problem: format!("expected a description of an experiment: {error}"),
        })
    }

    pub(crate) fn write(&self, folder: &Path) -> Result<(), LabError> {
        // Strings, numbers and lists: nothing in it can fail to serialize.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        write_whole(&folder.join(FILE), text.as_bytes())
    }
}

/// A digest of everything that determines a run.
pub(crate) fn run_key(identity: &str, seed: u64) -> String {
    let digest = Sha256::new().chain_update(identity).chain_update(seed.to_le_bytes()).finalize();
    digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}
