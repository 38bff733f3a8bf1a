//! Another configuration for a running gateway: what can be changed, and what cannot.

use std::fmt;

use super::Settings;
use crate::Config;

/// What a reload has changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reloaded {
    /// Entries that listen now.
    pub added: Vec<String>,
    /// Entries that do not listen any more. Their streams go on.
    pub removed: Vec<String>,
    /// Entries and peers that are other than before, for new streams; and the level of the log, which whoever has set it up changes.
    pub changed: Vec<String>,
}

impl fmt::Display for Reloaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lists = [("added", &self.added), ("removed", &self.removed), ("changed", &self.changed)];
        let parts = lists.into_iter().filter(|(_, list)| !list.is_empty());
        let parts: Vec<String> = parts.map(|(what, list)| format!("{what} {}", list.join(", "))).collect();
        if parts.is_empty() { f.write_str("nothing has changed") } else { f.write_str(&parts.join("; ")) }
    }
}

/// The keys in which a configuration differs from that with which the gateway was started, and which cannot be changed
/// while it runs.
pub(crate) fn fixed_keys(old: (&Config, &Settings), new: (&Config, &Settings)) -> Vec<String> {
    let (a, b) = (&old.0.gateway, &new.0.gateway);
    let gateway = [
        ("key-file", old.1.secret.public() != new.1.secret.public()),
        ("listen", a.listen != b.listen),
        ("mtu", a.mtu != b.mtu),
        ("outage", old.1.outage != new.1.outage),
        ("own-path", a.own_path != b.own_path),
        ("dscp", old.1.dscp != new.1.dscp),
        ("status-socket", a.status_socket != b.status_socket),
        ("state-file", a.state_file != b.state_file),
        ("metrics", a.metrics != b.metrics),
        ("metrics-names", a.metrics_names != b.metrics_names),
        ("memory", old.1.memory != new.1.memory),
        ("max-streams", a.max_streams != b.max_streams),
    ];
    let gateway = gateway.map(|(key, differs)| (format!("gateway.{key}"), differs));
    let tables =
        [("[modem]".to_owned(), old.1.modem != new.1.modem), ("[tun]".to_owned(), old.0.tun != new.0.tun)];
    let mut keys: Vec<String> =
        gateway.into_iter().chain(tables).filter(|(_, differs)| *differs).map(|(key, _)| key).collect();
    let names = |settings: &Settings| settings.peers.iter().map(|peer| peer.name.clone()).collect::<Vec<_>>();
    if names(old.1) != names(new.1) {
        keys.push("the names and the order of [[peer]]".into());
        return keys;
    }
    for (a, b) in old.1.peers.iter().zip(&new.1.peers) {
        let peer = [
            ("public-key", a.tunnel.key != b.tunnel.key),
            ("preshared-key-file", a.tunnel.preshared != b.tunnel.preshared),
            ("endpoint", a.tunnel.endpoint != b.tunnel.endpoint),
            ("allowed-ips", a.networks != b.networks),
            ("keep-alive", a.tunnel.keep_alive != b.tunnel.keep_alive),
        ];
        let differing = peer.into_iter().filter(|&(_, differs)| differs);
        keys.extend(differing.map(|(key, _)| format!("peer {}: {key}", a.name)));
    }
    keys
}
