//! Links that are drawn at random: the table `[draw]`.
//!
//! A value depends on the experiment's name and seed, the number of its link and its own name alone: another key, or
//! more links, change no link that is there.

use std::fmt;

use headway_scenario::key;
use headway_sim::derive_seed;
use indexmap::IndexMap;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::cells::fill;
use super::file::{ExperimentFile, Scalar};

/// The axis of the links that are drawn, and the name of their column.
pub const AXIS: &str = "link";

/// The key of `[draw]` that is no key of a link.
pub(super) const LINKS: &str = "links";

/// More drawn keys than this: far more than a scenario has.
const MOST_KEYS: usize = 100;

const EXPECTED: &str = "expected a list of values, { log = [LEAST, MOST] } or { uniform = [LEAST, MOST] }";

/// What is wrong with a key.
pub(super) struct Complaint {
    pub(super) key: String,
    pub(super) problem: String,
}

/// The links that an experiment runs over, as its results describe them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrawnLinks {
    /// How many there are.
    pub links: usize,
    /// What each key is drawn from, in words.
    pub keys: IndexMap<String, String>,
}

/// How links are drawn.
pub(super) struct Draws {
    pub(super) links: usize,
    keys: IndexMap<String, Draw>,
}

/// What a value is drawn from.
#[derive(Clone, Debug)]
enum Draw {
    Value(String),
    /// Each as often as the others.
    OneOf(Vec<Draw>),
    Spread(Spread),
}

/// Numbers between two others, which it includes.
#[derive(Clone, Debug)]
struct Spread {
    least: f64,
    most: f64,
    unit: String,
    is_log: bool,
    is_whole: bool,
}

impl Draws {
    /// Those of a file; `None` if it draws none.
    pub(super) fn of(read: &ExperimentFile) -> Result<Option<Self>, Complaint> {
        let Some(table) = &read.draw else { return Ok(None) };
        let complaint = |key: &str, problem: String| Complaint { key: key.into(), problem };
        let links = match table.get(LINKS) {
            Some(toml::Value::Integer(links)) if *links > 0 => usize::try_from(*links).unwrap_or(usize::MAX),
            Some(other) => return Err(complaint(LINKS, format!("{other}: expected a whole number above 0"))),
            None => {
                return Err(complaint(
                    "draw",
                    "expected how many links are drawn, such as links = 200".into(),
                ));
            }
        };
        if table.len() > MOST_KEYS {
            return Err(complaint("draw", format!("{} keys: expected at most {MOST_KEYS}", table.len())));
        }
        if read.sweep.contains_key(AXIS) {
            let problem = "is the axis of the links that are drawn: expected another name";
            return Err(complaint(AXIS, problem.into()));
        }
        let mut keys = IndexMap::new();
        for (name, value) in table.iter().filter(|(name, _)| *name != LINKS) {
            let complaint = |problem: String| complaint(name, problem);
            for (other, is_there) in
                [("[sweep]", read.sweep.contains_key(name)), ("[scenario]", read.scenario.contains_key(name))]
            {
                if is_there {
                    return Err(complaint(format!(
                        "is in [draw] and in {other}: expected it in one of them"
                    )));
                }
            }
            if name == AXIS || !read.uses(name) {
                let problem = "expected a key of a scenario, or a name that another value has in braces";
                return Err(complaint(format!("draws nothing: {problem}")));
            }
            keys.insert(name.clone(), Draw::parse(value).map_err(complaint)?);
        }
        Ok(Some(Self { links, keys }))
    }

    /// The values of the link with this number, from 1, in the experiment with this name and seed.
    pub(super) fn link(
        &self,
        name: &str,
        seed: u64,
        number: usize,
    ) -> Result<IndexMap<String, String>, Complaint> {
        let draw = |(key, draw): (&String, &Draw)| {
            let chance = |step: u64| derive_seed(seed, &format!("{name}\n{AXIS} {number}\n{key}"), step);
            (key.clone(), draw.value(&chance, 0))
        };
        let drawn: IndexMap<String, String> = self.keys.iter().map(draw).collect();
        let filled = |(key, value): (&String, &String)| {
            // Twice: as values of the scenario are.
            let value = fill(value, &drawn).and_then(|value| fill(&value, &drawn));
            let value = value.map_err(|problem| Complaint { key: key.clone(), problem })?;
            Ok((key.clone(), value))
        };
        drawn.iter().map(filled).collect()
    }

    /// The values that claims can name, for keys with a list of them.
    pub(super) fn choices(&self) -> IndexMap<String, Vec<String>> {
        let plain = |draw: &Draw| match draw {
            Draw::Value(value) => Some(value.clone()),
            _ => None,
        };
        let choices = |(key, draw): (&String, &Draw)| match draw {
            Draw::OneOf(draws) => Some((key.clone(), draws.iter().filter_map(plain).collect())),
            _ => None,
        };
        self.keys.iter().filter_map(choices).collect()
    }

    /// What is drawn, in words.
    pub(super) fn described(&self) -> DrawnLinks {
        let keys = self.keys.iter().map(|(key, draw)| (key.clone(), draw.to_string())).collect();
        DrawnLinks { links: self.links, keys }
    }
}

impl Draw {
    fn parse(value: &toml::Value) -> Result<Self, String> {
        match value {
            toml::Value::Array(values) if values.is_empty() => {
                Err("the list is empty: expected at least one value".into())
            }
            toml::Value::Array(values) => {
                let draw = |value: &toml::Value| match value {
                    toml::Value::Table(_) => Self::parse(value),
                    _ => scalar(value).map(|value| Self::Value(value.to_string())),
                };
                values.iter().map(draw).collect::<Result<_, _>>().map(Self::OneOf)
            }
            toml::Value::Table(_) => Spread::parse(value).map(Self::Spread),
            _ => Err(format!("{value}: {EXPECTED}; what is the same on all links belongs in [scenario]")),
        }
    }

