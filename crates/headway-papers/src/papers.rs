//! The papers' experiments, which come with the program.

use std::io;
use std::path::Path;

use headway_lab::{Experiment, LabError, Overrides, Traces};
use include_dir::{Dir, File, include_dir};

static PAPERS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../papers");

/// A name, or the file of this name, is none of the papers'.
#[derive(Debug, thiserror::Error)]
pub enum PaperError {
    /// No experiment has this name.
    #[error("{name:?}: expected {}a name that `headway paper list` shows", if *takes_all { "`all` or " } else { "" })]
    Unknown {
        /// The name.
        name: String,
        /// Whether `all` would do.
        takes_all: bool,
    },
    /// An experiment cannot be read, with these changes.
    #[error(transparent)]
    Lab(#[from] LabError),
}

/// Name and text of each, by name.
fn files() -> Vec<(String, &'static str)> {
    let mut files: Vec<(String, &'static str)> = PAPERS
        .files()
        .filter(|file| file.path().extension().is_some_and(|ending| ending == "toml"))
        .filter_map(|file| {
            Some((file.path().file_stem()?.to_string_lossy().into_owned(), file.contents_utf8()?))
        })
        .collect();
    files.sort();
    files
}

/// The file of this name, as it is.
///
/// # Errors
///
/// No experiment has this name.
pub fn text(wanted: &str) -> Result<&'static str, PaperError> {
    let found = files().into_iter().find(|(name, _)| name == wanted);
    found.map(|(_, toml)| toml).ok_or_else(|| PaperError::Unknown { name: wanted.into(), takes_all: false })
}

/// A recording beside them.
pub(super) fn recording(path: &Path) -> Option<&'static [u8]> {
    PAPERS.get_file(path).map(File::contents)
}

/// All of them, by name.
///
/// # Errors
///
/// One cannot be read: a defect of the program.
pub fn list() -> Result<Vec<Experiment>, PaperError> {
    files().iter().map(|(name, toml)| read(name, toml, &Overrides::default())).collect()
}

/// The experiments of these names; `all` means every one.
///
/// # Errors
///
/// No experiment has one of the names, or the changes make no sense in it.
pub fn experiments(names: &[String], overrides: &Overrides) -> Result<Vec<Experiment>, PaperError> {
    let files = files();
    if names.iter().any(|name| name == "all") {
        return files.iter().map(|(name, toml)| read(name, toml, overrides)).collect();
    }
    names
        .iter()
        .map(|wanted| match files.iter().find(|(name, _)| name == wanted) {
            Some((name, toml)) => read(name, toml, overrides),
            None => Err(PaperError::Unknown { name: wanted.clone(), takes_all: true }),
        })
        .collect()
}

fn read(name: &str, toml: &str, overrides: &Overrides) -> Result<Experiment, PaperError> {
    // A trace is a file beside the papers' experiments.
    let traces = Traces::new(|path| Ok(Box::new(recording(path).ok_or(io::ErrorKind::NotFound)?)));
    Ok(Experiment::parse_with(name, &format!("papers/{name}.toml"), toml, overrides, &traces)?)
}
