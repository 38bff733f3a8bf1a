//! The papers' experiments, which come with the program.

use std::io;
use std::path::Path;

use headway_lab::{Experiment, Overrides, Traces};
use include_dir::{Dir, File, include_dir};

use super::error::ExperimentsError;

static PAPERS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../papers");

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
pub(super) fn text(wanted: &str) -> Result<&'static str, ExperimentsError> {
    let found = files().into_iter().find(|(name, _)| name == wanted);
    found.map(|(_, toml)| toml).ok_or_else(|| ExperimentsError::UnknownPaper { name: wanted.into() })
}

/// A recording beside them.
pub(super) fn recording(path: &Path) -> Option<&'static [u8]> {
    PAPERS.get_file(path).map(File::contents)
}

pub(super) fn list() -> Result<String, ExperimentsError> {
    let mut text = String::new();
    for (name, toml) in files() {
        let experiment = read(&name, toml, &Overrides::default())?;
        let runs = experiment.cells.len() as u64 * u64::from(experiment.runs);
        text.push_str(&format!("{name:<22} {runs:>6} runs  {}\n", experiment.title));
    }
    Ok(text)
}

/// The experiments of these names; `all` means every one.
pub(super) fn experiments(
    names: &[String],
    overrides: &Overrides,
) -> Result<Vec<Experiment>, ExperimentsError> {
    let files = files();
    if names.iter().any(|name| name == "all") {
        return files.iter().map(|(name, toml)| read(name, toml, overrides)).collect();
    }
    names
        .iter()
        .map(|wanted| match files.iter().find(|(name, _)| name == wanted) {
            Some((name, toml)) => read(name, toml, overrides),
            None => Err(ExperimentsError::UnknownPaper { name: wanted.clone() }),
        })
        .collect()
}

fn read(name: &str, toml: &str, overrides: &Overrides) -> Result<Experiment, ExperimentsError> {
    // A trace is a file beside the papers' experiments.
    let traces = Traces::new(|path| Ok(Box::new(recording(path).ok_or(io::ErrorKind::NotFound)?)));
    Ok(Experiment::parse_with(name, &format!("papers/{name}.toml"), toml, overrides, &traces)?)
}
