//! A key of a scenario, and everything that is known of it.

use headway_link::LinkConfig;
use headway_sim::Value;
use headway_sim::race::{Feature, FeatureOverrides, Scenario};
use headway_trace::PathDirection;
use headway_units::{Duration, Rate};

use crate::quantity::{Dimension, Quantity};
use crate::settings::Settings;
use crate::traces::Traces;

/// One key. It has the same name and the same units wherever it can be given.
#[derive(Clone, Debug)]
pub struct Key {
    /// Its name: `delay` is the option `--delay` and the key `delay` of experiment files.
    pub name: &'static str,
    /// What its value is.
    pub dimension: Dimension,
    /// The placeholder of the value in the usage of the option, where that is not the dimension's.
    pub value_name: Option<&'static str>,
    /// What it means, in a sentence without a full stop.
    pub help: &'static str,
    /// What its column means, where that is not the same.
    pub meaning: Option<&'static str>,
    /// What holds where it is not given.
    pub default: Unset,
    /// What an empty cell in its column means, where that is not what holds by default; empty text where
    /// there is always a value.
    pub empty: Option<&'static str>,
    /// What it belongs to.
    pub scope: Scope,
    pub(crate) access: Access,
    /// What a column shows instead of the value, where the sender decides that.
    pub(crate) resolved: Option<fn(&Settings) -> Quantity>,
}

/// What a key belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The clock that runs take place on.
    Clock,
    /// The sender that is measured.
    Sender,
    /// A feature of it.
    Feature,
    /// What is sent, and its two ends.
    Transfer,
    /// When a run ends.
    Run,
    /// The link.
    Link,
    /// Damage on the link.
    Damage,
    /// Other traffic on the link.
    Traffic,
    /// A trunk between the hosts, and the links between them and its gateways.
    Trunk,
    /// Several links in a row.
    Hops,
}

impl Scope {
    /// Whether keys of it are part of the channel key, from which the seed of a run derives: runs that
    /// differ in no such key meet the same damage.
    pub const fn is_in_channel_key(self) -> bool {
        !matches!(self, Self::Clock | Self::Sender | Self::Feature | Self::Trunk)
    }

    /// Whether it is about the link alone.
    pub const fn is_of_link(self) -> bool {
        matches!(self, Self::Link | Self::Damage)
    }

    /// The heading over its options.
    pub const fn heading(self) -> &'static str {
        match self {
            Self::Clock | Self::Sender | Self::Feature => "Senders",
            Self::Transfer => "Transfer",
            Self::Run => "Runs",
            Self::Link => "Link",
            Self::Damage => "Damage",
            Self::Traffic => "Other traffic",
            Self::Trunk => "Trunk",
            Self::Hops => "Several links in a row",
        }
    }
}

/// What holds where a key is not given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unset {
    /// This value.
    Value(&'static str),
    /// One value on the command line, where a plain `headway race` is the papers' headline cell, and another
    /// in files.
    Differs {
        /// On the command line.
        commands: &'static str,
        /// In experiment files and files of a link.
        files: &'static str,
    },
    /// No value; this says what holds then.
    Nothing(&'static str),
}

/// Whose defaults fill in what is not given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defaults {
    /// Those of commands with the keys as options.
    Commands,
    /// Those of files.
    Files,
}

impl Unset {
    /// The value that is filled in, if any.
    pub const fn value(self, defaults: Defaults) -> Option<&'static str> {
        match (self, defaults) {
            (Self::Value(value), _)
            | (Self::Differs { commands: value, .. }, Defaults::Commands)
            | (Self::Differs { files: value, .. }, Defaults::Files) => Some(value),
            (Self::Nothing(_), _) => None,
        }
    }

    /// As a help text or a schema says it.
    pub const fn text(self, defaults: Defaults) -> &'static str {
        match (self.value(defaults), self) {
            (Some(value), _) => value,
            (None, Self::Nothing(text)) => text,
            (None, _) => "",
        }
    }
}

/// What a key of the link is set with.
pub(crate) struct LinkContext<'a> {
    pub(crate) traces: &'a Traces<'a>,
    pub(crate) direction: PathDirection,
    /// Of the forward path.
    pub(crate) rate: Option<Rate>,
    pub(crate) round_trip: Duration,
    pub(crate) mtu: u16,
}

/// Around the link that a key is set on.
#[derive(Clone, Copy)]
pub(crate) struct LinkScope {
    pub(crate) mtu: u16,
    /// The delays of all links in a row, in both directions; `None`: of this one.
    pub(crate) round_trip: Option<Duration>,
}

