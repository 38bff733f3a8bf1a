//! Why there is no live page.

use std::io;
use std::net::SocketAddr;

use headway_command::Failure;

use crate::libraries::LibrariesError;

/// Why there is no live page.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WatchError {
    #[error("--watch {address}: {source}; expected a free TCP address and port of this machine")]
    Listen { address: SocketAddr, source: io::Error },
    #[error("--watch: {0}")]
    Libraries(#[from] LibrariesError),
    #[error("the runtime cannot start: {0}")]
    NoRuntime(io::Error),
    #[error("the system has no randomness: {0}")]
    NoRandomness(String),
}

impl Failure for WatchError {}
