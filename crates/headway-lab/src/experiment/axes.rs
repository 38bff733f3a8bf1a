//! What figures and claims of a file can name.

use indexmap::IndexMap;

use super::draw::{AXIS, Draws};
use super::file::{ExperimentFile, Scalar};

/// The axes of an experiment, and the values that are drawn from a list.
pub(super) struct Axes {
    axes: IndexMap<String, Vec<String>>,
    /// Nothing where no links are drawn.
    drawn: Option<IndexMap<String, Vec<String>>>,
}

impl Axes {
    /// Those of a file.
    pub(super) fn of(read: &ExperimentFile, draws: Option<&Draws>) -> Self {
        let links =
            draws.map(|draws| (AXIS.into(), (1..=draws.links).map(|link| link.to_string()).collect()));
        let texts = |(axis, values): (&String, &Vec<Scalar>)| {
            (axis.clone(), values.iter().map(Scalar::to_string).collect())
        };
        let axes = links.into_iter().chain(read.sweep.iter().map(texts)).collect();
        Self { axes, drawn: draws.map(Draws::choices) }
    }

    /// All axes, each with its values.
    pub(super) fn into_all(self) -> IndexMap<String, Vec<String>> {
        self.axes
    }

    /// Whether cells that are compared have it in common: it is of their link.
    pub(super) fn is_of_link(&self, name: &str) -> bool {
        self.drawn.as_ref().is_some_and(|drawn| name == AXIS || drawn.contains_key(name))
    }

    /// There must be an axis of this name.
    pub(super) fn check_axis(&self, axis: &str) -> Result<(), String> {
        if self.axes.contains_key(axis) {
            return Ok(());
        }
        Err(Self::unknown(axis, self.axes.keys()))
    }

    /// There must be such an axis, or such a drawn key, with this value; `key` is what names it.
    pub(super) fn check_value(&self, key: &str, axis: &str, value: &Scalar) -> Result<(), String> {
        let drawn = || self.drawn.iter().flatten();
        let values = self.axes.iter().chain(drawn()).find(|(name, _)| *name == axis);
        let Some((_, values)) = values else {
            return Err(Self::unknown(axis, self.axes.keys().chain(drawn().map(|(name, _)| name))));
        };
        let value = value.to_string();
        if values.contains(&value) {
            return Ok(());
        }
        Err(match key {
            "order" => format!("{value:?}: expected a value of the axis {axis}"),
            _ => format!("{axis} = {value:?}: expected a value of that axis"),
        })
    }

    fn unknown<'a>(axis: &str, known: impl Iterator<Item = &'a String>) -> String {
        let known: Vec<&str> = known.map(String::as_str).collect();
        format!("{axis:?} is no axis: expected one of {}", known.join(", "))
    }
}
