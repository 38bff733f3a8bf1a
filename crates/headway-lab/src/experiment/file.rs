//! The format of experiment files, and its JSON schema.

use std::fmt;

use headway_scenario::{Defaults, Hops, Key, KeyError, unknown_key};
use indexmap::IndexMap;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::measure::Measure;
use super::place::one_line;
use crate::error::LabError;

/// A value of a key or an axis.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(untagged, expecting = "expected a number, or a text in quotes")]
pub enum Scalar {
    /// A whole number.
    Integer(i64),
    /// A number.
    Number(f64),
    /// Anything with a unit, or a name.
    Text(String),
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(value) => value.fmt(f),
            Self::Number(value) => value.fmt(f),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// An experiment of headway's lab.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ExperimentFile {
    /// What it shows, in a line.
    pub(super) title: String,
    /// Where it comes from: a paper's figure or table.
    #[serde(default)]
    pub(super) source: String,
    /// Which reading of the source was taken, and why.
    #[serde(default)]
    pub(super) reading: String,
    /// Axes whose values are readings of a source: claims that name this file as their evidence are
    /// judged in each combination of them.
    #[serde(default)]
    pub(super) readings: Vec<String>,
    /// Runs of each cell.
    pub(super) runs: u32,
    /// Seed that all runs derive from.
    #[serde(default = "one")]
    pub(super) seed: u64,
    /// Links that are drawn at random, from the seed: each has one value for every key of this table, and the sweep is
    /// run over each link. `{key}` in a value of any table is replaced by what was drawn for the key.
    #[serde(default)]
    #[schemars(schema_with = "super::draw::schema")]
    pub(super) draw: Option<IndexMap<String, toml::Value>>,
    /// The axes: every combination of their values is a cell; where links are drawn, on each of them.
    #[serde(default)]
    pub(super) sweep: IndexMap<String, Vec<Scalar>>,
    /// Combinations that are left out: those where each axis named has the value, or one of the values.
    #[serde(default)]
    pub(super) skip: Vec<IndexMap<String, OneOrMore>>,
    /// The link, the senders, what is sent and how long it may take. `{axis}` in a value is replaced by the
    /// axis' value, which may name other axes in the same way. Where `clock` is an axis, senders that a clock
    /// does not have are left out. Tables `[[scenario.hop]]` are links in a row.
    #[serde(deserialize_with = "scenario")]
    #[schemars(schema_with = "scenario_schema")]
    pub(super) scenario: IndexMap<String, Scalar>,
    /// How it is drawn; if not given, a table of the goodput over the axes.
    pub(super) figure: Option<Figure>,
    /// What the source says of it.
    #[serde(default)]
    pub(super) claim: Vec<Claim>,
}

/// The tables of links in a row.
pub(super) const HOP: &str = "hop";
/// The key that they are.
pub(super) const HOPS: &str = "hops";

/// What a key of `[scenario]` may hold.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a number, or a text in quotes")]
enum ScenarioValue {
    Scalar(Scalar),
    Tables(Vec<IndexMap<String, Scalar>>),
}

/// Reads `[scenario]`. Tables of hops become the text of the key for them.
fn scenario<'de, D: Deserializer<'de>>(deserializer: D) -> Result<IndexMap<String, Scalar>, D::Error> {
    let mut scenario = IndexMap::new();
    for (name, value) in IndexMap::<String, ScenarioValue>::deserialize(deserializer)? {
        let (name, value) = match (name.as_str(), value) {
            (HOP, ScenarioValue::Tables(hops)) => {
                (HOPS.to_owned(), Scalar::Text(text_of(&hops).map_err(D::Error::custom)?))
            }
            (HOP, ScenarioValue::Scalar(_)) => {
                return Err(D::Error::custom("hop: expected tables, each with [[scenario.hop]] above it"));
            }
            (_, ScenarioValue::Scalar(value)) => (name, value),
            (_, ScenarioValue::Tables(_)) => {
                return Err(D::Error::custom(format!("{name}: expected a number, or a text in quotes")));
            }
        };
        if scenario.insert(name, value).is_some() {
            // TOML has no key twice.
            let expected = "hops: are there as a key and as tables [[scenario.hop]]: expected one of them";
            return Err(D::Error::custom(expected));
        }
    }
    Ok(scenario)
}

