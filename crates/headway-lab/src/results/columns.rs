//! The columns of a table of results: every parameter and every measure.

use headway_scenario::parameters;
use headway_sim::race::METRICS;
use headway_sim::{Value, ValueKind};

use super::Row;

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name, with the unit.
    pub name: &'static str,
    /// What it holds.
    pub kind: ValueKind,
    /// What it means.
    pub meaning: &'static str,
}

/// Every column: parameters, the run, and its measures.
pub fn columns() -> impl Iterator<Item = Column> {
    let parameters = parameters().iter().map(|parameter| Column {
        name: &parameter.name,
        kind: parameter.kind,
        meaning: &parameter.meaning,
    });
    let run = [
        Column {
            name: "link",
            kind: ValueKind::Integer,
            meaning: "number of the link, if links are drawn at random; empty: they are not",
        },
        Column { name: "run", kind: ValueKind::Integer, meaning: "number of the run within its cell" },
        Column { name: "seed", kind: ValueKind::Integer, meaning: "seed of the run" },
    ];
    let measures =
        METRICS.iter().map(|metric| Column { name: metric.name, kind: metric.kind, meaning: metric.meaning });
    parameters.chain(run).chain(measures)
}

/// A row of the table: the value of each column, for a run with these parameters, on this link, if links are drawn.
pub fn record(parameters: &[Value], link: Option<u64>, row: &Row) -> Vec<Value> {
    let link = link.map_or(Value::Nothing, Value::Integer);
    parameters.iter().cloned().chain([link]).chain(measures(row)).collect()
}

/// The run and its measures, as the last columns have them.
fn measures(row: &Row) -> impl Iterator<Item = Value> + '_ {
    let run = [Value::Integer(row.run.into()), Value::Integer(row.seed)];
    run.into_iter().chain(METRICS.iter().map(|metric| metric.of(&row.metrics)))
}
