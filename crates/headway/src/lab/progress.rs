//! A progress bar over all experiments.

use std::io::{self, IsTerminal};

use headway_lab::{Experiment, Progress};
use indicatif::{ProgressBar, ProgressStyle};

pub(super) struct Bar {
    bar: ProgressBar,
    /// Runs of the experiments, as they would be if none were there already.
    planned: Vec<u64>,
    place: std::sync::atomic::AtomicUsize,
}

impl Bar {
    pub(super) fn over(experiments: &[Experiment]) -> Self {
        let planned: Vec<u64> = experiments
            .iter()
            .map(|experiment| experiment.cells.len() as u64 * u64::from(experiment.runs))
            .collect();
        let bar = if io::stderr().is_terminal() {
            let style = ProgressStyle::with_template("{msg:20} {bar:40} {pos}/{len} runs, {eta} left")
                .unwrap_or_else(|_| ProgressStyle::default_bar());
            ProgressBar::new(planned.iter().sum()).with_style(style)
        } else {
            ProgressBar::hidden()
        };
        Self { bar, planned, place: std::sync::atomic::AtomicUsize::new(0) }
    }

    pub(super) fn name(&self, name: &str) {
        self.bar.set_message(name.to_owned());
    }

    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Progress for Bar {
    fn begin(&self, runs: usize) {
        let place = self.place.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let there = self.planned.get(place).map_or(0, |planned| planned - runs as u64);
        self.bar.inc(there);
    }

    fn outdated(&self, runs: usize) {
        let name = self.bar.message();
        let were = if runs == 1 { "run was" } else { "runs were" };
        self.bar.suspend(|| {
            eprintln!(
                "{name}: {runs} {were} made by other code and will be made again (--reuse keeps such runs)"
            );
        });
    }

    fn advance(&self) {
        self.bar.inc(1);
    }
}
