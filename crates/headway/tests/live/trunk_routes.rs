//! The routes of a gateway with a TUN.

use std::process::Stdio;

use headway_test_fixture::process::wait_until;

use crate::namespace::HEADWAY;
use crate::trunk::Chain;

/// A route that is there already is the operator's.
#[test]
fn a_gateway_takes_no_ones_route() {
    let Some(chain) = Chain::new() else { return };
    let entries = "allowed-ips = ['10.79.3.0/24', '10.79.4.0/24']\n[tun]\naddress = '10.79.9.5/30'\n";
    let [_far, mut near] = chain.gateways_with("", entries);
    let routes = || String::from_utf8(chain.near.run("ip", &["route"]).stdout).unwrap();
    assert!(routes().contains("10.79.3.0/24 dev headway0") && routes().contains("10.79.4.0/24 dev headway0"));
    near.signal("-TERM");
    assert_eq!(near.wait(), Some(0));
    wait_until("the device is gone", || !routes().contains("headway0"));

    chain.near.ip(&["route", "add", "10.79.4.0/24", "via", "10.79.2.2"]);
    let before = routes();
    let config = chain.path("near.toml");
    let mut command = chain.near.command(HEADWAY, &["trunk", "run", &config]);
    let mut running = command.stderr(Stdio::piped()).spawn().unwrap();
    wait_until("it is refused", || running.try_wait().unwrap().is_some());
    let refused = running.wait_with_output().unwrap();
    let complaint = String::from_utf8(refused.stderr).unwrap();
    assert!(
        complaint.contains(
            "peer.allowed-ips: got 10.79.4.0/24, which is routed already (10.79.4.0/24 via 10.79.2.2"
        ),
        "{complaint}"
    );
    assert_eq!(refused.status.code(), Some(2));
    assert_eq!(routes(), before);

    // A device of the operator's keeps its routes.
    chain.near.ip(&["route", "del", "10.79.4.0/24"]);
    chain.near.ip(&["tuntap", "add", "headway0", "mode", "tun"]);
    chain.near.ip(&["link", "set", "headway0", "up"]);
    chain.near.ip(&["route", "add", "10.79.4.0/24", "dev", "headway0"]);
    let _near = chain.near.start(HEADWAY, &["trunk", "run", &config]);
    wait_until("a session", || chain.status().is_some_and(|status| status["peers"][0]["connected"] == true));
}