/// How a key is set and read.
#[derive(Clone, Debug)]
pub(crate) enum Access {
    Settings {
        set: fn(&mut Settings, &str) -> Result<(), String>,
        get: fn(&Settings) -> Quantity,
    },
    /// One that may name a file.
    File {
        set: fn(&mut Settings, &str, &Traces<'_>) -> Result<(), String>,
        get: fn(&Settings) -> Quantity,
    },
    Feature {
        feature: Feature,
        set: fn(&mut FeatureOverrides, Feature, &str) -> Result<(), String>,
    },
    Link {
        /// `None`: both.
        direction: Option<PathDirection>,
        set: fn(&mut LinkConfig, &str, &LinkContext<'_>) -> Result<(), String>,
        get: fn(&LinkConfig) -> Quantity,
    },
}

impl Key {
    /// What entries of the table differ from.
    pub(crate) const PLAIN: Self = Self {
        name: "",
        dimension: Dimension::Text,
        value_name: None,
        help: "",
        meaning: None,
        default: Unset::Nothing(""),
        empty: None,
        scope: Scope::Sender,
        access: Access::Settings { set: |_, _| Ok(()), get: |_| Quantity::Unset("") },
        resolved: None,
    };

    /// The placeholder of the value in the usage of the option.
    pub fn placeholder(&self) -> &'static str {
        self.value_name.unwrap_or(self.dimension.placeholder())
    }

    /// Its name in tables of results and in JSON: with the unit.
    pub fn column(&self) -> String {
        format!("{}{}", self.name.replace('-', "_"), self.dimension.suffix())
    }

    /// What an empty cell in its column means; `None` if there is always a value.
    pub fn empty(&self) -> Option<&'static str> {
        let text = match (self.empty, self.default) {
            (Some(text), _) | (None, Unset::Nothing(text)) => text,
            (None, _) => "",
        };
        Some(text).filter(|text| !text.is_empty())
    }

    /// The direction of a capture that a trace in its value is read from; `None` for keys that take no
    /// damage model.
    pub fn direction_of_damage(&self) -> Option<PathDirection> {
        // What else is said of damage holds in both directions.
        self.direction().filter(|_| self.scope == Scope::Damage)
    }

    /// Whether its value is the file of a delivery trace.
    pub fn names_rate_trace(&self) -> bool {
        matches!(self.name, "rate-trace" | "reverse-rate-trace")
    }

    /// Whether its value names a table of delays.
    pub fn names_delay_table(&self) -> bool {
        self.name == "jitter-distribution"
    }

    /// Whether its value may name a capture whose packets are replayed.
    pub fn names_packets(&self) -> bool {
        self.name == "cross"
    }

    /// Whether the key is about one direction of the link, and which.
    pub(crate) fn direction(&self) -> Option<PathDirection> {
        match self.access {
            Access::Link { direction, .. } => direction,
            _ => None,
        }
    }

    /// Sets it; the error says what was expected.
    ///
    /// # Errors
    ///
    /// The value makes no sense.
    pub fn set(&self, settings: &mut Settings, value: &str, traces: &Traces<'_>) -> Result<(), String> {
        match self.access {
            Access::Settings { set, .. } => set(settings, value),
            Access::File { set, .. } => set(settings, value, traces),
            Access::Feature { feature, set } => set(&mut settings.scenario.features, feature, value),
            Access::Link { .. } => {
                let Scenario { forward, reverse, mtu, .. } = &mut settings.scenario;
                let scope = LinkScope { mtu: *mtu, round_trip: None };
                self.set_link((forward, reverse), value, scope, traces)
            }
        }
    }

    /// Sets it on the two directions of a link, if it is about a link.
    pub(crate) fn set_link(
        &self,
        (forward, reverse): (&mut LinkConfig, &mut LinkConfig),
        value: &str,
        LinkScope { mtu, round_trip }: LinkScope,
        traces: &Traces<'_>,
    ) -> Result<(), String> {
        let Access::Link { direction, set, .. } = self.access else { return Ok(()) };
        let own = forward.nominal_delay() + reverse.nominal_delay();
        let (rate, round_trip) = (forward.nominal_rate(), round_trip.unwrap_or(own));
        let set =
            |link, direction| set(link, value, &LinkContext { traces, direction, rate, round_trip, mtu });
        if direction != Some(PathDirection::Reverse) {
            set(forward, PathDirection::Forward)?;
        }
        if direction != Some(PathDirection::Forward) {
            set(reverse, PathDirection::Reverse)?;
        }
        Ok(())
    }

    /// Its value as text, from which it can be set again; empty where it was not given and has no default.
    pub fn show(&self, settings: &Settings) -> String {
        self.get(settings).to_string()
    }

    /// Its value in SI units, as the sender of these settings has it.
    pub fn value(&self, settings: &Settings) -> Value {
        self.resolved.map_or_else(|| self.get(settings), |resolved| resolved(settings)).value()
    }

    /// Its value in one direction of a link, in SI units; `None` if it is not about the link.
    pub fn value_in(&self, link: &LinkConfig) -> Option<Value> {
        match self.access {
            Access::Link { get, .. } => Some(get(link).value()),
            _ => None,
        }
    }

    fn get(&self, settings: &Settings) -> Quantity {
        match self.access {
            Access::Settings { get, .. } | Access::File { get, .. } => get(settings),
            Access::Feature { feature, .. } => {
                settings.scenario.features.of(feature).map_or(Quantity::Unset("default"), Quantity::Flag)
            }
            Access::Link { direction: Some(PathDirection::Reverse), get, .. } => {
                get(&settings.scenario.reverse)
            }
            Access::Link { get, .. } => get(&settings.scenario.forward),
        }
    }
}
