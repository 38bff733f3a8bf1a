//! Why a command on real packets failed: what all of them have in common.

use std::error::Error;
use std::io;
use std::net::{IpAddr, SocketAddr};

use headway_command::{BadOption, Failure, OutputError, USAGE};
use headway_net::NetError;

use super::stop_signal::StopSignal;

/// An error and what caused it, where the former does not say so.
pub fn with_causes(error: &dyn Error) -> String {
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
pub enum TransportError {
    /// An option makes no sense.
    #[error(transparent)]
    BadOption(#[from] BadOption),
    /// No carrier is given.
    #[error(
        "no network: expected --tun DEVICE, --udp LOCAL PEER, --packet INTERFACE, --frames LOCAL MODEM, --kiss PLACE, --serial DEVICE:SPEED, --monitor INTERFACE or --kernel"
    )]
    NoCarrier,
    /// A carrier or a stack cannot be created.
    #[error(transparent)]
    Net(#[from] NetError),
    /// Something cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// The runtime of the command cannot start.
    #[error("the runtime cannot start: {0}")]
    NoRuntime(io::Error),
    /// An address cannot be listened at.
    #[error("{local}: cannot be listened at: {source}")]
    Listen {
        /// The address.
        local: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// A connection cannot be opened.
    #[error("{remote}: {source}")]
    Connect {
        /// Where to.
        remote: SocketAddr,
        /// What the system or the stack said.
        source: io::Error,
    },
    /// A connection was not opened in time.
    #[error("{remote}: no answer in {seconds} s{}", hint.as_ref().map(|hint| format!(": {hint}")).unwrap_or_default())]
    NoAnswer {
        /// Where to.
        remote: SocketAddr,
        /// The time.
        seconds: f64,
        /// What may be the cause.
        hint: Option<String>,
    },
    /// The carrier has one peer, and this is another host.
    #[error(
        "{remote}: expected {peer}: over UDP only the peer can be reached, under this address or --peer-address"
    )]
    NotThePeer {
        /// Where to.
        remote: SocketAddr,
        /// The peer.
        peer: IpAddr,
    },
    /// The carrier waits for its peer.
    #[error("{remote}: expected --udp LOCAL PEER with an address: with `any` others connect to this end")]
    NoPeer {
        /// Where to.
        remote: SocketAddr,
    },
    /// A name is not resolved.
    #[error("{host}: {reason}; expected an address or a name that the system resolves")]
    UnknownHost {
        /// The name.
        host: String,
        /// What the system said.
        reason: String,
    },
    /// A connection ended early.
    #[error("the connection: {0}")]
    Connection(io::Error),
    /// The stack ended with an error.
    #[error("the network: {}", with_causes(.0))]
    Stack(io::Error),
    /// A signal stopped the command.
    #[error("stopped by {0}")]
    Stopped(StopSignal),
}

impl Failure for TransportError {
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
