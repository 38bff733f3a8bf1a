//! The command that writes the libraries into a folder.

use std::path::{Path, PathBuf};

use clap::Args;

/// Write the JavaScript libraries of pages into a folder, for a package or a machine without npm.
#[derive(Args)]
pub(crate) struct LibrariesArguments {
    /// The folder; it is made if it does not exist
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl LibrariesArguments {
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }
}
