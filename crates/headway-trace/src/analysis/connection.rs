//! Both directions of a connection.

use std::net::SocketAddr;

use headway_units::{Duration, Instant};
use headway_wire::{Segment, TcpFlags, V2};

use super::packet::TcpPacket;
use super::{BlockPoint, BytePoint, Direction, EdgePoint};

/// How a connection ended, as far as the capture shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Both SYNs and both FINs were captured.
    Complete,
    /// A RST was captured.
    Reset,
    /// Neither.
    Open,
}

/// A connection.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Connection {
    /// The sender of the first packet that was captured, and the other side.
    pub ends: [SocketAddr; 2],
    /// The index of the interface where it was analysed.
    pub interface: usize,
    /// When its first packet was captured.
    pub first_at: Instant,
    /// When its last packet was captured.
    pub last_at: Instant,
    /// What each of [`Connection::ends`] sent.
    pub directions: [Direction; 2],
}

impl Connection {
    pub(super) fn new(packet: &TcpPacket<'_>, interface: usize, at: Instant, points: Option<usize>) -> Self {
        Self {
            ends: [packet.source(), packet.destination()],
            interface,
            first_at: at,
            last_at: at,
            directions: [Direction::new(at, points), Direction::new(at, points)],
        }
    }

    /// From the first packet to the last.
    pub fn duration(&self) -> Duration {
        self.last_at.saturating_since(self.first_at)
    }

    /// How the connection ended.
    pub fn ending(&self) -> Ending {
        let all = |flag| self.directions.iter().all(|direction| direction.with(flag) > 0);
        if self.directions.iter().any(|direction| direction.with(TcpFlags::RST) > 0) {
            Ending::Reset
        } else if all(TcpFlags::SYN) && all(TcpFlags::FIN) {
            Ending::Complete
        } else {
            Ending::Open
        }
    }

    /// New data of a direction over the duration of the connection, in bytes per second.
    pub fn throughput(&self, direction: &Direction) -> Option<f64> {
        let seconds = self.duration().as_secs_f64();
        (seconds > 0.0).then(|| direction.data.unique_bytes as f64 / seconds)
    }

    /// Which of [`Connection::ends`] sent a packet.
    pub(super) fn side(&self, packet: &TcpPacket<'_>) -> usize {
        usize::from(packet.source() != self.ends[0])
    }

    /// Whether `packet` opens another connection between the same ends: a SYN that cannot be this
    /// connection's.
    pub(super) fn is_followed_by(&self, packet: &TcpPacket<'_>) -> bool {
        let flags = packet.segment.tcp.flags;
        if !flags.contains(TcpFlags::SYN) || flags.intersects(TcpFlags::ACK | TcpFlags::RST) {
            return false;
        }
        let Some(direction) = self.directions.get(self.side(packet)) else { return false };
        match direction.isn {
            Some(isn) => isn != packet.segment.tcp.seq,
            // The other side's SYN of a simultaneous open is the first that it sends.
            None => direction.packets > 0,
        }
    }

    /// Counts a damaged packet of the connection.
    pub(super) fn damaged(
        &mut self,
        packet: &TcpPacket<'_>,
        at: Instant,
        interface: usize,
        is_corrupted: bool,
    ) {
        let is_here = interface == self.interface;
        let (this, other) = self.sides(packet);
        this.damaged(&packet.segment, at, interface, is_corrupted);
        if is_corrupted && is_here {
            this.record_corrupted(&packet.segment, other.windows.latest.unwrap_or(0));
        }
    }

    /// The direction of `packet`, and the other direction.
    fn sides(&mut self, packet: &TcpPacket<'_>) -> (&mut Direction, &mut Direction) {
        let side = self.side(packet);
        let [first, second] = &mut self.directions;
        if side == 0 { (first, second) } else { (second, first) }
    }

    /// Processes a packet of the connection.
    pub(super) fn packet(&mut self, packet: &TcpPacket<'_>, at: Instant) {
        self.last_at = self.last_at.max(at);
        let (this, other) = self.sides(packet);
        let segment = &packet.segment;
        let flags = segment.tcp.flags;
        this.count(segment, at);
        this.open(segment);
        if packet.missing > 0 && segment.carries_data() {
            this.cut(packet.missing);
        }
        let is_closed = other.windows.latest == Some(0);
        let placed = this.place(segment, at, is_closed);
        let window = window(segment, this, other);
        let mut is_duplicate = false;
        if flags.contains(TcpFlags::ACK) {
            is_duplicate = acknowledge(segment, at, window, this, other);
            this.acks.add(segment);
        }
        this.special.add(segment, is_duplicate);
        if flags.contains(TcpFlags::RST) {
            // The window of a RST has no meaning.
            return;
        }
        if flags.intersects(TcpFlags::ACK | TcpFlags::SYN) {
            let is_scaled = is_scaled(segment, this, other);
            this.windows.add(window, flags.contains(TcpFlags::ACK), is_scaled);
        }
        if placed.is_some() {
            this.record_outstanding(at);
        }
    }
}