fn text_of(hops: &[IndexMap<String, Scalar>]) -> Result<String, String> {
    let hops = hops.iter().map(|hop| hop.iter().map(|(name, value)| (name.as_str(), value.to_string())));
    Hops::text(hops).map_err(|KeyError { problem, .. }| problem)
}

/// A value of an axis, or several.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a value, or a list of values in brackets")]
pub(super) enum OneOrMore {
    One(Scalar),
    More(Vec<Scalar>),
}

impl OneOrMore {
    pub(super) fn values(&self) -> &[Scalar] {
        match self {
            Self::One(value) => std::slice::from_ref(value),
            Self::More(values) => values,
        }
    }
}

fn one() -> u64 {
    1
}

/// How an experiment is drawn.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Figure {
    /// Its kind.
    pub kind: FigureKind,
    /// The axis along x, the groups of bars, or the rows of a table.
    pub x: Option<String>,
    /// The axis of the lines, the bars of a group, or the columns of a table.
    pub series: Option<String>,
    /// One panel for each value of this axis.
    pub panels: Option<String>,
    /// What is drawn.
    pub measure: Measure,
    /// Its unit; the measure's own if not given.
    pub unit: Option<String>,
    /// Over the runs of a cell.
    #[serde(default)]
    pub statistic: Statistic,
    /// What stands under x.
    pub x_label: Option<String>,
    /// Whether y is logarithmic.
    #[serde(default)]
    pub log: bool,
}

impl Figure {
    /// What a file without a figure gets: the goodput, with the senders across and the first other axis down.
    /// Later axes give panels, and are taken together.
    pub(super) fn of_axes<'a>(axes: impl Iterator<Item = &'a String>) -> Self {
        let (senders, mut others): (Vec<&String>, Vec<&String>) = axes.partition(|axis| *axis == SENDERS);
        // Where there is nothing to go down, the senders do.
        let is_alone = others.is_empty();
        let mut next = || if others.is_empty() { None } else { Some(others.remove(0).clone()) };
        let x = next().or_else(|| senders.first().map(ToString::to_string));
        let series =
            if is_alone { None } else { senders.first().map(ToString::to_string).or_else(&mut next) };
        Self {
            kind: FigureKind::Table,
            x,
            series,
            panels: next(),
            measure: Measure::goodput(),
            unit: Some("Mbit/s".into()),
            statistic: Statistic::Mean,
            x_label: None,
            log: false,
        }
    }

    /// The unit that values are shown in; empty for plain numbers.
    pub fn unit_name(&self) -> &str {
        self.unit.as_deref().unwrap_or(self.measure.unit().names()[0])
    }
}

/// The axis of the senders.
const SENDERS: &str = "variant";

/// The kinds of figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FigureKind {
    /// A line for each series.
    Lines,
    /// Groups of bars.
    Bars,
    /// A table.
    Table,
    /// Sequence numbers over time, from a capture of one run of each series.
    TimeSequence,
    /// Throughput over time, from a capture of one run of each series.
    ThroughputOverTime,
}

/// Over the runs of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Statistic {
    /// Arithmetic mean.
    #[default]
    Mean,
    /// Median.
    Median,
}

impl Statistic {
    /// What it is called.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Median => "median",
        }
    }
}

