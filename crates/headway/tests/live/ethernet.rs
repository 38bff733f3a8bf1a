//! A stack with its own address on an Ethernet, with the kernel as its peer.

use std::io::Write as _;
use std::process::Stdio;

use headway_test_fixture::process::wait_until;

use crate::namespace::{HEADWAY, Namespace, say_skipped, start};
use crate::programs::{folder_with_file, python_server};

const OURS: &str = "10.78.0.2";
const KERNELS: &str = "10.78.0.1";

/// Two namespaces connected by a veth pair. `hw1` in the first has no address and is used by the stack;
/// `hw2` in the second is used by the kernel.
fn cable() -> Option<[Namespace; 2]> {
    let [ours, kernels] = [Namespace::new()?, Namespace::new()?];
    ours.ip(&["link", "add", "hw1", "type", "veth", "peer", "name", "hw2", "netns", kernels.name()]);
    ours.ip(&["link", "set", "hw1", "up"]);
    kernels.ip(&["link", "set", "hw2", "up"]);
    kernels.ip(&["addr", "add", &format!("{KERNELS}/24"), "dev", "hw2"]);
    kernels.ip(&["addr", "add", &format!("{KERNELS_V6}/64"), "dev", "hw2", "nodad"]);
    Some([ours, kernels])
}

const KERNELS_V6: &str = "fd78::1";
const OURS_V6: &str = "fd78::1234:5678";
const PACKET_V6: [&str; 4] = ["--packet", "hw1", "--address", "fd78::1234:5678/64"];
const PACKET: [&str; 4] = ["--packet", "hw1", "--address", "10.78.0.2/24"];

/// By default veth delivers the kernel's packets without checksums and with segmentation offload: both
/// settings must work.
#[test]
fn transfers_with_and_without_offload() {
    let Some([ours, kernels]) = cable() else { return };
    let (folder, bytes) = folder_with_file(6, 20_000_000);
    let path = folder.path().to_str().unwrap();
    let _python = python_server(&kernels, folder.path());
    let server = &[&["serve", "--write", path], &PACKET[..]].concat();
    for offload in [true, false] {
        if !offload {
            let words = ["-K", "hw2", "tx", "off", "tso", "off", "gso", "off"];
            let switched = kernels.command("ethtool", &words).output();
            if !switched.is_ok_and(|output| output.status.success()) {
                return say_skipped("ethtool", "");
            }
        }
        let fetched = ours.run(
            HEADWAY,
            &[&["fetch", "--output", "-", &format!("http://{KERNELS}:8000/file")], &PACKET[..]].concat(),
        );
        assert!(fetched.stdout == bytes, "fetched, offload {offload}");
        let running = start(&ours, server);
        kernels.wait_for_http(OURS);
        crate::ping::ping(&kernels, OURS);
        let got = kernels.run("curl", &["-sf", &format!("http://{OURS}/file")]).stdout;
        assert!(got == bytes, "served, offload {offload}");
        let mut put = kernels
            .command("curl", &["-sf", "-T", "-", &format!("http://{OURS}/put")])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        put.stdin.take().unwrap().write_all(&bytes).unwrap();
        assert!(put.wait().unwrap().success());
        let put = std::fs::read(folder.path().join("put")).unwrap();
        assert!(put == bytes, "put, offload {offload}");
        drop(running);
    }
}

#[test]
fn an_unreachable_address_is_reported() {
    let Some([ours, _kernels]) = cable() else { return };
    let words = [&["nc", "10.78.1.1", "80"], &PACKET[..], &["--gateway", "10.77.0.1"]].concat();
    let output = ours.command(HEADWAY, &words).output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{complaint}");
    assert!(complaint.contains("gateway 10.77.0.1"), "{complaint}");
    // The kernel must not have the stack's address.
    ours.ip(&["addr", "add", "10.78.0.2/24", "dev", "hw1"]);
    let output = ours.command(HEADWAY, &[&["nc", KERNELS, "80"], &PACKET[..]].concat()).output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{complaint}");
    assert!(complaint.contains("10.78.0.2") && complaint.contains("in our place"), "{complaint}");
}

