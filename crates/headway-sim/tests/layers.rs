//! The files of the network use those below them only.

use std::fs;
use std::path::Path;

/// From the bottom to the top; `mod` is the network itself.
const LAYERS: [&str; 8] = ["parts", "packet", "pool", "tap", "node", "nodes", "mod", "gateways"];

#[test]
fn files_of_the_network_use_only_those_below_them() {
    let network = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/network");
    for entry in fs::read_dir(network).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let place = LAYERS.iter().position(|&layer| layer == name);
        let place = place.unwrap_or_else(|| panic!("{name} has no place"));
        check(&path, place, "super::");
    }
}

/// `path` is at `place`, and names others behind `crate::network::` or `prefix`.
fn check(path: &Path, place: usize, prefix: &str) {
    if path.is_dir() {
        // Behind `super::` is their own folder there.
        return fs::read_dir(path)
            .unwrap()
            .for_each(|entry| check(&entry.unwrap().path(), place, "crate::network::"));
    }
    let text = fs::read_to_string(path).unwrap();
    for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
        for rest in line.split("crate::network::").skip(1).chain(line.split(prefix).skip(1)) {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            // What has a name of its own there comes from the network.
            let used = LAYERS.iter().position(|&layer| layer == &rest[..end]).unwrap_or(6);
            assert!(used <= place, "{}: {line}", path.display());
        }
    }
}
