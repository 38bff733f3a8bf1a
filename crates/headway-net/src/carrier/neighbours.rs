//! Which Ethernet address stands behind an IP address, and whether it still does: one table for ARP
//! (RFC 826, RFC 1122) and for neighbour discovery (RFC 4861).

use std::collections::BTreeMap;
use std::net::IpAddr;

use headway_units::{Duration, Instant};

/// An Ethernet address.
pub(crate) type Mac = [u8; 6];

/// To everybody.
pub(crate) const BROADCAST: Mac = [0xff; 6];

/// Neighbours that are remembered at most.
const MAX_NEIGHBOURS: usize = 4096;
/// Packets that wait for one neighbour at most (RFC 1122, 2.3.2.2 asks for at least one).
const MAX_WAITING: usize = 16;
/// RFC 1122, 2.3.2.1: "The recommended maximum rate is 1 per second per destination." RFC 4861, 10:
/// RETRANS_TIMER is a second.
const ASK_AGAIN: Duration = Duration::from_secs(1);
/// Questions without an answer, before what waits is dropped, or what was known is forgotten (RFC 4861,
/// 10: MAX_MULTICAST_SOLICIT and MAX_UNICAST_SOLICIT).
const MAX_QUESTIONS: u32 = 3;
/// RFC 1122, 2.3.2.1: a timeout "on the order of a minute" makes old entries be asked for again. RFC 4861,
/// 10: REACHABLE_TIME is half a minute.
const FRESH: Duration = Duration::from_secs(30);

/// What is known of the neighbours, and what waits for them.
#[derive(Default)]
pub(crate) struct Neighbours {
    table: BTreeMap<IpAddr, Neighbour>,
}

struct Neighbour {
    mac: Option<Mac>,
    /// When it was last known to be there.
    confirmed: Option<Instant>,
    /// When it was asked last; `None`: no answer is waited for.
    asked: Option<Instant>,
    questions: u32,
    waiting: Vec<Vec<u8>>,
}

/// What to do with a packet.
pub(crate) enum Next {
    /// It goes to this address; `true`: and the neighbour must be asked whether it is still there.
    Send(Mac, bool),
    /// It waits; `true`: and everybody must be asked for the neighbour.
    Wait(bool),
}

/// What somebody told of an address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct News {
    /// The Ethernet address; `None`: it is as it was.
    pub(crate) mac: Option<Mac>,
    /// It answers a question of ours.
    pub(crate) solicited: bool,
    /// It may replace what is known.
    pub(crate) overrides: bool,
}

impl Neighbours {
    /// Somebody's address that nobody has to be asked for, ever.
    pub(crate) fn know(&mut self, ip: IpAddr, mac: Mac) {
        let entry = Neighbour {
            mac: Some(mac),
            confirmed: Some(Instant::MAX),
            asked: None,
            questions: 0,
            waiting: Vec::new(),
        };
        self.table.insert(ip, entry);
    }

    /// A packet goes to `neighbour`. It is kept if the address is not known.
    pub(crate) fn route(&mut self, now: Instant, neighbour: IpAddr, packet: &[u8]) -> Next {
        if self.table.len() >= MAX_NEIGHBOURS && !self.table.contains_key(&neighbour) {
            self.forget_oldest();
        }
        let entry = self.table.entry(neighbour).or_insert(Neighbour {
            mac: None,
            confirmed: None,
            asked: None,
            questions: 0,
            waiting: Vec::new(),
        });
        let fresh = entry.confirmed.is_some_and(|confirmed| now.saturating_since(confirmed) < FRESH);
        let ask = entry.asked.is_none() && !fresh;
        if ask {
            entry.asked = Some(now);
            entry.questions = 1;
        }
        if let Some(mac) = entry.mac {
            return Next::Send(mac, ask);
        }
        if entry.waiting.len() < MAX_WAITING {
            entry.waiting.push(packet.to_vec());
        }
        Next::Wait(ask)
    }

    /// Somebody told of `ip`. Returns what waited for it, and where that goes.
    pub(crate) fn learn(&mut self, now: Instant, ip: IpAddr, news: News) -> Option<(Mac, Vec<Vec<u8>>)> {
        // Nobody whom we never spoke to gets a place: anyone can send an answer.
        let entry = self.table.get_mut(&ip)?;
        let known = entry.mac;
        // RFC 4861, 7.2.5: without the override flag, another address than the one that is known is not
        // taken; it only makes the neighbour be asked.
        if let (Some(known), Some(told), false) = (known, news.mac, news.overrides)
            && known != told
        {
            entry.confirmed = None;
            return None;
        }
        let mac = news.mac.or(known)?;
        entry.mac = Some(mac);
        // "If the advertisement's Solicited flag is set, the state of the entry is set to REACHABLE;
        // otherwise, it is set to STALE" if the address is new.
        if news.solicited {
            entry.confirmed = Some(now);
            entry.asked = None;
        } else if known != Some(mac) {
            entry.confirmed = None;
            entry.asked = None;
        }
        Some((mac, std::mem::take(&mut entry.waiting)))
    }

