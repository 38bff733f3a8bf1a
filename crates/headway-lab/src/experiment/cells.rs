//! From axes to cells.

use headway_scenario::{
    DamageError, Defaults, JitterError, Key, KeyError, PacketsError, RateTraceError, Traces, key, keys,
    parameters, unknown_key,
};
use indexmap::IndexMap;

use super::Cell;
use super::draw::{AXIS, Complaint, Draws};
use super::file::{ExperimentFile, Scalar};
use super::origin::Origin;
use crate::error::LabError;

/// A recorded link cannot be read.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(super) enum RecordingError {
    Damage(#[from] DamageError),
    Rate(#[from] RateTraceError),
    Jitter(#[from] JitterError),
    Packets(#[from] PacketsError),
}

/// The fates, delivery opportunities, delays and packets of all recorded links that cells name, as text, by the setting that names them.
pub(super) fn recordings(
    cells: &[Cell],
    traces: &Traces<'_>,
) -> Result<IndexMap<String, String>, RecordingError> {
    let mut recordings = IndexMap::new();
    for (name, value) in cells.iter().flat_map(|cell| &cell.settings) {
        let Some(key) = key(name) else { continue };
        let setting = format!("{name}={value}");
        if recordings.contains_key(&setting) {
            continue;
        }
        if key.names_rate_trace() && value != "none" {
            recordings.insert(setting, traces.opportunities(value)?.to_string());
            continue;
        }
        if key.names_delay_table() {
            if let Some(table) = traces.delay_table_text(value)? {
                recordings.insert(setting, table);
            }
            continue;
        }
        if key.names_packets() {
            recordings.extend(traces.packets(value)?.map(|trace| (setting, trace.to_string())));
            continue;
        }
        let Some(direction) = key.direction_of_damage() else { continue };
        if let Some(fates) = traces.fates(value, direction)? {
            recordings.insert(setting, fates);
        }
    }
    Ok(recordings)
}

/// The longest text of a value, in bytes.
const MOST_VALUE: usize = 64 << 10;
/// The longest text of all cells together, with [`PER_VALUE`]: a value names axes, whose values name axes again, and every
/// cell has every value of the file.
const MOST_TEXT: usize = 64 << 20;
/// What a value needs beside its text.
const PER_VALUE: usize = 64;

/// Every combination of the axes, the last axis changing fastest; on each link, where links are drawn: those of
/// the experiment with this name and seed.
pub(super) fn enumerate(
    read: &ExperimentFile,
    (draws, name, seed): (Option<&Draws>, &str, u64),
    origin: Origin<'_>,
    traces: &Traces<'_>,
) -> Result<Vec<Cell>, LabError> {
    let combinations: usize = read.sweep.values().map(Vec::len).product();
    let count = combinations * draws.map_or(1, |draws| draws.links);
    let mut cells = Vec::new();
    let mut text = 0;
    let mut drawn = IndexMap::new();
    for place in 0..count {
        let (link, place) = (place / combinations + 1, place % combinations);
        if let Some(draws) = draws.filter(|_| place == 0) {
            let link = draws.link(name, seed, link);
            drawn = link.map_err(|Complaint { key, problem }| origin.complaint(&key, problem))?;
        }
        let mut values = combination(read, place, combinations);
        if draws.is_some() {
            values.shift_insert(0, AXIS.into(), link.to_string());
        }
        let place = Combination { values, drawn: drawn.clone() };
        if read.skips(&place.all()) {
            continue;
        }
        let Some(cell) = cell(read, place, origin, traces)? else { continue };
        let length = |texts: &IndexMap<String, String>| -> usize {
            texts.iter().map(|(name, value)| name.len() + value.len() + PER_VALUE).sum()
        };
        text += length(&cell.values) + length(&cell.drawn) + length(&cell.settings);
        if text > MOST_TEXT {
            let problem = format!(
                "the values of {count} cells are too long: expected at most {} MiB in all",
                MOST_TEXT >> 20
            );
            return Err(origin.complaint("sweep", problem));
        }
        cells.push(cell);
    }
    Ok(cells)
}

/// The values of the axes in one of `count` places.
fn combination(read: &ExperimentFile, place: usize, count: usize) -> IndexMap<String, String> {
    let mut alike = count;
    let at_place = |(axis, values): (&String, &Vec<Scalar>)| {
        alike /= values.len();
        (axis.clone(), values[place / alike % values.len()].to_string())
    };
    read.sweep.iter().map(at_place).collect()
}

/// A combination of the axes, on a link.
#[derive(Default)]
struct Combination {
    values: IndexMap<String, String>,
    /// What was drawn for the link.
    drawn: IndexMap<String, String>,
}

impl Combination {
    /// All that values may name.
    fn all(&self) -> IndexMap<String, String> {
        self.values.iter().chain(&self.drawn).map(|(name, value)| (name.clone(), value.clone())).collect()
    }
}

/// `None` where the clock is an axis, and the sender none of that clock's.
fn cell(
    read: &ExperimentFile,
    place: Combination,
    origin: Origin<'_>,
    traces: &Traces<'_>,
) -> Result<Option<Cell>, LabError> {
    let complaint = |key: &str, problem: String| origin.complaint(key, problem);
    let all = place.all();
    // Twice: what an axis puts in may name other axes.
    let filled = |name: &str, value: &str| {
        let value = fill(value, &all).and_then(|value| fill(&value, &all));
        value.map_err(|problem| complaint(name, problem))
    };
    // An axis with the name of a key sets that key, and so does a drawn value.
    let mut set: IndexMap<&str, String> = IndexMap::new();
    for (name, value) in &read.scenario {
        if key(name).is_none() {
            return Err(complaint(name, unknown_key(name, keys().iter().map(|key| key.name))));
        }
        set.insert(name, filled(name, &value.to_string())?);
    }
    for (axis, value) in &all {
        if key(axis).is_some() && !set.contains_key(axis.as_str()) {
            set.insert(axis, filled(axis, value)?);
        }
    }
    let given = keys().iter().filter_map(|key| Some((key, set.swap_remove(key.name)?))).collect();
    of_keys(given, place, traces).map_err(|KeyError { key, problem }| complaint(key, problem))
}

/// The cell that was stored with these settings, without the values of its axes and what was drawn.
pub(crate) fn stored(settings: &IndexMap<String, String>, traces: &Traces<'_>) -> Result<Cell, KeyError> {
    if let Some(name) = settings.keys().find(|name| key(name).is_none()) {
        let problem = unknown_key(name, keys().iter().map(|key| key.name));
        return Err(KeyError { key: "settings", problem: format!("{name}: {problem}") });
    }
    let given = keys().iter().filter_map(|key| Some((key, settings.get(key.name)?.clone()))).collect();
    let cell = of_keys(given, Combination::default(), traces)?;
    cell.ok_or_else(|| KeyError { key: "clock", problem: "expected a sender of that clock".into() })
}

/// The cell with these keys; `None` where the clock is an axis, and the sender none of that clock's.
fn of_keys(
    given: Vec<(&'static Key, String)>,
    Combination { values, drawn }: Combination,
    traces: &Traces<'_>,
) -> Result<Option<Cell>, KeyError> {
    let value = |name: &str| given.iter().find(|(key, _)| key.name == name).map(|(_, value)| value.as_str());
    let settings = headway_scenario::read(value, Defaults::Files, traces)?;
    if values.contains_key("clock") && !settings.is_possible() {
        return Ok(None);
    }
    let sender = settings.sender()?;
    // A trace is what its file says, not what the file is called.
    let mut recorded = Vec::new();
    for (key, value) in &given {
        let complaint = |error: RecordingError| KeyError { key: key.name, problem: error.to_string() };
        if key.names_rate_trace() && value != "none" {
            let digest = traces.opportunities_digest(value).map_err(|error| complaint(error.into()))?;
            recorded.push(format!("{}-opportunities={digest}", key.name));
        }
        if key.names_delay_table() {
            let digest = traces.delay_table_digest(value).map_err(|error| complaint(error.into()))?;
            recorded.extend(digest.map(|digest| format!("{}-table={digest}", key.name)));
        }
        if key.names_packets() {
            let digest = traces.packets_digest(value).map_err(|error| complaint(error.into()))?;
            recorded.extend(digest.map(|digest| format!("{}-packets={digest}", key.name)));
        }
        let Some(direction) = key.direction_of_damage() else { continue };
        let digest = traces.digest(value, direction).map_err(|error| complaint(error.into()))?;
        recorded.extend(digest.map(|digest| format!("{}-fates={digest}", key.name)));
    }
    let write = |with: &dyn Fn(&Key) -> bool| {
        let given = given.iter().filter(|(key, _)| with(key));
        let mut lines: Vec<String> = given.map(|(key, value)| format!("{}={value}", key.name)).collect();
        lines.extend(recorded.iter().cloned());
        lines.join("\n")
    };
    Ok(Some(Cell {
        identity: write(&|_| true),
        channel_key: write(&|key| key.scope.is_in_channel_key()),
        values,
        drawn,
        clock: settings.clock,
        carrier: settings.carrier,
        sender,
        size: settings.sent_size(),
        parameters: parameters().iter().map(|column| column.value(&settings)).collect(),
        scenario: settings.scenario,
        settings: given.into_iter().map(|(key, value)| (key.name.to_owned(), value)).collect(),
    }))
}

/// Puts axis values in the place of `{axis}`. What is too long is no value, and no more of it is made.
pub(super) fn fill(template: &str, values: &IndexMap<String, String>) -> Result<String, String> {
    let mut filled = String::new();
    let mut push = |piece: &str| {
        if filled.len() + piece.len() > MOST_VALUE {
            return Err(format!("a value that is too long: expected at most {} KiB", MOST_VALUE >> 10));
        }
        filled.push_str(piece);
        Ok(())
    };
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
        push(&rest[..start])?;
        push(value)?;
        rest = &rest[start + length + 1..];
    }
    push(rest)?;
    Ok(filled)
}
