//! Errors of a gateway's configuration and of its start.

use std::io;
use std::path::{Path, PathBuf};

use headway_toml::Problem;

/// Errors of a gateway's configuration and of its start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrunkError {
    /// A file cannot be read.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A value of a configuration, or a file that it names, cannot be used.
    #[error("{path}: {source}")]
    Invalid {
        /// The configuration.
        path: PathBuf,
        /// Which and why.
        source: Box<TrunkError>,
    },
    /// The file of a secret cannot be read.
    #[error("{key}: {path}: {source}; expected a file that `headway trunk keygen` made")]
    KeyFile {
        /// The key that names it.
        key: String,
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The configuration is no TOML, or has unknown, missing or wrong keys.
    #[error("{path}: {message}")]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Where and what.
        message: String,
    },
    /// A value cannot be used.
    #[error("{key}: got {got}: expected {expected}")]
    Value {
        /// The key, with its table.
        key: String,
        /// What was given.
        got: String,
        /// What was expected.
        expected: String,
    },
    /// A program that makes the rules of transparent entries is not installed.
    #[error(
        "{program} was not found (Debian: apt install {package}): it makes the rules for `transparent.interfaces`"
    )]
    MissingProgram {
        /// Its name.
        program: &'static str,
        /// Debian's package that has it.
        package: &'static str,
    },
    /// Others than its owner can read a file with a secret.
    #[error(
        "{path}: others can read this secret (mode {mode:o}): expected at most mode 600; chmod 600 it, and make a new key if others may have read it"
    )]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// Another user than the one who runs the gateway can read and replace a file with a secret.
    #[error(
        "{path}: this secret belongs to user {owner}: expected user {user}, who runs this, or root; make a new key if user {owner} is not to know it"
    )]
    Owner {
        /// The file.
        path: PathBuf,
        /// The number of its owner.
        owner: u32,
        /// The number of the user who runs this.
        user: u32,
    },
    /// The tunnel or its stack cannot start.
    #[error(transparent)]
    Net(#[from] headway_net::NetError),
    /// A listener cannot start.
    #[error("{what}: {source}")]
    Listen {
        /// Which.
        what: String,
        /// Why.
        source: io::Error,
    },
    /// A new configuration changes what cannot be changed while the gateway runs.
    #[error("{}: changed, and cannot be while the gateway runs: expected what it was started with, or restart it", keys.join(", "))]
    NeedsRestart {
        /// Which keys.
        keys: Vec<String>,
    },
    /// The stack has ended.
    #[error("the tunnel has ended: {0}")]
    Ended(io::Error),
    /// The stack of the hosts behind the TUN has ended.
    #[error("the TUN has ended: {0}")]
    TunEnded(io::Error),
}

impl TrunkError {
    /// Whether another socket has an address that the gateway needs.
    pub fn is_address_in_use(&self) -> bool {
        match self {
            Self::Listen { source, .. } | Self::Net(headway_net::NetError::Udp { source, .. }) => {
                source.kind() == io::ErrorKind::AddrInUse
            }
            _ => false,
        }
    }

    pub(crate) fn value(key: impl Into<String>, got: impl Into<String>, expected: impl Into<String>) -> Self {
        Self::Value { key: key.into(), got: got.into(), expected: expected.into() }
    }

    /// The same, of the configuration at `path`.
    pub fn at(self, path: &Path) -> Self {
        Self::Invalid { path: path.into(), source: Box::new(self) }
    }

    /// The same, with what to do.
    pub(crate) fn with_advice(mut self, advice: &str) -> Self {
        if let Self::Syntax { message, .. } = &mut self {
            *message = format!("{message}; {advice}");
        }
        self
    }

    /// What the parser found wrong with the `text` of the configuration at `path`.
    pub(crate) fn of_toml(path: &Path, text: &str, error: &toml::de::Error) -> Self {
        let Problem { line, text } = Problem::of(text, error);
        Self::Syntax { path: path.into(), message: format!("line {line}: {text}") }
    }
}
