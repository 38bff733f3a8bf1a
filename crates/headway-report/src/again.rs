//! How a run of an experiment is made again: as a command, and in Python.

use std::collections::BTreeMap;

use headway_lab::{Clock, Manifest, ManifestCell, Sender};
use headway_scenario::{Defaults, Dimension, Key, Scope, Unset, keys};
use serde_json::json;

use crate::shell_words::quoted;

/// The commands that make the runs of a cell again, up to their seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Again {
    /// `headway race ... --runs 1 --seed `.
    pub(crate) command: String,
    /// `headway.run(headway.Scenario(...), variant="...", seed=`.
    pub(crate) python: String,
}

/// Recorded links of an experiment as files in the folder of the explorer, by the setting that names them.
#[derive(Debug, Default)]
pub(crate) struct Recordings {
    files: BTreeMap<String, String>,
}

impl Recordings {
    /// The recordings of the experiment with this number.
    pub(crate) fn of(manifest: &Manifest, number: usize) -> Self {
        let name = |place: usize| format!("recordings/{number}-{place}.txt");
        let files =
            manifest.recordings.keys().enumerate().map(|(place, setting)| (setting.clone(), name(place)));
        Self { files: files.collect() }
    }

    /// The files, with what they hold.
    pub(crate) fn files<'a>(&'a self, manifest: &'a Manifest) -> impl Iterator<Item = (String, String)> + 'a {
        manifest
            .recordings
            .iter()
            .filter_map(|(setting, text)| Some((self.files.get(setting)?.clone(), text.clone())))
    }

    /// The value of a key, with the file that is here in place of the one that was recorded.
    fn value(&self, key: &Key, value: &str) -> String {
        match self.files.get(&format!("{}={value}", key.name)) {
            Some(file) if key.names_rate_trace() => file.clone(),
            Some(file) if key.names_delay_table() => format!("{file}{}", after_table(value)),
            Some(file) => format!("trace:{file}"),
            None => value.to_owned(),
        }
    }
}

/// What follows the table in `TABLE[:CORRELATION][:ordered]`.
fn after_table(value: &str) -> &str {
    let value = value.trim();
    let rest = value.strip_suffix(":ordered").unwrap_or(value);
    let table = match rest.rsplit_once(':') {
        Some((table, share)) if share.ends_with('%') => table,
        _ => rest,
    };
    &value[table.len()..]
}

/// The commands of a cell; where there are none, why.
pub(crate) fn again(cell: &ManifestCell, recordings: &Recordings) -> Result<Again, String> {
    let given = given(cell, recordings);
    let value = |name: &str| given.iter().find(|(key, _)| key.name == name).map(|(_, value)| value.as_str());
    if value("clock").is_some_and(|clock| clock != Clock::Virtual.name()) {
        return Err(
            "Made in real time, where no two runs are the same: `headway lab live` makes others.".into()
        );
    }
    // A capture is stored as what was read from it, which the command line does not read.
    if given.iter().any(|(key, value)| key.names_packets() && value.trim().starts_with("pcap:")) {
        return Err(
            "Other packets of it are those of a capture, which is not in this folder: `headway race` \
                    makes it again where the capture is."
                .into(),
        );
    }
    let variant = value("variant").unwrap_or_default();
    if !matches!(variant.parse(), Ok(Sender::Ours(_))) {
        return Err(format!("{variant} is none of our senders: `headway lab live` makes other runs of it."));
    }
    let mut command = String::from("headway race");
    let mut python = Vec::new();
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for (key, value) in given.iter().filter(|(key, _)| key.scope != Scope::Clock) {
        if key.scope == Scope::Feature {
            match value.as_str() {
                "on" | "true" => with.push(key.name),
                "off" | "false" => without.push(key.name),
                _ => continue,
            }
        } else {
            let joint = if key.dimension == Dimension::Flag { '=' } else { ' ' };
            command.push_str(&format!(" --{}{joint}{}", key.name, quoted(value)));
        }
        if key.name != "variant" {
            // A string of JSON is one of Python.
            python.push(format!("{}={}", key.name.replace('-', "_"), json!(value)));
        }
    }
    for (option, features) in [("with", with), ("without", without)] {
        if !features.is_empty() {
            command.push_str(&format!(" --{option} {}", features.join(",")));
        }
    }
    command.push_str(" --runs 1 --seed ");
    let python =
        format!("headway.run(headway.Scenario({}), variant={}, seed=", python.join(", "), json!(variant));
    Ok(Again { command, python })
}

