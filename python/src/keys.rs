//! The table of keys, for Python: what a scenario may be given, and what it then is.

use std::collections::BTreeMap;
use std::path::Path;

use headway_scenario::{
    Defaults, Hops, Scope, Settings, Traces, Unset, key, keys as table, read, unknown_key,
};
use headway_sim::ValueKind;
use headway_sim::race::Feature;
use headway_tcp::Variant;
use pyo3::prelude::*;

use crate::error::{input, of_key};

/// Keys and their values, as text.
pub(crate) type Given = BTreeMap<String, String>;

/// Whether a scenario of Python has the key: it runs in virtual time.
fn is_of_simulator(scope: Scope) -> bool {
    scope != Scope::Clock
}

/// Every key: its name, what its value is, what it means, what holds where it is not given, and the heading it stands
/// under.
#[pyfunction]
pub(crate) fn keys() -> Vec<(&'static str, &'static str, &'static str, &'static str, &'static str)> {
    let keys = table().iter().filter(|key| is_of_simulator(key.scope));
    keys.map(|key| {
        let default = match key.default {
            Unset::Nothing(text) => text,
            default => default.text(Defaults::Commands),
        };
        (key.name, key.placeholder(), key.help, default, key.scope.heading())
    })
    .collect()
}

/// The senders that a race has if none are named, and the oracle.
#[pyfunction]
pub(crate) fn variants() -> Vec<String> {
    Variant::ALL.iter().map(ToString::to_string).chain(["oracle".to_owned()]).collect()
}

/// Every feature and what it does.
#[pyfunction]
pub(crate) fn features() -> Vec<(&'static str, &'static str)> {
    Feature::all().map(|feature| (feature.name(), feature.help())).collect()
}

/// The columns of a table of runs: name, kind, meaning.
#[pyfunction]
pub(crate) fn columns() -> Vec<(&'static str, &'static str, &'static str)> {
    let kind = |kind| match kind {
        ValueKind::Text => "text",
        ValueKind::Integer => "whole number",
        ValueKind::Number => "number",
        ValueKind::Flag => "true or false",
    };
    headway_lab::columns().map(|column| (column.name, kind(column.kind), column.meaning)).collect()
}

/// Whether keys and values make sense; the value of every key then, as text.
#[pyfunction]
pub(crate) fn check(given: Given) -> PyResult<Vec<(&'static str, String)>> {
    let settings = settings(&given)?;
    let keys = table().iter().filter(|key| is_of_simulator(key.scope));
    Ok(keys.map(|key| (key.name, key.show(&settings))).collect())
}

/// The text of links in a row, each with keys of its own.
#[pyfunction]
pub(crate) fn hops(hops: Vec<Vec<(String, String)>>) -> PyResult<String> {
    let hops = hops.iter().map(|hop| hop.iter().map(|(name, value)| (name.as_str(), value.clone())));
    Hops::text(hops).map_err(of_key)
}

/// What the keys describe. Recordings are looked for in the working directory.
pub(crate) fn settings(given: &Given) -> PyResult<Settings> {
    for name in given.keys() {
        if !key(name).is_some_and(|key| is_of_simulator(key.scope)) {
            let known = table().iter().filter(|key| is_of_simulator(key.scope)).map(|key| key.name);
            return Err(input(format!("{name}: {}", unknown_key(name, known))));
        }
    }
    let value = |name: &str| given.get(name).map(String::as_str);
    if given.contains_key("duration") && given.contains_key("size") {
        let problem = "a run of fixed duration sends all the time: expected either a duration or a size";
        return Err(input(format!("duration: {problem}")));
    }
    read(value, Defaults::Commands, &Traces::in_folder(Path::new(""))).map_err(of_key)
}
