//! A file that describes a link alone, with the keys that experiments have for it.

use std::collections::BTreeMap;
use std::path::Path;

use headway_link::LinkConfig;
use headway_scenario::{Defaults, KeyError, Traces, keys};

use super::keys::unknown;
use super::place::{line_of, malformed, one_line};
use crate::error::LabError;

/// The keys of a link.
fn link_keys() -> impl Iterator<Item = &'static str> + Clone {
    keys().iter().filter(|key| key.scope.is_of_link()).map(|key| key.name)
}

/// Reads the forward and the reverse path from a TOML file with the keys of a link, at its top or in a table
/// `[scenario]`. What it does not say has the defaults of experiments; a queue in bandwidth-delay products
/// counts packets of `mtu` bytes. Traces are looked for in the folder of the file.
///
/// # Errors
///
/// The file is unreadable, malformed, or asks for something that makes no sense; the error names file,
/// line and key, and says what is allowed.
pub fn load_links(path: &Path, mtu: u16) -> Result<[LinkConfig; 2], LabError> {
    let text =
        std::fs::read_to_string(path).map_err(|source| LabError::Unreadable { path: path.into(), source })?;
    let traces = Traces::in_folder(path.parent().unwrap_or(Path::new("")));
    parse_links(&path.display().to_string(), &text, mtu, &traces)
}

/// Reads the text of a file that is called `file` in errors, with its traces from elsewhere.
///
/// # Errors
///
/// As [`load_links`].
pub fn parse_links(
    file: &str,
    text: &str,
    mtu: u16,
    traces: &Traces<'_>,
) -> Result<[LinkConfig; 2], LabError> {
    let table: toml::Table = text.parse().map_err(|error| malformed(file, text, &error))?;
    let complaint = |key: &str, problem: String| LabError::Invalid {
        file: file.into(),
        line: line_of(key, text),
        key: one_line(key),
        problem: one_line(&problem),
    };
    let table = match (table.get("scenario"), table.len()) {
        (Some(toml::Value::Table(scenario)), 1) => scenario,
        (Some(_), _) => {
            let problem = "expected a table of a link's keys, and nothing beside it";
            return Err(complaint("scenario", problem.into()));
        }
        (None, _) => &table,
    };
    for (key, value) in table {
        if !link_keys().any(|known| known == key) {
            let problem = match headway_scenario::key(key) {
                Some(_) => {
                    let names: Vec<&str> = link_keys().collect();
                    format!("is not about the link: expected one of {}", names.join(", "))
                }
                None => unknown(key, link_keys()),
            };
            return Err(complaint(key, problem));
        }
        if text_of(value).is_none() {
            let kind = value.type_str();
            let problem =
                format!("a value of the kind {kind}: expected a number, or a text such as \"10mbit\"");
            return Err(complaint(key, problem));
        }
    }
    let mut given: BTreeMap<&str, String> =
        table.iter().filter_map(|(key, value)| Some((key.as_str(), text_of(value)?))).collect();
    given.insert("mtu", mtu.to_string());
    let settings = headway_scenario::read(|key| given.get(key).map(String::as_str), Defaults::Files, traces)
        .map_err(|KeyError { key, problem }| complaint(key, problem))?;
    Ok([settings.scenario.forward, settings.scenario.reverse])
}

/// A scalar as text; `None` if it is not a scalar.
fn text_of(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Float(number) => Some(number.to_string()),
        _ => None,
    }
}
