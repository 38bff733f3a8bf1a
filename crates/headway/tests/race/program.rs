//! Runs the program as a user would.

use std::path::Path;
use std::process::{Command, Output};

/// The names of all senders.
pub(crate) const VARIANTS: [&str; 9] =
    ["newreno", "sack", "hack", "hack+sack", "xhack", "xhack+sack", "modern", "modern+hack", "headway"];

/// `headway` in `directory` with these words.
pub(crate) fn headway_in(directory: &Path, words: &[&str]) -> Output {
    command(directory, words).output().expect("the program starts")
}

/// As [`headway_in`], and it has to succeed. What it printed on standard output.
pub(crate) fn succeed_in(directory: &Path, words: &[&str]) -> String {
    let output = headway_in(directory, words);
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The command itself.
pub(crate) fn command(directory: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_headway"));
    command.args(words).current_dir(directory);
    command
}
