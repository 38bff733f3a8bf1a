//! What a host reports while it works: one typed stream for logs, captures, plots and tests.

use core::fmt;

use headway_units::{Duration, Instant, Rate};
use headway_wire::icmp::IcmpKind;
use headway_wire::{SeqNumber, TcpFlags, TcpHeader, Timestamps};

use crate::{ConnectionId, State};

/// Receives the events of a host. `()` is the observer that costs nothing.
pub trait Observer {
    /// Whether events are wanted at all; `false` lets the compiler remove their making.
    const ENABLED: bool = true;

    /// Called for every event, in order.
    fn event(&mut self, now: Instant, connection: ConnectionId, event: &Event);
}

impl Observer for () {
    const ENABLED: bool = false;
    fn event(&mut self, _now: Instant, _connection: ConnectionId, _event: &Event) {}
}

impl<O: Observer> Observer for Option<O> {
    fn event(&mut self, now: Instant, connection: ConnectionId, event: &Event) {
        if let Some(observer) = self {
            observer.event(now, connection, event);
        }
    }
}

/// Two observers of one host.
impl<A: Observer, B: Observer> Observer for (A, B) {
    const ENABLED: bool = A::ENABLED || B::ENABLED;

    fn event(&mut self, now: Instant, connection: ConnectionId, event: &Event) {
        if A::ENABLED {
            self.0.event(now, connection, event);
        }
        if B::ENABLED {
            self.1.event(now, connection, event);
        }
    }
}

/// Why a segment is retransmitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RetransmitReason {
    /// Duplicate ACKs or SACK blocks showed a hole.
    FastRetransmit,
    /// The retransmission timer expired.
    Timeout,
    /// A special ACK named it as damaged (paper 000, section 3.3).
    Damage,
    /// It is the oldest segment and went two round trips without being sent while special ACKs
    /// for others came in.
    Stale,
    /// The last segment of a recovery (RFC 6675, section 4, `NextSeg` rule 4).
    Rescue,
    /// Tail loss probe (RFC 8985, section 7).
    TailProbe,
    /// A copy of what is in the network at the end of what there is to send: nothing shows that it was lost.
    TailCopy,
    /// Zero-window probe (RFC 9293, section 3.8.6.1).
    Probe,
    /// The path MTU shrank below the segment's size.
    PathMtu,
}

/// The timers of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Timer {
    /// Retransmission (RFC 6298).
    Retransmit,
    /// Zero-window probe or override of silly-window avoidance (RFC 9293, 3.8.6).
    Persist,
    /// Delayed ACK (RFC 9293, 3.8.6.3).
    DelayedAck,
    /// Keep-alive (RFC 9293, 3.8.4).
    KeepAlive,
    /// The user timeout (RFC 9293, 3.8.3).
    User,
    /// Two maximum segment lifetimes in TIME-WAIT.
    TimeWait,
    /// What seems lost may have been overtaken: loss detection looks again (RFC 8985, 6.2).
    Reorder,
    /// Tail loss probe (RFC 8985, 7.2).
    TailProbe,
    /// What was sent last has been followed by nothing: it is copied.
    TailCopies,
    /// The next segment may leave.
    Pace,
}

impl Timer {
    pub(crate) const COUNT: usize = 10;
    /// In the order in which they expire if they are due at once: a tail loss probe takes the place
    /// of a timeout.
    pub(crate) const ALL: [Self; Self::COUNT] = [
        Self::TailProbe,
        Self::Retransmit,
        Self::Persist,
        Self::DelayedAck,
        Self::KeepAlive,
        Self::User,
        Self::TimeWait,
        Self::Reorder,
        Self::TailCopies,
        Self::Pace,
    ];
}

