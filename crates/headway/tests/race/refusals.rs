//! What cannot be right is refused at once, in one line that names it and says what was expected.

use std::fs;

use headway_test_fixture::process::say_skipped;
use tempfile::tempdir;

use crate::HEADWAY;

/// Options that would write files if the race were run.
const OUTPUT: [&str; 6] = ["--pcap", "out", "--report", "out.html", "--runs", "1"];

#[test]
fn a_file_that_cannot_be_sent() {
    let directory = tempdir().expect("a directory");
    let root = directory.path();
    fs::write(root.join("empty"), []).expect("written");
    fs::create_dir(root.join("folder")).expect("made");
    let with = |file| [&["race", file][..], &OUTPUT].concat();
    HEADWAY.refuse(root, &with("missing.bin"), &["missing.bin", "expected a file to send"]);
    HEADWAY.refuse(root, &with("folder"), &["folder", "expected a regular file"]);
    HEADWAY.refuse(root, &with("empty"), &["empty", "expected at least one byte"]);
    HEADWAY.refuse(root, &with("empty/inside"), &["empty/inside", "expected a file to send"]);
}

#[cfg(unix)]
#[test]
fn a_file_that_cannot_be_read() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempdir().expect("a directory");
    let path = directory.path().join("secret");
    fs::write(&path, b"without permission to read").expect("written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).expect("changed");
    if fs::File::open(&path).is_ok() {
        return say_skipped("unprivileged", "this one may read every file");
    }
    HEADWAY.refuse(directory.path(), &["race", "secret"], &["secret", "expected a file to send"]);
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
        ("--runs", "many", "whole number"),
        ("--seed", "-1", "whole number"),
        ("--mtu", "70000", "65535"),
    ] {
        let value_as_word = format!("{option}={value}");
        let words = [&["race", value_as_word.as_str()][..], &OUTPUT[..4]].concat();
        HEADWAY.refuse(directory.path(), &words, &[option, value, expected]);
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
        HEADWAY.refuse(directory.path(), &words, &[option, expected]);
    }
}

#[test]
fn unknown_names() {
    let directory = tempdir().expect("a directory");
    let root = directory.path();
    HEADWAY.refuse(
        root,
        &["race", "--variant", "tahoe"],
        &["tahoe", "newreno, sack, hack, hack+sack, xhack, xhack+sack"],
    );
    HEADWAY.refuse(root, &["race", "--variant", "sack,tahoe"], &["tahoe", "expected one of"]);
    HEADWAY.refuse(root, &["race", "--varant", "sack"], &["--varant", "--variant"]);
    HEADWAY.refuse(root, &["race", "--zzz"], &["--zzz", "headway race --help"]);
    HEADWAY.refuse(root, &["race", "--rate"], &["--rate", "value is required"]);
    HEADWAY.refuse(root, &["rice"], &["rice", "race"]);
}

#[test]
fn senders_that_do_not_fit_the_scenario() {
    let directory = tempdir().expect("a directory");
    let root = directory.path();
    HEADWAY.refuse(root, &["race", "--cc", "bbr"], &["--cc bbr", "newreno of profile linux22", "Linux 2.2"]);
    HEADWAY.refuse(
        root,
        &["race", "--cc", "vegas"],
        &["--cc", "vegas", "reno (or newreno), cubic, bbr, draft-bbr, copa or vivace"],
    );
    HEADWAY.refuse(root, &["race", "--variant", "sack:cubic"], &["--variant sack:cubic", "profile standard"]);
    HEADWAY.refuse(
        root,
        &["race", "--variant", "modern:tahoe"],
        &["tahoe", "expected a congestion controller"],
    );
    let without = ["race", "--variant", "modern,sack", "--without", "tlp"];
    HEADWAY.refuse(root, &without, &["--variant sack", "-tlp", "has no such features"]);
    HEADWAY.refuse(
        root,
        &["race", "--without", "brakes"],
        &["brakes", "expected a feature of the modern sender: tlp"],
    );
    let both = ["race", "--variant", "modern", "--with", "tlp", "--without", "prr,tlp"];
    HEADWAY.refuse(root, &both, &["--without tlp", "another feature"]);
    let partial = ["race", "--variant", "modern", "--with", "partial"];
    HEADWAY.refuse(root, &partial, &["--variant modern", "partial recovery needs HACK v2"]);
    let arq = ["race", "--variant", "oracle", "--frame-check", "arq:3"];
    HEADWAY.refuse(root, &arq, &["--variant oracle", "keep or drop"]);
    HEADWAY.refuse(root, &["race", "--duration", "60s", "--size", "2MB"], &["--duration", "--size"]);
    HEADWAY.refuse(root, &["race", "--duration", "0s"], &["--duration", "expected some virtual time"]);
    HEADWAY.refuse(root, &["race", "--queue", "0bdp"], &["--queue", "0bdp", "1bdp"]);
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
        HEADWAY.fail(1, root, &words, &["cannot be written"]);
    }
}
