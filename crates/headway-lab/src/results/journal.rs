//! Rows as they come: a line of JSON each, so that an interrupted sweep loses nothing.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Row;
use crate::error::LabError;

const FILE: &str = "runs.jsonl";

#[derive(Serialize, Deserialize)]
struct Line {
    key: String,
    #[serde(default)]
    code: String,
    row: Row,
}

/// A row that is there, and the code that made it.
#[derive(Clone)]
pub(crate) struct Made {
    pub(crate) row: Row,
    pub(crate) code: String,
}

/// The file that rows are appended to.
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
}

impl Journal {
    /// The rows that are there already; of those with the same key, the last. An incomplete last line is ignored.
    pub(crate) fn read(folder: &Path) -> Result<BTreeMap<String, Made>, LabError> {
        let path = folder.join(FILE);
        let text = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(source) => return Err(LabError::Unreadable { path, source }),
        };
        let mut rows = BTreeMap::new();
        for (number, line) in text.split_inclusive(|&byte| byte == b'\n').enumerate() {
            let Some(whole) = line.strip_suffix(b"\n") else { break };
            let line: Line = serde_json::from_slice(whole).map_err(|error| LabError::Malformed {
                file: path.display().to_string(),
                line: number + 1,
                problem: format!("expected a row of results: {error}"),
            })?;
            rows.insert(line.key, Made { row: line.row, code: line.code });
        }
        Ok(rows)
    }

    /// Opens the file to append to it, after cutting off a line that was only half written.
    pub(crate) fn open(folder: &Path) -> Result<Self, LabError> {
        let path = folder.join(FILE);
        let complaint =
            |error: io::Error| LabError::Unwritable { path: path.clone(), problem: error.to_string() };
        let file = OpenOptions::new().create(true).append(true).read(true).open(&path).map_err(complaint)?;
        let written = std::fs::read(&path).map_err(complaint)?;
        let whole = written.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
        file.set_len(whole as u64).map_err(complaint)?;
        Ok(Self { path, file })
    }

    /// Appends a row.
    pub(crate) fn append(&mut self, key: &str, made: &Made) -> Result<(), LabError> {
        let line = Line { key: key.into(), code: made.code.clone(), row: made.row.clone() };
        let mut text = serde_json::to_string(&line).unwrap_or_default();
        text.push('\n');
        // One write a line: what is interrupted is at most the last.
        self.file
            .write_all(text.as_bytes())
            .map_err(|error| LabError::Unwritable { path: self.path.clone(), problem: error.to_string() })
    }
}