/// A claim of the source.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Claim {
    /// The sentence.
    pub says: String,
    /// An axis: the claim is made of each of its values that is not in `over`, with the value for `{axis}` in the sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub each: Option<String>,
    /// The cells that it speaks of: a value for some of the axes.
    #[serde(default)]
    pub of: IndexMap<String, Scalar>,
    /// The cells that they are compared with; then the claim is about the ratio.
    pub over: Option<IndexMap<String, Scalar>>,
    /// The cells beside them that are subtracted; then the order or the change is that of the difference.
    pub minus: Option<IndexMap<String, Scalar>>,
    /// What is measured; the figure's if not given.
    pub measure: Option<Measure>,
    /// The source's number: in the figure's unit, or the ratio.
    pub paper: Option<f64>,
    /// How far ours may be from it, as a share. It must be smaller than the effect: a ratio of 1, or a value
    /// of 0, may not count as the source's number.
    #[serde(default = "quarter")]
    pub tolerance: f64,
    /// Which parameter was chosen to fit which number of the source, if the claim rests on one: where it
    /// holds, its verdict is `fitted`.
    pub fitted: Option<String>,
    /// Values of `axis`, ascending in the measure.
    pub order: Option<Vec<Scalar>>,
    /// How the measure changes from each value of `axis` to the next, in the order of the file.
    pub change: Option<Change>,
    /// Not less than this in any of the cells: in the figure's unit, or the ratio of each cell to that
    /// which differs in what `over` says.
    pub at_least: Option<f64>,
    /// Not more than this in any of the cells.
    pub at_most: Option<f64>,
    /// The share of the cells in which `at-least` or `at-most` is to hold; all of them if not given. With 0.5 it is
    /// about the median.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// Over the runs of a cell; the figure's if not given.
    pub statistic: Option<Statistic>,
    /// The axis of `order` or `change`; `variant` if not given.
    pub axis: Option<String>,
    /// How far, as a share, a pair may be in the wrong order and still count as equal, for orders in which
    /// equal values are in order as well; at most 0.01.
    #[serde(default)]
    pub slack: f64,
    /// One line on the result.
    #[serde(default)]
    pub why: String,
    /// The sweep over the readings of the source in which the claim is judged again, where it is not
    /// reproduced here.
    pub evidence: Option<EvidenceSource>,
}

/// The direction of a change along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// Each value is greater than the one before it.
    Increases,
    /// Each value is less than the one before it.
    Decreases,
}

/// Where a claim is judged under every reading of its source.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct EvidenceSource {
    /// The name of an experiment that has `readings`.
    pub sweep: String,
    /// The cells of the sweep that the claim speaks of; if not given, those of the claim's own `of`. The
    /// axes of readings do not count: each of their combinations is judged.
    pub of: Option<IndexMap<String, Scalar>>,
    /// The same for `over`.
    pub over: Option<IndexMap<String, Scalar>>,
    /// What the source states of axes of readings: a reading with another value is at odds with it. What is
    /// not stated is open.
    #[serde(default)]
    pub stated: IndexMap<String, Vec<Scalar>>,
    /// A reading counts only where this is so, too.
    pub given: Option<Given>,
}

/// Another number of the source that a reading has to give as well.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Given {
    /// The cells that it is the number of, in the measure of the claim.
    pub of: IndexMap<String, Scalar>,
    /// The cells that they are compared with; then it is a ratio.
    pub over: Option<IndexMap<String, Scalar>>,
    /// The number.
    pub paper: f64,
    /// How far ours may be from it, as a share.
    #[serde(default = "quarter")]
    pub tolerance: f64,
}

fn quarter() -> f64 {
    0.25
}

/// What a claim wants of every cell.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Aim {
    /// This or more.
    AtLeast(f64),
    /// This or less.
    AtMost(f64),
}

impl Aim {
    /// Whether a value meets it.
    pub fn is_met(self, value: f64) -> bool {
        match self {
            Self::AtLeast(least) => value >= least,
            Self::AtMost(most) => value <= most,
        }
    }

    /// Its number.
    pub fn number(self) -> f64 {
        match self {
            Self::AtLeast(number) | Self::AtMost(number) => number,
        }
    }
}

