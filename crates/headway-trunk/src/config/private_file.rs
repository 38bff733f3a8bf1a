//! Files with secrets: read only if no one else can read or replace what is in them.

use std::fs::{File, Metadata};
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::str::FromStr;

use headway_trunk_proto::KeyError;
use rustix::process::geteuid;
use zeroize::Zeroizing;

use crate::TrunkError;

/// No file with a key has more bytes.
const LONGEST: usize = 1024;

/// Reads the secret in the file at `path`, which the configuration's `key` names. What is checked is the file that is read:
/// it is opened once.
pub(crate) fn read<T: FromStr<Err = KeyError>>(key: &str, path: &Path) -> Result<T, TrunkError> {
    let failed = |source| TrunkError::KeyFile { key: key.into(), path: path.into(), source };
    let file = File::open(path).map_err(failed)?;
    check(path, &file.metadata().map_err(failed)?)?;
    // It has room for all, so no part of it is left where a shorter one was.
    let mut text = Zeroizing::new(String::with_capacity(2 * LONGEST));
    file.take(LONGEST as u64).read_to_string(&mut text).map_err(failed)?;
    let parsed = text.trim().parse();
    parsed.map_err(|error: KeyError| TrunkError::Syntax { path: path.into(), message: error.to_string() })
}

/// Whether only its owner can read it, and that is the user who runs this or root.
fn check(path: &Path, file: &Metadata) -> Result<(), TrunkError> {
    let (owner, user) = (file.uid(), geteuid().as_raw());
    if !is_trusted(owner, user) {
        return Err(TrunkError::Owner { path: path.into(), owner, user });
    }
    let mode = file.mode() & 0o7777;
    // A credential of systemd belongs to root and its group, and is readable for a service by an ACL, which shows as the bits of
    // the group.
    let others = if (owner, file.gid()) == (0, 0) { 0o037 } else { 0o077 };
    if mode & others != 0 {
        return Err(TrunkError::Exposed { path: path.into(), mode });
    }
    Ok(())
}

/// Whether a file of this owner is of `user` or of root.
fn is_trusted(owner: u32, user: u32) -> bool {
    [user, 0].contains(&owner)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use headway_trunk_proto::SecretKey;

    use super::*;

    fn write(folder: &Path, name: &str, byte: u8, mode: u32) -> PathBuf {
        let path = folder.join(name);
        fs::write(&path, SecretKey::from_bytes([byte; 32]).to_base64()).expect("a file");
        fs::set_permissions(&path, Permissions::from_mode(mode)).expect("permissions");
        path
    }

    fn secret(path: &Path) -> Result<SecretKey, String> {
        read("gateway.key-file", path).map_err(|error| error.to_string())
    }

    #[test]
    fn a_secret_that_others_can_read_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        for mode in [0o400, 0o600, 0o700] {
            assert_eq!(secret(&write(folder.path(), "key", 1, mode)), Ok(SecretKey::from_bytes([1; 32])));
        }
        for bit in [0o020, 0o010, 0o004, 0o002, 0o001] {
            let error = secret(&write(folder.path(), "key", 1, 0o600 | bit)).expect_err("exposed");
            assert!(error.contains(&format!("(mode {:o})", 0o600 | bit)), "{error}");
        }
    }

    /// Needs root, as whom the tests run.
    #[test]
    fn a_secret_of_another_user_is_refused() {
        if !geteuid().is_root() {
            return;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let path = write(folder.path(), "key", 1, 0o440);
        assert!(secret(&path).is_ok(), "as systemd hands it over");
        chown(&path, None, Some(4321)).expect("a group");
        assert!(secret(&path).expect_err("another group").contains("(mode 440)"));
        fs::set_permissions(&path, Permissions::from_mode(0o400)).expect("permissions");
        assert!(secret(&path).is_ok(), "the group cannot read it");
        chown(&path, Some(4321), None).expect("an owner");
        let error = secret(&path).expect_err("another owner");
        assert!(error.contains("belongs to user 4321: expected user 0"), "{error}");
    }

    #[test]
    fn a_secret_belongs_to_its_user_or_to_root() {
        let of_7 = [0, 7, 8].map(|owner| is_trusted(owner, 7));
        let of_root = [0, 7].map(|owner| is_trusted(owner, 0));
        assert_eq!((of_7, of_root), ([true, true, false], [true, false]));
    }

    #[test]
    fn a_file_that_is_longer_than_a_key_is_not_read_to_its_end() {
        let error = read::<SecretKey>("key", Path::new("/dev/zero")).expect_err("no key").to_string();
        assert!(error.contains("others can read") || error.contains("1024 characters"), "{error}");
        let folder = tempfile::tempdir().expect("a folder");
        let path = write(folder.path(), "key", 1, 0o600);
        fs::write(&path, "A".repeat(5000)).expect("a file");
        assert!(secret(&path).expect_err("no key").contains("1024 characters"));
    }

    /// What was checked is what is read, also while the name is moved to another file all the time.
    #[test]
    fn the_file_that_is_read_is_the_one_that_was_checked() {
        let folder = tempfile::tempdir().expect("a folder");
        let (key, ends) = (folder.path().join("key"), AtomicBool::new(false));
        let files = [write(folder.path(), "mine", 1, 0o600), write(folder.path(), "open", 2, 0o644)];
        symlink(&files[0], &key).expect("a link");
        thread::scope(|scope| {
            scope.spawn(|| {
                let new = folder.path().join("new");
                for file in files.iter().cycle() {
                    symlink(file, &new).and_then(|()| fs::rename(&new, &key)).expect("another link");
                    if ends.load(Ordering::Relaxed) {
                        return;
                    }
                }
            });
            let read: Vec<_> = (0..20000).map(|_| secret(&key)).collect();
            ends.store(true, Ordering::Relaxed);
            assert!(read.iter().all(|read| *read != Ok(SecretKey::from_bytes([2; 32]))));
        });
    }
}
