//! Why a measurement failed.

use headway_command::{BadOption, Failure, OutputError};
use headway_report::ReportError;
use headway_transport::TransportError;

/// Why a measurement failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum PerfError {
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// The page.
    #[error(transparent)]
    Report(#[from] ReportError),
}

impl From<BadOption> for PerfError {
    fn from(error: BadOption) -> Self {
        Self::Transport(error.into())
    }
}

impl From<OutputError> for PerfError {
    fn from(error: OutputError) -> Self {
        Self::Transport(error.into())
    }
}

impl Failure for PerfError {
    fn is_usage(&self) -> bool {
        matches!(self, Self::Transport(error) if error.is_usage())
    }

    fn code(&self) -> u8 {
        match self {
            Self::Transport(error) => error.code(),
            Self::Report(_) => 1,
        }
    }
}
