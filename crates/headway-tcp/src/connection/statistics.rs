//! What a connection reports about itself, as `TCP_INFO` does.

use headway_units::Duration;

use super::{Connection, State};
use crate::congestion::CongestionDomain;

/// Counters and estimates of one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Current state.
    pub state: State,
    /// Segments sent, with and without payload.
    pub segments_sent: u64,
    /// Payload bytes sent, repeats included.
    pub bytes_sent: u64,
    /// Intact segments received.
    pub segments_received: u64,
    /// Payload bytes that advanced or will advance RCV.NXT.
    pub bytes_received: u64,
    /// Segments retransmitted, for any reason.
    pub retransmissions: u64,
    /// Payload bytes in those.
    pub bytes_retransmitted: u64,
    /// Of those, because a special ACK asked for them.
    pub damage_retransmissions: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Times that the window fell to one segment and slow start began again.
    pub slow_starts: u64,
    /// Times that fast recovery began.
    pub fast_recoveries: u64,
    /// Special ACKs sent.
    pub special_acks_sent: u64,
    /// Special ACKs received.
    pub special_acks_received: u64,
    /// Segments received with a readable header and a damaged payload.
    pub damaged_received: u64,
    /// Of those, with a header that had to be repaired.
    pub repaired: u64,
    /// Damaged segments that are whole since what was hit has come again (partial recovery).
    pub completed: u64,
    /// Retransmissions of the corrupted blocks of a segment alone.
    pub patches: u64,
    /// Payload bytes that were not retransmitted because of that.
    pub bytes_spared: u64,
    /// Of all damaged ones, outside any plausible window.
    pub damaged_implausible: u64,
    /// Packets that arrived marked "congestion experienced" (RFC 3168), damaged ones included:
    /// damage must not hide congestion.
    pub congestion_marks: u64,
    /// Times that the window was reduced because the peer echoed a mark (RFC 3168).
    pub congestion_echoes: u64,
    /// Duplicate segments that the peer reported (RFC 2883).
    pub duplicate_reports: u64,
    /// Smoothed round-trip time.
    pub smoothed_rtt: Option<Duration>,
    /// Its variation (RFC 6298's RTTVAR).
    pub rtt_variation: Duration,
    /// Smallest sample.
    pub min_rtt: Option<Duration>,
    /// Retransmission timeout, with its backoff.
    pub rto: Duration,
    /// Congestion window, bytes.
    pub cwnd: u32,
    /// Slow-start threshold, bytes.
    pub ssthresh: u32,
    /// Bytes thought to be in the network.
    pub pipe: u32,
    /// Largest payload of a data segment.
    pub mss: u32,
    /// The peer's window, bytes.
    pub send_window: u32,
    /// The window offered to the peer, bytes.
    pub receive_window: u32,
    /// Sequence numbers sent and not acknowledged.
    pub unacknowledged: u32,
    /// Bytes written and not sent.
    pub unsent: u32,
    /// Bytes of heap in use.
    pub memory: usize,
}

/// What is counted; the rest of [`Statistics`] is asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counters {
    pub(super) segments_sent: u64,
    pub(super) bytes_sent: u64,
    pub(super) segments_received: u64,
    pub(super) bytes_received: u64,
    pub(super) retransmissions: u64,
    pub(super) bytes_retransmitted: u64,
    pub(super) patches: u64,
    pub(super) bytes_spared: u64,
    pub(super) damage_retransmissions: u64,
    pub(super) timeouts: u32,
    pub(super) slow_starts: u32,
    pub(super) fast_recoveries: u32,
    pub(super) special_acks_sent: u64,
    pub(super) special_acks_received: u64,
    pub(super) damaged_received: u64,
    pub(super) repaired: u64,
    pub(super) completed: u32,
    pub(super) damaged_implausible: u32,
    pub(super) congestion_marks: u32,
    pub(super) congestion_echoes: u32,
}

impl Connection {
    pub(crate) fn statistics(&self, domain: &CongestionDomain) -> Statistics {
        let counted = self.statistics;
        let outstanding = self.snd.outstanding();
        Statistics {
            state: self.state,
            segments_sent: counted.segments_sent,
            bytes_sent: counted.bytes_sent,
            segments_received: counted.segments_received,
            bytes_received: counted.bytes_received,
            retransmissions: counted.retransmissions,
            bytes_retransmitted: counted.bytes_retransmitted,
            damage_retransmissions: counted.damage_retransmissions,
            timeouts: counted.timeouts.into(),
            slow_starts: counted.slow_starts.into(),
            fast_recoveries: counted.fast_recoveries.into(),
            special_acks_sent: counted.special_acks_sent,
            special_acks_received: counted.special_acks_received,
            damaged_received: counted.damaged_received,
            repaired: counted.repaired,
            completed: counted.completed.into(),
            patches: counted.patches,
            bytes_spared: counted.bytes_spared,
            damaged_implausible: counted.damaged_implausible.into(),
            congestion_marks: counted.congestion_marks.into(),
            congestion_echoes: counted.congestion_echoes.into(),
            duplicate_reports: self.snd.duplicate_reports(),
            smoothed_rtt: self.snd.rtt().estimate(),
            rtt_variation: self.snd.rtt().variation(),
            min_rtt: self.snd.rtt().min(),
            rto: self.snd.rtt().timeout(),
            cwnd: domain.window(),
            ssthresh: domain.ssthresh(),
            pipe: outstanding.pipe,
            mss: self.snd.mss(),
            send_window: self.snd.window().size(),
            receive_window: self.rcv.wnd(),
            unacknowledged: outstanding.flight,
            unsent: self.snd.unsent(),
            memory: self.allocated(),
        }
    }

    /// Bytes of heap in the send and the receive buffer.
    pub(crate) fn buffers(&self) -> usize {
        self.snd.buffer_allocated() + self.rcv.buffer()
    }

    /// Bytes of heap that the connection holds.
    pub(crate) fn allocated(&self) -> usize {
        self.buffers()
            + self.snd.allocated()
            + self.rcv.bookkeeping()
            + self.pending.allocated()
            + self.corrupted_payloads.as_ref().map_or(0, |payloads| payloads.allocated())
            + self.headers.allocated()
    }
}

impl Default for Statistics {
    fn default() -> Self {
        Self {
            state: State::Closed,
            segments_sent: 0,
            bytes_sent: 0,
            segments_received: 0,
            bytes_received: 0,
            retransmissions: 0,
            bytes_retransmitted: 0,
            damage_retransmissions: 0,
            timeouts: 0,
            slow_starts: 0,
            fast_recoveries: 0,
            special_acks_sent: 0,
            special_acks_received: 0,
            damaged_received: 0,
            repaired: 0,
            completed: 0,
            patches: 0,
            bytes_spared: 0,
            damaged_implausible: 0,
            congestion_marks: 0,
            congestion_echoes: 0,
            duplicate_reports: 0,
            smoothed_rtt: None,
            rtt_variation: Duration::ZERO,
            min_rtt: None,
            rto: Duration::ZERO,
            cwnd: 0,
            ssthresh: 0,
            pipe: 0,
            mss: 0,
            send_window: 0,
            receive_window: 0,
            unacknowledged: 0,
            unsent: 0,
            memory: 0,
        }
    }
}
