//! Why a report cannot be made.

use std::io;
use std::path::PathBuf;

#[cfg(feature = "experiments")]
use headway_lab::LabError;
use headway_trace::TraceError;

use crate::trace::CaptureError;

/// Why a report cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// A drawing failed.
    #[error("the report cannot be drawn: {0}")]
    Drawing(String),
    /// A run that a figure shows cannot be made again.
    #[cfg(feature = "experiments")]
    #[error(transparent)]
    Lab(#[from] LabError),
    /// The temporary file for such a run cannot be made.
    #[error("{}: cannot be written: {source}", path.display())]
    Temporary {
        /// Where it would be.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Its packets cannot be written.
    #[error("{}: cannot be written: {source}", path.display())]
    Unwritable {
        /// The capture.
        path: PathBuf,
        /// What went wrong.
        source: TraceError,
    },
    /// Its packets cannot be read back.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// It left no packet.
    #[error("{}: expected the packets of a connection, got none", path.display())]
    NothingCaptured {
        /// The capture.
        path: PathBuf,
    },
}
