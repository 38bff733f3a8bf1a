//! A host that scans addresses through the TUN of a gateway, where nothing answers, beside one that fetches files.

use std::process::Stdio;

use headway_test_fixture::process::wait_until;

use crate::programs::folder_with_file;
use crate::trunk::Chain;

/// Connects to 2000 addresses and ports a second, gives each up after a second and a half, and prints from time to time how many it
/// has begun.
const SCAN: &str = "import collections, resource, socket, time\n\
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]\n\
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))\n\
    begin, number, tried = time.monotonic(), 0, collections.deque()\n\
    while True:\n\
    \tnow = time.monotonic()\n\
    \twhile tried and tried[0][0] < now - 1.5: tried.popleft()[1].close()\n\
    \twhile number < 2000 * (now - begin):\n\
    \t\ts = socket.socket()\n\
    \t\ts.setblocking(False)\n\
    \t\ts.bind(('10.79.1.3', 0))\n\
    \t\ts.connect_ex((f'10.79.3.{128 + number % 127}', 1 + number // 127 % 60000))\n\
    \t\ttried.append((now, s)); number += 1\n\
    \t\tif number % 1000 == 0: print(number, flush=True)\n\
    \ttime.sleep(0.005)\n";

#[test]
fn a_scan_leaves_the_streams_of_other_hosts_alone() {
    let Some(chain) = Chain::new() else { return };
    let (folder, bytes) = folder_with_file(37, 50_000);
    chain.far.ip(&["addr", "add", "10.79.3.1/32", "dev", "lo"]);
    // What is sent there gets lost: without ARP it goes to no one.
    chain.far.ip(&["link", "add", "dark0", "type", "veth", "peer", "name", "dark1"]);
    chain.far.ip(&["link", "set", "dark0", "arp", "off", "up"]);
    chain.far.ip(&["link", "set", "dark1", "up"]);
    chain.far.ip(&["route", "add", "10.79.3.128/25", "dev", "dark0"]);
    chain.client.ip(&["addr", "add", "10.79.1.3/24", "dev", "eth0"]);
    let _server = chain.serve(folder.path());
    let _gateways = chain.gateways_with(
        "allowed-ips = ['10.79.1.0/24']\n[tun]\naddress = '10.79.9.1/30'\n",
        "allowed-ips = ['10.79.3.0/24']\n[tun]\naddress = '10.79.9.5/30'\n",
    );
    chain.forward();
    let log = std::fs::File::create(chain.path("scan.log")).unwrap();
    let mut scan =
        chain.client.command("python3", &["-c", SCAN]).stdout(log).stdin(Stdio::null()).spawn().unwrap();
    let begun = || std::fs::read_to_string(chain.path("scan.log")).unwrap_or_default().lines().count();
    // More than a gateway has places for.
    wait_until("the scan runs", || begun() > 5);
    for _ in 0..20 {
        let words = ["-sSf", "-m", "60", "--interface", "10.79.1.2", "http://10.79.3.1:8000/file"];
        assert!(chain.client.run("curl", &words).stdout == bytes);
    }
    let peer = || chain.status().expect("a running gateway")["peers"][0].clone();
    let during = peer();
    assert!(scan.try_wait().unwrap().is_none(), "it still scans");
    assert_eq!(during["opened_streams"], 20, "{during}");
    // A sixteenth of 4096 places, and few others.
    assert!((1..300).contains(&during["half_open_streams"].as_u64().unwrap()), "{during}");
    assert!(during["displaced_streams"].as_u64() > Some(1000), "{during}");
    scan.kill().unwrap();
    scan.wait().unwrap();
    // Much sooner than a destination may take.
    wait_until("the scanned hosts are forgotten", || peer()["half_open_streams"] == 0);
    assert!(peer()["abandoned_streams"].as_u64() > Some(0), "{}", peer());
}
