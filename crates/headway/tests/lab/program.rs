//! An experiment, and how it is run.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use headway_test_fixture::experiment::{self, with};

use crate::HEADWAY;

/// A sweep of four cells that takes a moment, with a source and claims.
pub(crate) static SMALL: LazyLock<String> =
    LazyLock::new(|| with(experiment::SMALL, "runs = 3", HEAD) + CLAIMS);

const HEAD: &str = r#"source = "Nowhere, Fig. 1"
reading = """
One paragraph.

Another."""
runs = 3"#;

const CLAIMS: &str = r#"
[[claim]]
says = "HACK | SACK"
order = ["sack", "hack+sack"]
why = "because <it> is"

[[claim]]
says = "HACK is a thousand times as fast"
of = { variant = "hack+sack" }
over = { variant = "sack" }
paper = 1000
"#;

/// Writes an experiment file and runs it; the results are in `results/NAME`.
#[track_caller]
pub(crate) fn run_experiment(directory: &Path, name: &str, text: &str) {
    let file = format!("{name}.toml");
    fs::write(directory.join(&file), text).expect("written");
    HEADWAY.succeed(directory, &["lab", "run", &file]);
}
