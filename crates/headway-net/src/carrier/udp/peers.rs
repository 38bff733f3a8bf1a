//! The peers of a carrier that any host may send to.
//!
//! Several hosts may be behind one address, with different ports there. So a peer is an address *and* a port
//! outside. The stack knows hosts by addresses; it distinguishes peers of one address by the ports of their TCPs,
//! and where two of them use the same one, the later connection gets another address.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use headway_units::Instant;

use crate::sys::Name;

/// The maximum number of flows.
pub(super) const MAX_FLOWS: usize = 65_536;

/// Where peers are, by what the stack calls them.
pub(super) struct Peers {
    /// By the address and the TCP port that the stack knows.
    flows: BTreeMap<SocketAddr, Flow>,
    /// The address that the stack knows, by the place outside and the TCP port.
    known: BTreeMap<(SocketAddr, u16), IpAddr>,
    /// Whether the stack has IPv4 addresses.
    is_v4: bool,
    next_alias: u32,
}

/// The segments of one TCP port of a peer.
struct Flow {
    place: SocketAddr,
    name: Name,
    last_received: Instant,
    /// The TCP has accepted a segment from there. Others are forgotten first.
    is_proven: bool,
}

/// An arrived segment that can be read.
#[derive(Clone, Copy)]
pub(super) struct Origin<'a> {
    /// Where it comes from, outside.
    pub(super) place: SocketAddr,
    pub(super) name: &'a Name,
    pub(super) tcp_port: u16,
    /// It opens a connection.
    pub(super) is_syn: bool,
}

impl Peers {
    pub(super) fn new(is_v4: bool) -> Self {
        Self { flows: BTreeMap::new(), known: BTreeMap::new(), is_v4, next_alias: 0 }
    }

    /// Where segments to a peer go.
    pub(super) fn name(&self, peer: SocketAddr) -> Option<&Name> {
        Some(&self.flows.get(&peer)?.name)
    }

    /// The address of a known peer's flow.
    pub(super) fn find(&self, place: SocketAddr, tcp_port: u16) -> Option<IpAddr> {
        self.known.get(&(place, tcp_port)).copied()
    }

    /// A readable segment has arrived: the address that it is from, for the stack, and whether it matters that
    /// the TCP accepts it ([`Peers::on_accepted`]).
    pub(super) fn on_received(&mut self, origin: Origin<'_>, now: Instant) -> (IpAddr, bool) {
        let Origin { place, name, tcp_port, is_syn } = origin;
        if let Some(ip) = self.find(place, tcp_port) {
            let flow = self.flows.get_mut(&SocketAddr::new(ip, tcp_port));
            return (ip, flow.is_some_and(|flow| flow.touch(now)));
        }
        let own = self.own_address(place.ip());
        let ip = match own {
            // A known flow from another port: its translator may have changed it, if the TCP accepts it.
            // Until then answers go where they went before.
            Some(ip) if self.flows.contains_key(&SocketAddr::new(ip, tcp_port)) && !is_syn => {
                return (ip, true);
            }
            Some(ip) if !self.flows.contains_key(&SocketAddr::new(ip, tcp_port)) => ip,
            _ => self.alias(tcp_port),
        };
        if self.flows.len() >= MAX_FLOWS {
            self.forget_some();
        }
        let flow = Flow { place, name: *name, last_received: now, is_proven: false };
        self.flows.insert(SocketAddr::new(ip, tcp_port), flow);
        self.known.insert((place, tcp_port), ip);
        (ip, true)
    }

    /// The TCP has accepted a segment of the connection of `peer` that came from `place`: there it is now.
    pub(super) fn on_accepted(&mut self, peer: SocketAddr, place: SocketAddr, name: &Name) {
        let Some(flow) = self.flows.get_mut(&peer) else { return };
        flow.is_proven = true;
        if flow.place != place {
            tracing::debug!(%peer, from = %flow.place, to = %place, "a peer has moved");
            self.known.remove(&(flow.place, peer.port()));
            self.known.insert((place, peer.port()), peer.ip());
            flow.place = place;
            flow.name = *name;
        }
    }

    /// The outer address, if the stack can use it.
    fn own_address(&self, place: IpAddr) -> Option<IpAddr> {
        (place.is_ipv4() == self.is_v4).then_some(place)
    }

