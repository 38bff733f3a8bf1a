//! Why a capture cannot be read.

use std::io;

/// A capture cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The source failed.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// The bytes are not what the format asks for.
    #[error("at byte {offset}: expected {expected}, got {got}")]
    Malformed {
        /// Where, in bytes from the start of the file.
        offset: u64,
        /// What should stand there.
        expected: &'static str,
        /// What does.
        got: String,
    },
}

impl ReadError {
    pub(super) fn malformed(offset: u64, expected: &'static str, got: impl Into<String>) -> Self {
        Self::Malformed { offset, expected, got: got.into() }
    }
}
