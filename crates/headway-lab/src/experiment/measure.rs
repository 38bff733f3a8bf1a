//! What figures draw and claims speak of.

use std::borrow::Cow;

use headway_sim::Unit;
use headway_sim::race::{FigureName, METRICS, Metric};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// One of [`METRICS`] that can be drawn: its place among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Measure(usize);

impl Measure {
    /// The goodput.
    pub(super) fn goodput() -> Self {
        let Some(measure) = Self::all().find(|measure| measure.figure().key == "goodput") else {
            unreachable!("the goodput is drawn in most figures")
        };
        measure
    }

    /// The measure itself.
    pub fn metric(self) -> &'static Metric {
        &METRICS[self.0]
    }

    /// What it is called under a figure.
    pub fn name(self) -> &'static str {
        self.figure().label
    }

    /// The unit of its numbers.
    pub fn unit(self) -> Unit {
        self.figure().unit
    }

    /// Every measure that can be drawn.
    fn all() -> impl Iterator<Item = Self> {
        (0..METRICS.len()).filter(|place| METRICS[*place].figure.is_some()).map(Self)
    }

    fn figure(self) -> &'static FigureName {
        let Some(figure) = &self.metric().figure else {
            unreachable!("a measure is only made of what can be drawn")
        };
        figure
    }
}

impl Serialize for Measure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.figure().key)
    }
}

impl<'de> Deserialize<'de> for Measure {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = Cow::<'_, str>::deserialize(deserializer)?;
        let has_name = |measure: &Self| {
            let figure = measure.figure();
            figure.key == name || figure.alias.is_some_and(|alias| alias == name)
        };
        Self::all().find(has_name).ok_or_else(|| {
            let names: Vec<&str> = Self::all().map(|measure| measure.figure().key).collect();
            D::Error::custom(format!("unknown measure `{name}`, expected one of {}", names.join(", ")))
        })
    }
}

impl JsonSchema for Measure {
    fn schema_name() -> Cow<'static, str> {
        "Measure".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<Schema> = Self::all()
            .map(|measure| {
                let description = measure.metric().meaning;
                json_schema!({ "description": description, "const": measure.figure().key })
            })
            .collect();
        json_schema!({ "description": "What can be measured of a run.", "oneOf": names })
    }
}
