//! What ends a command early, in one line.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use headway_lab::LabError;
use headway_sim::ContentError;
use headway_sim::race::RunError;
use headway_trace::TraceError;
use headway_trace::reader::ReadError;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// An option that was understood makes no sense.
    #[error("{option} {value}: {expected}")]
    BadOption { option: &'static str, value: String, expected: String },
    /// A file that cannot be sent; the other reasons say themselves what was expected.
    #[error("{}{}", source, wanted_instead_of(source))]
    Content {
        #[from]
        source: ContentError,
    },
    #[error("the running executable cannot be found, so name a FILE to send: {0}")]
    NoExecutable(io::Error),
    #[error("{}: cannot be written: {source}", path.display())]
    Output { path: PathBuf, source: io::Error },
    #[error("{}: cannot be written: {source}", path.display())]
    Capture { path: PathBuf, source: TraceError },
    /// A capture that cannot be analysed.
    #[error("{}: {source}", path.display())]
    Trace { path: PathBuf, source: ReadError },
    #[error("{}: expected a regular file: a capture is read twice", path.display())]
    NotAFile { path: PathBuf },
    /// A run that was made again left no packet.
    #[error("{}: expected the packets of a connection, got none", path.display())]
    NothingCaptured { path: PathBuf },
    #[error("standard output cannot be written: {0}")]
    StandardOutput(io::Error),
    #[error(transparent)]
    Run(RunError),
    #[error("the report cannot be drawn: {0}")]
    Drawing(String),
    #[error(transparent)]
    Lab(#[from] LabError),
    #[error("{}: expected another name: results go to a folder of this name, {name}, and another file has it", file.display())]
    SameName { file: PathBuf, name: String },
    #[error("{name:?}: expected `all` or a name that `headway paper list` shows")]
    UnknownPaper { name: String },
    #[error(
        "{}: {reason}; expected a folder of results, such as `headway lab run` and `headway paper run` make",
        folder.display()
    )]
    NoResults { folder: PathBuf, reason: String },
}

fn wanted_instead_of(error: &ContentError) -> &'static str {
    match error {
        ContentError::Unreadable { .. } => "; expected a file to send",
        _ => "",
    }
}

impl Failure {
    /// The exit code for what the user can mend in the command line.
    pub(crate) const USAGE: u8 = 2;

    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::BadOption { .. } | Self::Content { .. } | Self::NoExecutable(_) => {
                ExitCode::from(Self::USAGE)
            }
            Self::Trace { .. } | Self::NotAFile { .. } => ExitCode::from(Self::USAGE),
            Self::UnknownPaper { .. }
            | Self::SameName { .. }
            | Self::NoResults { .. }
            | Self::Lab(
                LabError::Unreadable { .. }
                | LabError::Malformed { .. }
                | LabError::Invalid { .. }
                | LabError::BadOverride { .. },
            ) => ExitCode::from(Self::USAGE),
            _ => ExitCode::FAILURE,
        }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Content(source) => Self::Content { source },
            other => Self::Run(other),
        }
    }
}
