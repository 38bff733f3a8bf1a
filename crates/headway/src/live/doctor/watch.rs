//! A carrier that notes what passes: the SYNs as they are sent and as they arrive, the options and ECN
//! fields of data, and damage, some of which it makes itself.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use headway_net::{Arrival, Carrier, Clock};
use headway_units::Instant;
use headway_wire::options::kind;
use headway_wire::{Received, Segment, SeqNumber, TcpFlags};
use serde::{Deserialize, Serialize};

/// Peers that are remembered, and kinds of SYN of each, at most.
const MAX_PEERS: usize = 1024;
const MAX_SYNS: usize = 8;

/// Of the segments with much data, these are sent damaged the first time.
const DAMAGED: [u32; 3] = [2, 5, 8];
/// What is much data: an option or an ACK more or less says nothing.
const MUCH: usize = 500;

/// A SYN, or the answer to one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Syn {
    /// Control bits, ACK set aside.
    pub(super) flags: u8,
    /// In order.
    pub(super) options: Vec<RawOption>,
}

/// Kind and value.
pub(super) type RawOption = (u8, Vec<u8>);

/// What went one way, between us and one peer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Way {
    /// The different SYNs, in order.
    pub(super) syns: Vec<Syn>,
    /// Kinds of options on intact segments with data.
    pub(super) kinds: BTreeSet<u8>,
    /// ECN fields of those, as their codepoints.
    pub(super) codepoints: BTreeSet<u8>,
    /// Damaged packets, with a header that can be read or without.
    pub(super) damaged: u32,
    /// Of those that were sent, segments with much data.
    #[serde(skip)]
    long: u32,
    #[serde(skip)]
    highest: Option<SeqNumber>,
}

/// What passed between us and one peer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Passed {
    pub(super) sent: Way,
    pub(super) received: Way,
}

/// What has passed, by peer.
#[derive(Clone, Default)]
pub(super) struct Sightings(Arc<Mutex<BTreeMap<SocketAddr, Passed>>>);

impl Sightings {
    /// What passed between us and `peer`.
    pub(super) fn of(&self, peer: SocketAddr) -> Passed {
        self.lock().get(&peer).cloned().unwrap_or_default()
    }

    pub(super) fn forget(&self, peer: SocketAddr) {
        self.lock().remove(&peer);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<SocketAddr, Passed>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, peer: SocketAddr, work: impl FnOnce(&mut Passed)) {
        let mut peers = self.lock();
        if peers.len() < MAX_PEERS || peers.contains_key(&peer) {
            work(peers.entry(peer).or_default());
        }
    }
}

impl Way {
    fn note(&mut self, segment: &Segment<'_>, packet: &[u8]) {
        if segment.tcp.flags.contains(TcpFlags::SYN) {
            let flags = segment.tcp.flags.bits() & !(TcpFlags::ACK.bits());
            let syn = Syn { flags, options: options(segment, packet) };
            if self.syns.len() < MAX_SYNS && !self.syns.iter().any(|known| known.is_like(&syn)) {
                self.syns.push(syn);
            }
        } else if !segment.payload.is_empty() {
            self.kinds.extend(options(segment, packet).into_iter().map(|(kind, _)| kind));
            self.codepoints.insert(segment.ip.ecn.bits());
        }
    }

    /// Whether a segment that is about to be sent is one of those that are to be damaged.
    fn is_chosen(&mut self, segment: &Segment<'_>) -> bool {
        let end = segment.tcp.seq + segment.payload.len() as u32;
        let again = self.highest.is_some_and(|highest| end.le(highest));
        if again || segment.payload.len() < MUCH || segment.tcp.flags.contains(TcpFlags::SYN) {
            return false;
        }
        self.highest = Some(end);
        self.long += 1;
        DAMAGED.contains(&self.long)
    }
}

impl Syn {
    /// Whether they are copies of one another: timestamps differ from copy to copy.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let pairs = self.options.iter().zip(&other.options);
        self.flags == other.flags
            && self.options.len() == other.options.len()
            && pairs.into_iter().all(|(a, b)| a.0 == b.0 && (a.0 == kind::TIMESTAMPS || a.1 == b.1))
    }
}

/// The options of a segment as they stand in the packet.
fn options(segment: &Segment<'_>, packet: &[u8]) -> Vec<RawOption> {
    let mut rest = packet.get(segment.ip_header_len + 20..segment.header_len).unwrap_or_default();
    let mut options = Vec::new();
    loop {
        match *rest {
            [] | [kind::END, ..] => return options,
            [kind::NOP, ..] => rest = &rest[1..],
            [kind, len, ..] if len >= 2 && usize::from(len) <= rest.len() => {
                let (option, behind) = rest.split_at(len.into());
                options.push((kind, option[2..].to_vec()));
                rest = behind;
            }
            _ => return options,
        }
    }
}

/// A carrier whose packets are noted.
pub(super) struct Watch {
    pub(super) inner: Box<dyn Carrier>,
    pub(super) sightings: Sightings,
}

impl Carrier for Watch {
    fn fd(&self) -> BorrowedFd<'_> {
        self.inner.fd()
    }

    fn mtu(&self) -> u16 {
        self.inner.mtu()
    }

    fn name(&self) -> String {
        self.inner.name()
    }

    fn keeps_segments(&self) -> bool {
        self.inner.keeps_segments()
    }

    fn fill(&mut self, clock: &Clock) -> io::Result<usize> {
        self.inner.fill(clock)
    }

    fn received<'a>(&'a self, packets: &mut Vec<Arrival<'a>>) {
        let before = packets.len();
        self.inner.received(packets);
        for arrival in &packets[before..] {
            let is_intact = matches!(arrival.received, Received::Intact(_));
            let segment = match arrival.received {
                Received::Intact(segment) | Received::Corrupted(segment) => segment,
                // A corrupted TCP header may name another peer; then it is not missed.
                _ => match Segment::parse(arrival.packet) {
                    Ok(segment) => segment,
                    Err(_) => continue,
                },
            };
            let peer = SocketAddr::new(segment.ip.src, segment.tcp.src_port);
            self.sightings.note(peer, |passed| {
                if is_intact {
                    passed.received.note(&segment, arrival.packet);
                } else {
                    passed.received.damaged += 1;
                }
            });
        }
    }

    fn slot(&mut self) -> Option<&mut [u8]> {
        self.inner.slot()
    }

    fn queue(&mut self, len: usize) {
        // Checksums that are computed later would cover damage.
        let damages = self.inner.keeps_segments();
        // The place is the one that was given last.
        if let Some(packet) = self.inner.slot().and_then(|slot| slot.get_mut(..len)) {
            let mut hit = None;
            if let Ok(segment) = Segment::parse(packet) {
                let peer = SocketAddr::new(segment.ip.dst, segment.tcp.dst_port);
                self.sightings.note(peer, |passed| {
                    passed.sent.note(&segment, packet);
                    if damages && passed.sent.is_chosen(&segment) {
                        passed.sent.damaged += 1;
                        hit = Some(segment.header_len + segment.payload.len() / 2);
                    }
                });
            }
            if let Some(octet) = hit.and_then(|at| packet.get_mut(at)) {
                *octet ^= 0x10;
            }
        }
        self.inner.queue(len);
    }

    fn flush(&mut self) -> io::Result<bool> {
        self.inner.flush()
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.inner.next_deadline()
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.inner.handle_timeout(now);
    }
}
