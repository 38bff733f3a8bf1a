//! What cannot be right is refused at once, in one line that names it and says what was expected.

use std::fs;
use std::path::Path;

use crate::program::headway_in;
use tempfile::tempdir;

/// Refused with exit code 2 and one line that has all of `parts`; nothing is written.
#[track_caller]
fn refused(directory: &Path, words: &[&str], parts: &[&str]) {
    let before = listing(directory);
    let output = headway_in(directory, words);
    let complaint = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(2), "{words:?}: {complaint}");
    assert!(output.stdout.is_empty(), "{words:?}");
    assert_eq!(complaint.lines().count(), 1, "{words:?}: {complaint}");
    for part in parts {
        assert!(complaint.contains(part), "{words:?}: no {part:?} in {complaint}");
    }
    assert_eq!(listing(directory), before, "{words:?}");
}

fn listing(directory: &Path) -> Vec<std::path::PathBuf> {
    let mut paths: Vec<_> =
        fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}

/// Options that would write files if the race were run.
const OUTPUT: [&str; 6] = ["--pcap", "out", "--report", "out.html", "--runs", "1"];

#[test]
fn a_file_that_cannot_be_sent() {
    let directory = tempdir().expect("a directory");
    let root = directory.path();
    fs::write(root.join("empty"), []).expect("written");
    fs::create_dir(root.join("folder")).expect("made");
    let with = |file| [&["race", file][..], &OUTPUT].concat();
    refused(root, &with("missing.bin"), &["missing.bin", "expected a file to send"]);
    refused(root, &with("folder"), &["folder", "expected a regular file"]);
    refused(root, &with("empty"), &["empty", "expected at least one byte"]);
    refused(root, &with("empty/inside"), &["empty/inside", "expected a file to send"]);
}

#[cfg(unix)]
#[test]
fn a_file_that_cannot_be_read() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempdir().expect("a directory");
    let path = directory.path().join("secret");
    fs::write(&path, b"nobody may read this").expect("written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).expect("changed");
    if fs::File::open(&path).is_ok() {
        eprintln!("skipped: this user may read every file, whatever its permissions");
        return;
    }
    refused(directory.path(), &["race", "secret"], &["secret", "expected a file to send"]);
}

#[test]
fn a_file_smaller_than_what_is_asked_of_the_program_itself() {
    let directory = tempdir().expect("a directory");
    refused(directory.path(), &["race", "--size", "900GiB"], &["--size", "900GiB", "name a FILE"]);
}

#[test]
fn units_that_make_no_sense() {
    let directory = tempdir().expect("a directory");
    for (option, value, expected) in [
        ("--rate", "5parsecs", "expected a rate such as 10mbit"),
        ("--rate", "-1mbit", "expected a rate"),
        ("--rate", "10", "expected a rate"),
        ("--reverse-rate", "fast", "expected a rate"),
        ("--delay", "300", "expected a time"),
        ("--delay", "3 apples", "expected a time"),
        ("--jitter", "-3ms", "expected a time"),
        ("--time-limit", "forever", "expected a time"),
        ("--size", "2MiX", "expected a size"),
        ("--window", "1e99MiB", "expected a size"),
        ("--loss", "half", "expected a share"),
        ("--queue", "100q", "expected a queue limit"),
        ("--damage", "burst:5%", "expected burst:P:L"),
        ("--damage", "gamma", "expected none, random"),
        ("--reverse-damage", "random:x", "expected random:P"),
        ("--hit-zone", "udp", "expected"),
        ("--frame-check", "maybe", "expected"),
        ("--header-hit", "somewhere", "expected"),
        ("--rules", "strict", "expected literal or default"),
        ("--profile", "linux99", "expected a profile"),
        ("--runs", "many", "invalid digit"),
        ("--seed", "-1", "invalid digit"),
        ("--mtu", "70000", "65535"),
    ] {
        let value_as_word = format!("{option}={value}");
        let words = [&["race", value_as_word.as_str()][..], &OUTPUT[..4]].concat();
        refused(directory.path(), &words, &[option, value, expected]);
    }
}

