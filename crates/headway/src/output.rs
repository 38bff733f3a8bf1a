//! Where results go: files that are written whole or not at all, and standard output.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use headway_trace::TraceError;
use tempfile::NamedTempFile;

/// What cannot be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OutputError {
    #[error("{}: cannot be written: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{}: cannot be written: {source}", path.display())]
    Capture { path: PathBuf, source: TraceError },
    #[error("standard output cannot be written: {0}")]
    Standard(io::Error),
}

/// Writes text to standard output.
pub(crate) fn print(text: &str) -> Result<(), OutputError> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(OutputError::Standard)
}

pub(crate) fn create_directory(path: &Path) -> Result<(), OutputError> {
    fs::create_dir_all(path).map_err(|source| OutputError::File { path: path.into(), source })
}

/// Writes a whole file.
pub(crate) fn write(path: &Path, bytes: impl AsRef<[u8]>) -> Result<(), OutputError> {
    write_to(begin(path)?, path, bytes)
}

/// Writes all of a file that was begun.
pub(crate) fn write_to(
    mut file: NamedTempFile,
    path: &Path,
    bytes: impl AsRef<[u8]>,
) -> Result<(), OutputError> {
    file.write_all(bytes.as_ref()).map_err(|source| OutputError::File { path: path.into(), source })?;
    finish(file, path)
}

/// A file beside `path` that takes its place when it is complete.
pub(crate) fn begin(path: &Path) -> Result<NamedTempFile, OutputError> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    NamedTempFile::new_in(directory).map_err(|source| OutputError::File { path: path.into(), source })
}

/// Puts a complete file where it belongs.
pub(crate) fn finish(file: NamedTempFile, path: &Path) -> Result<(), OutputError> {
    let complaint = |source| OutputError::File { path: path.into(), source };
    // Temporary files are private; results are as readable as anything else the user writes.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(file.path(), fs::Permissions::from_mode(0o644)).map_err(complaint)?;
    }
    file.persist(path).map_err(|error| complaint(error.error))?;
    Ok(())
}
