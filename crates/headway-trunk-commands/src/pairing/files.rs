//! Files that pairing writes: whole or not at all, and none in the place of another that was not read.

use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown};
use std::path::{Path, PathBuf};

use headway_command::output;
use rustix::fs::{FlockOperation, flock};
use tempfile::NamedTempFile;

use super::error::PairingError;

/// Who can read a file: its owner, and everyone.
pub(super) const PRIVATE: u32 = 0o600;
pub(super) const PUBLIC: u32 = 0o644;

/// The folder of a configuration, made if there is none. While this is held, no other command of pairing changes what is in it.
pub(super) struct Folder {
    path: PathBuf,
    _lock: File,
}

impl Folder {
    /// That of the configuration at `config`.
    pub(super) fn of(config: &Path) -> Result<Self, PairingError> {
        let path = config.parent().filter(|folder| !folder.as_os_str().is_empty());
        let path = path.unwrap_or(Path::new(".")).to_owned();
        output::create_directory(&path)?;
        let lock = File::open(&path).map_err(|source| PairingError::file(&path, source))?;
        flock(&lock, FlockOperation::LockExclusive)
            .map_err(|error| PairingError::file(&path, error.into()))?;
        Ok(Self { path, _lock: lock })
    }

    /// Writes a new file in it.
    pub(super) fn create(&self, path: &Path, text: &str, mode: u32) -> Result<(), PairingError> {
        let failed = |source| PairingError::file(path, source);
        let file = self.written(text, mode).map_err(failed)?;
        match file.persist_noclobber(path) {
            Ok(_) => Ok(()),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
                Err(PairingError::Exists { path: path.into() })
            }
            Err(error) => Err(failed(error.error)),
        }
    }

    /// Puts another text into a file of it, which keeps its owner and its permissions.
    pub(super) fn replace(&self, path: &Path, text: &str) -> Result<(), PairingError> {
        let failed = |source| PairingError::file(path, source);
        // A link stays one.
        let place = fs::canonicalize(path).map_err(failed)?;
        let before = fs::metadata(&place).map_err(failed)?;
        let folder = place.parent().unwrap_or(&self.path);
        let file = written_in(folder, text, before.mode() & 0o7777).map_err(failed)?;
        let now = file.as_file().metadata().map_err(failed)?;
        if (now.uid(), now.gid()) != (before.uid(), before.gid()) {
            fchown(file.as_file(), Some(before.uid()), Some(before.gid())).map_err(failed)?;
        }
        file.persist(&place).map_err(|error| failed(error.error))?;
        Ok(())
    }

    fn written(&self, text: &str, mode: u32) -> io::Result<NamedTempFile> {
        written_in(&self.path, text, mode)
    }
}

fn written_in(folder: &Path, text: &str, mode: u32) -> io::Result<NamedTempFile> {
    let mut file = NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().set_permissions(Permissions::from_mode(mode))?;
    file.as_file().sync_all()?;
    Ok(file)
}