    /// An address that no peer has: of 240.0.0.0/4, which no host of the Internet has, or a unique local one.
    fn alias(&mut self, tcp_port: u16) -> IpAddr {
        loop {
            // Never the broadcast address.
            self.next_alias = (self.next_alias + 1) % 0x0fff_ffff;
            let ip = if self.is_v4 {
                Ipv4Addr::from_bits(0xf000_0000 | self.next_alias).into()
            } else {
                let [high, low] = [(self.next_alias >> 16) as u16, self.next_alias as u16];
                Ipv6Addr::new(0xfd68, 0x6561, 0x6477, 0x6179, 0, 0, high, low).into()
            };
            if !self.flows.contains_key(&SocketAddr::new(ip, tcp_port)) {
                return ip;
            }
        }
    }

    /// Forgets a quarter: first those whose segments no TCP has accepted, then those that were silent longest.
    fn forget_some(&mut self) {
        let mut all: Vec<_> =
            self.flows.iter().map(|(peer, flow)| (flow.is_proven, flow.last_received, *peer)).collect();
        all.sort_unstable();
        for (_, _, peer) in &all[..all.len().div_ceil(4)] {
            if let Some(flow) = self.flows.remove(peer) {
                self.known.remove(&(flow.place, peer.port()));
            }
        }
    }
}

impl Flow {
    /// Says whether it is still to be proven.
    fn touch(&mut self, now: Instant) -> bool {
        self.last_received = now;
        !self.is_proven
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(port: u16) -> SocketAddr {
        SocketAddr::new([192, 0, 2, 1].into(), port)
    }

    fn receive(peers: &mut Peers, from: u16, tcp_port: u16, is_syn: bool, at: u64) -> SocketAddr {
        let origin = Origin { place: place(from), name: &Name::NONE, tcp_port, is_syn };
        SocketAddr::new(peers.on_received(origin, Instant::from_nanos(at)).0, tcp_port)
    }

    #[test]
    fn equal_ports_behind_one_address_are_kept_apart() {
        let mut peers = Peers::new(true);
        let first = receive(&mut peers, 1, 50_000, true, 0);
        let second = receive(&mut peers, 2, 50_000, true, 1);
        let third = receive(&mut peers, 2, 50_001, true, 2);
        assert_eq!((first.ip(), third.ip()), (place(1).ip(), place(1).ip()));
        assert_eq!(second.ip(), IpAddr::from([240, 0, 0, 1]));
        // The same SYN once more.
        assert_eq!(receive(&mut peers, 2, 50_000, true, 3), second);
        assert_eq!([first, second, third].map(|peer| peers.flows[&peer].place.port()), [1, 2, 2]);
    }

    #[test]
    fn only_what_the_tcp_accepts_moves_a_peer() {
        let mut peers = Peers::new(true);
        let peer = receive(&mut peers, 1, 50_000, true, 0);
        assert_eq!(receive(&mut peers, 9, 50_000, false, 1), peer);
        assert_eq!(peers.flows[&peer].place, place(1));
        peers.on_accepted(peer, place(9), &Name::NONE);
        assert_eq!(peers.flows[&peer].place, place(9));
        assert_eq!(peers.find(place(9), 50_000), Some(peer.ip()));
        assert_eq!(peers.find(place(1), 50_000), None);
    }

    #[test]
    fn the_tcp_is_asked_until_it_has_accepted_a_segment() {
        let mut peers = Peers::new(true);
        let is_asking = |peers: &mut Peers, is_syn| {
            let origin = Origin { place: place(1), name: &Name::NONE, tcp_port: 50_000, is_syn };
            peers.on_received(origin, Instant::ZERO)
        };
        let (ip, first) = is_asking(&mut peers, true);
        assert!(first && is_asking(&mut peers, false).1);
        peers.on_accepted(SocketAddr::new(ip, 50_000), place(1), &Name::NONE);
        assert!(!is_asking(&mut peers, false).1);
    }

    #[test]
    fn the_unproven_are_forgotten_first() {
        let mut peers = Peers::new(true);
        let proven = receive(&mut peers, 1, 1, true, 0);
        peers.on_accepted(proven, place(1), &Name::NONE);
        for number in 0..200_000_u32 {
            receive(&mut peers, 2 + (number >> 16) as u16, number as u16, true, u64::from(number));
            assert!(peers.flows.len() <= MAX_FLOWS && peers.known.len() == peers.flows.len());
        }
        assert!(peers.flows.contains_key(&proven));
    }
}