#[test]
fn files_go_both_ways_over_ipv6() {
    let Some([ours, kernels]) = cable() else { return };
    let (folder, bytes) = folder_with_file(9, 5_000_000);
    let path = folder.path().to_str().unwrap();
    let words = ["serve", path, "--kernel", "--listen", "[::]:8000"];
    let _server = start(&kernels, &words);
    kernels.wait_for_listener(8000);
    // A neighbour, and a host behind a router.
    kernels.ip(&["addr", "add", "fd99::1/128", "dev", "lo"]);
    for (peer, gateway) in [(KERNELS_V6, &[][..]), ("fd99::1", &["--gateway", KERNELS_V6])] {
        let url = format!("http://[{peer}]:8000/file");
        let words = [&["fetch", "--output", "-", &url], &PACKET_V6[..], gateway].concat();
        assert!(ours.run(HEADWAY, &words).stdout == bytes, "from {peer}");
    }
    let listen = format!("[{OURS_V6}]:80");
    let server = [&["serve", path, "--listen", &listen], &PACKET_V6[..]].concat();
    let _running = start(&ours, &server);
    kernels.wait_for_http(&format!("[{OURS_V6}]"));
    let got = kernels.run("curl", &["-sf", &format!("http://[{OURS_V6}]/file")]).stdout;
    assert!(got == bytes);
    crate::ping::ping(&kernels, OURS_V6);
    // The kernel does duplicate address detection before it uses the stack's address, and gets an answer.
    kernels.ip(&["addr", "add", &format!("{OURS_V6}/64"), "dev", "hw2"]);
    wait_until("the end of the address", || {
        let shown = kernels.run("ip", &["-6", "addr", "show", "dev", "hw2", "dadfailed"]).stdout;
        String::from_utf8_lossy(&shown).contains(OURS_V6)
    });
}

/// A link-local gateway, as IPv6 routers advertise.
#[test]
fn a_gateway_may_be_link_local() {
    let Some([ours, kernels]) = cable() else { return };
    kernels.ip(&["addr", "add", "fe80::1/64", "dev", "hw2", "nodad"]);
    kernels.ip(&["addr", "add", "fd99::1/128", "dev", "lo"]);
    let peer = crate::programs::python_peer_at(&kernels, "fd99::1", "c.sendall(b'hello')");
    let words = [&["nc", "fd99::1", "9000"], &PACKET_V6[..], &["--gateway", "fe80::1"]].concat();
    assert_eq!(ours.run(HEADWAY, &words).stdout, b"hello");
    peer.finish();
}

/// Counts RSTs that arrive while it connects to a port.
const COUNT_RESETS: &str = r"
import socket, struct, sys, time
s = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0x0300)
s.bind(('hw2', 0x0003))
s.settimeout(0.1)
address, port = sys.argv[1], int(sys.argv[2])
try:
    c = socket.create_connection((address, port), 60)
    c.sendall(b'GET / HTTP/1.0\r\n\r\n')
    while c.recv(65536): pass
    c.close()
except ConnectionRefusedError: pass
# Another SYN and its answer, after all that may have been sent before.
try: socket.create_connection((address, 9), 60)
except ConnectionRefusedError: pass
counts = {}
try:
    while True:
        packet, (_, _, kind, _, _) = s.recvfrom(65536)
        if kind == 4: continue
        at, protocol = (40, packet[6]) if packet[0] >> 4 == 6 else (20, packet[9])
        tcp = packet[at:] if protocol == 6 else None
        if tcp and tcp[13] & 4:
            port = struct.unpack('!H', tcp[:2])[0]
            counts[port] = counts.get(port, 0) + 1
except TimeoutError: pass
print(sorted(counts.items()))
";

/// The local kernel does not have the stack's address, and must not answer for it.
#[test]
fn the_kernel_sends_no_resets_for_the_stacks_address() {
    let Some([ours, kernels]) = cable() else { return };
    // A port of the kernel that is open on all its addresses, like the stack's.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let _kernels_server = start(&ours, &["serve", "--kernel", "--listen", "8080", path]);
    ours.wait_for_listener(8080);
    for (address, network) in [(OURS, PACKET), (OURS_V6, PACKET_V6)] {
        let url = if address.contains(':') { format!("[{address}]") } else { address.to_owned() };
        let listen = format!("{url}:80");
        let _server = start(&ours, &[&["serve", path, "--listen", &listen], &network[..]].concat());
        kernels.wait_for_http(&url);
        let count = |port: &str| {
            let printed = kernels.run("python3", &["-c", COUNT_RESETS, address, port]).stdout;
            String::from_utf8_lossy(&printed).trim().to_owned()
        };
        assert_eq!(count("80"), "[(9, 1)]", "{address}: of the closed port, from us");
        assert_eq!(count("81"), "[(9, 1), (81, 1)]", "{address}: one for each SYN");
        assert_eq!(count("8080"), "[(9, 1), (8080, 1)]", "{address}: the kernel's port is not ours");
    }
}

#[test]
fn a_card_that_keeps_damaged_frames_is_named() {
    let Some([ours, _kernels]) = cable() else { return };
    let words = [&["nc", KERNELS, "80", "--rx-all"], &PACKET[..]].concat();
    let output = ours.command(HEADWAY, &words).output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{complaint}");
    assert!(complaint.contains("interface hw1") && complaint.contains("with rx-all"), "{complaint}");
}