/// Something that happened in a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A segment was handed to the carrier.
    Sent {
        /// First sequence number.
        seq: SeqNumber,
        /// Payload bytes.
        len: u32,
        /// The ACK number.
        ack: SeqNumber,
        /// Control bits.
        flags: TcpFlags,
    },
    /// An intact segment of this connection arrived.
    Received {
        /// First sequence number.
        seq: SeqNumber,
        /// Payload bytes.
        len: u32,
        /// The ACK number.
        ack: SeqNumber,
        /// Control bits.
        flags: TcpFlags,
    },
    /// An ACK was taken that moved `SND.UNA`.
    Acknowledged {
        /// `SND.UNA` from now on.
        una: SeqNumber,
    },
    /// A segment arrived whose header could be read and whose payload is damaged.
    Damaged {
        /// First sequence number, as its header says.
        seq: SeqNumber,
        /// Payload bytes, as its header says.
        len: u32,
        /// What was made of it.
        outcome: DamageOutcome,
    },
    /// The damaged header of a data segment was repaired; what follows is what was made of it.
    Repaired {
        /// The header as it is thought to have been.
        header: TcpHeader,
        /// And its timestamps.
        timestamps: Option<Timestamps>,
        /// Payload bytes.
        len: u32,
        /// Bits of the header in which that differs from what arrived, those of the TCP checksum not
        /// counted.
        flips: u32,
    },
    /// A segment that had arrived damaged is whole: what was hit has come again.
    Completed {
        /// First sequence number.
        seq: SeqNumber,
        /// Payload bytes.
        len: u32,
    },
    /// A special ACK was sent.
    SpecialAckSent {
        /// The newest number in it.
        seq: SeqNumber,
        /// How many numbers it lists.
        count: u8,
    },
    /// A special ACK arrived.
    SpecialAckReceived {
        /// The newest number in it.
        seq: SeqNumber,
        /// How many numbers it lists.
        count: u8,
        /// How many of them led to a retransmission.
        accepted: u8,
    },
    /// A segment was retransmitted.
    Retransmitted {
        /// First sequence number.
        seq: SeqNumber,
        /// Payload bytes.
        len: u32,
        /// Why.
        reason: RetransmitReason,
    },
    /// A timer expired.
    TimerExpired(Timer),
    /// The connection changed its state.
    StateChanged {
        /// Before.
        from: State,
        /// After.
        to: State,
    },
    /// Loss recovery or a timeout began, or recovery ended.
    Recovery(RecoveryPhase),
    /// The window or what is in the network changed.
    Window {
        /// Congestion window, bytes.
        cwnd: u32,
        /// Slow-start threshold, bytes.
        ssthresh: u32,
        /// Bytes thought to be in the network.
        pipe: u32,
    },
    /// What is known of the round-trip time, and the rate at which segments leave. It comes before [`Event::Window`],
    /// once there is a sample.
    Timing {
        /// The last sample.
        latest: Duration,
        /// SRTT (RFC 6298).
        smoothed: Duration,
        /// RTTVAR (RFC 6298).
        variation: Duration,
        /// The smallest sample.
        min: Duration,
        /// The pacing rate; `None`: segments are not paced.
        pacing: Option<Rate>,
    },
    /// A segment was dropped without effect on the connection.
    Dropped(DropReason),
    /// The path's MTU became known, or is to be found out anew (`None`).
    PathMtu {
        /// Bytes of IP.
        mtu: Option<u16>,
    },
    /// An ICMP error message about a segment in flight, other than those about its length.
    Icmp(IcmpKind),
}

/// What the receiver made of a corrupted segment (header valid, payload damaged).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DamageOutcome {
    /// A special ACK asks for it.
    Requested,
    /// Together with an earlier copy, damaged elsewhere, it is whole.
    Combined,
    /// All of it is held already: a plain ACK.
    AlreadyHeld,
    /// No byte of it lies near the window: dropped.
    Implausible,
}

/// The stages of loss recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecoveryPhase {
    /// Fast retransmit.
    Fast,
    /// The retransmission timer expired: slow start from one segment.
    Timeout,
    /// All that was outstanding when recovery began is acknowledged.
    Over,
    /// The loss was none: what was reduced is taken back (RFC 4015).
    Spurious,
}

/// Why a segment had no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DropReason {
    /// Outside the receive window (RFC 9293, 3.10.7.4, first check).
    OutsideWindow,
    /// Its timestamp is older than `TS.Recent` (RFC 7323, section 5).
    Paws,
    /// Its ACK number is not acceptable (RFC 5961, section 5.2).
    UnacceptableAck,
    /// A RST or SYN that RFC 5961 answers with a challenge ACK.
    Challenged,
    /// It has no ACK bit where one is required.
    NoAck,
    /// Its data does not fit the bounded reassembly.
    ReassemblyFull,
    /// It lacks the checksums that HACK v2 puts on every segment.
    Unprotected,
}

impl fmt::Display for RetransmitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::FastRetransmit => "fast retransmit",
            Self::Timeout => "timeout",
            Self::Damage => "damage",
            Self::Stale => "stale head",
            Self::Rescue => "rescue",
            Self::TailProbe => "tail loss probe",
            Self::TailCopy => "tail copy",
            Self::Probe => "window probe",
            Self::PathMtu => "path MTU",
        })
    }
}
