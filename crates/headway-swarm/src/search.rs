//! World after world, on all processors.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use headway_test_fixture::rng::Rng;

use crate::shrink::{Late, Shrunk, shrink};
use crate::{Case, Outcome, Recording, run};

/// Failures are looked into for so long each.
const SHRINK_FOR: Duration = Duration::from_secs(60);

/// What is searched.
#[derive(Clone, Debug)]
pub struct Search {
    /// What all seeds follow from.
    pub base: u64,
    /// The numbers of the worlds.
    pub numbers: Range<u64>,
    /// For how long at most.
    pub time: Option<Duration>,
    /// Threads.
    pub threads: usize,
    /// The failures after which it ends.
    pub failures: usize,
    /// What all worlds have in common; its seed does not count.
    pub common: Case,
}

/// A world that failed.
#[derive(Clone, Debug)]
pub struct Failure {
    /// As it was drawn.
    pub case: Case,
    /// What is left of it.
    pub shrunk: Shrunk,
    /// How many worlds had begun before it, and how long the search had gone on.
    pub worlds: u64,
    /// See `worlds`.
    pub after: Duration,
}

/// What a search has found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Worlds that were run, by their kinds.
    pub worlds: BTreeMap<&'static str, u64>,
    /// What they were like, in all. The digest does not depend on the order.
    pub outcome: Outcome,
    /// Those that failed.
    pub failures: Vec<Failure>,
    /// How long it took.
    pub took: Duration,
}

impl Report {
    /// Worlds that were run.
    pub fn count(&self) -> u64 {
        self.worlds.values().sum()
    }
}

/// The seed of world `number`.
pub fn seed_of(base: u64, number: u64) -> u64 {
    Rng::new(base ^ Rng::new(number).next()).next()
}

/// Runs worlds until their numbers, the time, or the patience with failures ends. `progress` is called now and then, and after
/// each failure.
#[expect(clippy::disallowed_methods, reason = "how long it goes on is asked for in minutes")]
pub fn search(search: &Search, progress: impl Fn(&Report) + Sync) -> Report {
    let start = Instant::now();
    let is_over = || search.time.is_some_and(|time| start.elapsed() >= time);
    let next = AtomicU64::new(search.numbers.start);
    let stop = AtomicBool::new(false);
    let report = Mutex::new(Report::default());
    let work = || {
        while !stop.load(Ordering::Relaxed) && !is_over() {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= search.numbers.end {
                return;
            }
            let case = Case { seed: seed_of(search.base, number), ..search.common.clone() };
            let result = run(&case, Recording::default());
            let after = start.elapsed();
            let failure = result.as_ref().err().map(|what| {
                let until = Instant::now() + SHRINK_FOR;
                let again = |case: &Case| match Instant::now() < until {
                    true => Ok(run(case, Recording::default()).err()),
                    false => Err(Late),
                };
                let shrunk = shrink(&case, what.clone(), again);
                Failure { case: case.clone(), shrunk, worlds: number + 1 - search.numbers.start, after }
            });
            let mut report = report.lock().expect("no thread panics");
            *report.worlds.entry(case.kind().name()).or_default() += 1;
            if let Ok(outcome) = &result {
                report.outcome.add(outcome);
            }
            report.failures.extend(failure);
            report.took = start.elapsed();
            if report.failures.len() >= search.failures {
                stop.store(true, Ordering::Relaxed);
            }
            progress(&report);
        }
    };
    thread::scope(|scope| {
        for _ in 0..search.threads.max(1) {
            scope.spawn(work);
        }
    });
    let mut report = report.into_inner().expect("no thread panics");
    report.took = start.elapsed();
    report
}