#[test]
fn values_out_of_range() {
    let directory = tempdir().expect("a directory");
    for (option, value, expected) in [
        ("--rate", "0", "expected a rate"),
        ("--rate", "0mbit", "expected a rate"),
        ("--reverse-rate", "0kbit", "expected a rate"),
        ("--loss", "120%", "expected a share"),
        ("--loss", "1.5", "expected a share"),
        ("--duplicate", "-1%", "expected a share"),
        ("--reorder", "100.1%", "expected a share"),
        ("--header-hit", "101%", "expected a share"),
        ("--damage", "random:101%", "expected random:P with a share"),
        ("--damage", "burst:5%:0", "expected burst:P:L"),
        ("--mtu", "127", "expected at least 128"),
        ("--window", "0B", "expected"),
        ("--window", "2GiB", "1GiB"),
        ("--size", "0B", "expected at least one byte"),
        ("--runs", "0", "expected between 1 and 1000000"),
        ("--flips", "0", "expected at least one bit"),
        ("--time-limit", "0s", "expected some virtual time"),
    ] {
        let value_as_word = format!("{option}={value}");
        let words = [&["race", value_as_word.as_str()][..], &OUTPUT[..4]].concat();
        refused(directory.path(), &words, &[option, expected]);
    }
}

#[test]
fn unknown_names() {
    let directory = tempdir().expect("a directory");
    let root = directory.path();
    refused(
        root,
        &["race", "--variant", "reno"],
        &["reno", "newreno, sack, hack, hack+sack, xhack, xhack+sack"],
    );
    refused(root, &["race", "--variant", "sack,tahoe"], &["tahoe", "expected one of"]);
    refused(root, &["race", "--varant", "sack"], &["--varant", "--variant"]);
    refused(root, &["race", "--zzz"], &["--zzz", "headway race --help"]);
    refused(root, &["race", "--rate"], &["--rate", "value is required"]);
    refused(root, &["rice"], &["rice", "race"]);
}

#[test]
fn senders_that_do_not_fit_the_scenario() {
    let directory = tempdir().expect("a directory");
    let root = directory.path();
    refused(root, &["race", "--cc", "bbr"], &["--cc bbr", "newreno of profile linux22", "Linux 2.2"]);
    refused(root, &["race", "--cc", "vegas"], &["--cc", "vegas", "newreno, cubic or bbr"]);
    refused(root, &["race", "--variant", "sack:cubic"], &["--variant sack:cubic", "profile standard"]);
    refused(root, &["race", "--variant", "modern:tahoe"], &["tahoe", "expected a congestion controller"]);
    let without = ["race", "--variant", "modern,sack", "--without", "tlp"];
    refused(root, &without, &["--variant sack", "-tlp", "has no such parts"]);
    refused(root, &["race", "--without", "brakes"], &["brakes", "expected a part of the modern sender: tlp"]);
    let both = ["race", "--variant", "modern", "--with", "tlp", "--without", "prr,tlp"];
    refused(root, &both, &["--without tlp", "another part"]);
    let partial = ["race", "--variant", "modern", "--with", "partial"];
    refused(root, &partial, &["--variant modern", "partial recovery needs HACK v2"]);
    let arq = ["race", "--variant", "oracle", "--frame-check", "arq:3"];
    refused(root, &arq, &["--variant oracle", "keep or drop"]);
    refused(root, &["race", "--duration", "60s", "--size", "2MB"], &["--duration", "--size"]);
    refused(root, &["race", "--duration", "0s"], &["--duration", "expected some virtual time"]);
    refused(root, &["race", "--queue", "0bdp"], &["--queue", "0bdp", "1bdp"]);
}

/// The mistake is not in the words, but it is known before the race.
#[test]
fn files_that_cannot_be_written() {
    let directory = tempdir().expect("a directory");
    let root = directory.path();
    fs::write(root.join("file"), b"in the way").expect("written");
    for words in [
        ["race", "--report", "nowhere/page.html", "--pcap", "out"],
        ["race", "--pcap", "file/out", "--report", "page.html"],
    ] {
        let output = headway_in(root, &words);
        let complaint = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(output.status.code(), Some(1), "{complaint}");
        assert_eq!(complaint.lines().count(), 1, "{complaint}");
        assert!(complaint.contains("cannot be written"), "{complaint}");
        assert!(output.stdout.is_empty());
        assert_eq!(listing(root), [root.join("file")]);
    }
}
