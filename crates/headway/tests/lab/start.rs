//! Experiments to start from.

use std::fs;

use tempfile::tempdir;

use crate::HEADWAY;

#[test]
fn a_new_experiment_runs_as_it_is() {
    let directory = tempdir().expect("a directory");
    let text = HEADWAY.succeed(directory.path(), &["lab", "new", "my-sweep"]);
    assert!(text.contains("headway lab run my-sweep.toml") && !text.contains('@'), "{text}");
    fs::write(directory.path().join("my-sweep.toml"), text).expect("written");
    let check = HEADWAY.succeed(directory.path(), &["lab", "check", "my-sweep.toml"]);
    assert_eq!(check, "my-sweep.toml: 9 cells, 90 runs\n");
    let results = HEADWAY.succeed(directory.path(), &["lab", "run", "my-sweep.toml"]);
    assert!(results.contains("my-sweep       reproduced      headway is faster than CUBIC"), "{results}");
    assert!(!results.contains("unfinished"), "{results}");
}

#[test]
fn names_are_those_of_files() {
    let directory = tempdir().expect("a directory");
    for name in ["", "a b", "../x", "a\"b", ".toml"] {
        HEADWAY.refuse(directory.path(), &["lab", "new", name], &["expected a name of letters"]);
    }
}

/// What is printed is the file, and runs elsewhere too: its recordings come with the program.
#[test]
fn a_papers_experiment_can_be_printed_and_run() {
    let directory = tempdir().expect("a directory");
    let text = HEADWAY.succeed(directory.path(), &["paper", "show", "003-section2-extra"]);
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../papers/003-section2-extra.toml");
    assert_eq!(text, fs::read_to_string(file).expect("the file"));
    assert!(text.contains("trace:003-window-"), "{text}");
    fs::write(directory.path().join("my.toml"), &text).expect("written");
    HEADWAY.succeed(directory.path(), &["lab", "check", "my.toml"]);
    let cellular = concat!(env!("CARGO_MANIFEST_DIR"), "/../../beyond/cellular.toml");
    fs::copy(cellular, directory.path().join("cellular.toml")).expect("copied");
    HEADWAY.succeed(directory.path(), &["lab", "check", "cellular.toml"]);
    let other = text.replace("trace:003-window-", "trace:004-window-");
    fs::write(directory.path().join("other.toml"), other).expect("written");
    let parts = ["other.toml:", "damage", "004-window-", "no such file in ., the folder of the experiment"];
    HEADWAY.refuse(directory.path(), &["lab", "check", "other.toml"], &parts);
}

#[test]
fn a_plain_sweep_needs_no_figure() {
    let directory = tempdir().expect("a directory");
    let text = "title = 'Plain'\nruns = 1\n[sweep]\nvariant = ['sack']\ndelay = ['1ms', '2ms']\n\
                [scenario]\nsize = '1KB'\n";
    fs::write(directory.path().join("plain.toml"), text).expect("written");
    let results = HEADWAY.succeed(directory.path(), &["lab", "run", "plain.toml"]);
    assert!(results.contains("goodput Mbit/s"), "{results}");
    HEADWAY.succeed(directory.path(), &["lab", "report", "results"]);
}
