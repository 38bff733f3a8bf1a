//! What one side of a connection sent.

use std::collections::BTreeMap;

use headway_units::{Duration, Instant};
use headway_wire::{Ecn, Segment, SeqNumber, TcpFlags};

use super::acks::Acks;
use super::graph::Graph;
use super::sent::{Acknowledged, Sent};
use super::sequence::Sequence;
use super::special::Special;
use super::throughput::Throughput;
use super::window::Windows;

/// The maximum number of interfaces with separate damage counters.
const MAX_INTERFACES: usize = 64;

/// One direction of a connection: what its sender sent, and how the other side acknowledged it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Direction {
    /// Undamaged packets.
    pub packets: u64,
    /// The number of packets with each flag, by bit number: FIN, SYN, RST, PSH, ACK, URG, ECE, CWR.
    pub flags: [u64; 8],
    /// Packets with the ECN codepoint CE ("congestion experienced").
    pub congestion_marks: u64,
    /// What the SYN offered.
    pub offers: Offers,
    /// Segments with data.
    pub data: Data,
    /// Segments retransmitted in whole or in part, and the retransmitted bytes. SYN and FIN count as one
    /// byte each.
    pub retransmitted: Amount,
    /// Segments that filled a gap before bytes sent earlier: reordered, or captured only when
    /// retransmitted.
    pub out_of_order: u64,
    /// Segments with data that were sent into a closed window. They count neither as new data nor as
    /// retransmissions.
    pub probes: Amount,
    /// Data sent before the first of it was acknowledged.
    pub initial_window: Amount,
    /// ACKs that this side sent.
    pub acks: Acks,
    /// Windows that this side offered.
    pub windows: Windows,
    /// TCP HACK: header checksums and special ACKs that this side sent.
    pub special: Special,
    /// Damaged packets of this side, by interface index.
    pub damage: BTreeMap<usize, Damage>,
    /// Data segments that were captured in part, and the bytes of data that were not captured.
    pub truncated: Amount,
    /// Duplicate ACKs that the other side sent for this side's data.
    pub duplicate_acks: u64,
    /// How many times three consecutive duplicate ACKs arrived.
    pub triple_duplicate_acks: u64,
    /// Segments of the other side that repeat an ACK but are not duplicate ACKs by RFC 5681: nothing was
    /// outstanding, or SYN, FIN or RST was set.
    pub repeated_acks: u64,
    /// The longest time between two packets.
    pub idle_max: Duration,
    /// The maximum number of outstanding bytes.
    pub outstanding_max: u64,
    /// Data over time.
    pub throughput: Throughput,
    /// The points of its graphs, if [`super::Options::graphs`] includes the connection.
    pub graph: Option<Box<Graph>>,
    pub(super) sent: Sent,
    pub(super) sequence: Option<Sequence>,
    pub(super) isn: Option<SeqNumber>,
    /// The end of the stream, once FIN was captured.
    fin: Option<u64>,
    /// The end of the furthest segment.
    pub(super) highest: u64,
    /// The furthest ACK number for this side's data.
    pub(super) una: Option<u64>,
    pub(super) duplicates_in_a_row: u64,
    /// Data has been acknowledged.
    data_is_acked: bool,
    last_at: Option<Instant>,
}

/// A number of segments and of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Segments.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Amount {
    fn add(&mut self, bytes: u64) {
        self.packets += 1;
        self.bytes += bytes;
    }
}

/// What a SYN offers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Offers {
    /// Maximum segment size, in bytes.
    pub mss: Option<u16>,
    /// Window scale, as a shift.
    pub window_scale: Option<u8>,
    /// Selective acknowledgements.
    pub sack: bool,
    /// Timestamps.
    pub timestamps: bool,
    /// TCP HACK.
    pub hack: bool,
    /// Extended HACK, by the value of the SYN's Header Checksum option.
    pub xhack: bool,
    /// Version 2 of TCP HACK, with a valid path check.
    pub v2: bool,
}

/// Segments with data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Data {
    /// Segments.
    pub packets: u64,
    /// Bytes of data, new and retransmitted.
    pub bytes: u64,
    /// Bytes of new data.
    pub unique_bytes: u64,
    /// Segments with PSH set.
    pub pushed: u64,
    /// Segments with URG set.
    pub urgent: u64,
    /// The largest amount of data in a segment.
    pub largest: u64,
    /// The smallest amount of data in a data segment.
    pub smallest: Option<u64>,
    /// When the first was sent.
    pub first_at: Option<Instant>,
    /// When the last was sent.
    pub last_at: Option<Instant>,
}

/// Damaged packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// Corrupted segments: the header checksum is valid, the payload is not.
    pub corrupted: u64,
    /// The header may be damaged too.
    pub unreadable: u64,
}

/// How a segment that occupies sequence space was counted.
pub(super) struct CountedSegment {
    pub(super) start: u64,
    /// How many of its bytes were retransmitted.
    pub(super) again: u64,
    pub(super) out_of_order: bool,
    pub(super) is_probe: bool,
}

