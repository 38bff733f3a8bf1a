//! Which Ethernet address stands behind an IPv4 address (ARP, RFC 826).

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use headway_units::{Duration, Instant};

/// An Ethernet address.
pub(super) type Mac = [u8; 6];

/// To everybody.
pub(super) const BROADCAST: Mac = [0xff; 6];

/// The length of an ARP packet for IPv4 over Ethernet.
pub(super) const ARP_LEN: usize = 28;

/// Ethernet, IPv4, and the lengths of their addresses.
const ARP_KIND: [u8; 6] = [0, 1, 8, 0, 6, 4];

/// Neighbours that are remembered at most.
const MAX_NEIGHBOURS: usize = 4096;
/// Packets that wait for one neighbour at most (RFC 1122, 2.3.2.2 asks for at least one).
const MAX_WAITING: usize = 16;
/// RFC 1122, 2.3.2.1: "The recommended maximum rate is 1 per second per destination."
const ASK_AGAIN: Duration = Duration::from_secs(1);
/// Questions without an answer, before what waits is dropped.
const MAX_QUESTIONS: u32 = 3;
/// RFC 1122, 2.3.2.1: a timeout "on the order of a minute" makes old entries be asked for again.
const FRESH: Duration = Duration::from_secs(60);

/// Whether an ARP packet asks or answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Request = 1,
    Reply = 2,
}

/// An ARP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arp {
    pub(super) operation: Operation,
    pub(super) sender: (Mac, Ipv4Addr),
    pub(super) target: (Mac, Ipv4Addr),
}

impl Arp {
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; ARP_LEN] = bytes.first_chunk()?;
        if bytes[..6] != ARP_KIND {
            return None;
        }
        let operation = match bytes[6..8] {
            [0, 1] => Operation::Request,
            [0, 2] => Operation::Reply,
            _ => return None,
        };
        let end = |at: usize| {
            Some((*bytes[at..].first_chunk::<6>()?, Ipv4Addr::from(*bytes[at + 6..].first_chunk::<4>()?)))
        };
        Some(Self { operation, sender: end(8)?, target: end(18)? })
    }

    pub(super) fn emit(&self) -> [u8; ARP_LEN] {
        let mut bytes = [0; ARP_LEN];
        bytes[..6].copy_from_slice(&ARP_KIND);
        bytes[7] = self.operation as u8;
        for (at, (mac, ip)) in [(8, self.sender), (18, self.target)] {
            bytes[at..at + 6].copy_from_slice(&mac);
            bytes[at + 6..at + 10].copy_from_slice(&ip.octets());
        }
        bytes
    }
}

/// What is known of the neighbours, and what waits for them.
#[derive(Default)]
pub(super) struct Neighbours {
    table: BTreeMap<Ipv4Addr, Neighbour>,
}

struct Neighbour {
    mac: Option<Mac>,
    confirmed: Instant,
    asked: Option<Instant>,
    questions: u32,
    waiting: Vec<Vec<u8>>,
}

/// What to do with a packet.
pub(super) enum Next {
    /// It goes to this address; `true`: and the neighbour should be asked whether it is still there.
    Send(Mac, bool),
    /// It waits; `true`: and the neighbour must be asked for.
    Wait(bool),
}

impl Neighbours {
    /// A packet goes to `neighbour`. It is kept if the address is not known.
    pub(super) fn route(&mut self, now: Instant, neighbour: Ipv4Addr, packet: &[u8]) -> Next {
        if self.table.len() >= MAX_NEIGHBOURS && !self.table.contains_key(&neighbour) {
            self.forget_oldest();
        }
        let entry = self.table.entry(neighbour).or_insert(Neighbour {
            mac: None,
            confirmed: Instant::ZERO,
            asked: None,
            questions: 0,
            waiting: Vec::new(),
        });
        let due = entry.asked.is_none_or(|asked| now.saturating_since(asked) >= ASK_AGAIN);
        if let Some(mac) = entry.mac {
            let ask = due && now.saturating_since(entry.confirmed) >= FRESH;
            if ask {
                entry.asked = Some(now);
            }
            return Next::Send(mac, ask);
        }
        if entry.waiting.len() < MAX_WAITING {
            entry.waiting.push(packet.to_vec());
        }
        if due {
            entry.asked = Some(now);
            entry.questions = 1;
        }
        Next::Wait(due)
    }

