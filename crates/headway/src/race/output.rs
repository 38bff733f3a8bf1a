//! Files that are written whole or not at all.

use std::fs;
use std::path::Path;

use tempfile::NamedTempFile;

use crate::failure::Failure;

pub(crate) fn create_directory(path: &Path) -> Result<(), Failure> {
    fs::create_dir_all(path).map_err(|source| Failure::Output { path: path.into(), source })
}

/// A file beside `path` that takes its place when it is complete.
pub(crate) fn begin(path: &Path) -> Result<NamedTempFile, Failure> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    NamedTempFile::new_in(directory).map_err(|source| Failure::Output { path: path.into(), source })
}

/// Puts a complete file where it belongs.
pub(crate) fn finish(file: NamedTempFile, path: &Path) -> Result<(), Failure> {
    let complaint = |source| Failure::Output { path: path.into(), source };
    // Temporary files are private; results are as readable as anything else the user writes.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(file.path(), fs::Permissions::from_mode(0o644)).map_err(complaint)?;
    }
    file.persist(path).map_err(|error| complaint(error.error))?;
    Ok(())
}