impl Direction {
    /// A direction without packets. Throughput counts from `start` on.
    pub(super) fn new(start: Instant, points: Option<usize>) -> Self {
        Self {
            packets: 0,
            flags: [0; 8],
            congestion_marks: 0,
            offers: Offers::default(),
            data: Data::default(),
            retransmitted: Amount::default(),
            out_of_order: 0,
            probes: Amount::default(),
            initial_window: Amount::default(),
            acks: Acks::default(),
            windows: Windows::default(),
            special: Special::default(),
            damage: BTreeMap::new(),
            truncated: Amount::default(),
            duplicate_acks: 0,
            triple_duplicate_acks: 0,
            repeated_acks: 0,
            idle_max: Duration::ZERO,
            outstanding_max: 0,
            throughput: Throughput::new(start),
            graph: points.map(|limit| Box::new(Graph::new(limit))),
            sent: Sent::default(),
            sequence: None,
            isn: None,
            fin: None,
            highest: 0,
            una: None,
            duplicates_in_a_row: 0,
            data_is_acked: false,
            last_at: None,
        }
    }

    /// The number of packets with `flag`, a single flag.
    pub fn with(&self, flag: TcpFlags) -> u64 {
        self.flags.get(flag.bits().trailing_zeros() as usize).copied().unwrap_or(0)
    }

    /// How this side's segments were acknowledged and retransmitted.
    pub fn acknowledged(&self) -> &Acknowledged {
        &self.sent.acknowledged
    }

    /// The length of the whole stream in bytes, if SYN and FIN were captured.
    pub fn stream_len(&self) -> Option<u64> {
        self.isn?;
        Some(self.sequence?.offset(self.fin?))
    }

    /// The number of bytes of the stream that were not captured, if SYN and FIN were captured.
    pub fn not_captured(&self) -> Option<u64> {
        Some(self.stream_len()?.saturating_sub(self.data.unique_bytes))
    }

    /// Damaged packets, at all interfaces.
    pub fn all_damage(&self) -> Damage {
        self.damage.values().fold(Damage::default(), |sum, damage| Damage {
            corrupted: sum.corrupted + damage.corrupted,
            unreadable: sum.unreadable + damage.unreadable,
        })
    }

    /// The offset of a byte from the first byte of data.
    pub(super) fn offset(&self, count: u64) -> u64 {
        self.sequence.map_or(0, |sequence| sequence.offset(count))
    }

    /// The number of bytes sent and not acknowledged.
    pub(super) fn outstanding(&self) -> u64 {
        self.una.map_or(0, |una| self.highest.saturating_sub(una))
    }

    /// Counts packets, flags, CE marks and idle time.
    pub(super) fn count(&mut self, segment: &Segment<'_>, at: Instant) {
        self.packets += 1;
        let bits = segment.tcp.flags.bits();
        for (place, count) in self.flags.iter_mut().enumerate() {
            *count += u64::from(bits >> place & 1);
        }
        self.congestion_marks += u64::from(segment.ip.ecn == Ecn::Ce);
        if let Some(last) = self.last_at.replace(at) {
            self.idle_max = self.idle_max.max(at.saturating_since(last));
        }
    }

    /// Initialises sequence numbers, and reads the options of a SYN.
    pub(super) fn open(&mut self, segment: &Segment<'_>) {
        let seq = segment.tcp.seq;
        if segment.tcp.flags.contains(TcpFlags::SYN) {
            let is_other = self.isn.is_some_and(|isn| isn != seq);
            if self.sequence.is_none() || (is_other && self.data.packets == 0) {
                // A server with SYN cookies may answer a retransmitted SYN with another ISN.
                self.sequence = Some(Sequence::new(seq + 1));
                self.sent.restart();
                (self.highest, self.una) = (0, None);
            }
            self.isn = Some(seq);
            let options = &segment.options;
            self.offers = Offers {
                mss: options.mss,
                window_scale: options.window_scale.map(|shift| shift.min(14)),
                sack: options.sack_permitted,
                timestamps: options.timestamps.is_some(),
                hack: options.hack.is_some(),
                xhack: options.hack == Some(headway_tcp::hack::XHACK_PERMITTED),
                v2: options.v2.is_some(),
            };
        } else if self.sequence.is_none() {
            self.sequence = Some(Sequence::new(seq));
        }
    }