    /// Somebody told its address. Returns what waited for it.
    pub(super) fn learn(&mut self, now: Instant, ip: Ipv4Addr, mac: Mac) -> Vec<Vec<u8>> {
        // Nobody whom we never spoke to gets a place: anyone can send an answer.
        let Some(entry) = self.table.get_mut(&ip) else { return Vec::new() };
        entry.mac = Some(mac);
        entry.confirmed = now;
        entry.asked = None;
        std::mem::take(&mut entry.waiting)
    }

    /// When somebody has to be asked again.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        let waiting = self.table.values().filter(|entry| entry.mac.is_none());
        waiting.filter_map(|entry| entry.asked).min().map(|asked| asked + ASK_AGAIN)
    }

    /// Whom to ask again. Who did not answer often enough is forgotten, with what waited.
    pub(super) fn due(&mut self, now: Instant) -> Vec<Ipv4Addr> {
        let mut ask = Vec::new();
        self.table.retain(|&ip, entry| {
            let due = entry.mac.is_none()
                && entry.asked.is_some_and(|asked| now.saturating_since(asked) >= ASK_AGAIN);
            if !due {
                return true;
            }
            entry.asked = Some(now);
            entry.questions += 1;
            let goes_on = entry.questions <= MAX_QUESTIONS;
            if goes_on {
                ask.push(ip);
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
    use super::*;

    const MAC: Mac = [2, 0, 0, 0, 0, 7];
    const IP: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 7);

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn packets_are_read_as_they_are_written() {
        let arp =
            Arp { operation: Operation::Reply, sender: (MAC, IP), target: ([3; 6], Ipv4Addr::LOCALHOST) };
        assert_eq!(Arp::parse(&arp.emit()), Some(arp));
        assert_eq!(Arp::parse(&arp.emit()[1..]), None);
        for at in 0..8 {
            let mut bytes = arp.emit();
            bytes[at] ^= 0x10;
            assert_eq!(Arp::parse(&bytes), None, "octet {at}");
        }
    }

    #[test]
    fn what_waits_goes_with_the_answer() {
        let mut neighbours = Neighbours::default();
        assert!(neighbours.learn(at(0), IP, MAC).is_empty(), "nobody asked");
        assert!(matches!(neighbours.route(at(0), IP, b"one"), Next::Wait(true)));
        assert!(matches!(neighbours.route(at(10), IP, b"two"), Next::Wait(false)));
        assert_eq!(neighbours.next_deadline(), Some(at(1000)));
        assert_eq!(neighbours.learn(at(20), IP, MAC), [b"one", b"two"]);
        assert!(matches!(neighbours.route(at(30), IP, b"three"), Next::Send(MAC, false)));
        assert_eq!(neighbours.next_deadline(), None);
        // After a minute it is used and asked for, once a second.
        assert!(matches!(neighbours.route(at(60_020), IP, b"four"), Next::Send(MAC, true)));
        assert!(matches!(neighbours.route(at(60_030), IP, b"five"), Next::Send(MAC, false)));
    }

    #[test]
    fn who_does_not_answer_is_given_up() {
        let mut neighbours = Neighbours::default();
        neighbours.route(at(0), IP, b"one");
        assert!(neighbours.due(at(999)).is_empty());
        assert_eq!(neighbours.due(at(1000)), [IP]);
        assert_eq!(neighbours.due(at(2000)), [IP]);
        assert!(neighbours.due(at(3000)).is_empty());
        assert_eq!(neighbours.next_deadline(), None);
        assert!(neighbours.learn(at(3001), IP, MAC).is_empty(), "it was forgotten");
    }

    #[test]
    fn the_table_is_bounded() {
        let mut neighbours = Neighbours::default();
        for n in 0..2 * MAX_NEIGHBOURS as u32 {
            for _ in 0..2 * MAX_WAITING {
                neighbours.route(at(0), Ipv4Addr::from_bits(n), b"packet");
            }
        }
        assert_eq!(neighbours.table.len(), MAX_NEIGHBOURS);
        assert!(neighbours.table.values().all(|entry| entry.waiting.len() <= MAX_WAITING));
    }
}
