//! Objects of JSON whose members keep their order.

use headway_link::LinkConfig;
use headway_scenario::link_values;
use headway_sim::Value;
use serde::{Serialize, Serializer};

/// An object.
pub struct Object(Vec<(String, Member)>);

#[derive(Serialize)]
#[serde(untagged)]
enum Member {
    Value(Value),
    Object(Object),
}

impl Object {
    /// An object of values.
    pub fn new(members: impl IntoIterator<Item = (String, Value)>) -> Self {
        Self(members.into_iter().map(|(name, value)| (name, Member::Value(value))).collect())
    }

    /// The parameters of one direction of a link.
    pub fn of_link(link: &LinkConfig) -> Self {
        Self::new(link_values(link))
    }

    /// With a further value.
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.push((name.into(), Member::Value(value.into())));
        self
    }

    /// With an object.
    pub fn with_object(mut self, name: &str, object: Self) -> Self {
        self.0.push((name.into(), Member::Object(object)));
        self
    }

    /// With the members of another one.
    pub fn extended(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }
}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, member)| (name, member)))
    }
}
