//! The points of a direction's graphs.

use headway_units::{Duration, Instant};

use crate::Series;

/// A segment in a time-sequence graph. Bytes count from the first byte of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SegmentPoint {
    /// When.
    pub at: Instant,
    /// Its first byte.
    pub seq: u64,
    /// Its length in bytes.
    pub len: u32,
}

/// The cumulative ACK and the right edge of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EdgePoint {
    /// When.
    pub at: Instant,
    /// The next byte expected.
    pub ack: u64,
    /// The first byte beyond the window.
    pub right: u64,
}

/// A SACK block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockPoint {
    /// When.
    pub at: Instant,
    /// The first byte.
    pub left: u64,
    /// The byte after the last.
    pub right: u64,
}

/// A byte that an ACK refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BytePoint {
    /// When.
    pub at: Instant,
    /// Its offset.
    pub seq: u64,
}

/// A round-trip time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RttPoint {
    /// When the ACK arrived.
    pub at: Instant,
    /// The round-trip time.
    pub rtt: Duration,
}

/// The number of bytes sent and not acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutstandingPoint {
    /// When.
    pub at: Instant,
    /// Bytes.
    pub bytes: u64,
}

/// The points of the graphs of what one side sent, and of the ACKs for it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Graph {
    /// New segments in order.
    pub sent: Series<SegmentPoint>,
    /// Segments retransmitted in whole or in part.
    pub retransmitted: Series<SegmentPoint>,
    /// Segments that filled a gap.
    pub out_of_order: Series<SegmentPoint>,
    /// Segments sent into a closed window.
    pub probes: Series<SegmentPoint>,
    /// Corrupted segments (header valid, payload damaged), at any interface.
    pub corrupted: Series<SegmentPoint>,
    /// Cumulative ACKs and right edges of the window.
    pub edges: Series<EdgePoint>,
    /// Duplicate ACKs.
    pub duplicates: Series<BytePoint>,
    /// SACK blocks.
    pub sacks: Series<BlockPoint>,
    /// The segments that special ACKs reported, by their first byte.
    pub special: Series<BytePoint>,
    /// Closed windows, by their right edge.
    pub zero_windows: Series<BytePoint>,
    /// Round-trip times.
    pub rtt: Series<RttPoint>,
    /// Data outstanding, whenever it changed.
    pub outstanding: Series<OutstandingPoint>,
}

impl Graph {
    /// Empty series of at most `limit` points each.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            sent: Series::new(limit),
            retransmitted: Series::new(limit),
            out_of_order: Series::new(limit),
            probes: Series::new(limit),
            corrupted: Series::new(limit),
            edges: Series::new(limit),
            duplicates: Series::new(limit),
            sacks: Series::new(limit),
            special: Series::new(limit),
            zero_windows: Series::new(limit),
            rtt: Series::new(limit),
            outstanding: Series::new(limit),
        }
    }
}
