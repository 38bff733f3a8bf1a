//! What can be loaded, and does not work as whoever wrote it means it.

use headway_net::Interface;
use ipnet::IpNet;

use crate::{Config, TrunkError};

impl Config {
    /// What a gateway runs with, and what will not work as it is meant: `headway trunk check` refuses it, and a gateway logs it.
    pub fn remarks(&self) -> Vec<TrunkError> {
        let mut remarks = Vec::new();
        if self.peers.is_empty() {
            remarks.push(TrunkError::value("[[peer]]", "none", "at least one"));
        }
        for peer in &self.peers {
            let of = |key: &str| format!("peer {}: {key}", peer.name);
            if peer.endpoint.is_none() && self.gateway.listen.port() == 0 && self.modem.is_none() {
                let got = "nothing, and gateway.listen has no port";
                let expected = "its address, or gateway.listen with a port at which it reaches this gateway";
                remarks.push(TrunkError::value(of("endpoint"), got, expected));
            }
            let lists = [&peer.destinations, &peer.proxy_protocol, &peer.allowed_ips];
            for (key, list) in ["destinations", "proxy-protocol", "allowed-ips"].into_iter().zip(lists) {
                remarks.extend(list.iter().filter_map(|prefix| host_bits(of(key), prefix)));
            }
        }
        for entry in &self.transparent {
            let of = |key: &str| format!("transparent {}: {key}", entry.listen);
            remarks.extend(entry.to.iter().filter_map(|prefix| host_bits(of("to"), prefix)));
            for name in &entry.interfaces {
                if let Err(error) = Interface::named(name) {
                    let expected = "an interface of this machine, as `ip link` lists them";
                    remarks.push(TrunkError::value(of("interfaces"), format!("{name}: {error}"), expected));
                }
            }
        }
        remarks
    }
}

/// What is wrong with a prefix that has bits of a host.
fn host_bits(key: String, text: &str) -> Option<TrunkError> {
    let prefix: IpNet = text.parse().ok()?;
    let whole = prefix.trunc();
    let expected = format!("{whole}, or {} for this host alone", IpNet::from(prefix.addr()));
    (prefix != whole).then(|| TrunkError::value(key, format!("{text}, an address in a network"), expected))
}
