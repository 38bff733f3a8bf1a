//! What `headway lab explore` refuses, before it needs any library of JavaScript.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::{TempDir, tempdir};

use super::program::{SMALL, run_experiment};
use crate::HEADWAY;

const EXPLORE: [&str; 3] = ["lab", "explore", "results/my"];

/// A folder with the results of the small experiment in `results/my`.
fn results() -> TempDir {
    let directory = tempdir().expect("a directory");
    run_experiment(directory.path(), "my", &SMALL);
    directory
}

/// It is refused, and no folder is made for the page.
#[track_caller]
fn refused(directory: &Path, words: &[&str], parts: &[&str]) {
    HEADWAY.refuse(directory, words, parts);
    assert!(!directory.join("results/my/explorer/index.html").exists(), "{words:?}");
}

/// As `refused`, for files of results that are no use, which is no fault of the command line.
#[track_caller]
fn fails(directory: &Path, parts: &[&str]) {
    HEADWAY.fail(1, directory, &EXPLORE, parts);
    assert!(!directory.join("results/my/explorer").exists(), "{parts:?}");
}

#[test]
fn folders_without_results() {
    let directory = tempdir().expect("a directory");
    fs::create_dir(directory.path().join("empty")).expect("made");
    fs::write(directory.path().join("text"), "no folder").expect("written");
    for folder in ["empty", "missing", "text"] {
        refused(directory.path(), &["lab", "explore", folder], &[folder, "a folder of results"]);
    }
    refused(directory.path(), &["lab", "explore", "empty", "--sequences", "-1"], &["-1"]);
    refused(directory.path(), &["lab", "explore", "empty", "--sequences", "1001"], &["expected 0 to 1000"]);
}

#[test]
fn a_damaged_table() {
    let directory = results();
    let path = directory.path().join("results/my/runs.parquet");
    let whole = fs::read(&path).expect("a table");
    let half = whole[..whole.len() / 2].to_vec();
    for damaged in [b"no Parquet file".to_vec(), Vec::new(), half] {
        fs::write(&path, damaged).expect("written");
        fails(
            directory.path(),
            &["results/my/runs.parquet: damaged, or no Parquet file", "`headway lab run`"],
        );
    }
    // The advice helps.
    HEADWAY.succeed(directory.path(), &["lab", "run", "my.toml"]);
    assert_eq!(fs::read(&path).expect("a table"), whole);
}

#[test]
fn the_table_of_other_runs() {
    let (directory, other) = (results(), tempdir().expect("a directory"));
    let path = "results/my/runs.parquet";
    run_experiment(other.path(), "my", &SMALL.replace("runs = 3", "runs = 2"));
    fs::copy(other.path().join(path), directory.path().join(path)).expect("copied");
    fails(directory.path(), &[path, "expected the 12 rows of runs.jsonl, found 8"]);
    fs::remove_dir_all(other.path().join("results")).expect("removed");
    run_experiment(other.path(), "my", &SMALL.replace("delay = \"20ms\"", "delay = \"21ms\""));
    fs::copy(other.path().join(path), directory.path().join(path)).expect("copied");
    fails(directory.path(), &[path, "row 1: ", "expected what runs.jsonl holds"]);
}

#[test]
fn a_description_by_another_version() {
    let directory = results();
    let path = directory.path().join("results/my/experiment.json");
    let text = fs::read_to_string(&path).expect("a description");
    let mut description: Value = serde_json::from_str(&text).expect("JSON");
    let parameters = description["cells"][1]["parameters"].as_array_mut().expect("parameters");
    parameters.pop().expect("a parameter");
    fs::write(&path, description.to_string()).expect("written");
    fails(directory.path(), &["results/my/experiment.json: written by another version: expected values for"]);
}

#[test]
fn a_folder_with_other_content() {
    let directory = results();
    fs::create_dir(directory.path().join("mine")).expect("made");
    fs::write(directory.path().join("mine/thesis.tex"), "years").expect("written");
    refused(
        directory.path(),
        &["lab", "explore", "results/my", "--out", "mine"],
        &["mine: it exists and holds thesis.tex, which is of no explorer"],
    );
    assert_eq!(fs::read_to_string(directory.path().join("mine/thesis.tex")).expect("there"), "years");
    HEADWAY.fail(
        1,
        directory.path(),
        &["lab", "explore", "results/my", "--out", "my.toml"],
        &["my.toml: cannot be read: Not a directory"],
    );
}

#[test]
fn without_npm_it_says_what_is_missing() {
    let directory = results();
    let mut command = HEADWAY.command(directory.path(), &EXPLORE);
    command.env("PATH", directory.path()).env("XDG_CACHE_HOME", directory.path().join("cache"));
    let output = command.output().expect("the program starts");
    let complaint = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(1), "{complaint}");
    let last = complaint.lines().last().unwrap_or_default();
    assert!(last.contains("npm was not found; expected it"), "{complaint}");
    assert!(!directory.path().join("results/my/explorer").exists(), "{complaint}");
}

#[test]
fn where_npm_fails_it_says_why() {
    use std::os::unix::fs::PermissionsExt as _;

    let directory = results();
    let npm = directory.path().join("npm");
    let script = "#!/bin/sh\necho 'npm error code ENOTFOUND' >&2\necho 'npm error network is unreachable.' >&2\nexit 1\n";
    fs::write(&npm, script).expect("written");
    fs::set_permissions(&npm, fs::Permissions::from_mode(0o755)).expect("executable");
    let mut command = HEADWAY.command(directory.path(), &EXPLORE);
    command.env("PATH", directory.path()).env("XDG_CACHE_HOME", directory.path().join("cache"));
    let output = command.output().expect("the program starts");
    let complaint = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(1), "{complaint}");
    let last = complaint.lines().last().unwrap_or_default();
    assert!(
        last.contains("npm did not fetch") && last.contains("uPlot): network is unreachable;"),
        "{complaint}"
    );
    let left = fs::read_dir(directory.path().join("cache/headway")).expect("the cache").count();
    assert_eq!(left, 0, "what is not whole is removed");
}
