//! The keys of a scenario as options.

use std::collections::BTreeMap;
use std::path::Path;

use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches};
use headway_link::LinkConfig;
use headway_scenario::{Defaults, Dimension, Key, KeyError, Scope, Settings, Traces, Unset, key, keys, read};
use headway_sim::race::Feature;

use crate::BadOption;

/// How units and damage are written, for the end of a help text.
#[macro_export]
macro_rules! scenario_models {
    () => {
        "\
Units: rates 10mbit, 500kbit; times 300ms, 2s, 24h; sizes 64KiB, 2MiB, 10MB; shares 5%, 0.05.
Damage: none, random:P, burst:P:LENGTH[:time], ber:RATE, gilbert:P:R:GOOD:BAD,
        gilbert-bit:P:R:GOOD:BAD (the two rates of state change, then the error rate in each state);
        burst-hit:S:LENGTH: bursts that hit the share S of all packets;
        modem:P[:ERRORS]: the frame errors of a modem, each as often as the others, or some of them, such \
        as cut+split: a frame ends early (cut), arrives as two (split) or in one with the next (join), a bit \
        is missing or was added (slip), or from some bit on 10 to 18 % are wrong (dense);
        trace:FILE: replays a recorded link, packet by packet, and begins again at its end. FILE is a \
        capture (pcap, pcapng), whose damaged packets are those with headway's remark or a wrong TCP \
        checksum, or a text with a line for each fate: `ok 37`, `lost`, `hit payload 3`, `hit header 1`, \
        `hit both 64` (bits, by chance), `hit 1` (where --header-hit says), `bits 161 980` (from the \
        start of the IP packet), `bits tcp 5`, `bits payload 0 7`; `#` starts a remark. A line of bits may \
        also have -161 or -161..169 (missing), -8000.. (the frame ends early), +161 or +161*8 (added in \
        front), /4000 (another frame begins), & (its end is missing) and ~0..1600@15% (each is flipped with \
        this probability)."
    };
}

/// The values of keys by their names, as options have them.
#[derive(Clone, Debug, Default)]
struct Given(BTreeMap<&'static str, String>);

impl Given {
    fn of(keys: impl Iterator<Item = &'static Key>, matches: &ArgMatches) -> Self {
        let given = |key: &'static Key| Some((key.name, matches.get_one::<String>(key.name)?.clone()));
        Self(keys.filter_map(given).collect())
    }

    /// Sets a key, whatever its option says.
    fn set(&mut self, name: &'static str, value: impl ToString) {
        self.0.insert(name, value.to_string());
    }

    /// What all keys describe. Traces are looked for in the working directory.
    fn settings(&self) -> Result<Settings, BadOption> {
        let traces = Traces::in_folder(Path::new(""));
        let value = |name: &str| self.0.get(name).map(String::as_str);
        read(value, Defaults::Commands, &traces).map_err(|KeyError { key, problem }| {
            let value = value(key).unwrap_or_default();
            let expected = problem.strip_prefix(&format!("{value:?}: ")).unwrap_or(&problem);
            BadOption::new(format!("--{key}"), value, expected)
        })
    }
}

/// Options that say the same in another way, or say nothing without another: `rate` of a rate that changes, `delay` of a
/// delay that does, the trunk's without a trunk, the length of packets that are not sent.
fn related(key: &'static Key, option: Arg) -> Arg {
    match key.name {
        "rate-steps" | "rate-trace" => option.conflicts_with("rate"),
        "delay-steps" => option.conflicts_with("delay"),
        "reverse-rate-steps" | "reverse-rate-trace" => option.conflicts_with("reverse-rate"),
        "cross-packet" => option.requires("cross"),
        name if name.starts_with("trunk-") => option.requires("trunk"),
        _ => option,
    }
}

/// A key as an option.
fn option(key: &'static Key) -> Arg {
    let option = Arg::new(key.name)
        .long(key.name)
        .value_name(key.placeholder())
        .help_heading(key.scope.heading())
        .help(key.help);
    let option = match key.default {
        Unset::Nothing(text) => option.help(format!("{} [default: {text}]", key.help)),
        default => option.default_value(default.text(Defaults::Commands)),
    };
    let option = match key.dimension {
        Dimension::Flag => option.num_args(0..=1).require_equals(true).default_missing_value("on"),
        // A quantity below zero is a wrong value, and not another option.
        _ => option.allow_hyphen_values(true),
    };
    related(key, option)
}

/// A link, both directions, and its damage, unless `--config` gives a file with them.
pub struct LinkArguments(Given);

fn link_keys() -> impl Iterator<Item = &'static Key> {
    keys().iter().filter(|key| key.scope.is_of_link())
}

