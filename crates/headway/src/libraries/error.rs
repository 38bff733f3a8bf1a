//! Why there are no libraries.

use std::io;
use std::path::PathBuf;

use headway_command::Failure;

/// Why there are no libraries.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LibrariesError {
    #[error(
        "npm was not found; expected it (in Debian: apt install npm), to fetch the libraries of pages once: hyparquet, Observable Plot, D3 and uPlot"
    )]
    NoNpm,
    #[error(
        "npm did not fetch the libraries of pages (hyparquet, Observable Plot, D3, uPlot): {reason}; expected a registry that it reaches"
    )]
    Npm { reason: String },
    #[error("expected XDG_CACHE_HOME or HOME to name a folder, for the libraries of the page")]
    NoCacheFolder,
    #[error("{}: cannot be read: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{}: cannot be written: {source}", path.display())]
    Unwritable { path: PathBuf, source: io::Error },
}

impl Failure for LibrariesError {}
