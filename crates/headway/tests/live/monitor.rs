//! A file over Wi-Fi cards in monitor mode, emulated, in a namespace of the test.

use std::thread;

use headway_test_fixture::air::{Air, damage};
use headway_test_fixture::process::say_skipped;
use nix::sched::{CloneFlags, unshare};

use crate::udp::fetch_a_file;

#[test]
fn fetch_from_serve() {
    thread::scope(|scope| scope.spawn(within_a_namespace).join().unwrap());
}

fn within_a_namespace() {
    if let Err(error) = unshare(CloneFlags::CLONE_NEWNET) {
        return say_skipped("root", &format!("network namespaces: {error}"));
    }
    let Some(air) = Air::start(2, true, damage) else { return };
    fetch_a_file(300_000, |own| {
        let cards = air.interfaces(own).join(",");
        let [address, peer] = [own, 1 - own].map(|end| format!("10.77.2.{}", end + 1));
        let network =
            ["--monitor", &cards, "--address", &address, "--peer-address", &peer, "--wifi-rate", "24mbit"];
        network.map(str::to_owned).into()
    });
    // The data alone are 209 segments.
    assert!(air.sent() > 209, "{} frames", air.sent());
}
