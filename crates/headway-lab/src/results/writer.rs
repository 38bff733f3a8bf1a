//! The one program that writes to a folder of results: it holds a lock on the journal, which ends with it, however it ends.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock, major, minor};
use rustix::io::Errno;

use crate::error::LabError;

/// How often the lock is tried, and how long between two times: what a program that was killed has started ends a moment
/// after it.
const TRIES: usize = 10;
const PAUSE: Duration = Duration::from_millis(100);

/// Takes the lock of the journal of this folder.
///
/// # Errors
///
/// Another program has it, or another sweep of this one.
pub(super) fn lock(folder: &Path, journal: &File) -> Result<(), LabError> {
    for _ in 0..TRIES {
        match flock(journal, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => sleep(PAUSE),
            // Also on a file system that has no locks: there, it is left to the user.
            _ => return Ok(()),
        }
    }
    let writer = writer(journal).unwrap_or_else(|| "another program".into());
    Err(LabError::InUse { folder: folder.into(), writer })
}

/// The process that holds the lock, as the kernel tells it in `/proc/locks`: `process 1234 (headway lab run my.toml)`.
fn writer(journal: &File) -> Option<String> {
    let file = journal.metadata().ok()?;
    let place = format!("{:02x}:{:02x}:{}", major(file.dev()), minor(file.dev()), file.ino());
    let locks = fs::read_to_string("/proc/locks").ok()?;
    // `1: FLOCK  ADVISORY  WRITE 1234 08:01:56789 0 EOF`
    let process = locks.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        matches!(words[..], [_, "FLOCK", _, _, _, held, ..] if held == place).then(|| words[4].to_owned())
    })?;
    let command = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    let command = String::from_utf8_lossy(&command).trim_end_matches('\0').replace(['\0', '\n'], " ");
    Some(if command.is_empty() {
        format!("process {process}")
    } else {
        format!("process {process} ({command})")
    })
}