    /// Counts data and sequence space. `is_closed`: the other side's window is closed.
    pub(super) fn place(
        &mut self,
        segment: &Segment<'_>,
        at: Instant,
        is_closed: bool,
    ) -> Option<CountedSegment> {
        let flags = segment.tcp.flags;
        let data = segment.payload.len() as u64;
        let start = self.sequence.as_mut()?.take(segment.tcp.seq);
        let end = start + u64::from(segment.sequence_len());
        if flags.contains(TcpFlags::FIN) {
            self.fin = Some(end - 1);
        }
        if end == start {
            if segment.is_patch() {
                self.count_patch(flags, start, segment.blocks.len() as u64, at);
            }
            return None;
        }
        let is_probe = is_closed && data > 0 && !flags.contains(TcpFlags::SYN);
        let mut place = CountedSegment { start, again: 0, out_of_order: false, is_probe };
        let mut new_data = 0;
        if is_probe {
            self.probes.add(data);
        } else {
            let added = self.sent.add(start, end, at);
            (place.again, place.out_of_order) = (added.again, added.out_of_order);
            self.out_of_order += u64::from(added.out_of_order);
            if added.again > 0 {
                self.retransmitted.add(added.again);
            }
            new_data = data.saturating_sub(added.again);
        }
        self.highest = self.highest.max(end);
        if data > 0 {
            self.count_data(flags, data, new_data, at);
            if !self.data_is_acked && place.again == 0 {
                self.initial_window.add(data);
            }
        }
        self.draw(&place, data as u32, at);
        Some(place)
    }

    /// A patch has data once more, and takes no sequence space.
    fn count_patch(&mut self, flags: TcpFlags, start: u64, bytes: u64, at: Instant) {
        self.retransmitted.add(bytes);
        self.count_data(flags, bytes, 0, at);
        let place = CountedSegment { start, again: bytes, out_of_order: false, is_probe: false };
        self.draw(&place, bytes as u32, at);
    }

    fn count_data(&mut self, flags: TcpFlags, bytes: u64, new_bytes: u64, at: Instant) {
        let data = &mut self.data;
        data.packets += 1;
        data.bytes += bytes;
        data.unique_bytes += new_bytes;
        data.pushed += u64::from(flags.contains(TcpFlags::PSH));
        data.urgent += u64::from(flags.contains(TcpFlags::URG));
        data.largest = data.largest.max(bytes);
        data.smallest = Some(data.smallest.map_or(bytes, |smallest| smallest.min(bytes)));
        data.first_at = data.first_at.or(Some(at));
        data.last_at = Some(at);
        self.throughput.add(at, bytes, new_bytes);
    }

    fn draw(&mut self, place: &CountedSegment, len: u32, at: Instant) {
        let point = super::SegmentPoint { at, seq: self.offset(place.start), len };
        let Some(graph) = &mut self.graph else { return };
        if place.is_probe {
            graph.probes.push(point);
        } else if place.again > 0 {
            graph.retransmitted.push(point);
        } else if place.out_of_order {
            graph.out_of_order.push(point);
        } else {
            graph.sent.push(point);
        }
    }

    /// The other side acknowledged everything before `ack`.
    pub(super) fn acknowledge(&mut self, ack: u64, at: Instant) {
        if let Some(rtt) = self.sent.acknowledge(ack, at)
            && let Some(graph) = &mut self.graph
        {
            graph.rtt.push(super::RttPoint { at, rtt });
        }
        self.una = self.una.max(Some(ack));
        self.data_is_acked |= self.offset(ack) > 0;
    }

    /// Records the current number of outstanding bytes.
    pub(super) fn record_outstanding(&mut self, at: Instant) {
        let bytes = self.outstanding();
        self.outstanding_max = self.outstanding_max.max(bytes);
        if let Some(graph) = &mut self.graph
            && graph.outstanding.points().last().is_none_or(|last| last.bytes != bytes)
        {
            graph.outstanding.push(super::OutstandingPoint { at, bytes });
        }
    }

    /// Counts a damaged packet of this side at `interface`.
    pub(super) fn damaged(
        &mut self,
        segment: &Segment<'_>,
        at: Instant,
        interface: usize,
        is_corrupted: bool,
    ) {
        if self.damage.len() == MAX_INTERFACES && !self.damage.contains_key(&interface) {
            return;
        }
        let damage = self.damage.entry(interface).or_default();
        if !is_corrupted {
            damage.unreadable += 1;
            return;
        }
        damage.corrupted += 1;
        if let (Some(sequence), Some(graph)) = (self.sequence, &mut self.graph) {
            let seq = sequence.offset(sequence.count(segment.tcp.seq));
            // At most the length of an IP packet.
            graph.corrupted.push(super::SegmentPoint { at, seq, len: segment.payload.len() as u32 });
        }
    }

    /// A corrupted segment raises the outstanding bytes, as its header is valid; limited by the other
    /// side's `window` in case the header is wrong nevertheless.
    pub(super) fn record_corrupted(&mut self, segment: &Segment<'_>, window: u64) {
        let (Some(sequence), Some(una)) = (self.sequence, self.una) else { return };
        let end = sequence.count(segment.tcp.seq) + u64::from(segment.sequence_len());
        if end <= una + window {
            self.highest = self.highest.max(end);
        }
    }

    /// Counts a data segment that was captured in part.
    pub(super) fn cut(&mut self, missing: u32) {
        self.truncated.add(u64::from(missing));
    }
}
