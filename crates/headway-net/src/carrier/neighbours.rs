//! The neighbour table: Ethernet addresses of IP addresses and their reachability, for ARP (RFC 826, RFC
//! 1122) and neighbour discovery (RFC 4861).

use std::collections::BTreeMap;
use std::net::IpAddr;

use headway_units::{Duration, Instant};

/// An Ethernet address.
pub(crate) type Mac = [u8; 6];

/// The broadcast address.
pub(crate) const BROADCAST: Mac = [0xff; 6];

/// The maximum number of entries.
const MAX_NEIGHBOURS: usize = 4096;
/// The maximum number of packets waiting for one neighbour (RFC 1122, 2.3.2.2 requires at least one).
const MAX_WAITING: usize = 16;
/// RFC 1122, 2.3.2.1: "The recommended maximum rate is 1 per second per destination." RFC 4861, 10:
/// RETRANS_TIMER is a second.
const ASK_AGAIN: Duration = Duration::from_secs(1);
/// The number of unanswered requests before waiting packets are dropped, or the entry is removed (RFC
/// 4861, 10: MAX_MULTICAST_SOLICIT and MAX_UNICAST_SOLICIT).
const MAX_QUESTIONS: u32 = 3;
/// RFC 1122, 2.3.2.1: old entries are confirmed after a timeout "on the order of a minute". RFC 4861,
/// 10: REACHABLE_TIME is half a minute.
const FRESH: Duration = Duration::from_secs(30);

/// The neighbour table, with waiting packets.
#[derive(Default)]
pub(crate) struct Neighbours {
    table: BTreeMap<IpAddr, Neighbour>,
}

struct Neighbour {
    mac: Option<Mac>,
    /// When it was last confirmed.
    confirmed: Option<Instant>,
    /// When the last request was sent; `None`: no request is pending.
    asked: Option<Instant>,
    questions: u32,
    waiting: Vec<Vec<u8>>,
    /// Set by the configuration: no message changes it.
    is_static: bool,
}

/// The result of routing a packet.
pub(crate) enum Route {
    /// Send it to this address; `true`: also send a unicast request to confirm the neighbour.
    Send(Mac, bool),
    /// It waits for address resolution; `true`: send a multicast request.
    Wait(bool),
}

/// Information about an address from a received message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NeighbourInfo {
    /// The Ethernet address; `None`: unchanged.
    pub(crate) mac: Option<Mac>,
    /// It answers a request.
    pub(crate) solicited: bool,
    /// It may override the known address.
    pub(crate) overrides: bool,
}

impl Neighbours {
    /// Adds a static entry. It is never requested, changed or removed.
    pub(crate) fn insert_static(&mut self, ip: IpAddr, mac: Mac) {
        let entry = Neighbour {
            mac: Some(mac),
            confirmed: Some(Instant::MAX),
            asked: None,
            questions: 0,
            waiting: Vec::new(),
            is_static: true,
        };
        self.table.insert(ip, entry);
    }

    /// Routes a packet to `neighbour`. It waits if the address is not known.
    pub(crate) fn route(&mut self, now: Instant, neighbour: IpAddr, packet: &[u8]) -> Route {
        if self.table.len() >= MAX_NEIGHBOURS && !self.table.contains_key(&neighbour) {
            self.forget_oldest();
        }
        let entry = self.table.entry(neighbour).or_insert(Neighbour {
            mac: None,
            confirmed: None,
            asked: None,
            questions: 0,
            waiting: Vec::new(),
            is_static: false,
        });
        let fresh = entry.confirmed.is_some_and(|confirmed| now.saturating_since(confirmed) < FRESH);
        let ask = entry.asked.is_none() && !fresh;
        if ask {
            entry.asked = Some(now);
            entry.questions = 1;
        }
        if let Some(mac) = entry.mac {
            return Route::Send(mac, ask);
        }
        if entry.waiting.len() < MAX_WAITING {
            entry.waiting.push(packet.to_vec());
        }
        Route::Wait(ask)
    }

