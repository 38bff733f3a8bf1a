//! The command that writes the libraries into a folder.

use std::path::{Path, PathBuf};

use clap::Args;

const EXAMPLES: &str = "\
Examples:
  headway libraries libraries && scp -r libraries host:/usr/local/share/headway/
      For /usr/local/bin/headway at a machine without npm.";

/// Write the JavaScript libraries of pages into a folder, for a package or a machine without npm.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The folder; it is made if it does not exist
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl Arguments {
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }
}
