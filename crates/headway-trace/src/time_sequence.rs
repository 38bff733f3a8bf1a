//! The points of a time-sequence graph (T. Shepard, "TCP Packet Trace Analysis", MIT/LCS/TR-494).

use headway_tcp::{ConnectionId, Event, Observer, RecoveryPhase, RetransmitReason};
use headway_units::Instant;
use headway_wire::{SeqNumber, TcpFlags};

use crate::series::Series;
use crate::stream::Stream;

/// New data was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentPoint {
    /// When.
    pub at: Instant,
    /// The first byte of the segment, counted from the first byte of the connection's data.
    pub seq: u64,
    /// Bytes of data in the segment.
    pub len: u32,
}

/// A segment was retransmitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retransmission {
    /// When.
    pub at: Instant,
    /// The first byte of the segment, counted from the first byte of the connection's data.
    pub seq: u64,
    /// Bytes of data in the segment.
    pub len: u32,
    /// The reason.
    pub reason: RetransmitReason,
}

/// An ACK acknowledged new data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckPoint {
    /// When it arrived.
    pub at: Instant,
    /// The first byte not acknowledged (`SND.UNA`), counted from the first byte of the
    /// connection's data. The FIN counts as one byte.
    pub una: u64,
}

/// A special ACK arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpecialAckPoint {
    /// When.
    pub at: Instant,
    /// The newest number in it, counted from the first byte of the connection's data.
    pub seq: u64,
    /// The number of segments it reports.
    pub count: u8,
    /// How many of them are retransmitted because of it.
    pub accepted: u8,
}

/// The retransmission timer expired while data was outstanding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeoutPoint {
    /// When.
    pub at: Instant,
    /// The first byte not acknowledged, counted from the first byte of the connection's data.
    pub una: u64,
}

/// The congestion window and the pipe, after an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowPoint {
    /// When.
    pub at: Instant,
    /// Congestion window, bytes.
    pub cwnd: u32,
    /// Slow-start threshold, bytes.
    pub ssthresh: u32,
    /// The pipe (RFC 6675) in bytes, before anything is sent in response to the ACK.
    pub pipe: u32,
}

/// Records the sending side of one connection, for graphs.
///
/// Memory is bounded: each [`Series`] holds at most [`TimeSequence::DEFAULT_LIMIT`] points, or the limit
/// of [`TimeSequence::with_limit`], and is thinned evenly beyond that.
#[derive(Clone, Debug)]
pub struct TimeSequence {
    connection: Option<ConnectionId>,
    stream: Option<Stream>,
    una: u64,
    sent: Series<SentPoint>,
    retransmissions: Series<Retransmission>,
    acks: Series<AckPoint>,
    special_acks: Series<SpecialAckPoint>,
    timeouts: Series<TimeoutPoint>,
    windows: Series<WindowPoint>,
}

impl Default for TimeSequence {
    fn default() -> Self {
        Self::new()
    }
}

impl TimeSequence {
    /// The default maximum number of points in a series.
    pub const DEFAULT_LIMIT: usize = 20_000;

    /// Follows the first connection that sends data, from there on.
    pub fn new() -> Self {
        Self::with_limit(Self::DEFAULT_LIMIT)
    }

    /// Follows the first connection that sends data and keeps at most `limit` points of each kind
    /// (at least 2: the first and the latest).
    pub fn with_limit(limit: usize) -> Self {
        Self {
            connection: None,
            stream: None,
            una: 0,
            sent: Series::new(limit),
            retransmissions: Series::new(limit),
            acks: Series::new(limit),
            special_acks: Series::new(limit),
            timeouts: Series::new(limit),
            windows: Series::new(limit),
        }
    }

    /// Follows this connection instead. To be called before the first event.
    #[must_use]
    pub fn following(self, connection: ConnectionId) -> Self {
        Self { connection: Some(connection), ..self }
    }

    /// The connection that is followed; `None` until one sends data.
    pub fn connection(&self) -> Option<ConnectionId> {
        self.connection
    }

    /// New data sent. Retransmitted segments are in [`TimeSequence::retransmissions`] only.
    pub fn sent(&self) -> &Series<SentPoint> {
        &self.sent
    }

