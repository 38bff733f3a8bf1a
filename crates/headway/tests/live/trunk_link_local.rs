//! Gateways that know each other by link-local addresses.

use headway_test_fixture::process::wait_until;
use serde_json::Value;

use crate::namespace::{HEADWAY, Namespace};

#[test]
fn gateways_meet_at_link_local_addresses() {
    let (Some(near), Some(far)) = (Namespace::new(), Namespace::new()) else { return };
    // Each has other interfaces with such a network, and its kernel takes the first where none is named.
    for host in [&near, &far] {
        host.ip(&["link", "add", "lan0", "type", "veth", "peer", "name", "lan1"]);
    }
    near.ip(&["link", "add", "wan0", "type", "veth", "peer", "name", "wan0", "netns", far.name()]);
    for (host, address) in [(&near, "fe80::1/64"), (&far, "fe80::2/64")] {
        for (device, address) in [("lan0", "fe80::8/64"), ("lan1", "fe80::9/64"), ("wan0", address)] {
            // A kernel without IPv6 does not have this key, and no such addresses.
            let key = format!("net.ipv6.conf.{device}.disable_ipv6=0");
            let _ = host.command("sysctl", &["-qw", &key]).output();
            host.ip(&["link", "set", device, "up"]);
            let words = ["addr", "add", address, "dev", device, "nodad"];
            if !host.command("ip", &words).output().unwrap().status.success() {
                return crate::namespace::say_skipped("ipv6", "");
            }
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let [near_key, far_key] = ["near.key", "far.key"].map(|name| {
        let printed = near.run(HEADWAY, &["trunk", "keygen", &at(name)]).stdout;
        String::from_utf8(printed).unwrap().trim().to_owned()
    });
    let config = |name: &str, listen: &str, peer: &str| {
        let text = format!(
            "gateway = {{ key-file = '{name}.key', listen = '{listen}', status-socket = '{name}.sock' }}\n\
             [[peer]]\nname = 'other'\n{peer}"
        );
        std::fs::write(at(&format!("{name}.toml")), text).unwrap();
        at(&format!("{name}.toml"))
    };
    let far_config = config("far", "[::]:4433", &format!("public-key = '{near_key}'\n"));
    let near_config =
        config("near", "[::]:0", &format!("public-key = '{far_key}'\nendpoint = '[fe80::2%wan0]:4433'\n"));
    let _far = far.start(HEADWAY, &["trunk", "run", &far_config]);
    let _near = near.start(HEADWAY, &["trunk", "run", &near_config]);
    for (host, config) in [(&near, &near_config), (&far, &far_config)] {
        wait_until("a session", || {
            let output = host.command(HEADWAY, &["trunk", "status", config, "--json"]).output().unwrap();
            let status: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
            status["peers"][0]["connected"] == true && status["peers"][0]["passes_unchecked"] == true
        });
    }
}