impl LinkArguments {
    /// The same link with another value of a key.
    #[must_use]
    pub fn with(&self, name: &'static str, value: impl ToString) -> Self {
        let mut given = self.0.clone();
        given.set(name, value);
        Self(given)
    }

    /// The value of each key that has one, by its name.
    pub fn values(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.0.0.iter().map(|(name, value)| (*name, value.as_str()))
    }

    /// Words of a command line with these options that give this link.
    pub fn words(&self) -> impl Iterator<Item = String> {
        // Some options cannot stand beside others, be their value that of the default.
        let is_default =
            |name, value: &str| key(name).is_some_and(|key| key.default.text(Defaults::Commands) == value);
        let other = self.values().filter(move |(name, value)| !is_default(name, value));
        other.map(|(name, value)| format!("--{name}={value}"))
    }

    /// The forward and the reverse path, for packets of at most `mtu` bytes.
    pub fn both(&self, mtu: u16) -> Result<[LinkConfig; 2], BadOption> {
        let mut given = self.0.clone();
        given.set("mtu", mtu);
        let scenario = given.settings()?.scenario;
        Ok([scenario.forward, scenario.reverse])
    }
}

impl Args for LinkArguments {
    fn augment_args(command: Command) -> Command {
        // Not of the group: all of its members would be named, whichever was given.
        let not_of_file = |option: Arg| option.conflicts_with("config");
        command.args(link_keys().map(option).map(not_of_file))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for LinkArguments {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        Ok(Self(Given::of(link_keys(), matches)))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Everything that a race is run over. The senders that are raced have an option of their own: it takes
/// several.
pub struct ScenarioArguments(Given);

/// The keys that have options of their own. Features have two for all of them.
fn scenario_keys() -> impl Iterator<Item = &'static Key> {
    keys().iter().filter(|key| !matches!(key.scope, Scope::Clock | Scope::Feature) && key.name != "variant")
}

impl ScenarioArguments {
    /// What the options describe, with these features turned on and off.
    pub fn settings(&self, with: &[Feature], without: &[Feature]) -> Result<Settings, BadOption> {
        let mut given = self.0.clone();
        for (features, value) in [(with, "on"), (without, "off")] {
            features.iter().for_each(|feature| given.set(feature.name(), value));
        }
        given.settings()
    }
}

impl Args for ScenarioArguments {
    fn augment_args(command: Command) -> Command {
        let conflicts = |option: Arg| option.conflicts_with_all(["size", "file"]);
        // What ends a run stands last, before the number of runs.
        let of_run = |key: &&Key| key.scope == Scope::Run;
        let options = scenario_keys().filter(|key| !of_run(key)).chain(scenario_keys().filter(of_run));
        command.args(options.map(option)).mut_arg("duration", conflicts)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ScenarioArguments {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        Ok(Self(Given::of(scenario_keys(), matches)))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The help of a key whose option is written out elsewhere.
pub fn help_of(name: &str) -> &'static str {
    key(name).map_or("", |key| key.help)
}

/// Every feature, with what it does, for the end of a help text.
pub fn features() -> String {
    let lines: Vec<String> =
        Feature::all().map(|feature| format!("  {:<9} {}", feature.name(), feature.help())).collect();
    format!("Features, for --with and --without:\n{}", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_has_an_option_for_each_of_its_keys() {
        let link = LinkArguments::augment_args(Command::new("box").arg(Arg::new("config")));
        for key in keys() {
            let has = link.get_arguments().any(|option| option.get_long() == Some(key.name));
            assert_eq!(has, key.scope.is_of_link(), "--{}", key.name);
        }
    }
}