impl Claim {
    /// The claim of each value of its axis [`Claim::each`]; itself, if it has none that is swept.
    pub(super) fn of_each(self, sweep: &IndexMap<String, Vec<Scalar>>) -> Vec<Self> {
        let Some((axis, values)) = self.each.as_ref().and_then(|each| sweep.get_key_value(each)) else {
            return vec![self];
        };
        let base = self.over.as_ref().and_then(|over| over.get(axis));
        let claim = |value: &Scalar| {
            let mut claim = Self { each: None, ..self.clone() };
            claim.says = claim.says.replace(&format!("{{{axis}}}"), &value.to_string());
            claim.of.insert(axis.clone(), value.clone());
            claim
        };
        values.iter().filter(|value| Some(*value) != base).map(claim).collect()
    }

    /// What it wants of every cell, if it is of this kind.
    pub fn aim(&self) -> Option<Aim> {
        self.at_least.map(Aim::AtLeast).or(self.at_most.map(Aim::AtMost))
    }

    /// Whether it is about an order of values, and not about one of them.
    pub(crate) fn is_order(&self) -> bool {
        self.order.is_some() || self.change.is_some()
    }

    /// The share of the cells that an aim is about.
    pub(crate) fn share_of_cells(&self) -> f64 {
        self.share.unwrap_or(1.0)
    }

    /// The key of a number that nothing can be compared with, and what was expected.
    pub(super) fn improper_number(&self) -> Option<(&'static str, String)> {
        let given = self.evidence.as_ref().and_then(|source| source.given.as_ref());
        let other = given.map(|given| given.paper);
        let numbers =
            [("paper", self.paper), ("at-least", self.at_least), ("at-most", self.at_most), ("paper", other)];
        for (key, number) in numbers {
            if let Some(number) = number.filter(|number| !number.is_finite()) {
                return Some((key, format!("{number}: expected a finite number")));
            }
        }
        let tolerances = [Some(self.tolerance), given.map(|given| given.tolerance)];
        let improper = tolerances.into_iter().flatten().find(|share| !share.is_finite() || *share < 0.0)?;
        Some(("tolerance", format!("{improper}: expected a finite number, at least 0")))
    }

    /// The tolerance that is too wide for the effect that it is to judge: with it a ratio of 1 would count as
    /// the source's, or a value of 0.
    pub(super) fn excessive_tolerance(&self) -> Option<TooWide> {
        let own = self.paper.map(|paper| (paper, self.tolerance, self.over.is_some()));
        let given = self.evidence.as_ref().and_then(|source| source.given.as_ref());
        let given = given.map(|given| (given.paper, given.tolerance, given.over.is_some()));
        own.into_iter().chain(given).find_map(|(paper, tolerance, is_ratio)| {
            let effect = if is_ratio && paper != 1.0 { (1.0 / paper - 1.0).abs() } else { 1.0 };
            (tolerance >= effect).then_some(TooWide { paper, tolerance, effect })
        })
    }
}

/// A tolerance that is not smaller than the effect.
pub(super) struct TooWide {
    pub(super) paper: f64,
    pub(super) tolerance: f64,
    pub(super) effect: f64,
}

impl fmt::Display for TooWide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { paper, tolerance, effect } = self;
        // Rounded down, so that what is allowed is.
        let allowed = (effect * 1e4).floor() / 1e4;
        write!(f, "{tolerance} is not smaller than the effect: ")?;
        if *effect == 1.0 {
            write!(f, "0 would count as {paper}: expected less than 1")
        } else {
            write!(f, "a ratio of 1 would count as {paper}: expected less than {allowed}")
        }
    }
}

/// The keys of `[scenario]`.
fn scenario_schema(generator: &mut SchemaGenerator) -> Schema {
    let value = generator.subschema_for::<Scalar>();
    let property = |key: &Key, default: &str| {
        let mut schema = value.clone();
        let description = format!("{}: {}. Default: {default}.", key.placeholder(), key.help);
        schema.insert("description".into(), description.into());
        (key.name.to_owned(), schema.to_value())
    };
    let keys = headway_scenario::keys().iter();
    let of_hop: serde_json::Map<String, serde_json::Value> = keys
        .clone()
        .filter(|key| key.scope.is_of_link())
        .map(|key| property(key, "that of the scenario"))
        .collect();
    let mut properties: serde_json::Map<String, serde_json::Value> =
        keys.map(|key| property(key, key.default.text(Defaults::Files))).collect();
    let hop = json_schema!({
        "type": "array",
        "description": "Links in a row, in the order in which data pass them.",
        "items": { "type": "object", "properties": of_hop, "additionalProperties": false }
    });
    properties.insert(HOP.into(), hop.to_value());
    json_schema!({ "type": "object", "properties": properties, "additionalProperties": false })
}

