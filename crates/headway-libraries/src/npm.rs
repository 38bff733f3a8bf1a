//! npm, which installs exactly what the lock file names.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use super::error::LibrariesError;

/// Installs the packages of a lock file into `folder/node_modules`. npm compares each with its hash, and runs none of
/// their scripts.
pub(super) fn install(folder: &Path, package: &str, lock: &str) -> Result<(), LibrariesError> {
    for (name, text) in [("package.json", package), ("package-lock.json", lock)] {
        let path = folder.join(name);
        fs::write(&path, text).map_err(|source| LibrariesError::Unwritable { path, source })?;
    }
    let output = Command::new("npm")
        .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1", "--loglevel=error"])
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => LibrariesError::NoNpm,
            _ => LibrariesError::Npm { reason: error.to_string() },
        })?;
    if output.status.success() {
        return Ok(());
    }
    Err(LibrariesError::Npm {
        reason: reason(&String::from_utf8_lossy(&output.stderr), &output.status.to_string()),
    })
}

/// What npm complained of, in one line: all but the codes and the place of its log.
fn reason(complaint: &str, status: &str) -> String {
    let said = complaint.lines().filter_map(|line| line.strip_prefix("npm error "));
    let mut sentences = said.filter(|line| {
        let first = line.split(' ').next().unwrap_or_default();
        !matches!(first, "code" | "errno" | "syscall" | "path" | "A" | "") && line.contains(' ')
    });
    sentences
        .next()
        .map_or_else(|| status.to_owned(), |line| line.trim().trim_end_matches(['.', ',']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_a_sentence() {
        let complaint = "npm error code ENOTFOUND\nnpm error syscall getaddrinfo\nnpm error errno ENOTFOUND\n\
                         npm error network request to https://example.org/d3 failed, reason: none.\n\
                         npm error A complete log of this run can be found in: /x\n";
        assert_eq!(
            reason(complaint, "exit status: 1"),
            "network request to https://example.org/d3 failed, reason: none"
        );
        assert_eq!(reason("", "exit status: 1"), "exit status: 1");
    }
}
