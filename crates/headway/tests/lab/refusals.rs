//! What is wrong with an experiment is reported in one line, before anything runs.

use std::fs::{self, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::process::Command;

use headway_test_fixture::experiment;
use headway_test_fixture::process::say_skipped;
use tempfile::tempdir;

use super::program::SMALL;
use crate::HEADWAY;

/// `lab check` and `lab run` refuse the file.
#[track_caller]
fn refused(text: &str, parts: &[&str]) {
    let directory = tempdir().expect("a directory");
    fs::write(directory.path().join("my.toml"), text).expect("written");
    for verb in ["check", "run"] {
        HEADWAY.refuse(directory.path(), &["lab", verb, "my.toml"], parts);
    }
}

/// The small experiment with one line in the place of another.
#[track_caller]
fn with(old: &str, new: &str) -> String {
    experiment::with(&SMALL, old, new)
}

#[test]
fn the_small_experiment_is_one() {
    let directory = tempdir().expect("a directory");
    fs::write(directory.path().join("my.toml"), &*SMALL).expect("written");
    let output = HEADWAY.run(directory.path(), &["lab", "check", "my.toml"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "my.toml: 4 cells, 12 runs\n");
}

#[test]
fn unknown_keys() {
    refused(&with("runs = 3", "rnus = 3"), &["my.toml:7: ", "rnus", "runs"]);
    refused(&with("delay = \"20ms\"", "dealy = \"20ms\""), &["my.toml:14: dealy: ", "delay", "damage"]);
    refused(&with("kind = \"lines\"", "kind = \"curves\""), &["my.toml:20: ", "curves", "lines", "bars"]);
}

#[test]
fn values_of_another_type() {
    refused(
        &with("runs = 3", "runs = \"ten\""),
        &["my.toml:7: runs: got \"ten\": expected a whole number from 0 to 4294967295\n"],
    );
    refused(
        &with("delay = \"20ms\"", "delay = true"),
        &["my.toml:14: delay: got true: expected a number, or a text in quotes\n"],
    );
    refused(
        &with("length = [2, 4]", "length = 2"),
        &["my.toml:11: length: got 2: expected a list in brackets\n"],
    );
}

#[test]
fn wrong_units() {
    refused(&with("delay = \"20ms\"", "delay = \"20mbit\""), &["my.toml:14: delay: ", "20mbit", "ms"]);
    refused(&with("size = \"64KB\"", "size = \"64ms\""), &["my.toml:15: size: ", "64ms", "KB"]);
    refused(&with("unit = \"KB/s\"", "unit = \"s\""), &["my.toml:24: unit: ", "\"s\"", "KB/s"]);
}

#[test]
fn sweeps_that_are_empty_or_too_large() {
    refused(&with("length = [2, 4]", "length = []"), &["my.toml:11: length: ", "at least one value"]);
    refused(&with("runs = 3", "runs = 0"), &["my.toml:7: runs: ", "at least one"]);
    refused(&with("runs = 3", "runs = 4000000000"), &["my.toml:9: sweep: ", "4000000000", "2000000 runs"]);
    // As many cells as overflow a machine word.
    let ten = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]";
    let axes: String = (0..30).map(|axis| format!("a{axis} = {ten}\n")).collect();
    refused(&with("length = [2, 4]\n", &format!("length = [2, 4]\n{axes}")), &["sweep: ", "20000 cells"]);
}

#[test]
fn axes_and_values_that_do_not_exist() {
    refused(&with("x = \"length\"", "x = \"lenght\""), &["my.toml:21: x: ", "\"lenght\"", "variant, length"]);
    refused(&with("{length}", "{lenght}"), &["my.toml:16: damage: ", "{lenght}", "variant, length"]);
    refused(&with("over = { variant", "over = { sender"), &["claim: ", "\"sender\"", "variant, length"]);
    refused(
        &with("over = { variant = \"sack\" }", "over = { variant = \"reno\" }"),
        &["claim: ", "\"reno\""],
    );
    refused(
        &with("order = [\"sack\", \"hack+sack\"]", "order = [\"sack\", \"hack\"]"),
        &["my.toml:28: order: ", "\"hack\"", "variant"],
    );
    refused(&with("paper = 1000", ""), &["claim: ", "paper", "order"]);
}

#[test]
fn overrides_of_unknown_keys() {
    let directory = tempdir().expect("a directory");
    fs::write(directory.path().join("my.toml"), &*SMALL).expect("written");
    let run = |setting| ["lab", "run", "my.toml", "--set", setting];
    HEADWAY.refuse(directory.path(), &run("dealy=1s"), &["--set dealy=1s: ", "variant, length", "delay"]);
    HEADWAY.refuse(directory.path(), &run("delay"), &["--set delay: ", "KEY=VALUE"]);
    HEADWAY.refuse(directory.path(), &["paper", "run", "000-fig99"], &["000-fig99", "headway paper list"]);
}

/// What was given on the command line, and not the line of the file that it replaces.
#[test]
fn errors_about_values_of_options_name_the_options() {
    let directory = tempdir().expect("a directory");
    fs::write(directory.path().join("my.toml"), &*SMALL).expect("written");
    for (options, says) in [
        (&["--set", "delay=1mbit"][..], "headway: --set delay=1mbit: \"1mbit\": expected a time"),
        (&["--set", "delay=1s", "--set", "scenario.delay=-1"], "headway: --set scenario.delay=-1: \"-1\": "),
        (&["--set", "variant=sack,foo"], "headway: --set variant=sack,foo: \"foo\": expected one of"),
        // Found in another line of the file, which is right by itself.
        (&["--set", "length=abc"], "headway: --set length=abc: my.toml:16: damage: "),
        (
            &["--set", "rate=1mbit", "--set", "variant=sack"],
            "headway: --set rate=1mbit --set variant=sack: my.toml:28: order: ",
        ),
        (&["--runs", "0"], "headway: --runs 0: expected at least one run"),
        (&["--runs", "1000000"], "headway: --runs 1000000: 4 cells of 1000000 runs: expected at most"),
    ] {
        for verb in ["run", "live"] {
            let words = [&["lab", verb, "my.toml"], options].concat();
            HEADWAY.refuse(directory.path(), &words, &[says]);
        }
    }
    // The file is wrong without them, too.
    fs::write(directory.path().join("my.toml"), with("size = \"64KB\"", "size = \"64ms\"")).expect("written");
    let words = ["lab", "run", "my.toml", "--set", "delay=1s", "--runs", "3"];
    HEADWAY.refuse(directory.path(), &words, &["headway: my.toml:15: size: \"64ms\": "]);
}

#[test]
fn files_whose_results_would_share_a_folder() {
    let directory = tempdir().expect("a directory");
    fs::create_dir(directory.path().join("other")).expect("made");
    fs::write(directory.path().join("my.toml"), &*SMALL).expect("written");
    fs::write(directory.path().join("other/my.toml"), &*SMALL).expect("written");
    let words = ["lab", "run", "my.toml", "other/my.toml"];
    HEADWAY.refuse(directory.path(), &words, &["other/my.toml", "expected another name", "my"]);
}

#[test]
fn folders_without_results() {
    let directory = tempdir().expect("a directory");
    fs::create_dir(directory.path().join("empty")).expect("made");
    for subject in ["lab", "paper"] {
        for folder in ["empty", "missing"] {
            HEADWAY.refuse(directory.path(), &[subject, "report", folder], &[folder, "a folder of results"]);
        }
    }
    assert_eq!(fs::read_dir(directory.path().join("empty")).expect("a folder").count(), 0);
}

/// Without root's rights, for any user.
#[test]
fn folders_that_cannot_be_read() {
    let directory = tempdir().expect("a directory");
    let locked = directory.path().join("results/locked");
    fs::create_dir_all(&locked).expect("made");
    let set_mode = |mode| fs::set_permissions(&locked, Permissions::from_mode(mode)).expect("permissions");
    set_mode(0o000);
    let is_root = fs::metadata("/proc/self").expect("a process").uid() == 0;
    for folder in ["results/locked", "results"] {
        for subject in ["lab", "paper"] {
            let mut command = Command::new(if is_root { "setpriv" } else { HEADWAY.0 });
            if is_root {
                command.args(["--bounding-set=-all", HEADWAY.0]);
            }
            command.args([subject, "report", folder]).current_dir(directory.path());
            let output = match command.output() {
                Ok(output) => output,
                Err(error) if is_root && error.kind() == ErrorKind::NotFound => {
                    return say_skipped("setpriv", "");
                }
                Err(error) => panic!("{error}"),
            };
            let complaint = String::from_utf8(output.stderr).expect("UTF-8");
            let expected =
                "headway: results/locked: Permission denied (os error 13); expected a folder of results";
            assert!(complaint.starts_with(expected), "{subject} {folder}: {complaint}");
            assert_eq!((output.status.code(), complaint.lines().count()), (Some(2), 1), "{complaint}");
        }
    }
    set_mode(0o755);
}
