//! Which peer packets go to, by their destination.

use std::net::IpAddr;

use ipnet::IpNet;

/// The prefixes behind each peer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Networks {
    /// The longest prefixes first.
    prefixes: Vec<(IpNet, usize)>,
}

impl Networks {
    /// Of the prefixes of each peer, in the order of the configuration.
    pub(crate) fn new<'a>(peers: impl Iterator<Item = &'a [IpNet]>) -> Self {
        let of = |(peer, nets): (usize, &'a [IpNet])| nets.iter().map(move |net| (net.trunc(), peer));
        let mut prefixes: Vec<_> = peers.enumerate().flat_map(of).collect();
        prefixes.sort_by_key(|(net, peer)| (std::cmp::Reverse(net.prefix_len()), *peer));
        Self { prefixes }
    }

    /// The peer that `address` is behind: that of the longest prefix with it.
    pub(crate) fn peer_of(&self, address: IpAddr) -> Option<usize> {
        self.prefixes.iter().find(|(net, _)| net.contains(&address)).map(|(_, peer)| *peer)
    }

    /// All prefixes, each once.
    pub(crate) fn all(&self) -> impl Iterator<Item = IpNet> {
        self.prefixes.iter().map(|(net, _)| *net)
    }

    /// A prefix that two peers have.
    pub(crate) fn shared(&self) -> Option<IpNet> {
        let shared = self.prefixes.windows(2).find(|pair| pair[0].0 == pair[1].0 && pair[0].1 != pair[1].1);
        shared.map(|pair| pair[0].0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_counts() {
        let of =
            |texts: &[&str]| texts.iter().map(|text| text.parse().expect("a prefix")).collect::<Vec<IpNet>>();
        let peers =
            [of(&["10.0.0.0/8", "fd01::/16"]), of(&["10.7.0.0/16", "0.0.0.0/0"]), of(&["10.7.1.1/32"])];
        let networks = Networks::new(peers.iter().map(Vec::as_slice));
        for (address, peer) in [
            ("10.1.1.1", Some(0)),
            ("10.7.9.9", Some(1)),
            ("10.7.1.1", Some(2)),
            ("192.0.2.1", Some(1)),
            ("fd01::1", Some(0)),
            ("2001:db8::1", None),
        ] {
            assert_eq!(networks.peer_of(address.parse().expect("an address")), peer, "{address}");
        }
        assert_eq!(networks.shared(), None);
        let twice = [of(&["10.0.0.0/8"]), of(&["10.0.0.1/8"])];
        assert_eq!(Networks::new(twice.iter().map(Vec::as_slice)).shared(), Some(twice[0][0]));
    }
}
