//! Why a race failed.

use headway_command::{BadOption, Failure, OutputError};
use headway_report::ReportError;
use headway_sim::ContentError;
use headway_sim::race::RunError;
use headway_watch::WatchError;

/// Why a race failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RaceError {
    #[error(transparent)]
    BadOption(#[from] BadOption),
    /// A file that cannot be sent; the other reasons say themselves what was expected.
    #[error("{}{}", .0, wanted_instead_of(.0))]
    Content(#[from] ContentError),
    #[error(transparent)]
    Output(#[from] OutputError),
    #[error(transparent)]
    Run(RunError),
    #[error(transparent)]
    Report(#[from] ReportError),
    #[error(transparent)]
    Watch(#[from] WatchError),
    #[error("the threads of the senders cannot be started: {0}")]
    Threads(#[from] rayon::ThreadPoolBuildError),
}

impl Failure for RaceError {
    fn is_usage(&self) -> bool {
        match self {
            Self::BadOption(_) | Self::Content(_) => true,
            Self::Report(error) => error.is_of_input(),
            Self::Output(_) | Self::Run(_) | Self::Watch(_) | Self::Threads(_) => false,
        }
    }
}

impl From<RunError> for RaceError {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Content(source) => Self::Content(source),
            other => Self::Run(other),
        }
    }
}

fn wanted_instead_of(error: &ContentError) -> &'static str {
    match error {
        ContentError::Unreadable { .. } => "; expected a file to send",
        _ => "",
    }
}
