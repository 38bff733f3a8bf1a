//! Why a measurement failed.

use headway_command::{BadOption, Failure, OutputError};
use headway_report::ReportError;
use headway_transport::TransportError;

/// Why a measurement failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum PerfError {
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// What was measured is of a TCP, or of a link, that gave other bytes than those that were sent.
    #[error("bytes that differ from what was sent: {0}")]
    Differing(u64),
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
            Self::Differing(_) | Self::Report(_) => 1,
        }
    }
}
