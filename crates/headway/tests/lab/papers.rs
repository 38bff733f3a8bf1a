//! The papers' experiment files, taken together.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use headway_lab::{Experiment, Overrides, Results, weigh};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers")
}

fn all() -> BTreeMap<String, Experiment> {
    let files = fs::read_dir(folder()).expect("a folder").map(|entry| entry.expect("an entry").path());
    files
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .map(|path| Experiment::load(&path, &Overrides::default()).expect("an experiment"))
        .map(|experiment| (experiment.name.clone(), experiment))
        .collect()
}

/// A claim that names a sweep speaks of cells that the sweep has.
#[test]
fn evidence_can_be_given() {
    let experiments = all();
    // A sweep has thousands of cells, and several claims name it.
    let mut sweeps = BTreeMap::new();
    let mut claims = 0;
    for experiment in experiments.values() {
        for claim in &experiment.claims {
            let Some(evidence) = &claim.evidence else { continue };
            claims += 1;
            let place = format!("{}: {}", experiment.name, claim.says);
            let sweep = experiments.get(&evidence.sweep).unwrap_or_else(|| panic!("{place}: no such sweep"));
            let nothing = sweeps.entry(&evidence.sweep).or_insert_with(|| Results::none(sweep));
            if let Err(error) = weigh(claim, &experiment.figure, nothing) {
                panic!("{place}: {error}");
            }
        }
    }
    assert!(claims > 50, "{claims}");
}

#[test]
fn the_index_has_every_file() {
    let index = fs::read_to_string(folder().join("README.md")).expect("an index");
    for name in all().keys() {
        assert!(index.contains(&format!("[`{name}`]({name}.toml)")), "{name} is not in papers/README.md");
    }
}
