//! Which experiments a report is of.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use headway_lab::{Clock, Overrides, Results};

use super::Kind;
use crate::failure::Failure;
use crate::lab::papers;

/// The file by which a folder of results is known.
const MARK: &str = "experiment.json";

/// The results in a folder, by name; for the papers, also those of which there are none yet.
pub(super) fn results(folder: &Path, kind: Kind) -> Result<Vec<Results>, Failure> {
    let mut found = found(folder)?;
    if kind == Kind::Papers {
        let shipped = papers::experiments(&["all".into()], &Overrides::default())?;
        let names: BTreeSet<&str> = shipped.iter().map(|experiment| experiment.name.as_str()).collect();
        found.retain(|results| names.contains(results.manifest.name.as_str()));
        for experiment in &shipped {
            if !found.iter().any(|results| results.manifest.name == experiment.name) {
                found.push(Results::none(experiment));
            }
        }
    }
    found.sort_by(|one, other| one.manifest.name.cmp(&other.manifest.name));
    Ok(found)
}

fn found(folder: &Path) -> Result<Vec<Results>, Failure> {
    if folder.join(MARK).is_file() {
        return Ok(vec![Results::load(folder)?]);
    }
    let none = |reason: String| Failure::NoResults { folder: folder.into(), reason };
    let mut results = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| none(error.to_string()))? {
        let path = entry.map_err(|error| none(error.to_string()))?.path();
        if path.join(MARK).is_file() {
            results.push(Results::load(&path)?);
        }
    }
    if results.is_empty() { Err(none("there are none in it".into())) } else { Ok(results) }
}

/// The command that makes these results, as one would type it.
pub(super) fn command(results: &[Results], kind: Kind) -> String {
    match kind {
        Kind::Own if results.iter().any(is_live) => "headway lab live FILE".into(),
        Kind::Own => "headway lab run FILE".into(),
        Kind::Papers => {
            let runs = common_runs(results);
            format!("headway paper run all{}", runs.map_or(String::new(), |runs| format!(" --runs {runs}")))
        }
    }
}

/// Whether it has cells in real time.
fn is_live(results: &Results) -> bool {
    let clock = |cell: &headway_lab::ManifestCell| cell.settings.get("clock").cloned();
    results.manifest.cells.iter().any(|cell| clock(cell).as_deref() == Some(Clock::Real.name()))
}

/// How many runs there were of each cell, where that was the same everywhere.
fn common_runs(results: &[Results]) -> Option<u32> {
    let mut run = results.iter().filter(|results| results.missing() < results.wanted());
    let first = run.next()?.manifest.runs;
    let mut others = run.peekable();
    (others.peek().is_some() && others.all(|results| results.manifest.runs == first)).then_some(first)
}
