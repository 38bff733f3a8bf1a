//! Rows as they come: a line of JSON each, so that an interrupted sweep loses nothing.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Row;
use super::writer;
use crate::error::LabError;

const FILE: &str = "runs.jsonl";

/// A line: a row, and what it is known by.
#[derive(Serialize, Deserialize)]
pub(crate) struct Line {
    pub(crate) key: String,
    #[serde(default)]
    pub(crate) code: String,
    pub(crate) row: Row,
}

impl Line {
    /// The line of a row.
    pub(crate) fn of(key: &str, made: &Made) -> Self {
        Self { key: key.into(), code: made.code.clone(), row: made.row.clone() }
    }

    /// Reads a line without or with its end.
    pub(crate) fn parse(text: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(text).map_err(|error| format!("expected a row of results: {error}"))
    }

    /// Its text, with the end of the line.
    pub(crate) fn text(&self) -> String {
        // Strings and numbers: nothing in it can fail to serialize.
        let mut text = serde_json::to_string(self).unwrap_or_default();
        text.push('\n');
        text
    }
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
            let line = Line::parse(whole).map_err(|problem| LabError::Malformed {
                file: path.display().to_string(),
                line: number + 1,
                problem,
            })?;
            rows.insert(line.key, Made { row: line.row, code: line.code });
        }
        Ok(rows)
    }

    /// Opens the file to append to it, as the only program that does, after cutting off a line that was only half written.
    pub(crate) fn open(folder: &Path) -> Result<Self, LabError> {
        let path = folder.join(FILE);
        let complaint =
            |error: io::Error| LabError::Unwritable { path: path.clone(), problem: error.to_string() };
        let file = OpenOptions::new().create(true).append(true).read(true).open(&path).map_err(complaint)?;
        writer::lock(folder, &file)?;
        let written = std::fs::read(&path).map_err(complaint)?;
        let whole = written.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
        file.set_len(whole as u64).map_err(complaint)?;
        Ok(Self { path, file })
    }

    /// Appends a row.
    pub(crate) fn append(&mut self, key: &str, made: &Made) -> Result<(), LabError> {
        // One write a line: what is interrupted is at most the last.
        self.file
            .write_all(Line::of(key, made).text().as_bytes())
            .map_err(|error| LabError::Unwritable { path: self.path.clone(), problem: error.to_string() })
    }
}
