//! Why a capture cannot be read.

use std::io;

/// A capture cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The source failed.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// The bytes violate the format.
    #[error("at byte {offset}: expected {expected}, got {got}")]
    Malformed {
        /// The offset in bytes from the start of the file.
        offset: u64,
        /// What the format requires.
        expected: &'static str,
        /// What was read.
        got: String,
    },
}

impl ReadError {
    pub(super) fn malformed(offset: u64, expected: &'static str, got: impl Into<String>) -> Self {
        Self::Malformed { offset, expected, got: got.into() }
    }
}
