//! A progress bar over all experiments.

use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use headway_command::notice;
use headway_lab::{Experiment, Progress};
use indicatif::{ProgressBar, ProgressStyle};

pub(super) struct Bar {
    bar: ProgressBar,
    /// Runs of the experiments, as they would be if none were there already.
    planned: Vec<u64>,
    place: AtomicUsize,
    /// Where the output is not a terminal.
    lines: Option<Lines>,
}

/// Lines that are written now and then, by whichever thread ends a run then.
#[derive(Default)]
struct Lines {
    /// The second in which the last one was.
    last: AtomicU64,
}

impl Lines {
    /// Seconds between two lines.
    const APART: u64 = 10;

    /// Whether one is due at second `now`: once.
    fn is_due(&self, now: u64) -> bool {
        let last = self.last.load(Ordering::Relaxed);
        now >= last + Self::APART
            && self.last.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

impl Bar {
    pub(super) fn over(experiments: &[Experiment]) -> Self {
        let planned: Vec<u64> = experiments
            .iter()
            .map(|experiment| experiment.cells.len() as u64 * u64::from(experiment.runs))
            .collect();
        let seen = io::stderr().is_terminal();
        let bar = if seen {
            let style = ProgressStyle::with_template("{msg:20} {bar:40} {pos}/{len} runs, {eta} left")
                .unwrap_or_else(|_| ProgressStyle::default_bar());
            ProgressBar::new(planned.iter().sum()).with_style(style)
        } else {
            let bar = ProgressBar::hidden();
            bar.set_length(planned.iter().sum());
            bar
        };
        let lines = (!seen).then(Lines::default);
        Self { bar, planned, place: AtomicUsize::new(0), lines }
    }

    pub(super) fn name(&self, name: &str) {
        self.bar.set_message(name.to_owned());
    }

    /// Says something beside the bar.
    pub(super) fn notice(&self, text: &str) {
        self.bar.suspend(|| notice!("{text}"));
    }

    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Progress for Bar {
    fn begin(&self, runs: usize) {
        let place = self.place.fetch_add(1, Ordering::Relaxed);
        let there = self.planned.get(place).map_or(0, |planned| planned - runs as u64);
        self.bar.inc(there);
    }

    fn outdated(&self, runs: usize) {
        let name = self.bar.message();
        let were = if runs == 1 { "run was" } else { "runs were" };
        self.notice(&format!(
            "{name}: {runs} {were} made by other code and will be made again (--reuse keeps such runs)"
        ));
    }

    fn advance(&self) {
        self.bar.inc(1);
        if self.lines.as_ref().is_some_and(|lines| lines.is_due(self.bar.elapsed().as_secs())) {
            let all = self.bar.length().unwrap_or_default();
            notice!("{}: {} of {all} runs of all experiments", self.bar.message(), self.bar.position());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_written_each_ten_seconds_at_most() {
        let lines = Lines::default();
        let written: Vec<u64> =
            [0, 9, 10, 10, 19, 25, 34, 35, 99].into_iter().filter(|&now| lines.is_due(now)).collect();
        assert_eq!(written, [10, 25, 35, 99]);
    }
}
