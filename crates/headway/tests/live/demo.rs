//! `headway demo`: three senders side by side, and that nothing is left of them.

use std::fs;
use std::process::{Command, Output, Stdio};

use headway_test_fixture::process::wait_until;
use serde_json::Value;

use crate::namespace::{HEADWAY, say_skipped};

/// `headway demo` with these words; `None` where this machine has no namespaces.
fn demo(words: &[&str]) -> Option<Output> {
    let output = Command::new(HEADWAY).arg("demo").args(words).stdin(Stdio::null()).output().unwrap();
    let says = String::from_utf8_lossy(&output.stderr).into_owned();
    if says.contains("a network namespace") {
        say_skipped("namespaces", &says);
        return None;
    }
    Some(output)
}

/// Processes with this word among theirs.
fn processes(word: &str) -> usize {
    let lists = fs::read_dir("/proc").unwrap().flatten();
    let words = lists.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    words.filter(|words| words.split(|byte| *byte == 0).any(|one| one == word.as_bytes())).count()
}

#[test]
fn each_sender_brings_something() {
    let link = ["--damage", "none", "--rate", "20mbit", "--delay", "5ms"];
    let Some(output) = demo(&[&link[..], &["--seconds", "2", "--json"]].concat()) else { return };
    assert!(output.status.success(), "{output:?}");
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&object["seconds"], &object["link"]["rate"]), (&2.into(), &"20mbit".into()), "{object}");
    let senders = object["senders"].as_array().unwrap();
    let names: Vec<_> = senders.iter().map(|sender| sender["sender"].as_str().unwrap()).collect();
    assert!(names.starts_with(&["linux:cubic"]) && names.ends_with(&["headway"]), "{names:?}");
    for sender in senders {
        // No more than the link carries, in the time and half of an interval.
        let bytes = sender["bytes"].as_u64().unwrap();
        assert!((1..20_000_000 / 8 * 21 / 10).contains(&bytes), "{object}");
    }
    let Some(output) = demo(&[&link[..], &["--seconds", "1"]].concat()) else { return };
    let (printed, says) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(printed.starts_with("In 1 s headway has ") && printed.lines().count() == 1, "{printed}");
    assert!(says.contains("20mbit, one-way delay 5ms") && says.contains(", headway "), "{says}");
}

#[test]
fn what_is_wrong_is_said_once() {
    for (words, expected) in [
        (["--rate", "fast"], "headway: --rate fast: expected a rate such as 10mbit or 1gbit\n"),
        (["--damage", "sometimes"], "headway: --damage sometimes: "),
        (["--seconds", "0"], "headway: invalid value '0' for '--seconds <N>': "),
    ] {
        let Some(output) = demo(&words) else { return };
        let says = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{says}");
        assert!(says.matches("headway: ").count() == 1 && says.contains(expected), "{says}");
    }
}

/// Whether it is asked to end or killed.
#[test]
fn nothing_is_left_of_it() {
    for signal in ["-INT", "-KILL"] {
        // By this its processes are known.
        let delay = format!("{}us", 10_000 + std::process::id() % 10_000);
        if demo(&["--seconds", "1", "--json"]).is_none() {
            return;
        }
        let mut command = Command::new(HEADWAY);
        command.args(["demo", "--delay", &delay, "--json"]).stdout(Stdio::null());
        let mut running = command.spawn().unwrap();
        wait_until("all senders have started", || processes(&delay) >= 3);
        let killed = Command::new("kill").args([signal, &running.id().to_string()]).status().unwrap();
        assert!(killed.success() && !running.wait().unwrap().success());
        wait_until("none is left", || processes(&delay) == 0);
    }
}
