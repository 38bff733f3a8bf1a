//! Transfers in both directions through a link that damages, loses, reorders and duplicates packets.

use serde_json::Value;

use super::testbed::{KERNEL_LEFT, OURS, PACKET, Testbed};
use crate::namespace::{Namespace, start};
use crate::programs::folder_with_file;

/// 11,000 packets of data in each direction, twice: of 2 % that are hit the share is measured to 0.1 %.
const SIZE: usize = 16_000_000;

/// A link with a short RTT, so that a TCP that treats corruption as congestion recovers quickly.
const LINK: [&str; 6] = ["--rate", "300mbit", "--delay", "500us", "--queue", "200p"];

const DAMAGE: [&str; 4] = ["--damage", "random:2%", "--reverse-damage", "random:2%"];
const DISORDER: [&str; 10] =
    ["--damage", "none", "--loss", "1%", "--reorder", "2%", "--reorder-delay", "300us", "--duplicate", "1%"];

#[test]
fn damage_in_both_directions() {
    let Some(summary) = transfers(&DAMAGE) else { return };
    for way in ["forward", "reverse"] {
        let way = &summary[way];
        let count = |key: &str| way[key].as_u64().unwrap();
        let share = count("hit") as f64 / count("transmissions") as f64;
        assert!((0.015..0.025).contains(&share), "{way}");
        assert!(count("hit_in_header") > 0 && count("delivered_damaged") >= count("hit"), "{way}");
        assert_eq!(count("lost") + count("duplicated") + count("reordered"), 0, "{way}");
    }
}

#[test]
fn loss_reordering_and_duplicates() {
    let Some(summary) = transfers(&DISORDER) else { return };
    for way in ["forward", "reverse"] {
        let way = &summary[way];
        let count = |key: &str| way[key].as_u64().unwrap();
        for (key, expected) in [("lost", 0.01), ("reordered", 0.02), ("duplicated", 0.01)] {
            let share = count(key) as f64 / count("transmissions") as f64;
            assert!((expected - 0.005..expected + 0.005).contains(&share), "{key}: {way}");
        }
        assert_eq!(count("hit"), 0, "{way}");
    }
}

/// Transfers in both directions between the stack and the kernel, and between two kernels as the control.
/// Returns the box's summary.
fn transfers(words: &[&str]) -> Option<Value> {
    let testbed = Testbed::new()?;
    let running = testbed.start(&[&LINK[..], words].concat());
    let (folder, bytes) = folder_with_file(8, SIZE);
    let path = folder.path().to_str().unwrap();
    for (host, network) in [(OURS, &PACKET[..]), (KERNEL_LEFT, &["--kernel"])] {
        let server = start(&testbed.left, &[&["serve", "--write", path], network].concat());
        testbed.right.wait_for_http(host);
        let got = testbed.right.run("curl", &["-sSf", &format!("http://{host}/file")]).stdout;
        assert!(got == bytes, "from {host}");
        let file = folder.path().join("file");
        testbed.right.run("curl", &["-sSf", "-T", file.to_str().unwrap(), &format!("http://{host}/put")]);
        let put = std::fs::read(folder.path().join("put")).unwrap();
        assert!(put == bytes, "to {host}");
        drop(server);
    }
    for host in [&testbed.left, &testbed.right] {
        assert_eq!(resets(host), 0, "connections were reset");
    }
    let summary = running.stop();
    for way in ["forward", "reverse"] {
        for key in ["refused", "uncut", "kernel_drops"] {
            assert_eq!(summary[way][key], 0, "the box itself lost packets: {summary}");
        }
        assert!(summary[way]["offered_bytes"].as_u64().unwrap() > 2 * SIZE as u64, "{summary}");
    }
    Some(summary)
}

/// Connections of a namespace's kernel that were reset.
fn resets(namespace: &Namespace) -> u64 {
    let text = String::from_utf8(namespace.run("cat", &["/proc/net/snmp"]).stdout).unwrap();
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Tcp: "));
    let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
    let place = names.split(' ').position(|name| name == "EstabResets").unwrap();
    values.split(' ').nth(place).unwrap().parse().unwrap()
}
