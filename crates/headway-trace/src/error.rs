//! What can go wrong while writing.

use std::io;

/// A trace could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The writer failed.
    #[error("the trace could not be written")]
    Io(#[from] io::Error),
    /// A packet was recorded for an interface that the capture does not have.
    #[error("interface {index}: the capture has {count}")]
    UnknownInterface {
        /// The interface that was named, counted from 0.
        index: usize,
        /// How many interfaces there are.
        count: usize,
    },
    /// A packet is longer than a capture may hold.
    #[error("a packet of {len} bytes: a capture holds at most {limit}")]
    PacketTooLong {
        /// Its length in bytes.
        len: usize,
        /// The most bytes that a packet may have.
        limit: usize,
    },
    /// A name or comment is longer than its field can say.
    #[error("a text of {len} bytes: an option of a capture holds at most {limit}")]
    TextTooLong {
        /// Its length in bytes.
        len: usize,
        /// The most bytes that a text may have.
        limit: usize,
    },
}
