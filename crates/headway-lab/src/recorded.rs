//! The recordings of stored cells: their files may be elsewhere by now, or other files, and are not looked for.

use std::path::Path;

use headway_scenario::{Key, Recorded, Traces, capture_of, keys};
use indexmap::IndexMap;

/// The recordings that a cell with these settings names, from those that were stored with its experiment.
pub(crate) fn traces<'a>(
    settings: &'a IndexMap<String, String>,
    recordings: &'a IndexMap<String, String>,
) -> Traces<'a> {
    Traces::stored(move |path, recorded| {
        let stored = |key: &Key| {
            let value = settings.get(key.name)?;
            let is_this = match recorded {
                Recorded::Fates(direction) => key.direction_of_damage() == Some(direction),
                Recorded::Packets => key.names_packets() && capture_of(value) == Some(path),
                Recorded::Opportunities => key.names_rate_trace() && Path::new(value) == path,
                // The name of the table is followed by what else is said of the jitter.
                Recorded::DelayTable => {
                    let rest = path.to_str().and_then(|name| value.trim().strip_prefix(name));
                    key.names_delay_table()
                        && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
                }
            };
            is_this.then(|| recordings.get(&format!("{}={value}", key.name)).cloned())?
        };
        keys().iter().find_map(stored)
    })
}
