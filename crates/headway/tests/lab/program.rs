//! Runs the program as a user would.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// A sweep of four cells that takes a moment.
pub(crate) const SMALL: &str = r#"title = "A small sweep"
source = "Nowhere, Fig. 1"
reading = """
One paragraph.

Another."""
runs = 3

[sweep]
variant = ["sack", "hack+sack"]
length = [2, 4]

[scenario]
delay = "20ms"
size = "64KB"
damage = "burst:5%:{length}"
header-hit = "0%"

[figure]
kind = "lines"
x = "length"
series = "variant"
measure = "goodput"
unit = "KB/s"

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

/// The command itself, in `directory`.
pub(crate) fn command(directory: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_headway"));
    command.args(words).current_dir(directory);
    command
}

/// Runs it.
pub(crate) fn headway_in(directory: &Path, words: &[&str]) -> Output {
    command(directory, words).output().expect("the program starts")
}

/// As [`headway_in`], and it has to succeed. What it printed on standard output.
#[track_caller]
pub(crate) fn succeed_in(directory: &Path, words: &[&str]) -> String {
    let output = headway_in(directory, words);
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Writes an experiment file and runs it; the results are in `results/NAME`.
#[track_caller]
pub(crate) fn run_experiment(directory: &Path, name: &str, text: &str) {
    let file = format!("{name}.toml");
    fs::write(directory.join(&file), text).expect("written");
    succeed_in(directory, &["lab", "run", &file]);
}
