//! Tests with many seeds, and how one that failed is replayed.
//!
//! `HEADWAY_SEED` (such as 4711 or 0x1267) runs one seed, `HEADWAY_SEEDS` another number of them than usual.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// The number in an environment variable, decimal or hexadecimal.
pub fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    let number = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    Some(number.unwrap_or_else(|_| panic!("{variable}={text}: expected a number, such as 4711 or 0x1267")))
}

/// Runs the test of one seed. The error says what went wrong, as an error or a panic, and the command that
/// replays it; `command` is that without the seed.
pub fn attempt<T>(seed: u64, command: &str, test: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    let what = match catch_unwind(AssertUnwindSafe(test)) {
        Ok(Ok(outcome)) => return Ok(outcome),
        Ok(Err(what)) => what,
        Err(panic) => match panic.downcast::<String>() {
            Ok(text) => format!("panicked: {text}"),
            Err(panic) => format!("panicked: {}", panic.downcast_ref::<&str>().unwrap_or(&"")),
        },
    };
    Err(format!("seed {seed:#x}: {what}\nreplay it:\n  HEADWAY_SEED={seed:#x} {command}"))
}

/// Runs a test with the seeds from 0 to `count`, or as the environment says; the first failure ends it.
#[track_caller]
pub fn each(count: u64, command: &str, test: impl Fn(u64)) {
    let seeds = match number("HEADWAY_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("HEADWAY_SEEDS").unwrap_or(count),
    };
    for seed in seeds {
        let outcome = attempt(seed, command, || {
            test(seed);
            Ok(())
        });
        outcome.unwrap_or_else(|what| panic!("{what}"));
    }
}

/// At least `fewest` seeds, from `HEADWAY_SEED` or 1 on, and more until `HEADWAY_SECONDS` are over; each is
/// printed.
#[expect(clippy::disallowed_methods, reason = "how long it goes on is asked for in seconds")]
pub fn for_seconds(fewest: u64) -> impl Iterator<Item = u64> {
    let first = number("HEADWAY_SEED").unwrap_or(1);
    let until = Instant::now() + Duration::from_secs(number("HEADWAY_SECONDS").unwrap_or(0));
    (first..)
        .take_while(move |&seed| seed < first + fewest || Instant::now() < until)
        .inspect(|seed| eprintln!("HEADWAY_SEED={seed}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_the_seed_and_the_command() {
        let error = attempt(255, "cargo test this", || -> Result<(), _> { panic!("at {}", 3) }).unwrap_err();
        assert_eq!(error, "seed 0xff: panicked: at 3\nreplay it:\n  HEADWAY_SEED=0xff cargo test this");
        let error = attempt(1, "that", || -> Result<(), _> { Err("no".into()) }).unwrap_err();
        assert_eq!(error, "seed 0x1: no\nreplay it:\n  HEADWAY_SEED=0x1 that");
        assert_eq!(attempt(1, "", || Ok(7)), Ok(7));
    }
}
