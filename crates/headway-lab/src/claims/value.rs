//! Values of cells.

use indexmap::IndexMap;

use crate::experiment::{Measure, Statistic};
use crate::results::{ManifestCell, Results};
use crate::statistics::{Sample, statistic_of};

/// A value for some of the axes.
pub(super) type AxisValues = IndexMap<String, String>;

pub(super) fn texts<T: ToString>(of: &IndexMap<String, T>) -> AxisValues {
    of.iter().map(|(axis, value)| (axis.clone(), value.to_string())).collect()
}

/// The statistic over all runs of the cells that match.
pub(super) fn value_of(
    results: &Results,
    of: &AxisValues,
    measure: Measure,
    statistic: Statistic,
) -> Option<f64> {
    statistic_of(values_of(results, of, measure).map(|(_, value)| value).collect(), statistic)
}

/// All runs of the cells that match; `None` if there are none.
pub(super) fn sample_of(results: &Results, of: &AxisValues, measure: Measure) -> Option<Sample> {
    let (seeds, values): (Vec<u64>, Vec<f64>) = values_of(results, of, measure).unzip();
    Sample::new(seeds, values)
}

/// The seed and the value of each run of the cells that match.
fn values_of(results: &Results, of: &AxisValues, measure: Measure) -> impl Iterator<Item = (u64, f64)> {
    let matches = |cell: &ManifestCell| of.iter().all(|(name, value)| cell.value(name) == Some(value));
    results
        .manifest
        .cells
        .iter()
        .zip(&results.rows)
        .filter(move |(cell, _)| matches(cell))
        .flat_map(move |(_, rows)| rows.iter().filter_map(move |row| Some((row.seed, row.measure(measure)?))))
}

/// A measure in the unit that a figure asks for.
pub fn in_unit(value: f64, measure: Measure, unit: Option<&str>) -> f64 {
    unit.map_or(value, |unit| measure.unit().convert(value, unit))
}
