//! What cannot be analysed is refused in one line that names it and says what was expected.

use std::fs;
use std::path::Path;

use tempfile::tempdir;

use super::capture;
use crate::HEADWAY;

#[track_caller]
fn refused(directory: &Path, words: &[&str], parts: &[&str]) {
    let words = [&["trace"], words, &["--html", "page.html"]].concat();
    HEADWAY.refuse(directory, &words, parts);
}

#[test]
fn files_that_are_no_captures() {
    let directory = tempdir().expect("a directory");
    let root = directory.path();
    let sound = fs::read(capture("sim-sack.pcapng")).expect("a capture");
    let mut broken = sound.clone();
    let at = broken.len() - 100;
    broken[at..].fill(0xff);
    fs::write(root.join("text"), b"no capture at all").expect("written");
    fs::write(root.join("empty"), []).expect("written");
    fs::write(root.join("broken.pcapng"), broken).expect("written");
    refused(root, &["missing.pcap"], &["missing.pcap", "cannot be read"]);
    refused(root, &["text"], &["text: at byte 0", "expected the magic number of a pcap or pcapng file"]);
    refused(root, &["empty"], &["empty: at byte 0", "expected a pcap or pcapng file, got 0 bytes"]);
    refused(root, &["broken.pcapng"], &["broken.pcapng: at byte ", "expected ", ", got "]);
    refused(root, &["."], &[".", "expected a regular file"]);
}

#[test]
fn words_that_make_no_sense() {
    let directory = tempdir().expect("a directory");
    let root = directory.path();
    let (simulated, classic) = (capture("sim-sack.pcapng"), capture("linux-reno-loss.pcap"));
    refused(
        root,
        &[&simulated, "--interface", "eth0"],
        &["--interface eth0", "expected one of sender, receiver"],
    );
    refused(root, &[&classic, "--interface", "eth0"], &["the capture has no interface names"]);
    refused(root, &[&simulated, "--connection", "2"], &["--connection 2", "expected a number from 1 to 1"]);
    refused(root, &[&simulated, "--connection", "0"], &["--connection 0", "expected a number from 1 on"]);
    refused(root, &[&simulated, "--connection", "x"], &["--connection", "expected a whole number"]);
    refused(root, &[&simulated, "--csv=rtt"], &["--csv", "rtt"]);
    refused(root, &[&simulated, "--json", "--csv"], &["--json", "--csv"]);
    refused(root, &[], &["FILE"]);
}

#[test]
fn help_has_examples() {
    let directory = tempdir().expect("a directory");
    let output = HEADWAY.run(directory.path(), &["trace", "--help"]);
    let help = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(output.status.success());
    assert!(help.matches("  headway trace ").count() >= 5, "{help}");
    assert!(help.lines().all(|line| line.len() <= 100), "{help}");
}
