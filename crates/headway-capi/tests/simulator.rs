//! The network of `examples/two_hosts.c` has the packets of the simulator, bit by bit.

mod common;

use std::path::PathBuf;
use std::process::Command;

use common::{crate_folder, has, program, scratch, succeed};
use headway_scenario::{Defaults, Traces, read};
use headway_sim::race::{RunSettings, run_recorded};
use headway_sim::{Content, Passing, Tap};
use headway_tcp::Variant;

/// FNV-1a, as of the example.
struct Digest(u64);

impl Digest {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

impl Tap for Digest {
    fn pass(&mut self, passing: &Passing<'_>) {
        self.add(&passing.at.as_nanos().to_le_bytes());
        self.add(&[u8::from(passing.outbound)]);
        self.add(passing.packet);
    }
}

/// The time of the last byte and the digest of all packets, as the simulator has them.
fn simulated(seed: u64) -> (f64, String) {
    let given = |name: &str| match name {
        "rate" => Some("10mbit"),
        "delay" => Some("50ms"),
        "queue" => Some("100p"),
        "damage" => Some("burst:5%:5"),
        "header-hit" => Some("40%"),
        _ => None,
    };
    let settings = read(given, Defaults::Files, &Traces::refused("none")).expect("keys");
    let content = Content::generated(1_000_000);
    let settings = RunSettings { scenario: &settings.scenario, content: &content, seed, hash: false };
    let tap = Digest(0xcbf2_9ce4_8422_2325);
    let recording = run_recorded(settings, Variant::Headway, || (), tap).expect("a run");
    assert!(recording.outcome.metrics.finished);
    (recording.outcome.metrics.seconds, format!("{:016x}", recording.tap.0))
}

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
        let (seconds, digest) = simulated(seed);
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
