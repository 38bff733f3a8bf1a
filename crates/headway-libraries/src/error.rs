//! Why there are no libraries.

use std::io;
use std::path::PathBuf;

use headway_command::Failure;

/// Why there are no libraries.
#[derive(Debug, thiserror::Error)]
pub enum LibrariesError {
    /// npm is not installed.
    #[error(
        "npm was not found; expected it (in Debian: apt install npm), to fetch the libraries of pages once: hyparquet, Observable Plot, D3 and uPlot"
    )]
    NoNpm,
    /// npm could not fetch them.
    #[error(
        "npm did not fetch the libraries of pages (hyparquet, Observable Plot, D3, uPlot): {reason}; expected a registry that it reaches"
    )]
    Npm {
        /// What npm said.
        reason: String,
    },
    /// No folder to keep them in is known.
    #[error("expected XDG_CACHE_HOME or HOME to name a folder, for the libraries of the page")]
    NoCacheFolder,
    /// A file of theirs cannot be read.
    #[error("{}: cannot be read: {source}", path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file or a folder cannot be written.
    #[error("{}: cannot be written: {source}", path.display())]
    Unwritable {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Failure for LibrariesError {}