/// The window that a segment offers, in bytes.
fn window(segment: &Segment<'_>, this: &Direction, other: &Direction) -> u64 {
    let shift = if is_scaled(segment, this, other) { this.offers.window_scale.unwrap_or(0) } else { 0 };
    u64::from(segment.tcp.window) << shift
}

/// RFC 7323, 2.2: "The window field in a segment where the SYN bit is set (i.e., a <SYN> or
/// <SYN,ACK>) MUST NOT be scaled", and "both sides MUST send Window Scale options in their <SYN>
/// segments to enable window scaling in either direction".
fn is_scaled(segment: &Segment<'_>, this: &Direction, other: &Direction) -> bool {
    let both = this.offers.window_scale.is_some() && other.offers.window_scale.is_some();
    both && !segment.tcp.flags.contains(TcpFlags::SYN)
}

/// Applies an ACK of `this` side to the `other` side's data. Returns whether it is a duplicate ACK.
fn acknowledge(
    segment: &Segment<'_>,
    at: Instant,
    window: u64,
    this: &Direction,
    other: &mut Direction,
) -> bool {
    let flags = segment.tcp.flags;
    let sequence = *other.sequence.get_or_insert_with(|| super::sequence::Sequence::new(segment.tcp.ack));
    let ack = sequence.count(segment.tcp.ack);
    // RFC 5681, 2: "An acknowledgment is considered a 'duplicate' ... when (a) the receiver of the
    // ACK has outstanding data, (b) the incoming acknowledgment carries no data, (c) the SYN and FIN
    // bits are both off, (d) the acknowledgment number is equal to the greatest acknowledgment
    // received on the given connection ... and (e) the advertised window in the incoming
    // acknowledgment equals the advertised window in the last incoming acknowledgment."
    let repeats = !segment.carries_data() && other.una == Some(ack) && this.windows.latest == Some(window);
    let is_plain = !flags.intersects(TcpFlags::SYN | TcpFlags::FIN | TcpFlags::RST);
    let is_duplicate = repeats && is_plain && other.outstanding() > 0;
    if is_duplicate {
        other.duplicate_acks += 1;
        other.duplicates_in_a_row += 1;
        other.triple_duplicate_acks += u64::from(other.duplicates_in_a_row == 3);
    } else {
        other.repeated_acks += u64::from(repeats);
        other.duplicates_in_a_row = 0;
    }
    other.acknowledge(ack, at);
    other.record_outstanding(at);
    if !flags.contains(TcpFlags::RST) {
        draw(segment, at, window, ack, is_duplicate, other);
    }
    is_duplicate
}

fn draw(
    segment: &Segment<'_>,
    at: Instant,
    window: u64,
    ack: u64,
    is_duplicate: bool,
    other: &mut Direction,
) {
    let (Some(sequence), Some(graph)) = (other.sequence, &mut other.graph) else { return };
    let offset = |seq| sequence.offset(sequence.count(seq));
    let ack = sequence.offset(ack);
    let edge = EdgePoint { at, ack, right: ack + window };
    graph.edges.push(edge);
    if is_duplicate {
        graph.duplicates.push(BytePoint { at, seq: ack });
    }
    if window == 0 {
        graph.zero_windows.push(BytePoint { at, seq: edge.right });
    }
    for &(left, right) in segment.options.sack.as_slice() {
        graph.sacks.push(BlockPoint { at, left: offset(left), right: offset(right) });
    }
    let options = &segment.options;
    let version_2 = options.v2.as_ref().and_then(V2::as_ack);
    let named = options.hack_ack.iter().chain(options.xhack_ack.as_slice()).copied();
    for seq in named.chain(version_2.into_iter().flat_map(|v2| v2.named(segment.tcp.ack))) {
        graph.special.push(BytePoint { at, seq: offset(seq) });
    }
}
