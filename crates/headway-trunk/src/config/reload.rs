//! Another configuration for a running gateway: what can be changed, and what cannot.

use std::fmt;

use super::{Peer, Settings};
use crate::Config;

/// What a reload has changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reloaded {
    /// Entries that listen now, and peers.
    pub added: Vec<String>,
    /// Entries that do not listen any more, whose streams go on; and removed peers, whose streams are reset.
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
    // A peer is its key: with another one it is another peer.
    let of_key =
        |peer: &Peer, all: &Settings| all.peers.iter().position(|other| other.tunnel.key == peer.tunnel.key);
    let is_same = |peers: &[Peer], all: &Settings| peers.iter().all(|peer| of_key(peer, all).is_some());
    let stay = is_same(&old.1.peers, new.1) && is_same(&new.1.peers, old.1);
    // Of a TUN, the prefixes behind each peer are routes; a modem has one peer.
    if !stay && (new.0.tun.is_some() || new.1.modem.is_some()) {
        keys.push("the keys of [[peer]] beside [tun] or [modem]".into());
    }
    for b in &new.1.peers {
        let Some(a) = of_key(b, old.1).map(|at| &old.1.peers[at]) else { continue };
        let peer = [
            ("name", a.name != b.name),
            ("preshared-key-file", a.tunnel.preshared != b.tunnel.preshared),
            ("endpoint", a.endpoint != b.endpoint),
            ("allowed-ips", a.networks != b.networks),
            ("keep-alive", a.tunnel.keep_alive != b.tunnel.keep_alive),
        ];
        let differing = peer.into_iter().filter(|&(_, differs)| differs);
        keys.extend(differing.map(|(key, _)| format!("peer {}: {key}", b.name)));
    }
    keys
}
