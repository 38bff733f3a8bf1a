//! `headway demo`: three senders side by side, and that nothing is left of them.

use std::fs;
use std::num::NonZero;
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
        assert_eq!(sender["differing"], 0, "{object}");
    }
    let Some(output) = demo(&[&link[..], &["--seconds", "1"]].concat()) else { return };
    let (printed, says) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(printed.starts_with("In 1 s headway has ") && printed.lines().count() == 1, "{printed}");
    assert!(printed.ends_with(". All bytes are as they were sent.\n"), "{printed}");
    assert!(says.contains("20mbit, one-way delay 5ms") && says.contains(", headway "), "{says}");
}

/// Two flipped bits that are 16 bits apart leave TCP's sum as it was where they were not equal: every second time. headway has
/// CRCs.
#[test]
fn bytes_that_the_kernel_delivers_damaged_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace.txt");
    fs::write(&trace, "ok 9\nbits payload 800 816\n").unwrap();
    let damage = format!("trace:{}", trace.display());
    let link = ["--damage", &damage, "--rate", "20mbit", "--delay", "5ms", "--seconds", "3"];
    let Some(output) = demo(&[&link[..], &["--json"]].concat()) else { return };
    let says = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{says}");
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    let senders = object["senders"].as_array().unwrap();
    let differing = |name: &str| {
        senders.iter().find(|sender| sender["sender"] == name).unwrap()["differing"].as_u64().unwrap()
    };
    assert!(differing("linux:cubic") > 0, "{object}");
    assert_eq!(differing("headway"), 0, "{object}");
    let Some(output) = demo(&link) else { return };
    assert_eq!(output.status.code(), Some(0));
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(printed.starts_with("In 3 s ") && !printed.contains("as they were sent"), "{printed}");
    assert!(
        printed.contains("TCP's checksum passed damaged bytes: ")
            && printed.contains(" of the kernel's CUBIC"),
        "{printed}"
    );
}

/// Frames of a modem need no file.
#[test]
fn a_radio_link_comes_with_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["demo", "--radio", "--seconds", "2", "--json", "--delay", "7ms"];
    let output =
        Command::new(HEADWAY).args(words).current_dir(folder.path()).stdin(Stdio::null()).output().unwrap();
    let says = String::from_utf8_lossy(&output.stderr).into_owned();
    if says.contains("a network namespace") {
        return say_skipped("namespaces", &says);
    }
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    let link = ["rate", "delay", "header-hit", "hit-zone", "damage"]
        .map(|key| object["link"][key].as_str().unwrap());
    assert_eq!(link, ["2mbit", "7ms", "place", "ip+tcp", "of a radio modem at 12 dB"]);
    let senders = object["senders"].as_array().unwrap();
    let count = |sender: &Value, what: &str| sender[what].as_u64().unwrap();
    let ours = senders.last().unwrap();
    assert!((1..2_000_000 / 8 * 21 / 10).contains(&count(ours, "bytes")), "{object}");
    assert_eq!(count(ours, "differing"), 0, "{object}");
    // TCP's sum passes some of these frames to the kernel.
    assert_eq!(output.status.code(), Some(0), "{object}: {says}");
    let Some(output) = demo(&["--radio", "--seconds", "1"]) else { return };
    let says = String::from_utf8(output.stderr).unwrap();
    assert!(
        says.starts_with("2mbit, one-way delay 20ms, ") && says.contains("damage of a radio modem at 12 dB"),
        "{says}"
    );
}

/// A terminal, which `script` gives it.
#[test]
fn on_a_terminal_each_sender_keeps_its_line() {
    if demo(&["--seconds", "1", "--json"]).is_none() {
        return;
    }
    let demo = format!("stty rows 24 cols 120; exec {HEADWAY} demo --seconds 2 --damage none --delay 5ms");
    let words = ["--quiet", "--return", "--flush", "--command", &demo, "/dev/null"];
    let output = Command::new("script").args(words).stdin(Stdio::null()).output().unwrap();
    let [rows, columns] = [24, 120].map(|size| NonZero::new(size).unwrap());
    let mut terminal = vt100::Parser::new(rows, columns, 0);
    terminal.process(&output.stdout);
    let seen: Vec<_> = terminal.screen().rows(0, 120).collect();
    assert!(output.status.success(), "{seen:#?}");
    for (start, end) in [("kernel's CUBIC", " Mbit/s"), ("headway", " Mbit/s"), ("In 2 s headway has ", "")] {
        let lines: Vec<_> = seen.iter().filter(|line| line.starts_with(start)).collect();
        assert!(lines.len() == 1 && lines[0].trim_end().ends_with(end), "{seen:#?}");
    }
}

#[test]
fn what_is_wrong_is_said_once() {
    for (words, expected) in [
        (["--rate", "fast"], "headway: --rate fast: expected a rate such as 10mbit or 1gbit\n"),
        (["--damage", "sometimes"], "headway: --damage sometimes: "),
        (["--seconds", "0"], "headway: invalid value '0' for '--seconds <N>': "),
        (
            ["--radio", "--damage=none"],
            "headway: the argument '--radio' cannot be used with '--damage <MODEL>'",
        ),
        (["--delay", "1s@0s"], "headway: --delay 1s@0s: "),
        (["--config", "missing"], "headway: missing: "),
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
        let delay = format!("--delay={}us", 10_000 + std::process::id() % 10_000);
        if demo(&["--seconds", "1", "--json"]).is_none() {
            return;
        }
        // Programs in the background of a script ignore SIGINT, and what they start does.
        let mut command = Command::new("env");
        command.args(["--default-signal=INT", HEADWAY, "demo", &delay, "--json"]).stdout(Stdio::null());
        let mut running = command.spawn().unwrap();
        wait_until("all senders have started", || processes(&delay) >= 3);
        let killed = Command::new("kill").args([signal, &running.id().to_string()]).status().unwrap();
        assert!(killed.success() && !running.wait().unwrap().success());
        wait_until("none is left", || processes(&delay) == 0);
    }
}
