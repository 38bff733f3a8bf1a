//! The network of `examples/two_hosts.c` has the packets of the simulator, bit by bit.

use std::path::PathBuf;
use std::process::Command;

use crate::common::{crate_folder, has, program, scratch, succeed};
use crate::digest::simulated;

/// The forward link of the example; damage is on this one only.
const LINK: [(&str, &str); 5] = [
    ("rate", "10mbit"),
    ("delay", "50ms"),
    ("queue", "100p"),
    ("damage", "burst:5%:5"),
    ("header-hit", "40%"),
];

fn run(program: &PathBuf, seed: u64) -> String {
    succeed(Command::new(program).arg(seed.to_string()))
}

#[test]
fn c_and_the_simulator_have_the_same_packets() {
    if !has("cc") {
        return;
    }
    let folder = scratch("simulator");
    let [program, with_static] = [false, true]
        .map(|is_static| program(&crate_folder().join("examples/two_hosts.c"), &folder, is_static));
    let mut digests = Vec::new();
    for seed in 1..=5 {
        let output = run(&program, seed);
        assert_eq!(output, run(&with_static, seed), "the same seed again");
        let (seconds, digest) = simulated(&LINK, 1_000_000, seed);
        let nanos = output
            .split_whitespace()
            .rev()
            .find_map(|word| word.parse::<u64>().ok().filter(|n| *n > 1_000_000_000));
        assert_eq!(nanos.map(|nanos| nanos as f64 / 1e9), Some(seconds), "seed {seed}: {output}");
        assert!(output.starts_with("1000000 bytes, each compared"), "{output}");
        assert!(output.contains(&format!("digest {digest}\n")), "seed {seed}: {output}, simulator: {digest}");
        digests.push(digest);
    }
    digests.dedup();
    assert_eq!(digests.len(), 5, "other seeds have other packets");
    std::fs::remove_dir_all(folder).expect("removed");
}
