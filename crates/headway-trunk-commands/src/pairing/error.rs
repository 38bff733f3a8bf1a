//! Why two gateways were not paired.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use headway_command::OutputError;
use headway_trunk::{Endpoint, EndpointError, TrunkError};

use super::invitation::InvitationError;
use crate::error::NoRandomness;

/// Why two gateways were not paired.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PairingError {
    #[error("the invitation: {0}")]
    Invitation(#[from] InvitationError),
    #[error(transparent)]
    Trunk(#[from] TrunkError),
    #[error(transparent)]
    Output(#[from] OutputError),
    #[error("{path}: the file exists: expected a new one; --config FILE names another")]
    Exists { path: PathBuf },
    #[error(
        "--endpoint: got nothing: expected {}, at which the near gateway reaches this one",
        EndpointError::EXPECTED
    )]
    NoEndpoint,
    #[error("--listen {got}: {config} has {listen}: expected the same, or none")]
    OtherListen { got: SocketAddr, listen: SocketAddr, config: PathBuf },
    #[error(
        "--endpoint {endpoint}: this gateway listens at {listen}: expected an address of the same family, or a name"
    )]
    OtherFamily { endpoint: Endpoint, listen: SocketAddr },
    #[error(
        "{config}: a gateway with [modem]: expected one over UDP: a modem's link has two ends, and no address"
    )]
    Modem { config: PathBuf },
    #[error(
        "--name {name:?}: {config} has a peer of this name: expected another, or `headway trunk revoke` it first"
    )]
    NameExists { name: String, config: PathBuf },
    #[error("--name {name:?}: expected a name without control characters, such as ship")]
    BadName { name: String },
    #[error("{name:?}: {config} has no peer of this name: expected {expected}")]
    NoPeer { name: String, config: PathBuf, expected: String },
    #[error("{config}: `peer` is a list: expected [[peer]] for each peer, which can be added and removed")]
    InlinePeers { config: PathBuf },
    #[error("what is invited to: {0}")]
    Services(TrunkError),
    #[error(transparent)]
    NoRandomness(#[from] NoRandomness),
    #[error("the QR code: {0}")]
    Code(qrcode::types::QrError),
    #[error("standard input: {0}")]
    Input(io::Error),
}

impl PairingError {
    /// A file or folder at `path` cannot be written.
    pub(super) fn file(path: &Path, error: io::Error) -> Self {
        // What `tempfile` adds is the name of a file that the user did not ask for.
        Self::Output(OutputError::file(path, error))
    }

    /// Whether the user can mend it in the command line, or in the files that it names.
    pub(crate) fn is_usage(&self) -> bool {
        !matches!(self, Self::Output(_) | Self::NoRandomness(_) | Self::Code(_) | Self::Input(_))
    }
}
