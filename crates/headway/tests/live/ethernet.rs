//! An address of its own on an Ethernet, whose other end is the kernel's.

use std::io::Write as _;
use std::process::Stdio;

use crate::namespace::{HEADWAY, Namespace, say_skipped};
use crate::programs::{content, digest, python_server};

const OURS: &str = "10.78.0.2";
const KERNELS: &str = "10.78.0.1";

/// Two namespaces with a cable between them. `hw1` in the first has no address: it is ours. `hw2` in
/// the second is the kernel's.
fn cable() -> Option<[Namespace; 2]> {
    let [ours, kernels] = [Namespace::new()?, Namespace::new()?];
    ours.ip(&["link", "add", "hw1", "type", "veth", "peer", "name", "hw2", "netns", kernels.name()]);
    ours.ip(&["link", "set", "hw1", "up"]);
    kernels.ip(&["link", "set", "hw2", "up"]);
    kernels.ip(&["addr", "add", &format!("{KERNELS}/24"), "dev", "hw2"]);
    Some([ours, kernels])
}

const PACKET: [&str; 4] = ["--packet", "hw1", "--address", "10.78.0.2/24"];

/// veth hands over what the kernel sends without checksums and in pieces of up to 64 KiB, unless told
/// not to: both ways must do.
#[test]
fn files_go_both_ways_with_and_without_offload() {
    let Some([ours, kernels]) = cable() else { return };
    let folder = tempfile::tempdir().unwrap();
    let bytes = content(6, 20_000_000);
    std::fs::write(folder.path().join("file"), &bytes).unwrap();
    let path = folder.path().to_str().unwrap();
    let _python = python_server(&kernels, folder.path());
    let server = &[&["serve", "--write", path], &PACKET[..]].concat();
    for offload in [true, false] {
        if !offload {
            let words = ["-K", "hw2", "tx", "off", "tso", "off", "gso", "off"];
            let switched = kernels.command("ethtool", &words).output();
            if !switched.is_ok_and(|output| output.status.success()) {
                say_skipped("without offload, there is no ethtool");
                return;
            }
        }
        let fetched = ours.run(
            HEADWAY,
            &[&["fetch", "--output", "-", &format!("http://{KERNELS}:8000/file")], &PACKET[..]].concat(),
        );
        assert_eq!(digest(&fetched.stdout), digest(&bytes), "fetched, offload {offload}");
        let running = ours.headway(server);
        kernels.wait_for_http(OURS);
        crate::ping::ping(&kernels, OURS);
        let got = kernels.run("curl", &["-sf", &format!("http://{OURS}/file")]).stdout;
        assert_eq!(digest(&got), digest(&bytes), "served, offload {offload}");
        let mut put = kernels
            .command("curl", &["-sf", "-T", "-", &format!("http://{OURS}/put")])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        put.stdin.take().unwrap().write_all(&bytes).unwrap();
        assert!(put.wait().unwrap().success());
        let put = std::fs::read(folder.path().join("put")).unwrap();
        assert_eq!(digest(&put), digest(&bytes), "put, offload {offload}");
        drop(running);
    }
}

#[test]
fn nobody_at_the_address_is_told() {
    let Some([ours, _kernels]) = cable() else { return };
    let words = [&["nc", "10.78.1.1", "80"], &PACKET[..], &["--gateway", "10.77.0.1"]].concat();
    let output = ours.command(HEADWAY, &words).output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{complaint}");
    assert!(complaint.contains("gateway 10.77.0.1"), "{complaint}");
    // The kernel must not have our address.
    ours.ip(&["addr", "add", "10.78.0.2/24", "dev", "hw1"]);
    let output = ours.command(HEADWAY, &[&["nc", KERNELS, "80"], &PACKET[..]].concat()).output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{complaint}");
    assert!(complaint.contains("10.78.0.2") && complaint.contains("in our place"), "{complaint}");
}
