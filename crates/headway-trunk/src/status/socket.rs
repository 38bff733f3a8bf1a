//! The place of the Unix socket at which a running gateway is asked. Nothing but a socket is ever removed from it.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};

use crate::TrunkError;

/// The socket of a running gateway. It is removed when this is dropped.
#[derive(Debug)]
pub struct StatusSocket {
    path: PathBuf,
    /// Device and inode: what has taken its place since is another's.
    identity: (u64, u64),
}

impl StatusSocket {
    /// Listens at `path`. A socket at which no one answers was left behind by a gateway that was killed, and is replaced.
    ///
    /// # Errors
    ///
    /// Something else is there, another gateway answers, or the folder is missing.
    pub fn bind(path: &Path) -> Result<(Self, UnixListener), TrunkError> {
        check(path)?;
        let failed = |error: io::Error| refused(path, error.to_string());
        match UnixStream::connect(path) {
            Ok(_) => return Err(refused(path, "at which another gateway answers".into())),
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                fs::remove_file(path).map_err(failed)?;
            }
            Err(_) => {}
        }
        let listener = UnixListener::bind(path).map_err(failed)?;
        let identity = identity(&fs::symlink_metadata(path).map_err(failed)?);
        Ok((Self { path: path.into(), identity }, listener))
    }
}

impl Drop for StatusSocket {
    fn drop(&mut self) {
        if fs::symlink_metadata(&self.path).is_ok_and(|there| identity(&there) == self.identity) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// The path of the status socket that the configuration at `config` names, if it names one. Nothing else in it is looked
/// at, and it may be wrong: a running gateway can be asked while its configuration is being edited.
///
/// # Errors
///
/// The file cannot be read, the path is no text, or what is wrong with the file hides it.
pub fn status_socket(config: &Path) -> Result<Option<PathBuf>, TrunkError> {
    let text =
        fs::read_to_string(config).map_err(|source| TrunkError::File { path: config.into(), source })?;
    let (found, errors) = DeTable::parse_recoverable(&text);
    let gateway = found.get_ref().get("gateway").and_then(|gateway| gateway.get_ref().as_table());
    match (gateway.and_then(|gateway| gateway.get("status-socket")), errors.first()) {
        (Some(socket), _) => match socket.get_ref() {
            DeValue::String(socket) => {
                Ok(Some(config.parent().unwrap_or(Path::new(".")).join(socket.as_ref())))
            }
            other => {
                let got = format!("a value of the kind {}", other.type_str());
                let wrong = TrunkError::value("gateway.status-socket", got, "a path in quotes");
                Err(TrunkError::Invalid { path: config.into(), source: Box::new(wrong) })
            }
        },
        (None, Some(error)) => Err(TrunkError::of_toml(config, &text, error)),
        (None, None) => Ok(None),
    }
}

/// Checks that a gateway could listen at `path`: that nothing or a socket is there, in a folder.
pub(crate) fn check(path: &Path) -> Result<(), TrunkError> {
    let there = match fs::symlink_metadata(path) {
        Ok(there) => there.file_type(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // A relative path without a folder begins at the present one.
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            return match folder.map(fs::metadata) {
                Some(Err(error)) => Err(refused(path, format!("whose folder cannot be used ({error})"))),
                _ => Ok(()),
            };
        }
        Err(error) => return Err(refused(path, error.to_string())),
    };
    let what = match there {
        there if there.is_socket() => return Ok(()),
        there if there.is_dir() => "which is a folder",
        there if there.is_file() => "which is a file",
        there if there.is_symlink() => "which is a symbolic link",
        _ => "which is a device or a pipe",
    };
    Err(refused(path, what.into()))
}

fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

fn refused(path: &Path, why: String) -> TrunkError {
    let expected = "a new path in a folder that exists, or a socket that a gateway has left there";
    TrunkError::value("gateway.status-socket", format!("{}, {why}", path.display()), expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_that_is_left_is_replaced_and_nothing_else_is_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("socket");
        // Dropping a listener leaves its socket, as a gateway does that is killed.
        drop(UnixListener::bind(&path).expect("a socket"));
        let (socket, listener) = StatusSocket::bind(&path).expect("a socket");
        let error = StatusSocket::bind(&path).expect_err("it is in use").to_string();
        assert!(error.contains("socket, at which another gateway answers: expected a new path"), "{error}");
        drop((socket, listener));
        assert!(!path.exists());

        fs::write(&path, "a secret").expect("a file");
        let error = StatusSocket::bind(&path).expect_err("a file").to_string();
        assert!(error.contains("socket, which is a file: expected"), "{error}");
        assert_eq!(fs::read_to_string(&path).expect("the file"), "a secret");
        fs::remove_file(&path).expect("removed");

        // What has taken its place while it ran stays.
        let (socket, _listener) = StatusSocket::bind(&path).expect("a socket");
        fs::remove_file(&path).expect("removed");
        fs::write(&path, "another's").expect("a file");
        drop(socket);
        assert_eq!(fs::read_to_string(&path).expect("the file"), "another's");
    }
}