/// The JSON schema of experiment files, for editors.
pub fn schema() -> String {
    let schema = schemars::schema_for!(ExperimentFile);
    // Strings, numbers and lists: nothing in it can fail to serialize.
    let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text.push('\n');
    text
}

/// The key and the value of a `KEY=VALUE` from the command line.
pub(super) fn key_of(setting: &str) -> Option<(&str, &str)> {
    let (key, value) = setting.split_once('=')?;
    let plain = ["scenario.", "link.", "sweep.", "draw."].iter().find_map(|prefix| key.strip_prefix(prefix));
    Some((plain.unwrap_or(key).trim(), value))
}

impl ExperimentFile {
    /// Applies `KEY=VALUE` from the command line.
    pub(super) fn set(&mut self, setting: &str) -> Result<(), LabError> {
        let complaint = |problem: String| LabError::BadOverride {
            option: one_line(&format!("--set {setting}")),
            problem: one_line(&problem),
        };
        let Some((key, value)) = key_of(setting) else {
            return Err(complaint("expected KEY=VALUE, such as delay=150ms".into()));
        };
        let text = |value: &str| Scalar::Text(value.trim().into());
        if let Some(values) = self.sweep.get_mut(key) {
            *values = value.split(',').map(text).collect();
        } else if let Some(drawn) = self.draw.as_mut().and_then(|draw| draw.get_mut(key)) {
            *drawn = match drawn {
                // The number of links.
                toml::Value::Integer(_) => {
                    value.trim().parse().map_or_else(|_| value.trim().into(), toml::Value::Integer)
                }
                _ => value.split(',').map(str::trim).collect::<Vec<_>>().into(),
            };
        } else if headway_scenario::key(key).is_some() {
            self.scenario.insert(key.into(), text(value));
        } else {
            let axes = self.sweep.keys().map(String::as_str);
            let keys = headway_scenario::keys().iter().map(|key| key.name);
            let keys = keys.filter(|key| !self.sweep.contains_key(*key));
            let drawn = self.draw.iter().flatten().map(|(key, _)| key.as_str());
            let drawn = drawn.filter(|key| headway_scenario::key(key).is_none());
            return Err(complaint(format!(
                "{key:?} is neither an axis nor a key of [scenario]: {}",
                unknown_key(key, axes.chain(drawn).chain(keys))
            )));
        }
        Ok(())
    }

    /// Whether a `KEY=VALUE` only chooses among the values that an axis has, or how many links are drawn.
    pub(super) fn chooses(&self, setting: &str) -> bool {
        let Some((axis, chosen)) = setting.split_once('=') else { return false };
        if key_of(setting).is_some_and(|(key, _)| self.draw.is_some() && key == super::draw::LINKS) {
            return true;
        }
        let Some(values) = self.sweep.get(axis.strip_prefix("sweep.").unwrap_or(axis).trim()) else {
            return false;
        };
        chosen.split(',').all(|chosen| values.iter().any(|value| value.to_string() == chosen.trim()))
    }

    /// Whether a combination of the axes is left out.
    pub(super) fn skips(&self, values: &IndexMap<String, String>) -> bool {
        let is = |axis: &String, left_out: &OneOrMore| {
            values
                .get(axis)
                .is_some_and(|own| left_out.values().iter().any(|value| value.to_string() == *own))
        };
        self.skip.iter().any(|skip| skip.iter().all(|(axis, left_out)| is(axis, left_out)))
    }
}
