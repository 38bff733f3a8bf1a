//! The kernel with the programs, and headway's own TCP.

use headway_test_fixture::process::wait_until;

use super::hosts::{Hosts, LEFT};
use crate::namespace::HEADWAY;
use crate::programs::folder_with_file;

const OURS: &str = "10.79.0.12";
const PACKET: [&str; 4] = ["--packet", "eth0", "--address", "10.79.0.12/24"];

/// Each variant agrees on the encoding that it has, and bytes pass in both directions.
fn with_variant(variant: &str, encoding: &str) -> Option<()> {
    let hosts = Hosts::new()?;
    let damage = ["--damage", "random:4%", "--reverse-damage", "random:4%", "--header-hit", "30%"];
    let _box = hosts.start_box(&[&["--rate", "50mbit", "--delay", "5ms"], &damage[..]].concat());
    let left = hosts.left.attach(&["--encoding", "both"]);
    let (folder, bytes) = folder_with_file(24, 2_000_000);
    let _server = hosts.left.serve(folder.path());

    // The kernel sends.
    let got = folder.path().join("got");
    let from = format!("http://{}:8000/file", LEFT[0]);
    let fetch = ["fetch", &from, "-o", got.to_str().unwrap(), "--variant", variant];
    hosts.right.namespace.run(HEADWAY, &[&fetch[..], &PACKET].concat());
    assert!(std::fs::read(&got).unwrap() == bytes, "{variant}: the kernel sends");
    let agreed = format!("agreed_{encoding}");
    assert!(left.count(&agreed) >= 1, "{variant}: {}", left.status());
    assert!(left.count("reports_accepted") > 10, "{variant}: {}", left.status());
    assert!(left.count("losses_damage") > 10, "{variant}: {}", left.status());

    // The kernel receives.
    let serve = ["serve", folder.path().to_str().unwrap(), "--listen", "8001", "--variant", variant];
    let _ours = hosts.right.namespace.start(HEADWAY, &[&serve[..], &PACKET].concat());
    let url = format!("http://{OURS}:8001/file");
    wait_until("our server answers", || {
        hosts.left.command("curl", &["-sf", "-I", &url]).output().unwrap().status.success()
    });
    let before = left.count("special_acks_sent");
    assert!(hosts.left.run("curl", &["-sSf", &url]).stdout == bytes, "{variant}: the kernel receives");
    assert!(left.count("special_acks_sent") > before + 10, "{variant}: {}", left.status());
    Some(())
}

#[test]
fn version_2() {
    let _ = with_variant("headway", "v2");
}

#[test]
fn classic_with_one_number() {
    let _ = with_variant("hack+sack", "classic");
}

#[test]
fn classic_with_several_numbers() {
    let _ = with_variant("xhack+sack", "classic");
}