    /// Retransmitted segments, with the reason.
    pub fn retransmissions(&self) -> &Series<Retransmission> {
        &self.retransmissions
    }

    /// Cumulative ACKs. ACKs that the connection dropped, or that acknowledge nothing by the papers'
    /// literal rules, do not count.
    pub fn acks(&self) -> &Series<AckPoint> {
        &self.acks
    }

    /// Special ACKs received, except those that report data never sent.
    pub fn special_acks(&self) -> &Series<SpecialAckPoint> {
        &self.special_acks
    }

    /// Timeouts that started or continued a loss recovery.
    pub fn timeouts(&self) -> &Series<TimeoutPoint> {
        &self.timeouts
    }

    /// The congestion window, after each ACK that changed it, the threshold or the pipe.
    pub fn windows(&self) -> &Series<WindowPoint> {
        &self.windows
    }

    fn follows(&mut self, connection: ConnectionId, event: &Event) -> bool {
        if self.connection.is_none() && matches!(event, Event::Sent { len: 1.., .. }) {
            self.connection = Some(connection);
        }
        self.connection == Some(connection)
    }

    fn on_sent(&mut self, at: Instant, seq: SeqNumber, len: u32, flags: TcpFlags) {
        // RFC 9293, 3.4: the SYN "is considered to occur before the first actual data octet of the
        // segment in which it occurs".
        let (syn, fin) = (flags.contains(TcpFlags::SYN), flags.contains(TcpFlags::FIN));
        let data = seq + u32::from(syn);
        let stream = self.stream.get_or_insert(Stream::new(data));
        // "while the FIN is considered to occur after the last actual data octet".
        let first = stream.extend(data, len + u32::from(fin));
        if let Some(seq) = first
            && len > 0
        {
            self.sent.push(SentPoint { at, seq, len });
        }
    }

    fn on_acknowledged(&mut self, at: Instant, una: SeqNumber) {
        let Some(stream) = self.stream else { return };
        if let Some(una) = stream.byte(una).filter(|&una| una > self.una && una <= stream.end()) {
            self.una = una;
            self.acks.push(AckPoint { at, una });
        }
    }

    fn on_retransmitted(&mut self, at: Instant, seq: SeqNumber, len: u32, reason: RetransmitReason) {
        let stream = self.stream.get_or_insert(Stream::new(seq));
        if let Some(seq) = stream.byte(seq) {
            self.retransmissions.push(Retransmission { at, seq, len, reason });
        }
    }

    fn on_special_ack(&mut self, at: Instant, seq: SeqNumber, count: u8, accepted: u8) {
        let Some(stream) = self.stream else { return };
        if let Some(seq) = stream.byte(seq).filter(|&seq| seq < stream.end()) {
            self.special_acks.push(SpecialAckPoint { at, seq, count, accepted });
        }
    }

    fn on_window(&mut self, point: WindowPoint) {
        let unchanged = self.windows.points().last().is_some_and(|last| {
            (last.cwnd, last.ssthresh, last.pipe) == (point.cwnd, point.ssthresh, point.pipe)
        });
        if !unchanged {
            self.windows.push(point);
        }
    }
}

impl Observer for TimeSequence {
    fn event(&mut self, now: Instant, connection: ConnectionId, event: &Event) {
        if !self.follows(connection, event) {
            return;
        }
        match *event {
            Event::Sent { seq, len, flags, .. } => {
                let occupies = len > 0 || flags.intersects(TcpFlags::SYN | TcpFlags::FIN);
                if occupies {
                    self.on_sent(now, seq, len, flags);
                }
            }
            Event::Acknowledged { una } => self.on_acknowledged(now, una),
            Event::Retransmitted { seq, len, reason } => self.on_retransmitted(now, seq, len, reason),
            Event::SpecialAckReceived { seq, count, accepted } => {
                self.on_special_ack(now, seq, count, accepted);
            }
            Event::Recovery(RecoveryPhase::Timeout) => {
                self.timeouts.push(TimeoutPoint { at: now, una: self.una });
            }
            Event::Window { cwnd, ssthresh, pipe } => {
                self.on_window(WindowPoint { at: now, cwnd, ssthresh, pipe });
            }
            // The receiving side, states and timers are not in this graph.
            _ => {}
        }
    }
}
