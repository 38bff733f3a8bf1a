//! Values of cells.

use indexmap::IndexMap;

use crate::experiment::{Measure, Statistic};
use crate::results::Results;
use crate::statistics::statistic_of;

/// A value for some of the axes.
pub(super) type Place = IndexMap<String, String>;

pub(super) fn texts<T: ToString>(of: &IndexMap<String, T>) -> Place {
    of.iter().map(|(axis, value)| (axis.clone(), value.to_string())).collect()
}

/// The statistic over all runs of the cells that match.
pub(super) fn value_of(results: &Results, of: &Place, measure: Measure, statistic: Statistic) -> Option<f64> {
    let matches =
        |values: &Place| of.iter().all(|(axis, value)| values.get(axis).is_some_and(|own| own == value));
    let values: Vec<f64> = results
        .manifest
        .cells
        .iter()
        .zip(&results.rows)
        .filter(|(cell, _)| matches(&cell.values))
        .flat_map(|(_, rows)| rows.iter().filter_map(|row| row.measure(measure)))
        .collect();
    statistic_of(values, statistic)
}

/// A measure in the unit that a figure asks for.
pub fn in_unit(value: f64, measure: Measure, unit: Option<&str>) -> f64 {
    unit.map_or(value, |unit| measure.unit().convert(value, unit))
}
