//! The parts of the crate use one another in one direction only.

use std::fs;
use std::path::Path;

/// Each part, and those of the parts before it that it may use.
const LAYERS: &[(&str, &[&str])] = &[
    ("ring", &[]),
    ("slab", &[]),
    ("state", &[]),
    ("error", &[]),
    ("rules", &[]),
    ("id", &["slab"]),
    ("event", &["id", "state"]),
    ("congestion", &["id", "rules"]),
    ("profile", &["error", "congestion", "rules"]),
    ("path", &["id", "slab", "congestion", "rules"]),
    ("receive", &["ring", "profile"]),
    ("send", &["ring", "id", "event", "congestion", "profile", "path", "rules"]),
    ("hack", &["event", "receive", "send"]),
    (
        "connection",
        &["id", "state", "error", "event", "congestion", "profile", "path", "receive", "send", "hack"],
    ),
    (
        "host",
        &[
            "id",
            "slab",
            "state",
            "error",
            "event",
            "congestion",
            "profile",
            "path",
            "receive",
            "hack",
            "connection",
        ],
    ),
];

#[test]
fn parts_use_only_those_below_them() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for (place, &(part, allowed)) in LAYERS.iter().enumerate() {
        assert!(allowed.iter().all(|used| LAYERS[..place].iter().any(|&(below, _)| below == *used)));
        let mut used = Vec::new();
        collect(&src.join(part), &mut used);
        collect(&src.join(part).with_extension("rs"), &mut used);
        assert!(src.join(part).exists() || src.join(part).with_extension("rs").exists(), "no part {part}");
        for (file, name) in used {
            assert!(name == part || allowed.contains(&name.as_str()), "{file}: {part} uses {name}");
        }
    }
    for entry in fs::read_dir(&src).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let name = name.trim_end_matches(".rs");
        assert!(name == "lib" || LAYERS.iter().any(|&(part, _)| part == name), "{name} has no place");
    }
}

/// The parts that the code below `path` names, with the file that does.
fn collect(path: &Path, used: &mut Vec<(String, String)>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            collect(&entry.unwrap().path(), used);
        }
        return;
    }
    let Ok(text) = fs::read_to_string(path) else { return };
    for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
        for rest in line.split("crate::").skip(1) {
            let names = match rest.strip_prefix('{') {
                Some(list) => list.split('}').next().unwrap().split(", ").collect(),
                None => vec![rest],
            };
            for name in names {
                let name = name.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap();
                used.push((path.display().to_string(), part_of(name).to_owned()));
            }
        }
    }
}

/// The part that an item at the root of the crate comes from.
fn part_of(name: &str) -> &str {
    match name {
        "ConnectionId" | "DomainId" | "ListenerId" => "id",
        "ConnectionError" | "Error" => "error",
        "State" => "state",
        "Profile" | "LossRecovery" | "HackRules" => "profile",
        name => name,
    }
}
