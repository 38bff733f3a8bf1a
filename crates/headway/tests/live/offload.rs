//! Transfers with segmentation offload between headway's TCP and the kernel's.

const SIZE: usize = 100_000_000;
use headway_test_fixture::pattern::Pattern;

use crate::namespace::{HEADWAY, KERNELS, Namespace, OURS, start};
use crate::programs::{folder_with_file, python_server};

const OFFLOAD: [&str; 7] = ["--tun", "hw0", "--address", "10.77.2.2/24", "--offload", "--variant", "modern"];

/// Packets and bytes that the kernel received from the TUN (`rx`), or sent to it (`tx`).
fn counts(namespace: &Namespace, what: &str) -> [u64; 2] {
    ["packets", "bytes"].map(|unit| {
        let path = format!("/sys/class/net/hw0/statistics/{what}_{unit}");
        String::from_utf8(namespace.run("cat", &[&path]).stdout).unwrap().trim().parse().unwrap()
    })
}

/// Runs curl, and checks that the mean packet of its transfer in the direction `what` is longer than the
/// MTU, so that segments were offloaded.
fn transfer(namespace: &Namespace, what: &str, words: &[&str]) {
    let before = counts(namespace, what);
    namespace.run("curl", words);
    let after = counts(namespace, what);
    let [packets, bytes] = [0, 1].map(|unit| after[unit] - before[unit]);
    assert!(bytes > SIZE as u64 && bytes / packets > 1500, "{what}: {bytes} in {packets} packets");
}

#[test]
fn curl_fetches_and_puts_a_hundred_megabytes() {
    let Some(namespace) = Namespace::new() else { return };
    let folder = tempfile::tempdir().unwrap();
    let bytes = Pattern(1).bytes(0, SIZE);
    let file = folder.path().join("file");
    std::fs::write(&file, &bytes).unwrap();
    let path = folder.path().to_str().unwrap();
    let _server = start(&namespace, &[&["serve", "--write", path], &OFFLOAD[..]].concat());
    namespace.wait_for_http(OURS);
    let got = folder.path().join("got");
    transfer(&namespace, "rx", &["-sf", "-o", got.to_str().unwrap(), &format!("http://{OURS}/file")]);
    assert!(std::fs::read(got).unwrap() == bytes);
    transfer(&namespace, "tx", &["-sf", "-T", file.to_str().unwrap(), &format!("http://{OURS}/put")]);
    assert!(std::fs::read(folder.path().join("put")).unwrap() == bytes);
}

#[test]
fn other_mtus_and_ipv6() {
    let Some(namespace) = Namespace::new() else { return };
    let (folder, bytes) = folder_with_file(2, 5_000_000);
    let path = folder.path().to_str().unwrap();
    for (mtu, ours, url) in [
        ("576", "10.77.2.2/24", "10.77.2.2"),
        ("9000", "10.77.2.2/24", "10.77.2.2"),
        ("1280", "fd77::2/64", "[fd77::2]"),
        ("65535", "fd77::2/64", "[fd77::2]"),
    ] {
        let words = ["serve", "--write", path, "--tun", "hw0", "--address", ours, "--offload"];
        let listen = format!("{url}:80");
        let more = ["--mtu", mtu, "--variant", "modern", "--listen", &listen];
        let mut server = start(&namespace, &[&words[..], &more].concat());
        namespace.wait_for_http(url);
        let got = namespace.run("curl", &["-sf", &format!("http://{url}/file")]).stdout;
        assert!(got == bytes, "{mtu} {ours}");
        let file = folder.path().join("file");
        namespace.run("curl", &["-sf", "-T", file.to_str().unwrap(), &format!("http://{url}/put")]);
        assert!(std::fs::read(folder.path().join("put")).unwrap() == bytes, "{mtu} {ours}");
        server.signal("-TERM");
        assert_eq!(server.wait(), Some(0));
    }
}

/// Offload is a setting of the device, and persists after the program that set it.
#[test]
fn a_device_that_had_offload_can_be_used_without() {
    let Some(namespace) = Namespace::new() else { return };
    namespace.ip(&["tuntap", "add", "hw0", "mode", "tun"]);
    let (folder, bytes) = folder_with_file(3, 5_000_000);
    let _server = python_server(&namespace, folder.path());
    let url = format!("http://{KERNELS}:8000/file");
    let fetch = ["fetch", &url, "--output", "-"];
    for words in [&OFFLOAD[..], &OFFLOAD[..4], &OFFLOAD[..]] {
        let output = namespace.run(HEADWAY, &[&fetch[..], words].concat());
        assert!(output.stdout == bytes, "{words:?}");
    }
}
