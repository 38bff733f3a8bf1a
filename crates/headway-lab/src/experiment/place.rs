//! Where in the text of a file a key is, or an error.

use headway_toml::Problem;

use super::file::{HOP, HOPS};
use crate::error::LabError;

/// The line on which `key` is set in a file's `text`, or where it would be expected; counted from 1. Hops may be tables.
pub(super) fn line_of(key: &str, text: &str) -> usize {
    let tables = || if key == HOPS { find(&format!("scenario.{HOP}"), text) } else { None };
    find(key, text).or_else(tables).unwrap_or(1)
}

fn find(key: &str, text: &str) -> Option<usize> {
    let sets = |line: &str| {
        let line = line.trim_start();
        let named = line.strip_prefix('[').map_or(line, |rest| rest.trim_start_matches('['));
        named
            .trim_start_matches('"')
            .strip_prefix(key)
            .is_some_and(|rest| rest.trim_start_matches('"').trim_start().starts_with(['=', ']']))
    };
    text.lines().position(sets).map(|line| line + 1)
}

/// What is wrong with the TOML of a file.
pub(super) fn malformed(file: &str, text: &str, error: &toml::de::Error) -> LabError {
    let Problem { line, text: problem } = Problem::of(text, error);
    LabError::Malformed { file: file.into(), line, problem: one_line(&problem) }
}

/// `text` in one line: texts of TOML may hold control characters, which are shown as they are written in TOML.
pub(super) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
    }
    line
}