/// The keys of a cell with their values, and those whose value is another on the command line where none is given.
fn given(cell: &ManifestCell, recordings: &Recordings) -> Vec<(&'static Key, String)> {
    let value = |key: &'static Key| match (cell.settings.get(key.name), key.default) {
        (Some(value), _) => Some((key, recordings.value(key, value))),
        (None, Unset::Differs { .. }) => Some((key, key.default.value(Defaults::Files)?.to_owned())),
        (None, _) => None,
    };
    keys().iter().filter_map(value).collect()
}

#[cfg(test)]
mod tests {
    use headway_scenario::{Traces, read};
    use indexmap::IndexMap;
    use proptest::prelude::*;

    use super::*;

    fn cell(settings: &[(&str, &str)]) -> ManifestCell {
        let settings = settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        ManifestCell {
            values: IndexMap::new(),
            drawn: IndexMap::new(),
            parameters: Vec::new(),
            settings,
            keys: Vec::new(),
        }
    }

    /// The values of a command's options; features that are on or off too.
    fn options(command: &str) -> BTreeMap<String, String> {
        let mut options = BTreeMap::new();
        let mut words = command.split(' ').skip(2);
        while let Some(word) = words.next() {
            let word = word.strip_prefix("--").expect("an option");
            match word.split_once('=') {
                Some((name, value)) => drop(options.insert(name.into(), value.into())),
                None => drop(options.insert(word.into(), words.next().unwrap_or_default().into())),
            }
        }
        for (option, value) in [("with", "on"), ("without", "off")] {
            let names: String = options.remove(option).unwrap_or_default();
            options.extend(names.split(',').map(|name| (name.to_owned(), value.to_owned())));
        }
        options
    }

    #[test]
    fn what_is_not_given_is_what_files_leave_it_at() {
        let Again { command, python } =
            again(&cell(&[("variant", "sack"), ("warm", "true")]), &Recordings::default())
                .expect("a command");
        assert!(command.starts_with("headway race ") && command.ends_with(" --runs 1 --seed "), "{command}");
        assert!(command.contains(" --warm=true"), "{command}");
        assert!(command.contains(" --damage none"), "{command}");
        assert!(python.contains("warm=\"true\"") && python.contains("variant=\"sack\""), "{python}");
    }

    #[test]
    fn what_is_said_of_the_jitter_beside_its_table_stays() {
        for (value, rest) in [
            ("my.dist", ""),
            ("a:b.dist:ordered", ":ordered"),
            ("a:b.dist:25%", ":25%"),
            (" /x/my.dist:25%:ordered ", ":25%:ordered"),
        ] {
            assert_eq!(after_table(value), rest, "{value}");
        }
    }

    #[test]
    fn what_cannot_be_made_again_says_why() {
        let refusal = |settings: &[(&str, &str)]| {
            again(&cell(settings), &Recordings::default()).expect_err("no command")
        };
        assert!(refusal(&[("variant", "linux:cubic"), ("clock", "real")]).contains("real time"));
        assert!(refusal(&[("variant", "linux:cubic")]).contains("linux:cubic"));
    }

    proptest! {
        /// A command's options describe what the settings of the cell do.
        #[test]
        fn the_command_describes_the_cell(
            variant in prop::sample::select(vec!["sack", "headway", "modern:bbr", "xhack+sack"]),
            delay in prop::option::of(1_u32..500),
            damage in prop::sample::select(vec![None, Some("burst:5%:5"), Some("ber:1e-6"), Some("none")]),
            tlp in prop::sample::select(vec![None, Some("on"), Some("off"), Some("default")]),
            size in prop::option::of(1_u32..4096),
        ) {
            let delay = delay.map(|delay| format!("{delay}ms"));
            let size = size.map(|size| format!("{size}KiB"));
            let mut settings = vec![("variant", variant)];
            settings.extend(delay.as_deref().map(|delay| ("delay", delay)));
            settings.extend(size.as_deref().map(|size| ("size", size)));
            settings.extend(damage.map(|damage| ("damage", damage)));
            settings.extend(tlp.map(|tlp| ("tlp", tlp)));
            let cell = cell(&settings);
            let Again { command, .. } = again(&cell, &Recordings::default()).expect("a command");
            let options = options(&command);
            let traces = Traces::refused("none");
            let described = read(|key| options.get(key).map(String::as_str), Defaults::Commands, &traces).expect("options");
            let wanted = read(|key| cell.settings.get(key).map(String::as_str), Defaults::Files, &traces).expect("settings");
            prop_assert_eq!(format!("{described:?}"), format!("{wanted:?}"));
        }
    }
}
