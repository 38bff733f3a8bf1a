//! What hosts see of a gateway that ends.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;

use headway_test_fixture::process::wait_until;

use crate::programs::folder_with_file;
use crate::trunk::Chain;

/// Ten downloads at once: what each ends with.
const DOWNLOADS: &str = "import socket, threading\n\
    ready = threading.Barrier(11)\nends = []\n\
    def get():\n\
    \ts = socket.create_connection(('10.79.3.1', 8000), 60)\n\
    \ts.sendall(b'GET /file HTTP/1.0\\r\\n\\r\\n'); s.recv(1); ready.wait(60)\n\
    \ttry:\n\
    \t\twhile s.recv(65536): pass\n\
    \t\tends.append('end')\n\
    \texcept OSError as error: ends.append(type(error).__name__)\n\
    threads = [threading.Thread(target=get) for _ in range(10)]\n\
    for t in threads: t.start()\n\
    ready.wait(60); print('ready', flush=True)\n\
    for t in threads: t.join()\n\
    print(*ends)";

/// Hosts that are routed into a TUN must not take a part of a file for all of it.
#[test]
fn connections_through_a_tun_are_reset_when_the_gateway_ends() {
    let Some(chain) = Chain::new() else { return };
    let (folder, _) = folder_with_file(37, 30_000_000);
    // It is reached through the trunk only.
    chain.far.ip(&["addr", "add", "10.79.3.1/32", "dev", "lo"]);
    let _server = chain.serve(folder.path());
    let [_far, mut near] = chain.gateways_with(
        "allowed-ips = ['10.79.1.0/24']\n[tun]\naddress = '10.79.9.1/30'\n",
        "allowed-ips = ['10.79.3.0/24']\n[tun]\naddress = '10.79.9.5/30'\n",
    );
    chain.forward();
    let mut command = chain.client.command("python3", &["-c", DOWNLOADS]);
    let mut downloads = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(downloads.stdout.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    near.signal("-TERM");
    assert_eq!(near.wait(), Some(0));
    let mut ends = String::new();
    said.read_to_string(&mut ends).unwrap();
    downloads.wait().unwrap();
    assert_eq!(ends.trim(), ["ConnectionResetError"; 10].join(" "));
}

/// Without its device it cannot serve the hosts behind it, and whoever has started it is to know.
#[test]
fn a_gateway_whose_device_is_removed_ends_with_an_error() {
    let Some(chain) = Chain::new() else { return };
    let [_far, mut near] =
        chain.gateways_with("", "allowed-ips = ['10.79.3.0/24']\n[tun]\naddress = '10.79.9.5/30'\n");
    chain.near.ip(&["link", "del", "headway0"]);
    wait_until("its end", || chain.status().is_none());
    assert_eq!(near.wait(), Some(1));
}
