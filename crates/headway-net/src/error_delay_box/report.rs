//! What a box tells of itself.

use headway_link::LinkCounters;
use headway_units::Duration;

use super::Quantiles;

/// What a box has done since it was started.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BoxReport {
    /// For how long it has run.
    pub elapsed: Duration,
    /// Whether its thread goes before others.
    pub priority: Priority,
    /// Packets that came in at the first interface, then those of the second.
    pub lanes: [LaneReport; 2],
}

/// One direction of a box.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LaneReport {
    /// Where packets come in.
    pub from: String,
    /// Where they go out.
    pub to: String,
    /// What the link did to IP packets.
    pub link: LinkCounters,
    /// Packets in its queue.
    pub queue_packets: usize,
    /// Their bytes.
    pub queue_bytes: u64,
    /// Packets that it has and that are neither delivered nor dropped nor lost.
    pub in_link: usize,
    /// What happened to frames outside of the model: where they came in, but for
    /// [`refused`](PortCounters::refused).
    pub port: PortCounters,
    /// How long after they were due packets were sent, since the last report.
    pub lateness: Quantiles,
    /// The same, since the start.
    pub lateness_overall: Quantiles,
    /// How long after they arrived, by the kernel's stamp, packets were read, since the last report.
    pub reading: Quantiles,
    /// The same, since the start.
    pub reading_overall: Quantiles,
}

/// What happened to frames outside of the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PortCounters {
    /// Frames without an IP packet, handed across as they were; between a TUN and an Ethernet none is.
    pub passed: u64,
    /// Packets whose checksum this machine's kernel had left out, and that got it here.
    pub completed: u64,
    /// Frames in a piece longer than a packet may be, as kernels hand them to one another, that were cut
    /// into packets.
    pub cut: u64,
    /// Such frames that could not be cut, and are lost.
    pub uncut: u64,
    /// Frames that the other interface refused: longer than its MTU, or while it was down. They are lost.
    pub refused: u64,
    /// Frames that are lost because the kernel had no room for them until the box came to read.
    pub kernel_drops: u64,
}

/// When the thread of a box runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// As others.
    Ordinary,
    /// Before all others that are not real-time (`SCHED_FIFO`).
    RealTime,
    /// As others: real time was wanted, and is not permitted.
    Refused,
}
