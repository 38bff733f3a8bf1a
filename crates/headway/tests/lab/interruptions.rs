//! A sweep that is killed goes on where it stopped, and gives what it would have given.

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use headway_test_fixture::process::wait_until;
use tempfile::tempdir;

use super::program::{SMALL, run_experiment};
use crate::HEADWAY;

const TABLES: [&str; 2] = ["runs.csv", "runs.parquet"];

/// Enough runs that some are still to come after a fraction of a second.
fn longer() -> String {
    SMALL.replace("runs = 3", "runs = 60").replace("size = \"64KB\"", "size = \"1MB\"")
}

fn read(folder: &Path, name: &str) -> Vec<u8> {
    fs::read(folder.join("results/my").join(name)).expect(name)
}

#[test]
fn a_killed_sweep_gives_the_same_tables() {
    let (whole, pieces) = (tempdir().expect("a directory"), tempdir().expect("a directory"));
    run_experiment(whole.path(), "my", &longer());
    fs::write(pieces.path().join("my.toml"), longer()).expect("written");
    let journal = pieces.path().join("results/my/runs.jsonl");
    let written = || fs::read(&journal).unwrap_or_default().iter().filter(|&&byte| byte == b'\n').count();
    let mut rows = Vec::new();
    // At any moment: after some time, and after a number of rows.
    for (milliseconds, wanted) in [(3, 0), (12, 0), (0, 1), (0, 2), (40, 0), (0, 20), (25, 30), (0, 60)] {
        let mut child =
            HEADWAY.command(pieces.path(), &["lab", "run", "my.toml"]).spawn().expect("the program starts");
        sleep(Duration::from_millis(milliseconds));
        wait_until("rows", || written() >= wanted || child.try_wait().expect("a child").is_some());
        // SIGKILL on Unix: nothing of the program gets to tidy up. It may have been done already.
        child.kill().expect("killed");
        child.wait().expect("gone");
        rows.push(written());
    }
    assert!(rows.iter().any(|&rows| 0 < rows && rows < 240), "some were killed on the way: {rows:?}");
    assert!(rows.is_sorted(), "what was there is kept: {rows:?}");
    HEADWAY.succeed(pieces.path(), &["lab", "run", "my.toml"]);
    for table in TABLES {
        assert!(read(whole.path(), table) == read(pieces.path(), table), "{table}, after {rows:?} rows");
    }
}

/// Two at once would write into each other's lines.
#[test]
fn a_second_sweep_into_the_same_folder_is_refused_while_the_first_runs() {
    let directory = tempdir().expect("a directory");
    fs::write(directory.path().join("my.toml"), longer()).expect("written");
    let first = ["lab", "run", "my.toml", "--runs", "20000"];
    let mut child = HEADWAY.command(directory.path(), &first).spawn().expect("the program starts");
    let journal = directory.path().join("results/my/runs.jsonl");
    wait_until("a row", || {
        assert!(child.try_wait().expect("a child").is_none(), "it has ended");
        fs::metadata(&journal).is_ok_and(|journal| journal.len() > 0)
    });
    let who = format!("results/my: process {} (", child.id());
    let parts = [&who, "headway lab run my.toml --runs 20000) writes to it: expected one sweep at a time"];
    HEADWAY.fail(1, directory.path(), &["lab", "run", "my.toml", "--runs", "1"], &parts);
    // Elsewhere it may.
    HEADWAY.succeed(directory.path(), &["lab", "run", "my.toml", "--runs", "1", "--out", "elsewhere"]);
    child.kill().expect("killed");
    child.wait().expect("gone");
    HEADWAY.succeed(directory.path(), &["lab", "run", "my.toml", "--runs", "1"]);
}

#[test]
fn a_line_that_was_half_written_is_run_again() {
    let directory = tempdir().expect("a directory");
    run_experiment(directory.path(), "my", &SMALL);
    let tables = TABLES.map(|table| read(directory.path(), table));
    let journal = read(directory.path(), "runs.jsonl");
    let path = directory.path().join("results/my/runs.jsonl");
    fs::write(&path, &journal[..journal.len() - 40]).expect("written");
    HEADWAY.succeed(directory.path(), &["lab", "run", "my.toml"]);
    assert_eq!(TABLES.map(|table| read(directory.path(), table)), tables);
    let lines = |bytes: &[u8]| bytes.iter().filter(|&&byte| byte == b'\n').count();
    assert_eq!(lines(&read(directory.path(), "runs.jsonl")), lines(&journal));
}

#[test]
fn a_finished_sweep_makes_no_run_twice() {
    let directory = tempdir().expect("a directory");
    run_experiment(directory.path(), "my", &SMALL);
    let before = read(directory.path(), "runs.jsonl");
    assert_eq!(before.iter().filter(|&&byte| byte == b'\n').count(), 12);
    HEADWAY.succeed(directory.path(), &["lab", "run", "my.toml"]);
    assert!(read(directory.path(), "runs.jsonl") == before);
    // More runs of each cell keep those that are there.
    HEADWAY.succeed(directory.path(), &["lab", "run", "my.toml", "--runs", "4"]);
    let after = read(directory.path(), "runs.jsonl");
    assert!(after.starts_with(&before));
    assert_eq!(after.iter().filter(|&&byte| byte == b'\n').count(), 16);
}
