//! From axes to cells.

use indexmap::IndexMap;

use super::Cell;
use super::file::{ExperimentFile, line_of};
use super::scenario::{Complaint, KEYS, Settings, direction, is_key, is_of_sender};
use crate::damage::{DamageError, Traces};
use crate::error::LabError;

/// The fates of all recorded links that cells name, as text, by the setting that names them.
pub(super) fn recordings(
    cells: &[Cell],
    traces: &Traces<'_>,
) -> Result<IndexMap<String, String>, DamageError> {
    let mut recordings = IndexMap::new();
    for (key, value) in cells.iter().flat_map(|cell| &cell.settings) {
        let Some(direction) = direction(key) else { continue };
        let setting = format!("{key}={value}");
        if recordings.contains_key(&setting) {
            continue;
        }
        if let Some(fates) = traces.fates(value, direction)? {
            recordings.insert(setting, fates);
        }
    }
    Ok(recordings)
}

/// Every combination of the axes, the last axis changing fastest.
pub(super) fn enumerate(
    read: &ExperimentFile,
    file: &str,
    text: &str,
    traces: &Traces<'_>,
) -> Result<Vec<Cell>, LabError> {
    let mut combinations: Vec<IndexMap<String, String>> = vec![IndexMap::new()];
    for (axis, values) in &read.sweep {
        combinations = combinations
            .iter()
            .flat_map(|combination| {
                values.iter().map(move |value| {
                    let mut longer = combination.clone();
                    longer.insert(axis.clone(), value.to_string());
                    longer
                })
            })
            .collect();
    }
    combinations
        .into_iter()
        .filter(|values| !read.skips(values))
        .filter_map(|values| cell(read, values, file, text, traces).transpose())
        .collect()
}

/// `None` where the clock is an axis, and the sender none of that clock's.
fn cell(
    read: &ExperimentFile,
    values: IndexMap<String, String>,
    file: &str,
    text: &str,
    traces: &Traces<'_>,
) -> Result<Option<Cell>, LabError> {
    let complaint = |key: &str, problem: String| LabError::Invalid {
        file: file.into(),
        line: line_of(key, text),
        key: key.into(),
        problem,
    };
    // An axis with the name of a key sets that key.
    let mut keys: IndexMap<&str, String> = IndexMap::new();
    for (key, value) in &read.scenario {
        if !is_key(key) {
            return Err(complaint(key, format!("unknown key: expected one of {}", KEYS.join(", "))));
        }
        // Twice: what an axis puts in may name other axes.
        let value = fill(&value.to_string(), &values)
            .and_then(|value| fill(&value, &values))
            .map_err(|problem| complaint(key, problem))?;
        keys.insert(key, value);
    }
    for (axis, value) in &values {
        if is_key(axis) && !keys.contains_key(axis.as_str()) {
            keys.insert(axis, value.clone());
        }
    }
    let given = in_order(&keys);
    let mut settings = Settings::new();
    for (key, value) in &given {
        settings.set(key, value, traces).map_err(|problem| complaint(key, problem))?;
    }
    if values.contains_key("clock") && !settings.is_possible() {
        return Ok(None);
    }
    let sender = settings.sender().map_err(|Complaint { key, problem }| complaint(key, problem))?;
    // A trace is what its file says, not what the file is called.
    let mut recorded = Vec::new();
    for (key, value) in &given {
        let Some(direction) = direction(key) else { continue };
        let digest = traces.digest(value, direction).map_err(|error| complaint(key, error.to_string()))?;
        recorded.extend(digest.map(|digest| format!("{key}-fates={digest}")));
    }
    let write = |with: &dyn Fn(&str) -> bool| {
        let mut lines: Vec<String> =
            given.iter().filter(|(key, _)| with(key)).map(|(key, value)| format!("{key}={value}")).collect();
        lines.extend(recorded.iter().cloned());
        lines.join("\n")
    };
    Ok(Some(Cell {
        identity: write(&|_| true),
        fate: write(&|key| !is_of_sender(key)),
        values,
        clock: settings.clock,
        sender,
        size: settings.size(),
        scenario: settings.scenario,
        settings: given,
    }))
}

/// In a fixed order, since some keys build on others.
fn in_order(keys: &IndexMap<&str, String>) -> IndexMap<String, String> {
    KEYS.iter().filter_map(|key| Some(((*key).to_owned(), keys.get(*key)?.clone()))).collect()
}

/// Puts axis values in the place of `{axis}`.
fn fill(template: &str, values: &IndexMap<String, String>) -> Result<String, String> {
    let mut filled = String::new();
    let mut rest = template;
    while let Some(start) = rest.find('{') {
        let Some(length) = rest[start..].find('}') else {
            return Err(format!("{template:?}: expected a closing brace"));
        };
        let axis = &rest[start + 1..start + length];
        let Some(value) = values.get(axis) else {
            let axes: Vec<&str> = values.keys().map(String::as_str).collect();
            return Err(format!("{{{axis}}} is no axis: expected one of {}", axes.join(", ")));
        };
        filled.push_str(&rest[..start]);
        filled.push_str(value);
        rest = &rest[start + length + 1..];
    }
    filled.push_str(rest);
    Ok(filled)
}
