//! Routes into the TUN device.

use std::process::Command;

use ipnet::IpNet;

use crate::TrunkError;

/// Routes `net` into `device`. The kernel removes the route with the device. One that leads elsewhere is someone else's, and
/// stays.
pub(crate) fn add(net: IpNet, device: &str) -> Result<(), TrunkError> {
    let net = net.trunc();
    let family = if matches!(net, IpNet::V4(_)) { "-4" } else { "-6" };
    let text = net.to_string();
    let words = [family, "route", "add", &text, "dev", device];
    let Err(got) = ip(&words) else { return Ok(()) };
    // A device that outlives the gateway has it still.
    let there = ip(&[family, "route", "show", "exact", &text]).unwrap_or_default();
    let leads_to =
        |line: &str| line.split(' ').collect::<Vec<_>>().windows(2).any(|pair| pair == ["dev", device]);
    if there.lines().any(leads_to) {
        return Ok(());
    }
    let (got, expected) = match there.lines().next() {
        Some(route) => {
            (format!("{net}, which is routed already ({})", route.trim()), "a prefix without a route".into())
        }
        None => (got, format!("`ip {}` to work", words.join(" "))),
    };
    Err(TrunkError::value("peer.allowed-ips", got, expected))
}

/// What `ip` prints, or why it failed.
fn ip(words: &[&str]) -> Result<String, String> {
    let output = Command::new("ip").args(words).output().map_err(|error| format!("`ip`: {error}"))?;
    let said = if output.status.success() { &output.stdout } else { &output.stderr };
    let said = String::from_utf8_lossy(said).trim().to_owned();
    if output.status.success() { Ok(said) } else { Err(said) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_that_cannot_be_made_is_an_error() {
        let net = "192.0.2.77/24".parse().expect("a prefix");
        let error = add(net, "no-such-device0").expect_err("no device").to_string();
        assert!(error.contains("peer.allowed-ips") && error.contains("192.0.2.0/24"), "{error}");
    }

    /// In a namespace of its own, which needs root.
    #[test]
    fn a_route_that_leads_elsewhere_stays() {
        let Ok(namespace) = headway_net::Namespace::new() else {
            return headway_test_fixture::process::say_skipped("root", "network namespaces");
        };
        let test = || {
            let run = |words: &str| ip(&words.split(' ').collect::<Vec<_>>()).expect("root");
            run("link add a0 type veth peer name a1");
            run("link set a0 up");
            run("link set a1 up");
            let net = "192.0.2.77/24".parse().expect("a prefix");
            for _ in 0..2 {
                add(net, "a0").expect("it leads there");
                assert!(run("route show exact 192.0.2.0/24").contains("dev a0"));
            }
            let error = add(net, "a1").expect_err("it leads elsewhere").to_string();
            assert!(error.contains("192.0.2.0/24, which is routed already (192.0.2.0/24 dev a0"), "{error}");
            assert!(run("route show exact 192.0.2.0/24").contains("dev a0"));
        };
        namespace.run("in a namespace", test).expect("a thread in the namespace");
    }
}
