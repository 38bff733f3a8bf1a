//! headway's TCP in ns-3: `examples/ns-3` compiled and run, beside headway's own simulator and ns-3's TCP.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use headway_test_fixture::process::say_skipped;

use crate::common::{compiler, crate_folder, has, scratch, succeed};
use crate::digest::simulated;

type Keys<'a> = &'a [(&'a str, &'a str)];

/// A frame of ns-3 has two bytes of PPP beside the IP packet.
const LINK: Keys<'_> = &[("rate", "10mbit"), ("delay", "50ms"), ("queue", "100p"), ("overhead", "2")];
const ODD_LINK: Keys<'_> = &[("rate", "7mbit"), ("delay", "33ms"), ("queue", "50p"), ("overhead", "2")];
const DAMAGE: Keys<'_> = &[("damage", "burst:5%:5"), ("header-hit", "40%")];
const NO_DAMAGE: Keys<'_> = &[("damage", "none")];
const BYTES: u64 = 1_000_000;

/// The example as a program; `None` where ns-3 is not installed.
fn build(folder: &Path) -> Option<PathBuf> {
    if !has("g++") {
        return None;
    }
    if !Path::new("/usr/include/ns3/core-module.h").exists() {
        say_skipped("ns3", "Debian: libns3-dev");
        return None;
    }
    let test = std::env::current_exe().expect("the path of this test");
    let libraries = test.parent().expect("a folder");
    let program = folder.join("transfer");
    let example = crate_folder().join("../../examples/ns-3/transfer.cc");
    let mut command = compiler("g++", "c++17", &example);
    command.args(["-O1", "-o"]).arg(&program).arg("-L").arg(libraries).arg("-lheadway_capi");
    command.arg(format!("-Wl,-rpath,{}", libraries.display()));
    for library in ["applications", "core", "internet", "network", "point-to-point", "traffic-control"] {
        command.arg(format!("-lns3-{library}"));
    }
    succeed(&mut command);
    Some(program)
}

/// What a run printed, by name.
fn run(program: &Path, arguments: &[String]) -> BTreeMap<String, String> {
    let output = succeed(Command::new(program).args(arguments));
    let pairs = output.split_whitespace().filter_map(|word| word.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn number(run: &BTreeMap<String, String>, name: &str) -> f64 {
    run[name].parse().expect(name)
}

/// One transfer in ns-3 over a link with these keys, by headway or by ns-3's TCP.
fn transfer(
    program: &Path,
    tcp: &str,
    (link, damage): (Keys<'_>, Keys<'_>),
    seed: u64,
) -> BTreeMap<String, String> {
    let of = |name: &str| link.iter().find(|(key, _)| *key == name).map_or("", |(_, value)| *value);
    let damage: Vec<String> = damage.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let arguments = [
        format!("--tcp={tcp}"),
        format!("--rate={}", of("rate").replace("mbit", "Mbps")),
        format!("--delay={}", of("delay")),
        format!("--queue={}", of("queue").trim_end_matches('p')),
        format!("--damage={}", damage.join(" ")),
        format!("--size={BYTES}"),
        format!("--seed={seed}"),
    ];
    let run = run(program, &arguments);
    assert_eq!(run["bytes"], BYTES.to_string());
    run
}

#[test]
fn headway_in_ns3_has_the_packets_of_its_simulator() {
    let folder = scratch("ns3");
    if let Some(program) = build(&folder) {
        for (seed, damage) in [(1, DAMAGE), (2, DAMAGE), (3, DAMAGE), (1, NO_DAMAGE)] {
            let in_ns3 = transfer(&program, "headway", (LINK, damage), seed);
            let (seconds, digest) = simulated(&[LINK, damage].concat(), BYTES, seed);
            assert_eq!(in_ns3["digest"], digest, "seed {seed}: {in_ns3:?}");
            assert_eq!(number(&in_ns3, "nanoseconds") / 1e9, seconds, "seed {seed}");
        }
        // Here a frame takes no whole number of nanoseconds, and ns-3 rounds otherwise.
        for seed in 1..=3 {
            let in_ns3 = transfer(&program, "headway", (ODD_LINK, DAMAGE), seed);
            let (seconds, _) = simulated(&[ODD_LINK, DAMAGE].concat(), BYTES, seed);
            let ratio = number(&in_ns3, "nanoseconds") / 1e9 / seconds;
            println!("seed {seed}: {ratio} times the simulator's {seconds} s");
            assert!(
                (0.999..1.001).contains(&ratio),
                "seed {seed}: {ratio} times the simulator's {seconds} s"
            );
        }
    }
    std::fs::remove_dir_all(folder).expect("removed");
}

#[test]
fn the_tcp_of_ns3_meets_the_same_damage() {
    let folder = scratch("ns3-own");
    if let Some(program) = build(&folder) {
        let undamaged = transfer(&program, "ns3", (LINK, NO_DAMAGE), 1);
        assert_eq!(undamaged["damaged"], "0");
        let own = transfer(&program, "ns3", (LINK, DAMAGE), 1);
        let headway = transfer(&program, "headway", (LINK, DAMAGE), 1);
        assert!(number(&own, "damaged") > 50.0, "{own:?}");
        assert!(number(&headway, "nanoseconds") * 10.0 < number(&own, "nanoseconds"), "{headway:?} {own:?}");
    }
    std::fs::remove_dir_all(folder).expect("removed");
}
