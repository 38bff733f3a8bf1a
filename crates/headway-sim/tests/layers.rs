//! The files of the network and of the race use those below them only.

use std::fs;
use std::path::Path;

/// From the bottom to the top; `mod` is the network itself.
const NETWORK: [&str; 8] = ["parts", "packet", "pool", "tap", "node", "nodes", "mod", "gateways"];

/// From the bottom to the top.
const RACE: [&str; 18] = [
    "unknown_name",
    "hops",
    "sender",
    "features",
    "trunk",
    "scenario",
    "queue_size",
    "run_settings",
    "gateways",
    "arena",
    "oracle",
    "metrics",
    "outcome",
    "check",
    "sample",
    "run",
    "summary",
    "mod",
];

#[test]
fn files_of_the_network_use_only_those_below_them() {
    check_folder("network", &NETWORK);
}

#[test]
fn files_of_the_race_use_only_those_below_them() {
    check_folder("race", &RACE);
}

fn check_folder(folder: &str, layers: &[&str]) {
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(folder);
    let absolute = format!("crate::{folder}::");
    for entry in fs::read_dir(files).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let place = layers.iter().position(|&layer| layer == name);
        let place = place.unwrap_or_else(|| panic!("{name} has no place"));
        check(&path, &layers[..=place], layers, [&absolute, "super::"]);
    }
}

/// `path` uses `below` only, of `layers`, and names others behind one of `prefixes`.
fn check(path: &Path, below: &[&str], layers: &[&str], prefixes: [&str; 2]) {
    if path.is_dir() {
        // Behind `super::` is their own folder there.
        return fs::read_dir(path)
            .unwrap()
            .for_each(|entry| check(&entry.unwrap().path(), below, layers, [prefixes[0]; 2]));
    }
    let text = fs::read_to_string(path).unwrap();
    for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
        for rest in prefixes.iter().flat_map(|prefix| line.split(prefix).skip(1)) {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            let name = &rest[..end];
            // Tests use all of their file, and what has a name of its own there comes from the folder itself.
            let used = if layers.contains(&name) { name } else { "mod" };
            assert!(rest.starts_with('*') || below.contains(&used), "{}: {line}", path.display());
        }
    }
}
