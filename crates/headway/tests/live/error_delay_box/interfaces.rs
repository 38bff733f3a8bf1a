//! Kinds of interfaces: TUN devices, VLANs, IPv6, receive offload.

use super::testbed::{RunningBox, Testbed};
use crate::namespace::{HEADWAY, Namespace, say_skipped, start};
use crate::programs::folder_with_file;

const LINK: [&str; 8] =
    ["--rate", "100mbit", "--delay", "2ms", "--damage", "random:2%", "--reverse-damage", "random:2%"];

const SIZE: usize = 3_000_000;

fn add_tun(namespace: &Namespace, device: &str) {
    namespace.ip(&["tuntap", "add", device, "mode", "tun"]);
    namespace.ip(&["link", "set", device, "up"]);
}

/// A stack on a TUN. The kernel's address is not used here, and must differ from the hosts'.
fn tun(device: &'static str, address: &'static str) -> [&'static str; 6] {
    ["--tun", device, "--address", address, "--peer-address", "10.78.0.77"]
}

#[test]
fn between_two_tuns() {
    let Some(namespace) = Namespace::new() else { return };
    for device in ["hwt0", "hwt1"] {
        add_tun(&namespace, device);
    }
    let (folder, expected) = folder_with_file(9, SIZE);
    let running = RunningBox::start(&namespace, &[&["hwt0", "hwt1"], &LINK[..]].concat());
    let path = folder.path().to_str().unwrap();
    let _server = start(&namespace, &[&["serve", path], &tun("hwt0", "10.78.0.1/24")[..]].concat());
    let words = ["fetch", "http://10.78.0.1/file", "--output", "-"];
    let got = namespace.run(HEADWAY, &[&words[..], &tun("hwt1", "10.78.0.2/24")].concat()).stdout;
    assert!(got == expected);
    let summary = running.stop();
    assert!(summary["forward"]["hit"].as_u64().unwrap() > 0, "{summary}");
}

/// The box resolves the host at the veth, and answers its requests for the stack at the TUN, for both
/// orders of the ends.
#[test]
fn between_a_tun_and_an_ethernet() {
    for [first, second] in [["hwt0", "hwb"], ["hwb", "hwt0"]] {
        let Some(testbed) = Testbed::new() else { return };
        add_tun(&testbed.middle, "hwt0");
        let (folder, expected) = folder_with_file(9, SIZE);
        let running = RunningBox::start(&testbed.middle, &[&[first, second], &LINK[..]].concat());
        let path = folder.path().to_str().unwrap();
        let here = tun("hwt0", "10.78.0.1/24");
        let server = start(&testbed.middle, &[&["serve", path], &here[..]].concat());
        // Here the host connects first.
        testbed.right.wait_for_http("10.78.0.1");
        let got = testbed.right.run("curl", &["-sSf", "http://10.78.0.1/file"]).stdout;
        assert!(got == expected);
        drop(server);
        // Here the stack connects first.
        let _python = crate::programs::python_server(&testbed.right, folder.path());
        let words = ["fetch", "http://10.78.0.2:8000/file", "--output", "-"];
        let got = testbed.middle.run(HEADWAY, &[&words[..], &here].concat()).stdout;
        assert!(got == expected);
        let summary = running.stop();
        assert!(summary["forward"]["hit"].as_u64().unwrap() > 0, "{summary}");
        assert!(summary["reverse"]["hit"].as_u64().unwrap() > 0, "{summary}");
    }
}

/// Neighbour discovery passes the link like any IPv6 packet; tags are preserved.
#[test]
fn over_ipv6_in_a_vlan() {
    let Some(testbed) = Testbed::new() else { return };
    for (host, address) in [(&testbed.left, "fd78::1/64"), (&testbed.right, "fd78::2/64")] {
        for name in ["all", "eth0"] {
            host.run("sysctl", &["-qw", &format!("net.ipv6.conf.{name}.disable_ipv6=0")]);
        }
        let vlan = ["link", "add", "link", "eth0", "name", "eth0.5", "type", "vlan", "id", "5"];
        let device = if host.command("ip", &vlan).output().unwrap().status.success() {
            host.ip(&["link", "set", "eth0.5", "up"]);
            "eth0.5"
        } else {
            say_skipped("vlan", "");
            "eth0"
        };
        host.ip(&["addr", "add", address, "dev", device, "nodad"]);
    }
    let (folder, expected) = folder_with_file(9, SIZE);
    let running = testbed.start(&LINK);
    let path = folder.path().to_str().unwrap();
    let _server = start(&testbed.left, &["serve", path, "--kernel", "--listen", "[fd78::1]:80"]);
    testbed.right.wait_for_http("[fd78::1]");
    let got = testbed.right.run("curl", &["-sSf", "http://[fd78::1]/file"]).stdout;
    assert!(got == expected);
    let summary = running.stop();
    assert!(summary["forward"]["hit"].as_u64().unwrap() > 0, "{summary}");
    assert_eq!(summary["forward"]["uncut"], 0, "{summary}");
}

#[test]
fn receive_offload_is_off_while_it_runs() {
    let Some(testbed) = Testbed::new() else { return };
    let ethtool = |words: &[&str]| testbed.middle.command("ethtool", words).output();
    if !ethtool(&["-K", "hwa", "gro", "on"]).is_ok_and(|output| output.status.success()) {
        return say_skipped("ethtool", "");
    }
    let is_on = || {
        let features = String::from_utf8(ethtool(&["-k", "hwa"]).unwrap().stdout).unwrap();
        features.contains("generic-receive-offload: on")
    };
    assert!(is_on());
    let running = testbed.start(&["--damage", "none"]);
    assert!(!is_on());
    running.stop();
    assert!(is_on());
}
