//! Why a command of the gateway failed.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use headway_command::{Failure, OutputError};
use headway_trunk::TrunkError;
use headway_trunk_proto::KeyError;
use headway_watch::WatchError;

use super::pairing::PairingError;

/// No key can be made.
#[derive(Debug, thiserror::Error)]
#[error("the system has no randomness: {0}")]
pub(crate) struct NoRandomness(pub(super) String);

/// Why a command of the gateway failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TrunkCommandError {
    #[error(transparent)]
    Trunk(#[from] TrunkError),
    #[error(transparent)]
    Output(#[from] OutputError),
    #[error("{path}: {source}")]
    File { path: PathBuf, source: io::Error },
    #[error("{path}: the file exists; expected a new one: peers know the key in it")]
    Exists { path: PathBuf },
    #[error("{path}: {source}")]
    Key { path: PathBuf, source: KeyError },
    #[error("gateway.metrics: {address}: {source}; expected a free TCP address and port of this machine")]
    Metrics { address: SocketAddr, source: io::Error },
    #[error(transparent)]
    Watch(#[from] WatchError),
    #[error("the gateway has refused: {0}")]
    Refused(String),
    #[error("the terminal: {0}")]
    Terminal(io::Error),
    #[error("the runtime cannot start: {0}")]
    NoRuntime(io::Error),
    #[error(transparent)]
    NoRandomness(#[from] NoRandomness),
    #[error(transparent)]
    Pairing(#[from] PairingError),
    #[error(
        "{config}: gateway.status-socket: nothing given: expected a path, at which the running gateway can be asked"
    )]
    NoStatusSocket { config: PathBuf },
    #[error("{path}: {source}; expected the socket of a running gateway")]
    NotRunning { path: PathBuf, source: io::Error },
}

impl Failure for TrunkCommandError {
    fn is_usage(&self) -> bool {
        match self {
            Self::Trunk(error) => matches!(
                error,
                TrunkError::File { .. }
                    | TrunkError::KeyFile { .. }
                    | TrunkError::Invalid { .. }
                    | TrunkError::Syntax { .. }
                    | TrunkError::Value { .. }
                    | TrunkError::Exposed { .. }
            ),
            Self::Pairing(error) => error.is_usage(),
            Self::Key { .. } | Self::File { .. } | Self::Exists { .. } | Self::NoStatusSocket { .. } => true,
            _ => false,
        }
    }
}
