//! Resolves request paths in the served folder.

use std::io;
use std::path::{Component, Path, PathBuf};

use crate::http::percent_decode;

use super::ServeError;

/// A folder whose files are served. Files outside of it are never served, neither by `..` nor by a link.
pub(super) struct Folder {
    root: PathBuf,
    pub(super) writable: bool,
}

/// Why a request is refused.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The path is invalid.
    BadPath,
    /// It leaves the folder.
    Outside,
    /// The system's error.
    Io(io::Error),
}

impl Folder {
    pub(super) fn open(path: &Path, writable: bool) -> Result<Self, ServeError> {
        let fail = |source| ServeError::Folder { path: path.into(), source };
        let root = path.canonicalize().map_err(fail)?;
        if !root.is_dir() {
            return Err(fail(io::Error::from(io::ErrorKind::NotADirectory)));
        }
        Ok(Self { root, writable })
    }

    /// The existing file or folder.
    pub(super) fn find(&self, path: &str) -> Result<PathBuf, Refusal> {
        let found = self.root.join(relative(path)?).canonicalize().map_err(Refusal::Io)?;
        if self.contains(&found) { Ok(found) } else { Err(Refusal::Outside) }
    }

    /// Whether a path without links is in the folder.
    pub(super) fn contains(&self, path: &Path) -> bool {
        path.starts_with(&self.root)
    }

    /// The path of a file to create, in an existing folder.
    pub(super) fn place(&self, path: &str) -> Result<PathBuf, Refusal> {
        let relative = relative(path)?;
        let name = relative.file_name().ok_or(Refusal::BadPath)?.to_owned();
        let parent = self.root.join(relative.parent().unwrap_or(Path::new("")));
        let parent = parent.canonicalize().map_err(Refusal::Io)?;
        if !self.contains(&parent) {
            return Err(Refusal::Outside);
        }
        Ok(parent.join(name))
    }
}

/// The path without its leading slash, if it has no `..`.
fn relative(path: &str) -> Result<PathBuf, Refusal> {
    let decoded = percent_decode(path).filter(|path| !path.contains('\0')).ok_or(Refusal::BadPath)?;
    let relative = Path::new(decoded.trim_start_matches('/')).to_owned();
    let goes_down =
        relative.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if goes_down { Ok(relative) } else { Err(Refusal::Outside) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn nothing_outside_is_found() {
        let outside = tempfile::tempdir().unwrap();
        let root = outside.path().join("root");
        fs::create_dir_all(root.join("in")).unwrap();
        fs::write(outside.path().join("secret"), "secret").unwrap();
        fs::write(root.join("in/a file"), "a").unwrap();
        std::os::unix::fs::symlink(outside.path(), root.join("link")).unwrap();
        let folder = Folder::open(&root, true).unwrap();
        assert!(folder.find("/in/a%20file").is_ok());
        assert!(folder.find("//in//a%20file").is_ok());
        assert!(matches!(folder.find("/../secret"), Err(Refusal::Outside)));
        assert!(matches!(folder.find("/in/%2e%2e/../secret"), Err(Refusal::Outside)));
        assert!(matches!(folder.find("/link/secret"), Err(Refusal::Outside)));
        assert!(matches!(folder.find("/in/%00"), Err(Refusal::BadPath)));
        assert!(matches!(folder.find("/nothing"), Err(Refusal::Io(_))));
        assert!(folder.place("/in/new").is_ok());
        assert!(matches!(folder.place("/link/new"), Err(Refusal::Outside)));
        assert!(matches!(folder.place("/"), Err(Refusal::BadPath)));
        assert!(Folder::open(&root.join("in/a file"), false).is_err(), "a file is not a folder");
    }
}
