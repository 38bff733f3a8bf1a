//! How the tests read and run an experiment.

use std::path::Path;

use headway_lab::{Experiment, Overrides, Request, Results, run};

pub(crate) fn parse(name: &str, text: &str, overrides: &Overrides) -> Result<Experiment, String> {
    Experiment::parse(name, &format!("{name}.toml"), text, overrides).map_err(|error| error.to_string())
}

pub(crate) fn run_in(experiment: &Experiment, folder: &Path) -> Results {
    run(&Request { experiment, folder, reuse: false, testbed: None, progress: &() }).expect("a sweep")
}
