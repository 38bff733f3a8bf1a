//! Why a command on real packets failed: what all of them have in common.

use std::error::Error;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};

use headway_command::{BadOption, Failure, OutputError, USAGE};
use headway_net::NetError;
use headway_report::ReportError;

/// An error and what caused it, where the former does not say so.
pub(crate) fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}

/// Why a command on real packets failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LiveError {
    #[error(transparent)]
    BadOption(#[from] BadOption),
    #[error("no network: expected --tun DEVICE, --udp LOCAL PEER, --packet INTERFACE or --kernel")]
    NoCarrier,
    /// A carrier or a stack cannot be created.
    #[error(transparent)]
    Net(#[from] NetError),
    #[error(transparent)]
    Output(#[from] OutputError),
    #[error("the runtime cannot start: {0}")]
    NoRuntime(io::Error),
    #[error("{local}: cannot be listened at: {source}")]
    Listen { local: SocketAddr, source: io::Error },
    #[error("{remote}: {source}")]
    Connect { remote: SocketAddr, source: io::Error },
    #[error("{remote}: no answer in {seconds} s{}", hint.as_ref().map(|hint| format!(": {hint}")).unwrap_or_default())]
    NoAnswer { remote: SocketAddr, seconds: f64, hint: Option<String> },
    #[error(
        "{remote}: expected {peer}: over UDP only the peer can be reached, under this address or --peer-address"
    )]
    NotThePeer { remote: SocketAddr, peer: IpAddr },
    #[error("{remote}: expected --udp LOCAL PEER with an address: with `any` others connect to this end")]
    NoPeer { remote: SocketAddr },
    #[error("{host}: {reason}; expected an address or a name that the system resolves")]
    UnknownHost { host: String, reason: String },
    #[error("the connection: {0}")]
    Connection(io::Error),
    #[error("the network: {}", with_causes(.0))]
    Stack(io::Error),
    #[error(transparent)]
    Report(ReportError),
    #[error("stopped by {0}")]
    Stopped(StopSignal),
}

impl Failure for LiveError {
    fn is_usage(&self) -> bool {
        match self {
            Self::BadOption(_) | Self::NoCarrier | Self::NotThePeer { .. } | Self::NoPeer { .. } => true,
            Self::Net(error) => error.is_of_input(),
            _ => false,
        }
    }

    fn code(&self) -> u8 {
        match self {
            // As of a shell for a program that the signal ended.
            Self::Stopped(signal) => 128 + signal.number(),
            _ if self.is_usage() => USAGE,
            _ => 1,
        }
    }
}

/// A signal that ends a command.
#[derive(Clone, Copy, Debug)]
pub(crate) enum StopSignal {
    Interrupt,
    Terminate,
}

impl StopSignal {
    fn number(self) -> u8 {
        match self {
            Self::Interrupt => 2,
            Self::Terminate => 15,
        }
    }
}

impl fmt::Display for StopSignal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Interrupt => "SIGINT",
            Self::Terminate => "SIGTERM",
        })
    }
}