    /// Processes information about `ip`. Returns the packets that waited for it, and their destination.
    pub(crate) fn learn(
        &mut self,
        now: Instant,
        ip: IpAddr,
        info: NeighbourInfo,
    ) -> Option<(Mac, Vec<Vec<u8>>)> {
        // Unsolicited information creates no entry: any station can send it.
        let entry = self.table.get_mut(&ip).filter(|entry| !entry.is_static)?;
        let known = entry.mac;
        // RFC 4861, 7.2.5: without the override flag, a different address is not accepted; it only makes
        // the entry stale.
        if let (Some(known), Some(new), false) = (known, info.mac, info.overrides)
            && known != new
        {
            entry.confirmed = None;
            return None;
        }
        let mac = info.mac.or(known)?;
        entry.mac = Some(mac);
        // "If the advertisement's Solicited flag is set, the state of the entry is set to REACHABLE;
        // otherwise, it is set to STALE" if the address is new.
        if info.solicited {
            entry.confirmed = Some(now);
            entry.asked = None;
        } else if known != Some(mac) {
            entry.confirmed = None;
            entry.asked = None;
        }
        Some((mac, std::mem::take(&mut entry.waiting)))
    }

    /// When the next request is due.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.table.values().filter_map(|entry| entry.asked).min().map(|asked| asked + ASK_AGAIN)
    }

    /// The requests to repeat, and the Ethernet address; `None`: multicast. Entries without an answer are
    /// removed, with their waiting packets.
    pub(crate) fn due(&mut self, now: Instant) -> Vec<(IpAddr, Option<Mac>)> {
        let mut ask = Vec::new();
        self.table.retain(|&ip, entry| {
            if entry.asked.is_none_or(|asked| now.saturating_since(asked) < ASK_AGAIN) {
                return true;
            }
            entry.asked = Some(now);
            entry.questions += 1;
            let goes_on = entry.questions <= MAX_QUESTIONS;
            if goes_on {
                ask.push((ip, entry.mac));
            }
            goes_on
        });
        ask
    }

    fn forget_oldest(&mut self) {
        let others = self.table.iter().filter(|(_, entry)| !entry.is_static);
        let oldest = others.min_by_key(|(_, entry)| entry.confirmed).map(|(&ip, _)| ip);
        oldest.and_then(|ip| self.table.remove(&ip));
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const MAC: Mac = [2, 0, 0, 0, 0, 7];
    const OTHER: Mac = [2, 0, 0, 0, 0, 8];
    const IP: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 7));

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn answer(mac: Mac) -> NeighbourInfo {
        NeighbourInfo { mac: Some(mac), solicited: true, overrides: true }
    }

    #[test]
    fn waiting_packets_are_sent_after_the_answer() {
        let mut neighbours = Neighbours::default();
        assert!(neighbours.learn(at(0), IP, answer(MAC)).is_none(), "unsolicited");
        assert!(matches!(neighbours.route(at(0), IP, b"one"), Route::Wait(true)));
        assert!(matches!(neighbours.route(at(10), IP, b"two"), Route::Wait(false)));
        assert_eq!(neighbours.next_deadline(), Some(at(1000)));
        let (mac, waited) = neighbours.learn(at(20), IP, answer(MAC)).unwrap();
        assert_eq!((mac, waited), (MAC, vec![b"one".to_vec(), b"two".to_vec()]));
        assert!(matches!(neighbours.route(at(30), IP, b"three"), Route::Send(MAC, false)));
        assert_eq!(neighbours.next_deadline(), None);
    }

    #[test]
    fn an_old_neighbour_is_confirmed() {
        let mut neighbours = Neighbours::default();
        neighbours.route(at(0), IP, b"one");
        neighbours.learn(at(0), IP, answer(MAC));
        // It is used during confirmation.
        assert!(matches!(neighbours.route(at(30_000), IP, b"two"), Route::Send(MAC, true)));
        assert!(matches!(neighbours.route(at(30_500), IP, b"three"), Route::Send(MAC, false)));
        assert_eq!(neighbours.due(at(31_000)), [(IP, Some(MAC))]);
        // An answer without an address confirms the entry.
        neighbours.learn(at(31_500), IP, NeighbourInfo { mac: None, solicited: true, overrides: false });
        assert_eq!(neighbours.next_deadline(), None);
        assert!(matches!(neighbours.route(at(61_000), IP, b"four"), Route::Send(MAC, false)));
        // Without an answer it is resolved again.
        assert!(matches!(neighbours.route(at(70_000), IP, b"five"), Route::Send(MAC, true)));
        for second in [71, 72] {
            assert_eq!(neighbours.due(at(second * 1000)), [(IP, Some(MAC))]);
        }
        assert!(neighbours.due(at(73_000)).is_empty());
        assert!(matches!(neighbours.route(at(73_001), IP, b"six"), Route::Wait(true)));
    }

    #[test]
    fn known_addresses_are_replaced_only_with_override() {
        let mut neighbours = Neighbours::default();
        neighbours.route(at(0), IP, b"one");
        neighbours.learn(at(0), IP, answer(MAC));
        let hint = NeighbourInfo { mac: Some(OTHER), solicited: false, overrides: false };
        assert!(neighbours.learn(at(1), IP, hint).is_none());
        assert!(
            matches!(neighbours.route(at(2), IP, b"two"), Route::Send(MAC, true)),
            "sent, with a request"
        );
        neighbours.learn(at(3), IP, NeighbourInfo { overrides: true, ..hint });
        assert!(matches!(neighbours.route(at(4), IP, b"three"), Route::Send(OTHER, true)), "it moved");
    }

    #[test]
    fn static_neighbours_are_never_requested_and_no_message_changes_them() {
        let mut neighbours = Neighbours::default();
        neighbours.insert_static(IP, MAC);
        for millis in [0, 60_000, 3_600_000] {
            assert!(matches!(neighbours.route(at(millis), IP, b"packet"), Route::Send(MAC, false)));
            for (solicited, overrides) in [(true, true), (true, false), (false, true), (false, false)] {
                for mac in [Some(OTHER), Some(MAC), None] {
                    assert!(
                        neighbours
                            .learn(at(millis), IP, NeighbourInfo { mac, solicited, overrides })
                            .is_none()
                    );
                }
            }
        }
        assert_eq!(neighbours.next_deadline(), None);
        // Nor do other neighbours take its place.
        for n in 0..2 * MAX_NEIGHBOURS as u32 {
            neighbours.route(at(0), Ipv4Addr::from_bits(n).into(), b"packet");
        }
        assert!(matches!(neighbours.route(at(3_600_001), IP, b"packet"), Route::Send(MAC, false)));
    }

    #[test]
    fn neighbours_without_an_answer_are_removed() {
        let mut neighbours = Neighbours::default();
        neighbours.route(at(0), IP, b"one");
        assert!(neighbours.due(at(999)).is_empty());
        assert_eq!(neighbours.due(at(1000)), [(IP, None)]);
        assert_eq!(neighbours.due(at(2000)), [(IP, None)]);
        assert!(neighbours.due(at(3000)).is_empty());
        assert_eq!(neighbours.next_deadline(), None);
        assert!(neighbours.learn(at(3001), IP, answer(MAC)).is_none(), "it was removed");
    }

    #[test]
    fn the_table_is_bounded() {
        let mut neighbours = Neighbours::default();
        for n in 0..2 * MAX_NEIGHBOURS as u32 {
            for _ in 0..2 * MAX_WAITING {
                neighbours.route(at(0), Ipv4Addr::from_bits(n).into(), b"packet");
            }
        }
        assert_eq!(neighbours.table.len(), MAX_NEIGHBOURS);
        assert!(neighbours.table.values().all(|entry| entry.waiting.len() <= MAX_WAITING));
    }
}
