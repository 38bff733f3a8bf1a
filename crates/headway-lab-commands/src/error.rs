//! Why a command of experiments failed.

use std::io;
use std::path::PathBuf;

use headway_command::{BadOption, Failure, OutputError, USAGE};
use headway_lab::LabError;
use headway_libraries::LibrariesError;
use headway_papers::PaperError;
use headway_report::ReportError;

use super::dask::DaskError;

/// Why a command of experiments failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ExperimentsError {
    #[error(transparent)]
    BadOption(#[from] BadOption),
    #[error(transparent)]
    Lab(#[from] LabError),
    #[error(transparent)]
    Report(#[from] ReportError),
    #[error(transparent)]
    Output(#[from] OutputError),
    #[error(transparent)]
    Dask(#[from] DaskError),
    #[error(transparent)]
    Libraries(#[from] LibrariesError),
    #[error(
        "{}: it exists and holds {found}, which is of no explorer; expected a folder that is empty, new, or an earlier \
         explorer",
        folder.display()
    )]
    Occupied { folder: PathBuf, found: String },
    #[error("{}: cannot be read: {source}", path.display())]
    Input { path: PathBuf, source: io::Error },
    #[error("{}: expected another name: results go to a folder of this name, {name}, and another file has it", file.display())]
    SameName { file: PathBuf, name: String },
    #[error(transparent)]
    Paper(#[from] PaperError),
    #[error(
        "{}: {reason}; expected a folder of results, such as `headway lab run` and `headway paper run` make",
        folder.display()
    )]
    NoResults { folder: PathBuf, reason: String },
}

impl Failure for ExperimentsError {
    fn is_usage(&self) -> bool {
        match self {
            Self::BadOption(_)
            | Self::SameName { .. }
            | Self::Paper(PaperError::Unknown { .. })
            | Self::Occupied { .. }
            | Self::NoResults { .. } => true,
            Self::Lab(error) | Self::Paper(PaperError::Lab(error)) => error.is_of_input(),
            Self::Report(error) => error.is_of_input(),
            Self::Output(_) | Self::Dask(_) | Self::Libraries(_) | Self::Input { .. } => false,
        }
    }

    fn code(&self) -> u8 {
        match self {
            // As of a shell for a program that SIGINT ended.
            Self::Dask(DaskError::Interrupted) => 130,
            _ if self.is_usage() => USAGE,
            _ => 1,
        }
    }
}
