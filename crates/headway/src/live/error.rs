//! Why a command on real packets failed: what all of them have in common.

use std::io;
use std::net::SocketAddr;

use headway_net::NetError;

use crate::failure::{BadOption, Failure};
use crate::output::OutputError;

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
    #[error("{host}: {reason}; expected an address or a name that the system resolves")]
    UnknownHost { host: String, reason: String },
    #[error("the connection: {0}")]
    Connection(io::Error),
    #[error("the network: {0}")]
    Stack(io::Error),
    #[error("stopped by {0}")]
    Stopped(&'static str),
}

impl Failure for LiveError {
    fn is_usage(&self) -> bool {
        match self {
            Self::BadOption(_) | Self::NoCarrier => true,
            Self::Net(error) => error.is_usage(),
            _ => false,
        }
    }
}
