//! Where the recordings of experiment files are found: beside the file, or in the program.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use headway_lab::{Experiment, LabError, Overrides, Traces};
use include_dir::{Dir, include_dir};

use crate::papers;

/// The delivery traces of headway's own experiments.
static TRACES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../beyond/traces");

/// Reads an experiment file. Recordings that it names are looked for beside it, and then among those that come with
/// the program.
///
/// # Errors
///
/// As [`Experiment::load`].
pub fn load(path: &Path, overrides: &Overrides) -> Result<Experiment, LabError> {
    let text =
        fs::read_to_string(path).map_err(|source| LabError::Unreadable { path: path.into(), source })?;
    let name =
        path.file_stem().map_or_else(|| "experiment".into(), |stem| stem.to_string_lossy().into_owned());
    let folder = path.parent().unwrap_or(Path::new(""));
    let traces = Traces::new(|wanted| match File::open(folder.join(wanted)) {
        Ok(file) => Ok(Box::new(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => match included(wanted) {
            Some(bytes) => Ok(Box::new(bytes)),
            None => Err(missing(folder)),
        },
        Err(error) => Err(error),
    });
    Experiment::parse_with(&name, &path.display().to_string(), &text, overrides, &traces)
}

/// A recording that comes with the program, by the name that its experiment has for it.
fn included(wanted: &Path) -> Option<&'static [u8]> {
    let own = || TRACES.get_file(wanted.strip_prefix("traces").ok()?).map(include_dir::File::contents);
    papers::recording(wanted).or_else(own)
}

fn missing(folder: &Path) -> io::Error {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let text = format!(
        "there is no such file in {}, the folder of the experiment, and none comes with the program",
        folder.display()
    );
    io::Error::new(io::ErrorKind::NotFound, text)
}
