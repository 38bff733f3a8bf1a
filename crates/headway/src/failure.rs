//! What ends a command early, in one line.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use headway_lab::LabError;
use headway_net::NetError;
use headway_report::ReportError;
use headway_report::trace::CaptureError;
use headway_sim::ContentError;
use headway_sim::race::RunError;
use headway_trace::TraceError;

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
    #[error(transparent)]
    Trace(CaptureError),
    #[error("standard output cannot be written: {0}")]
    StandardOutput(io::Error),
    #[error(transparent)]
    Run(RunError),
    #[error(transparent)]
    Report(ReportError),
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
    #[error("the runtime cannot start: {0}")]
    NoRuntime(io::Error),
    #[error("no network: expected --tun DEVICE, --udp LOCAL PEER, --packet INTERFACE or --kernel")]
    NoCarrier,
    /// A carrier or a stack that cannot be made; it says itself what was expected.
    #[error(transparent)]
    Net(#[from] NetError),
    #[error("{local}: cannot be listened at: {source}")]
    Listen { local: SocketAddr, source: io::Error },
    #[error("{remote}: {source}")]
    Connect { remote: SocketAddr, source: io::Error },
    #[error("the connection: {0}")]
    Connection(io::Error),
    #[error("the network: {0}")]
    Stack(io::Error),
    #[error("the thread of the box panicked: a defect of headway")]
    BoxPanicked,
    #[error("standard input cannot be read: {0}")]
    StandardInput(io::Error),
    #[error("{host}: {reason}; expected an address or a name that the system knows")]
    UnknownHost { host: String, reason: String },
    #[error("{}: {source}; expected a folder to serve", path.display())]
    Folder { path: PathBuf, source: io::Error },
    #[error("{}: cannot be read: {source}", path.display())]
    Input { path: PathBuf, source: io::Error },
    #[error("{url}: expected {expected}")]
    BadUrl { url: String, expected: &'static str },
    #[error("{url}: the server answered {status}")]
    HttpStatus { url: String, status: u16 },
    #[error("HTTP: {}", with_causes(.0))]
    Http(hyper::Error),
    #[error("{program}: {source}")]
    Start { program: String, source: io::Error },
    #[error("stopped by {0}")]
    Stopped(&'static str),
}

/// An error and what caused it: hyper keeps the latter to itself.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
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
            Self::Trace(_) | Self::Report(ReportError::Capture(_)) => ExitCode::from(Self::USAGE),
            Self::NoCarrier
            | Self::Net(NetError::BadAddress { .. } | NetError::KernelsAddress(_) | NetError::NoHack(_))
            | Self::Folder { .. }
            | Self::BadUrl { .. } => ExitCode::from(Self::USAGE),
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

impl From<ReportError> for Failure {
    fn from(error: ReportError) -> Self {
        match error {
            ReportError::Lab(source) => Self::Lab(source),
            other => Self::Report(other),
        }
    }
}

impl From<CaptureError> for Failure {
    fn from(error: CaptureError) -> Self {
        match error {
            CaptureError::UnknownInterface { name, expected } => {
                Self::BadOption { option: "--interface", value: name, expected }
            }
            other => Self::Trace(other),
        }
    }
}
