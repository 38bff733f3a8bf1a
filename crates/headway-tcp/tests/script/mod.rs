//! The runner of packet scripts: a host in virtual time, and a peer that says what the script
//! says.

mod commands;
mod expectations;
mod failure;
mod icmp;
mod line;
mod packet;
mod peer;
mod runner;
pub(crate) mod self_check;
mod settings;
mod words;

use failure::Failure;
use runner::Runner;

/// Runs a whole script.
///
/// # Errors
///
/// The first line whose expectation is not met, or that cannot be read.
pub(crate) fn run(text: &str) -> Result<(), Failure> {
    let lines = line::parse(text)?;
    let mut runner = Runner::new();
    for line in &lines {
        if let Err(message) = runner.step(line) {
            return Err(Failure { line: line.number, message, transcript: runner.into_transcript() });
        }
    }
    let end = lines.last().map_or(0, |line| line.number);
    match runner.nothing_unexpected() {
        Ok(()) => Ok(()),
        Err(message) => Err(Failure { line: end, message, transcript: runner.into_transcript() }),
    }
}
