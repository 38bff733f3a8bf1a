//! Whether the keys of a file are those of the format: every key that is unknown and every one that is missing
//! is named at once.

use std::sync::LazyLock;

use headway_scenario::{keys, unknown_key};
use serde_json::Value;
use toml::de::{DeTable, DeValue};

use super::file::schema;
use super::place::{line_of, one_line};
use crate::error::LabError;

static SCHEMA: LazyLock<Value> = LazyLock::new(|| serde_json::from_str(&schema()).unwrap_or_default());

/// The most unknown keys that are named: with each stand all that are known.
const MOST_UNKNOWN: usize = 5;

/// The longest key that is compared with those that are known, in bytes.
const LONGEST_COMPARED: usize = 200;

/// What is wrong with keys.
#[derive(Default)]
struct Problems {
    /// The first unknown key.
    first: Option<String>,
    unknown: Vec<String>,
    /// Further ones, which are not named.
    more: usize,
    missing: Vec<String>,
}

/// Compares the keys of a file with the schema. Values are not looked at.
pub(super) fn check(file: &str, text: &str, table: &DeTable<'_>) -> Result<(), LabError> {
    let mut problems = Problems::default();
    problems.compare_table(table, &SCHEMA, "");
    let Problems { first, mut unknown, more, missing } = problems;
    if more > 0 {
        unknown.push(format!("and {more} more unknown keys"));
    }
    if !missing.is_empty() {
        let keys = if missing.len() == 1 { "key" } else { "keys" };
        unknown.push(format!("missing {keys} {}", missing.join(", ")));
    }
    if unknown.is_empty() {
        return Ok(());
    }
    let line = first.map_or(1, |key| line_of(&key, text));
    Err(LabError::Malformed { file: file.into(), line, problem: one_line(&unknown.join("; ")) })
}

impl Problems {
    /// `place` is the table, such as `figure.`; empty for the file.
    fn compare_table(&mut self, table: &DeTable<'_>, schema: &Value, place: &str) {
        let schema = resolved(schema);
        let Some(known) = schema["properties"].as_object() else { return };
        for (key, value) in table {
            let key = key.get_ref().as_ref();
            match known.get(key) {
                Some(schema) => self.compare(value.get_ref(), schema, &format!("{place}{key}.")),
                // Names of one's own.
                None if schema["additionalProperties"].is_object() => {}
                None if self.unknown.len() == MOST_UNKNOWN => self.more += 1,
                None => {
                    self.first.get_or_insert_with(|| key.to_owned());
                    let complaint = match place {
                        // In the order of the table of keys.
                        "scenario." => unknown(key, keys().iter().map(|key| key.name)),
                        "scenario.hop." => {
                            let of_link = keys().iter().filter(|key| key.scope.is_of_link());
                            unknown(key, of_link.map(|key| key.name))
                        }
                        _ => unknown(key, known.keys().map(String::as_str)),
                    };
                    self.unknown.push(format!("{key}: {complaint}"));
                }
            }
        }
        let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        for key in required.filter(|key| !table.keys().any(|found| found.get_ref() == key)) {
            self.missing.push(format!("`{place}{key}`"));
        }
    }

    fn compare(&mut self, value: &DeValue<'_>, schema: &Value, place: &str) {
        match value {
            DeValue::Table(table) => self.compare_table(table, schema, place),
            DeValue::Array(values) => {
                let items = &resolved(schema)["items"];
                values.iter().for_each(|value| self.compare(value.get_ref(), items, place));
            }
            _ => {}
        }
    }
}

/// What is wrong with a key that is none of those that are known.
pub(super) fn unknown<'a>(key: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    // One that is far longer than all of them resembles none, and would take long to compare.
    unknown_key(if key.len() > LONGEST_COMPARED { "" } else { key }, known)
}

/// The schema that is referred to; of an optional one, that of the value.
fn resolved(schema: &Value) -> &Value {
    if let Some(options) = schema["anyOf"].as_array() {
        let is_table = |option: &&Value| !resolved(option)["properties"].is_null();
        return options.iter().find(is_table).map_or(schema, resolved);
    }
    match schema["$ref"].as_str().and_then(|path| path.strip_prefix('#')) {
        Some(path) => SCHEMA.pointer(path).map_or(schema, resolved),
        None => schema,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> Option<(usize, String)> {
        let table = DeTable::parse(text).expect("TOML");
        match check("file", text, table.get_ref()) {
            Ok(()) => None,
            Err(LabError::Malformed { line, problem, .. }) => Some((line, problem)),
            Err(other) => panic!("{other}"),
        }
    }

    const FINE: &str = "title = 'x'\nruns = 1\n[scenario]\nsize = '1KB'\n";

    #[test]
    fn an_unknown_key_shows_beside_a_missing_one() {
        assert_eq!(problem(FINE), None);
        let (line, says) = problem(&FINE.replace("title", "titel")).unwrap();
        assert_eq!(line, 1);
        assert!(says.starts_with("titel: unknown key (did you mean title?): expected one of "), "{says}");
        assert!(says.ends_with("; missing key `title`"), "{says}");
        let (line, says) = problem("[figure]\nkinds = 'table'\n").unwrap();
        assert_eq!(line, 2);
        assert!(says.starts_with("kinds: unknown key (did you mean kind?)"), "{says}");
        assert!(
            says.ends_with("missing keys `figure.kind`, `figure.measure`, `title`, `runs`, `scenario`"),
            "{says}"
        );
    }

    #[test]
    fn keys_of_hops_are_those_of_links() {
        let hop = format!("{FINE}[[scenario.hop]]\nrate = '5mbit'\n[[scenario.hop]]\n");
        assert_eq!(problem(&hop), None);
        let (line, says) = problem(&format!("{hop}dealy = '1ms'\n")).unwrap();
        assert_eq!(line, 8);
        assert!(
            says.starts_with("dealy: unknown key (did you mean delay?): expected one of rate,"),
            "{says}"
        );
        let (_, says) = problem(&format!("{hop}window = '1MiB'\n")).unwrap();
        assert!(says.starts_with("window: unknown key: expected one of rate,"), "{says}");
    }

    #[test]
    fn keys_of_tables_in_lists_and_of_the_scenario_are_checked() {
        let (line, says) = problem(&format!("{FINE}dealy = '1ms'\n")).unwrap();
        assert_eq!(line, 5);
        assert!(says.starts_with("dealy: unknown key (did you mean delay?)"), "{says}");
        let (line, says) = problem(&format!("{FINE}[[claim]]\nsays = 'y'\npapr = 2\n")).unwrap();
        assert_eq!(line, 7);
        assert!(says.starts_with("papr: unknown key (did you mean paper?)"), "{says}");
    }
}