    /// When somebody has to be asked again.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.table.values().filter_map(|entry| entry.asked).min().map(|asked| asked + ASK_AGAIN)
    }

    /// Whom to ask again, and where; `None`: everybody. Who did not answer often enough is forgotten, with
    /// what waited.
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
        let oldest = self.table.iter().min_by_key(|(_, entry)| entry.confirmed).map(|(&ip, _)| ip);
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

    fn answer(mac: Mac) -> News {
        News { mac: Some(mac), solicited: true, overrides: true }
    }

    #[test]
    fn what_waits_goes_with_the_answer() {
        let mut neighbours = Neighbours::default();
        assert!(neighbours.learn(at(0), IP, answer(MAC)).is_none(), "nobody asked");
        assert!(matches!(neighbours.route(at(0), IP, b"one"), Next::Wait(true)));
        assert!(matches!(neighbours.route(at(10), IP, b"two"), Next::Wait(false)));
        assert_eq!(neighbours.next_deadline(), Some(at(1000)));
        let (mac, waited) = neighbours.learn(at(20), IP, answer(MAC)).unwrap();
        assert_eq!((mac, waited), (MAC, vec![b"one".to_vec(), b"two".to_vec()]));
        assert!(matches!(neighbours.route(at(30), IP, b"three"), Next::Send(MAC, false)));
        assert_eq!(neighbours.next_deadline(), None);
    }

    #[test]
    fn an_old_neighbour_is_asked_whether_it_is_there() {
        let mut neighbours = Neighbours::default();
        neighbours.route(at(0), IP, b"one");
        neighbours.learn(at(0), IP, answer(MAC));
        // It is used and asked meanwhile.
        assert!(matches!(neighbours.route(at(30_000), IP, b"two"), Next::Send(MAC, true)));
        assert!(matches!(neighbours.route(at(30_500), IP, b"three"), Next::Send(MAC, false)));
        assert_eq!(neighbours.due(at(31_000)), [(IP, Some(MAC))]);
        // An answer without an address says that all is as it was.
        neighbours.learn(at(31_500), IP, News { mac: None, solicited: true, overrides: false });
        assert_eq!(neighbours.next_deadline(), None);
        assert!(matches!(neighbours.route(at(61_000), IP, b"four"), Next::Send(MAC, false)));
        // The next time it says nothing, and is looked for anew.
        assert!(matches!(neighbours.route(at(70_000), IP, b"five"), Next::Send(MAC, true)));
        for second in [71, 72] {
            assert_eq!(neighbours.due(at(second * 1000)), [(IP, Some(MAC))]);
        }
        assert!(neighbours.due(at(73_000)).is_empty());
        assert!(matches!(neighbours.route(at(73_001), IP, b"six"), Next::Wait(true)));
    }

    #[test]
    fn what_is_known_is_not_replaced_by_hints() {
        let mut neighbours = Neighbours::default();
        neighbours.route(at(0), IP, b"one");
        neighbours.learn(at(0), IP, answer(MAC));
        let hint = News { mac: Some(OTHER), solicited: false, overrides: false };
        assert!(neighbours.learn(at(1), IP, hint).is_none());
        assert!(matches!(neighbours.route(at(2), IP, b"two"), Next::Send(MAC, true)), "but asked");
        neighbours.learn(at(3), IP, News { overrides: true, ..hint });
        assert!(matches!(neighbours.route(at(4), IP, b"three"), Next::Send(OTHER, true)), "it moved");
    }

    #[test]
    fn who_is_known_is_never_asked_for() {
        let mut neighbours = Neighbours::default();
        neighbours.know(IP, MAC);
        for millis in [0, 60_000, 3_600_000] {
            assert!(matches!(neighbours.route(at(millis), IP, b"packet"), Next::Send(MAC, false)));
        }
        assert_eq!(neighbours.next_deadline(), None);
    }

    #[test]
    fn who_does_not_answer_is_given_up() {
        let mut neighbours = Neighbours::default();
        neighbours.route(at(0), IP, b"one");
        assert!(neighbours.due(at(999)).is_empty());
        assert_eq!(neighbours.due(at(1000)), [(IP, None)]);
        assert_eq!(neighbours.due(at(2000)), [(IP, None)]);
        assert!(neighbours.due(at(3000)).is_empty());
        assert_eq!(neighbours.next_deadline(), None);
        assert!(neighbours.learn(at(3001), IP, answer(MAC)).is_none(), "it was forgotten");
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
