//! Routers between headway's TCP and the kernel's: one with a smaller MTU, one that rejects packets.
//!
//! `ours (TUN) - kernel of the first namespace - MTU 1280 - second namespace - third namespace`.

use std::path::Path;

use headway_test_fixture::pattern::Pattern;

use crate::namespace::{HEADWAY, Namespace, start};

/// The namespaces of the chain. The first forwards the stack's packets.
fn chain() -> Option<[Namespace; 3]> {
    let chain = [Namespace::new()?, Namespace::new()?, Namespace::new()?];
    for namespace in &chain {
        for setting in
            ["net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1", "net.ipv6.conf.default.accept_dad=0"]
        {
            namespace.run("sysctl", &["-qw", setting]);
        }
    }
    let cable = |a: usize, b: usize, net: u8, mtu: &str| {
        let names = [format!("hw{b}"), format!("hw{a}")];
        let ends = ["link", "add", &names[0], "type", "veth", "peer", "name", &names[1]];
        chain[a].ip(&[&ends[..], &["netns", chain[b].name()]].concat());
        for (end, (namespace, name)) in [(&chain[a], &names[0]), (&chain[b], &names[1])].iter().enumerate() {
            namespace.ip(&["link", "set", name, "mtu", mtu, "up"]);
            let host = end + 1;
            namespace.ip(&["addr", "add", &format!("10.{net}.0.{host}/24"), "dev", name]);
            namespace.ip(&["addr", "add", &format!("fd{net}::{host}/64"), "dev", name, "nodad"]);
        }
    };
    cable(0, 1, 78, "1280");
    cable(1, 2, 79, "1500");
    for (at, net, via) in [(0, 79, "78:2"), (2, 78, "79:1"), (2, 77, "79:1"), (1, 77, "78:1")] {
        let (hop_net, host) = via.split_once(':').unwrap();
        chain[at].ip(&[
            "route",
            "add",
            &format!("10.{net}.0.0/16"),
            "via",
            &format!("10.{hop_net}.0.{host}"),
        ]);
        chain[at].ip(&["route", "add", &format!("fd{net}::/64"), "via", &format!("fd{hop_net}::{host}")]);
    }
    Some(chain)
}

const TUN_V4: [&str; 4] = ["--tun", "tun0", "--address", "10.77.0.2/24"];
const TUN_V6: [&str; 4] = ["--tun", "tun0", "--address", "fd77::2/64"];

/// Uploads a file from `ours` and checks that the smaller MTU was discovered.
fn upload(ours: &Namespace, server: &Namespace, folder: &Path, address: &str, network: &[&str]) {
    let bytes = Pattern(8).bytes(0, 5_000_000);
    let [file, put, events] = ["file", "put", "events"].map(|name| folder.join(name));
    std::fs::write(&file, &bytes).unwrap();
    let words = ["serve", "--write", "--kernel", "--listen", &format!("{address}:8000")];
    let _server = start(server, &[&words[..], &[folder.to_str().unwrap()]].concat());
    server.wait_for_listener(8000);
    let url = format!("http://{address}:8000/put");
    let words = ["fetch", &url, "--upload", file.to_str().unwrap(), "--events", events.to_str().unwrap()];
    ours.run(HEADWAY, &[&words[..], network].concat());
    assert!(std::fs::read(put).unwrap() == bytes);
    let events = std::fs::read_to_string(events).unwrap();
    let found = |text: &str| events.lines().any(|line| line.contains(text));
    assert!(found(r#""event":"path_mtu","mtu":1280"#), "the router reported it");
    assert!(found(r#""reason":"path_mtu""#), "segments that were too long were retransmitted");
}

#[test]
fn a_smaller_path_mtu_is_discovered() {
    let Some([ours, _router, server]) = chain() else { return };
    let folder = tempfile::tempdir().unwrap();
    upload(&ours, &server, folder.path(), "10.79.0.2", &TUN_V4);
    upload(&ours, &server, folder.path(), "[fd79::2]", &TUN_V6);
    // In the other direction the kernel's TCP discovers it.
    let url = "http://10.79.0.2:8000/file";
    let path = folder.path().to_str().unwrap();
    let _server = start(&server, &["serve", "--kernel", "--listen", "8000", path]);
    server.wait_for_listener(8000);
    let fetched = ours.run(HEADWAY, &[&["fetch", url, "--output", "-"], &TUN_V4[..]].concat()).stdout;
    Pattern(8).check_all(5_000_000, &fetched);
}

#[test]
fn a_rejecting_filter_ends_the_attempt() {
    let Some([ours, router, _server]) = chain() else { return };
    router.ip(&["route", "add", "prohibit", "10.79.0.9"]);
    router.ip(&["route", "add", "prohibit", "fd79::9"]);
    for (address, network) in [("10.79.0.9", &TUN_V4), ("fd79::9", &TUN_V6)] {
        let output =
            ours.command(HEADWAY, &[&["nc", address, "80"], &network[..]].concat()).output().unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{complaint}");
        assert!(complaint.contains(address) && complaint.contains("administratively"), "{complaint}");
    }
}
