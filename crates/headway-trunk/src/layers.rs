//! The parts of the gateway use those below them only.

use std::fs;
use std::path::Path;

/// From the bottom to the top.
const LAYERS: [&str; 15] = [
    "error",
    "request",
    "saved_rates",
    "status",
    "config",
    "link",
    "stream",
    "packets",
    "exit",
    "entry",
    "no_session",
    "lookup",
    "unknown_peers",
    "gateway",
    "lib",
];
/// Parts that are for tests, and may use what they test.
const TESTS: [&str; 2] = ["fuzzed", "layers"];

#[test]
fn parts_use_only_those_below_them() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for entry in fs::read_dir(sources).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        if !TESTS.contains(&name) {
            check(&path, place(name).unwrap_or_else(|| panic!("{name} has no place")));
        }
    }
}

/// The place of a part, or of what the crate shows of it.
fn place(name: &str) -> Option<usize> {
    let part = match name {
        "TrunkError" => "error",
        "Config" | "Reloaded" | "TransparentConfig" => "config",
        part => part,
    };
    LAYERS.iter().position(|&layer| layer == part)
}

fn check(path: &Path, own: usize) {
    if path.is_dir() {
        return fs::read_dir(path).unwrap().for_each(|entry| check(&entry.unwrap().path(), own));
    }
    let text = fs::read_to_string(path).unwrap();
    // Tests may use what is above.
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
    for used in code.split("crate::").skip(1) {
        // `crate::{A, b::C}` names several.
        let names = match used.strip_prefix('{').and_then(|list| list.split_once('}')) {
            Some((list, _)) => list.split(", ").collect(),
            None => vec![used],
        };
        for name in names {
            let name = name.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap();
            let place = place(name).unwrap_or_else(|| panic!("{}: {name} has no place", path.display()));
            assert!(place <= own, "{} uses {name}", path.display());
        }
    }
}
