//! The points of a direction's graphs.

use headway_units::{Duration, Instant};

use crate::Series;

/// A segment in a time-sequence graph. Bytes count from the first byte of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentPoint {
    /// When.
    pub at: Instant,
    /// Its first byte.
    pub seq: u64,
    /// How many bytes it has.
    pub len: u32,
}

/// What an ACK acknowledged and allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgePoint {
    /// When.
    pub at: Instant,
    /// The byte that is expected next.
    pub ack: u64,
    /// The byte behind the window.
    pub right: u64,
}

/// A run of bytes that a SACK block reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockPoint {
    /// When.
    pub at: Instant,
    /// The first byte.
    pub left: u64,
    /// The byte behind the last.
    pub right: u64,
}

/// A byte that an ACK named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BytePoint {
    /// When.
    pub at: Instant,
    /// Which.
    pub seq: u64,
}

/// A round-trip time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RttPoint {
    /// When the ACK came.
    pub at: Instant,
    /// How long it took.
    pub rtt: Duration,
}

/// How much was sent and not acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutstandingPoint {
    /// When.
    pub at: Instant,
    /// Bytes.
    pub bytes: u64,
}

/// The points of the graphs of what one side sent, and of what came back for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// Segments sent for the first time and in order.
    pub sent: Series<SegmentPoint>,
    /// Segments sent again, in whole or in part.
    pub retransmitted: Series<SegmentPoint>,
    /// Segments that filled a gap.
    pub out_of_order: Series<SegmentPoint>,
    /// Segments sent into a closed window.
    pub probes: Series<SegmentPoint>,
    /// Segments that arrived damaged, with a header that can be believed, at any interface.
    pub corrupted: Series<SegmentPoint>,
    /// What was acknowledged, and how far the window reached.
    pub edges: Series<EdgePoint>,
    /// Duplicate ACKs.
    pub duplicates: Series<BytePoint>,
    /// SACK blocks.
    pub sacks: Series<BlockPoint>,
    /// The bytes that special ACKs named.
    pub special: Series<BytePoint>,
    /// Closed windows: the byte behind them.
    pub zero_windows: Series<BytePoint>,
    /// Round-trip times.
    pub rtt: Series<RttPoint>,
    /// Data outstanding, whenever it changed.
    pub outstanding: Series<OutstandingPoint>,
}

impl Graph {
    /// No points yet, and at most `limit` in each series.
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
