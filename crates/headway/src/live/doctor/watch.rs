//! A carrier that records what passes: the SYNs as they are sent and as they arrive, the options and ECN
//! fields of data, and damage. It also damages some segments that it sends.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use headway_net::{Arrival, Carrier, CarrierProperties, Clock, Housekeeping};
use headway_tcp::Transmit;
use headway_wire::options::kind;
use headway_wire::{Received, Segment, SeqNumber, TcpFlags};
use serde::{Deserialize, Serialize};

/// The maximum numbers of peers, and of different SYNs of each.
const MAX_PEERS: usize = 1024;
const MAX_SYNS: usize = 8;

/// The numbers of the long data segments whose first transmission is damaged.
const DAMAGED_SEGMENTS: [u32; 3] = [2, 5, 8];
/// The minimum length of a long data segment.
const LONG: usize = 500;

/// A SYN or SYN-ACK.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Syn {
    /// Control bits, without ACK.
    pub(super) flags: u8,
    /// The options, in order.
    pub(super) options: Vec<RawOption>,
}

/// Kind and value.
pub(super) type RawOption = (u8, Vec<u8>);

/// The packets of one direction, between this host and a peer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DirectionRecord {
    /// The different SYNs, in order.
    pub(super) syns: Vec<Syn>,
    /// Kinds of options on intact segments with data.
    pub(super) kinds: BTreeSet<u8>,
    /// ECN fields of those, as their codepoints.
    pub(super) codepoints: BTreeSet<u8>,
    /// Damaged packets, with a readable header or without.
    pub(super) damaged: u32,
    /// Sent long data segments.
    #[serde(skip)]
    long: u32,
    #[serde(skip)]
    highest: Option<SeqNumber>,
}

/// The packets between this host and a peer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PeerRecord {
    pub(super) sent: DirectionRecord,
    pub(super) received: DirectionRecord,
}

/// The recorded packets, by peer.
#[derive(Clone, Default)]
pub(super) struct Records(Arc<Mutex<BTreeMap<SocketAddr, PeerRecord>>>);

impl Records {
    /// The packets between this host and `peer`.
    pub(super) fn of(&self, peer: SocketAddr) -> PeerRecord {
        self.lock().get(&peer).cloned().unwrap_or_default()
    }

    pub(super) fn forget(&self, peer: SocketAddr) {
        self.lock().remove(&peer);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<SocketAddr, PeerRecord>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record(&self, peer: SocketAddr, work: impl FnOnce(&mut PeerRecord)) {
        let mut peers = self.lock();
        if peers.len() < MAX_PEERS || peers.contains_key(&peer) {
            work(peers.entry(peer).or_default());
        }
    }
}

impl DirectionRecord {
    fn record(&mut self, segment: &Segment<'_>, packet: &[u8]) {
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

    /// Whether a segment is to be sent damaged.
    fn is_chosen(&mut self, segment: &Segment<'_>) -> bool {
        let end = segment.tcp.seq + segment.payload.len() as u32;
        let again = self.highest.is_some_and(|highest| end.le(highest));
        if again || segment.payload.len() < LONG || segment.tcp.flags.contains(TcpFlags::SYN) {
            return false;
        }
        self.highest = Some(end);
        self.long += 1;
        DAMAGED_SEGMENTS.contains(&self.long)
    }
}

impl Syn {
    /// Whether one is a retransmission of the other: only timestamps differ.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let pairs = self.options.iter().zip(&other.options);
        self.flags == other.flags
            && self.options.len() == other.options.len()
            && pairs.into_iter().all(|(a, b)| a.0 == b.0 && (a.0 == kind::TIMESTAMPS || a.1 == b.1))
    }
}

/// The options of a segment in their order in the packet.
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

/// A carrier whose packets are recorded.
pub(super) struct Watch {
    pub(super) inner: Box<dyn Carrier>,
    pub(super) records: Records,
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

    fn properties(&self) -> CarrierProperties {
        // Its sums are those of whole headers.
        CarrierProperties { compacts_headers: false, ..self.inner.properties() }
    }

    fn housekeeping(&mut self) -> Option<&mut dyn Housekeeping> {
        self.inner.housekeeping()
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
                // A corrupted TCP header may have another peer's port; such a packet is ignored.
                _ => match Segment::parse(arrival.packet) {
                    Ok(segment) => segment,
                    Err(_) => continue,
                },
            };
            let peer = SocketAddr::new(segment.ip.src, segment.tcp.src_port);
            self.records.record(peer, |record| {
                if is_intact {
                    record.received.record(&segment, arrival.packet);
                } else {
                    record.received.damaged += 1;
                }
            });
        }
    }

    fn slot(&mut self) -> Option<&mut [u8]> {
        self.inner.slot()
    }

    fn queue(&mut self, Transmit { len, compact }: Transmit) {
        // Checksums that are computed later would include the damage.
        let damages = self.inner.properties().keeps_segments;
        // The slot is the one returned last.
        if let Some(packet) = self.inner.slot().and_then(|slot| slot.get_mut(..len)) {
            let mut hit = None;
            if let Ok(segment) = Segment::parse(packet) {
                let peer = SocketAddr::new(segment.ip.dst, segment.tcp.dst_port);
                self.records.record(peer, |record| {
                    record.sent.record(&segment, packet);
                    if damages && record.sent.is_chosen(&segment) {
                        record.sent.damaged += 1;
                        hit = Some(segment.header_len + segment.payload.len() / 2);
                    }
                });
            }
            if let Some(byte) = hit.and_then(|at| packet.get_mut(at)) {
                *byte ^= 0x10;
            }
        }
        self.inner.queue(Transmit { len, compact });
    }

    fn flush(&mut self) -> io::Result<bool> {
        self.inner.flush()
    }
}
