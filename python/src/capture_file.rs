//! A file that is written whole or not at all.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use tempfile::NamedTempFile;

/// A file that is being written.
pub(crate) enum CaptureFile {
    /// Beside the place that it takes when it is complete.
    Temporary(NamedTempFile),
    /// A device, a pipe or what a link leads to: they are written to, not replaced.
    InPlace(File),
}

impl CaptureFile {
    pub(crate) fn begin(path: &Path) -> io::Result<Self> {
        if path.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if fs::symlink_metadata(path).is_ok_and(|found| !found.is_file()) {
            return File::create(path).map(Self::InPlace);
        }
        let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        NamedTempFile::new_in(folder).map(Self::Temporary).map_err(without_path)
    }

    /// Puts the complete file where it belongs.
    pub(crate) fn finish(self, path: &Path) -> io::Result<()> {
        let Self::Temporary(file) = self else { return Ok(()) };
        // Temporary files are private; captures are as readable as anything else the user writes.
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            fs::set_permissions(file.path(), fs::Permissions::from_mode(0o644))?;
        }
        file.persist(path).map(drop).map_err(|error| error.error)
    }
}

/// The system's reason alone: what `tempfile` adds is the name of a file that the caller did not ask for.
fn without_path(error: io::Error) -> io::Error {
    match error.to_string().split_once(" at path \"") {
        Some((reason, _)) => io::Error::new(error.kind(), reason),
        None => error,
    }
}

impl Write for CaptureFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Temporary(file) => file.write(bytes),
            Self::InPlace(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Temporary(file) => file.flush(),
            Self::InPlace(file) => file.flush(),
        }
    }
}
