//! Errors of writing.

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
        /// The index of the interface, from 0.
        index: usize,
        /// The number of interfaces.
        count: usize,
    },
    /// A packet is too long for a capture.
    #[error("a packet of {len} bytes: a capture holds at most {limit}")]
    PacketTooLong {
        /// Its length in bytes.
        len: usize,
        /// The maximum length of a packet.
        limit: usize,
    },
    /// A name or comment is too long for its field.
    #[error("a text of {len} bytes: an option of a capture holds at most {limit}")]
    TextTooLong {
        /// Its length in bytes.
        len: usize,
        /// The maximum length of a text.
        limit: usize,
    },
}
