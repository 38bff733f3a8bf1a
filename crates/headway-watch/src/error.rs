//! Why there is no live page.

use std::io;
use std::net::SocketAddr;

use headway_command::Failure;
use headway_libraries::LibrariesError;

/// Why there is no live page.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The address cannot be listened at.
    #[error("--watch {address}: {source}; expected a free TCP address and port of this machine")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The page has no libraries.
    #[error("--watch: {0}")]
    Libraries(#[from] LibrariesError),
    /// The server cannot start.
    #[error("the runtime cannot start: {0}")]
    NoRuntime(io::Error),
    /// Pages cannot tell this run from others.
    #[error("the system has no randomness: {0}")]
    NoRandomness(String),
}

impl Failure for WatchError {}
