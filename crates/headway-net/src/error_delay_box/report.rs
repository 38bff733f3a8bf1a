//! Reports of a box.

use headway_link::LinkCounters;
use headway_units::Duration;

use super::Quantiles;

/// What a box has done since its start.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BoxReport {
    /// How long it has run.
    pub elapsed: Duration,
    /// The scheduling priority of its thread.
    pub priority: Priority,
    /// The direction from the first interface, then the direction from the second.
    pub lanes: [LaneReport; 2],
}

/// One direction of a box.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LaneReport {
    /// The interface at which packets arrive.
    pub from: String,
    /// The interface at which they are sent.
    pub to: String,
    /// The counters of the link.
    pub link: LinkCounters,
    /// Packets in its queue.
    pub queue_packets: usize,
    /// Their bytes.
    pub queue_bytes: u64,
    /// Packets in the link: neither delivered nor dropped nor lost.
    pub in_link: usize,
    /// What happened to frames outside of the link: at the receiving interface, except
    /// [`refused`](PortCounters::refused).
    pub port: PortCounters,
    /// The time from due time to sending of packets, since the last report.
    pub lateness: Quantiles,
    /// The same, since the start.
    pub lateness_overall: Quantiles,
    /// The time from arrival, by the kernel's timestamp, to reading of packets, since the last report.
    pub reading: Quantiles,
    /// The same, since the start.
    pub reading_overall: Quantiles,
}

/// What happened to frames outside of the link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PortCounters {
    /// Frames without an IP packet, forwarded unchanged; none between a TUN and an Ethernet.
    pub passed: u64,
    /// Packets with checksum offload, completed here.
    pub completed: u64,
    /// Frames with segmentation offload, segmented here.
    pub cut: u64,
    /// Such frames that could not be segmented, and were dropped.
    pub uncut: u64,
    /// Frames that the other interface refused and were dropped: longer than its MTU, or while it was down.
    pub refused: u64,
    /// Frames that the kernel dropped because the socket buffer was full.
    pub kernel_drops: u64,
}

/// The scheduling priority of a box's thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// Ordinary.
    Ordinary,
    /// Real-time (`SCHED_FIFO`).
    RealTime,
    /// Ordinary: real-time priority was requested but not permitted.
    Refused,
}
