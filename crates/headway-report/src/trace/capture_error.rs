//! Why a capture cannot be analysed.

use std::path::PathBuf;

use headway_trace::reader::ReadError;

/// Why a capture cannot be analysed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// It cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The capture.
        path: PathBuf,
        /// The error.
        source: ReadError,
    },
    /// It can be read only once.
    #[error("{}: expected a regular file: a capture is read twice", path.display())]
    NotAFile {
        /// The capture.
        path: PathBuf,
    },
    /// It has no such interface.
    #[error("{name}: {expected}")]
    UnknownInterface {
        /// The requested interface.
        name: String,
        /// Its interfaces.
        expected: String,
    },
}
