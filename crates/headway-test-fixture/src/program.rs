//! A program run as its users run it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A program under test, by its path: `Program(env!("CARGO_BIN_EXE_headway"))`.
#[derive(Clone, Copy, Debug)]
pub struct Program(pub &'static str);

impl Program {
    /// The command itself, in `directory`.
    pub fn command(self, directory: &Path, words: &[&str]) -> Command {
        let mut command = Command::new(self.0);
        command.args(words).current_dir(directory);
        command
    }

    /// Runs it.
    pub fn run(self, directory: &Path, words: &[&str]) -> Output {
        self.command(directory, words).output().expect("the program starts")
    }

    /// Runs it, and it has to succeed. What it printed on standard output.
    #[track_caller]
    pub fn succeed(self, directory: &Path, words: &[&str]) -> String {
        let output = self.run(directory, words);
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// It refuses these words: exit code 2 and one line that has all of `parts`. Nothing is written.
    #[track_caller]
    pub fn refuse(self, directory: &Path, words: &[&str], parts: &[&str]) {
        self.fail(2, directory, words, parts);
    }

    /// It fails with an exit code and one line that has all of `parts`. Nothing is written.
    #[track_caller]
    pub fn fail(self, code: i32, directory: &Path, words: &[&str], parts: &[&str]) {
        let before = listing(directory);
        let output = self.run(directory, words);
        let complaint = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(output.status.code(), Some(code), "{words:?}: {complaint}");
        assert!(output.stdout.is_empty(), "{words:?}");
        assert_eq!(complaint.lines().count(), 1, "{words:?}: {complaint}");
        for part in parts {
            assert!(complaint.contains(part), "{words:?}: no {part:?} in {complaint}");
        }
        assert_eq!(listing(directory), before, "{words:?}: something was written");
    }
}

fn listing(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).expect("a directory");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}
