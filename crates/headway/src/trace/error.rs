//! Why a capture's analysis failed.

use std::io;

use headway_command::{BadOption, Failure, OutputError};
use headway_report::trace::CaptureError;

/// Why an analysis failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TraceError {
    #[error(transparent)]
    BadOption(#[from] BadOption),
    #[error(transparent)]
    Capture(CaptureError),
    /// What comes through a pipe cannot be kept.
    #[error("standard input: cannot be read: {0}")]
    Input(io::Error),
    #[error(transparent)]
    Output(#[from] OutputError),
}

impl Failure for TraceError {
    fn is_usage(&self) -> bool {
        !matches!(self, Self::Output(_) | Self::Input(_))
    }
}

impl From<CaptureError> for TraceError {
    fn from(error: CaptureError) -> Self {
        match error {
            CaptureError::UnknownInterface { name, expected } => {
                Self::BadOption(BadOption::new("--interface", name, expected))
            }
            other => Self::Capture(other),
        }
    }
}
