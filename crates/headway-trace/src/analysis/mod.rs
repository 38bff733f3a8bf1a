//! Statistics of the connections in a capture, defined as in tcptrace where tcptrace has the same
//! statistic (differences are documented where they occur).

mod acks;
mod connection;
mod direction;
mod graph;
mod offload;
pub(crate) mod packet;
mod sent;
mod sequence;
mod special;
mod spread;
mod throughput;
mod window;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

pub use acks::Acks;
pub use connection::{Connection, Ending};
pub use direction::{Amount, Damage, Data, Direction, Offers};
pub use graph::{BlockPoint, BytePoint, EdgePoint, Graph, OutstandingPoint, RttPoint, SegmentPoint};
pub use offload::Offload;
pub use sent::Acknowledged;
pub use special::Special;
pub use spread::Spread;
pub use throughput::{Interval, Throughput};
pub use window::Windows;

use crate::reader::Packet;
use packet::{Seen, SumState, TcpPacket, examine};

/// The maximum number of connections analysed; packets of further connections are only counted.
pub const MAX_CONNECTIONS: usize = 1 << 16;

/// What to analyse, and what to keep for graphs.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Only packets of the interface with this index. With `None`, each connection is analysed at the
    /// interface that captured its first packet, so that a capture of both ends counts nothing twice.
    pub interface: Option<usize>,
    /// The connections whose graphs are kept.
    pub graphs: Option<Graphs>,
    /// Hosts whose wrong checksums are due to checksum offload.
    pub offload: Offload,
}

/// The connections whose graphs are kept.
#[derive(Clone, Debug)]
pub struct Graphs {
    /// The maximum number of points in each series.
    pub points: usize,
    /// The connections, counted from 0 in the order of their first packets.
    pub connections: std::ops::Range<usize>,
}

/// Packets that are not counted for any connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Not TCP.
    pub not_tcp: u64,
    /// Fragments.
    pub fragments: u64,
    /// Captured with incomplete headers.
    pub cut: u64,
    /// IP packets with invalid headers, and damaged packets without a known connection.
    pub unreadable: u64,
    /// Of an unsupported link type.
    pub unknown_link: u64,
    /// Captured at an interface other than the one where the connection is analysed.
    pub other_interface: u64,
    /// Of connections beyond the first 65,536.
    pub beyond_limit: u64,
}

/// The result of an analysis.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Analysis {
    /// In the order of their first packets.
    pub connections: Vec<Connection>,
    /// All packets of the capture.
    pub packets: u64,
    /// Packets that are not counted for any connection.
    pub skipped: Skipped,
    /// Packets whose checksums were not yet computed when they were captured.
    pub not_computed: u64,
}

/// Analyses the packets of a capture one by one.
///
/// ```no_run
/// use headway_trace::analysis::{Analyser, Offload, Options};
/// use headway_trace::reader::Reader;
///
/// let mut offload = Offload::new();
/// let mut reader = Reader::new(std::fs::File::open("run.pcapng")?)?;
/// while let Some(packet) = reader.next_packet()? {
///     offload.packet(&packet);
/// }
/// let mut analyser = Analyser::new(Options { offload, ..Options::default() });
/// let mut reader = Reader::new(std::fs::File::open("run.pcapng")?)?;
/// while let Some(packet) = reader.next_packet()? {
///     analyser.packet(&packet);
/// }
/// for connection in analyser.finish().connections {
///     println!("{:?}: {} retransmitted", connection.ends, connection.directions[0].retransmitted.packets);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Analyser {
    options: Options,
    /// The latest connection between two ends.
    places: BTreeMap<[SocketAddr; 2], usize>,
    connections: Vec<Connection>,
    packets: u64,
    skipped: Skipped,
    not_computed: u64,
    scratch: Vec<u8>,
}

impl Analyser {
    /// An analyser without packets.
    pub fn new(options: Options) -> Self {
        Self {
            options,
            places: BTreeMap::new(),
            connections: Vec::new(),
            packets: 0,
            skipped: Skipped::default(),
            not_computed: 0,
            scratch: Vec::new(),
        }
    }

    /// Processes the next packet.
    pub fn packet(&mut self, packet: &Packet<'_>) {
        self.packets += 1;
        let mut scratch = core::mem::take(&mut self.scratch);
        match examine(packet, &mut scratch) {
            Seen::Tcp(tcp) => self.tcp(packet, &tcp),
            Seen::NotTcp => self.skipped.not_tcp += 1,
            Seen::Fragment => self.skipped.fragments += 1,
            Seen::Cut => self.skipped.cut += 1,
            Seen::Unreadable => self.skipped.unreadable += 1,
            Seen::UnknownLink => self.skipped.unknown_link += 1,
        }
        self.scratch = scratch;
    }

    fn tcp(&mut self, packet: &Packet<'_>, tcp: &TcpPacket<'_>) {
        let known = self.places.get(&key(tcp)).copied();
        match self.sum(packet.interface, tcp) {
            SumState::Sound | SumState::Unknown => {}
            SumState::NotComputed => self.not_computed += 1,
            sum @ (SumState::Corrupted | SumState::Wrong) => {
                // A damaged packet does not open a connection: its addresses may be wrong.
                match known.and_then(|place| self.connections.get_mut(place)) {
                    Some(connection) => {
                        let is_corrupted = sum == SumState::Corrupted;
                        connection.damaged(tcp, packet.at, packet.interface, is_corrupted);
                    }
                    None => self.skipped.unreadable += 1,
                }
                return;
            }
        }
        if self.options.interface.is_some_and(|interface| interface != packet.interface) {
            self.skipped.other_interface += 1;
            return;
        }
        let known = known.filter(|&place| {
            self.connections.get(place).is_some_and(|connection| {
                connection.interface != packet.interface || !connection.is_followed_by(tcp)
            })
        });
        let Some(place) = known.or_else(|| self.open(packet, tcp)) else {
            self.skipped.beyond_limit += 1;
            return;
        };
        match self.connections.get_mut(place) {
            Some(connection) if connection.interface == packet.interface => {
                connection.packet(tcp, packet.at);
            }
            _ => self.skipped.other_interface += 1,
        }
    }

    fn sum(&self, interface: usize, tcp: &TcpPacket<'_>) -> SumState {
        let src: IpAddr = tcp.segment.ip.src;
        match tcp.sum {
            SumState::Wrong if self.options.offload.covers(interface, src) => SumState::NotComputed,
            sum => sum,
        }
    }

    fn open(&mut self, packet: &Packet<'_>, tcp: &TcpPacket<'_>) -> Option<usize> {
        let place = self.connections.len();
        if place == MAX_CONNECTIONS {
            return None;
        }
        let graphs = self.options.graphs.as_ref().filter(|graphs| graphs.connections.contains(&place));
        let points = graphs.map(|graphs| graphs.points);
        self.connections.push(Connection::new(tcp, packet.interface, packet.at, points));
        self.places.insert(key(tcp), place);
        Some(place)
    }

    /// The result.
    pub fn finish(self) -> Analysis {
        Analysis {
            connections: self.connections,
            packets: self.packets,
            skipped: self.skipped,
            not_computed: self.not_computed,
        }
    }
}

/// The ends of a connection, the same for both directions.
fn key(tcp: &TcpPacket<'_>) -> [SocketAddr; 2] {
    let mut ends = [tcp.source(), tcp.destination()];
    ends.sort_unstable();
    ends
}
