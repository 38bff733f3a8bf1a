//! A file that describes a link alone, with the keys that experiments have for it.

use std::path::Path;

use headway_link::LinkConfig;

use super::file::{line_of, malformed};
use super::scenario::{KEYS, Settings};
use crate::damage::Traces;
use crate::error::LabError;

/// The keys of `[scenario]` that describe the link and its damage, in the order in which they are applied.
pub const LINK_KEYS: [&str; 17] = [
    "rate",
    "reverse-rate",
    "delay",
    "queue",
    "mark",
    "overhead",
    "jitter",
    "loss",
    "duplicate",
    "reorder",
    "reorder-delay",
    "damage",
    "reverse-damage",
    "header-hit",
    "hit-zone",
    "flips",
    "frame-check",
];

/// Reads the way of the data and the way back from a TOML file of [`LINK_KEYS`], at its top or in a table
/// `[scenario]`. What it does not say has the defaults of experiments; a queue in bandwidth-delay products
/// counts packets of `mtu` octets. Traces are looked for in the folder of the file.
///
/// # Errors
///
/// The file is unreadable, malformed, or asks for something that makes no sense; the error names file,
/// line and key, and says what is allowed.
pub fn load_links(path: &Path, mtu: u16) -> Result<[LinkConfig; 2], LabError> {
    let text =
        std::fs::read_to_string(path).map_err(|source| LabError::Unreadable { path: path.into(), source })?;
    let file = path.display().to_string();
    let table: toml::Table = text.parse().map_err(|error| malformed(&file, &text, &error))?;
    let complaint = |key: &str, problem: String| LabError::Invalid {
        file: file.clone(),
        line: line_of(key, &text),
        key: key.into(),
        problem,
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
        if !LINK_KEYS.contains(&key.as_str()) {
            let problem = if KEYS.contains(&key.as_str()) { "is not about the link" } else { "unknown key" };
            return Err(complaint(key, format!("{problem}: expected one of {}", LINK_KEYS.join(", "))));
        }
        if text_of(value).is_none() {
            let kind = value.type_str();
            let problem =
                format!("a value of the kind {kind}: expected a number, or a text such as \"10mbit\"");
            return Err(complaint(key, problem));
        }
    }
    let traces = Traces::in_folder(path.parent().unwrap_or(Path::new("")));
    let mut settings = Settings::new();
    settings.scenario.mtu = mtu;
    for key in LINK_KEYS {
        let Some(value) = table.get(key).and_then(text_of) else { continue };
        settings.set(key, &value, &traces).map_err(|problem| complaint(key, problem))?;
    }
    Ok([settings.scenario.forward, settings.scenario.reverse])
}

/// A scalar as text; `None` if it is none.
fn text_of(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Float(number) => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_the_link_stand_together_among_all_in_this_order() {
        assert!(KEYS.windows(LINK_KEYS.len()).any(|keys| keys == LINK_KEYS));
    }
}
