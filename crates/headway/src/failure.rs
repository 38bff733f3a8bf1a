//! What ends a command early: every command has an error of its own, and all of them are reported in one line.

use std::borrow::Cow;
use std::error::Error;
use std::process::ExitCode;

use crate::output::{self, OutputError, notice};
#[cfg(feature = "full")]
use headway_lab::LabError;
#[cfg(feature = "full")]
use headway_net::NetError;
use headway_report::ReportError;
use headway_report::trace::CaptureError;
use headway_sim::race::RunError;

/// The exit code for what the user can mend in the command line.
pub(crate) const USAGE: u8 = 2;

/// The exit code where standard output is closed: that of a shell for a program that SIGPIPE (13) ended. The signal itself
/// would also end commands whose pipes to other programs break.
const CLOSED_OUTPUT: u8 = 128 + 13;

/// Why a command failed.
pub(crate) trait Failure: Error {
    /// Whether the user can mend it in the command line.
    fn is_usage(&self) -> bool {
        false
    }

    /// The exit code.
    fn code(&self) -> u8 {
        if self.is_usage() { USAGE } else { 1 }
    }
}

/// How the program ends.
pub(crate) fn exit(outcome: Result<(), impl Failure>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        // `headway race | head` is no mistake.
        Err(failure) if output::is_closed(&failure) => ExitCode::from(CLOSED_OUTPUT),
        Err(failure) => {
            notice!("headway: {failure}");
            ExitCode::from(failure.code())
        }
    }
}

/// How the program ends that runs another, whose exit code it has.
pub(crate) fn exit_as(outcome: Result<ExitCode, impl Failure>) -> ExitCode {
    outcome.unwrap_or_else(|failure| exit(Err(failure)))
}

/// An option that was understood makes no sense. One without a value has an empty one.
#[derive(Debug, thiserror::Error)]
#[error("{option}{}{value}: {expected}", if value.is_empty() { "" } else { " " })]
pub(crate) struct BadOption {
    pub(crate) option: Cow<'static, str>,
    pub(crate) value: String,
    pub(crate) expected: String,
}

impl BadOption {
    pub(crate) fn new(
        option: impl Into<Cow<'static, str>>,
        value: impl Into<String>,
        expected: impl ToString,
    ) -> Self {
        Self { option: option.into(), value: value.into(), expected: expected.to_string() }
    }
}

impl Failure for BadOption {
    fn is_usage(&self) -> bool {
        true
    }
}

#[cfg(feature = "full")]
impl Failure for LabError {
    fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::Unreadable { .. }
                | Self::Malformed { .. }
                | Self::Invalid { .. }
                | Self::BadOverride { .. }
        )
    }
}

impl Failure for OutputError {}

impl Failure for ReportError {
    fn is_usage(&self) -> bool {
        match self {
            #[cfg(feature = "full")]
            Self::Lab(error) => error.is_usage(),
            Self::Capture(error) => error.is_usage(),
            _ => false,
        }
    }
}

impl Failure for CaptureError {
    fn is_usage(&self) -> bool {
        true
    }
}

#[cfg(feature = "full")]
impl Failure for NetError {
    fn is_usage(&self) -> bool {
        matches!(self, Self::BadAddress { .. } | Self::KernelsAddress(_) | Self::NoHack(_))
    }
}

impl Failure for RunError {
    fn is_usage(&self) -> bool {
        matches!(self, Self::Content(_))
    }
}