    /// A value by `chance`, of which each step is a random number.
    fn value(&self, chance: &dyn Fn(u64) -> u64, step: u64) -> String {
        match self {
            Self::Value(value) => value.clone(),
            Self::OneOf(draws) => {
                // The remainder favours none of a few by more than one in 10^15.
                let place = chance(step) % draws.len() as u64;
                draws[place as usize].value(chance, step + 1)
            }
            Self::Spread(spread) => spread.value(chance(step)),
        }
    }
}

impl fmt::Display for Draw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => f.write_str(value),
            Self::OneOf(draws) => {
                for (place, draw) in draws.iter().enumerate() {
                    write!(f, "{}{draw}", if place == 0 { "" } else { ", " })?;
                }
                Ok(())
            }
            Self::Spread(Spread { least, most, unit, is_log, .. }) => {
                let scale = if *is_log { "log" } else { "uniform" };
                write!(f, "{least}{unit} to {most}{unit} ({scale})")
            }
        }
    }
}

impl Spread {
    fn parse(value: &toml::Value) -> Result<Self, String> {
        let bounds = |name: &str| value.get(name).and_then(toml::Value::as_array).filter(|_| is_alone(value));
        let (is_log, bounds) = match (bounds("log"), bounds("uniform")) {
            (Some(bounds), _) => (true, bounds),
            (_, Some(bounds)) => (false, bounds),
            _ => return Err(format!("{value}: {EXPECTED}")),
        };
        let [least, most] = &bounds[..] else { return Err(format!("{value}: {EXPECTED}")) };
        let ((least, unit), (most, other)) = (quantity(least)?, quantity(most)?);
        if unit != other {
            return Err(format!("{value}: expected two values with the same unit"));
        }
        if least >= most || (is_log && least <= 0.0) {
            let expected =
                if is_log { "expected the least first, above 0" } else { "expected the least first" };
            return Err(format!("{value}: {expected}"));
        }
        // Packets are whole, and so is what is written without a unit and without a point.
        let is_integer = bounds.iter().all(|bound| matches!(bound, toml::Value::Integer(_)));
        let is_whole = is_integer || unit == "p";
        Ok(Self { least, most, unit, is_log, is_whole })
    }

    fn value(&self, chance: u64) -> String {
        let Self { least, most, ref unit, is_log, is_whole } = *self;
        let share = (chance >> 11) as f64 / (1_u64 << 53) as f64;
        // The same on every machine: not the functions of the machine.
        let number = match (is_log, is_whole) {
            (true, _) => least * libm::exp(share * libm::log(most / least)),
            (false, false) => least + share * (most - least),
            (false, true) => (least + share * (most - least + 1.0)).floor(),
        };
        // Digits that one can type.
        let digits = if is_whole { format!("{number:.0}") } else { format!("{number:.2e}") };
        let number = digits.parse().unwrap_or(least).clamp(least, most);
        format!("{number}{unit}")
    }
}

fn is_alone(value: &toml::Value) -> bool {
    value.as_table().is_some_and(|table| table.len() == 1)
}

/// A value of a list.
fn scalar(value: &toml::Value) -> Result<Scalar, String> {
    value.clone().try_into().map_err(|_| format!("{value}: expected a number, or a text in quotes"))
}

/// The number of a value, and its unit.
fn quantity(value: &toml::Value) -> Result<(f64, String), String> {
    let text = scalar(value)?.to_string();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    match number.parse::<f64>() {
        Ok(number) if number.is_finite() && !unit.contains(['{', '}']) => Ok((number, unit.into())),
        _ => Err(format!("{text:?}: expected a number, at least 0, with or without a unit, such as 1mbit")),
    }
}

/// The keys of `[draw]`.
pub(super) fn schema(generator: &mut SchemaGenerator) -> Schema {
    let value = generator.subschema_for::<Scalar>();
    let bounds = json_schema!({ "type": "array", "items": value, "minItems": 2, "maxItems": 2 });
    let spread = |name: &str, description: &str| {
        json_schema!({
            "type": "object",
            "description": description,
            "properties": { name: bounds },
            "required": [name],
            "additionalProperties": false
        })
    };
    let log =
        spread("log", "Between two values with the same unit; each factor is as probable as any other.");
    let uniform = spread("uniform", "Between two values with the same unit, each as probable as any other.");
    json_schema!({
        "type": ["object", "null"],
        "properties": {
            LINKS: { "type": "integer", "minimum": 1, "description": "How many links are drawn." }
        },
        "required": [LINKS],
        "additionalProperties": {
            "description": "What a key of the scenario, or a name that values have in braces, is drawn from. Numbers \
                            have three digits.",
            "anyOf": [
                log,
                uniform,
                {
                    "type": "array",
                    "description": "One of these, each as often as the others.",
                    "items": { "anyOf": [value, log, uniform] },
                    "minItems": 1
                }
            ]
        }
    })
}

impl ExperimentFile {
    /// Whether a drawn value of this name has any effect: it sets a key, or values name it.
    fn uses(&self, name: &str) -> bool {
        let braced = format!("{{{name}}}");
        let names = |value: &Scalar| value.to_string().contains(&braced);
        let drawn = self.draw.iter().flatten();
        key(name).is_some()
            || self.scenario.values().chain(self.sweep.values().flatten()).any(names)
            || drawn.filter(|(other, _)| *other != name).any(|(_, value)| value.to_string().contains(&braced))
    }
}
