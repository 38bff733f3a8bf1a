//! What the page knows of experiments, as JSON.

use base64ct::{Base64, Encoding as _};
use headway_lab::{Manifest, Results, ValueKind, columns};
use headway_scenario::{key, parameters};
use headway_sim::Unit;
use headway_sim::race::METRICS;
use serde_json::{Value, json};

use crate::again::{Again, Recordings, again};

/// The script that gives the page an experiment.
pub(super) fn script(number: usize, experiment: &Value, table: &[u8]) -> String {
    format!("receive({number}, {experiment}, \"{}\");\n", Base64::encode_string(table))
}

/// An experiment: its axes, its cells with the commands that make their runs again, and its figure.
pub(super) fn experiment(results: &Results, recordings: &Recordings, sequences: &[(usize, String)]) -> Value {
    let manifest = &results.manifest;
    let cells = manifest.cells.iter().zip(&results.rows).map(|(cell, rows)| {
        let mut described = match again(cell, recordings) {
            Ok(Again { command, python }) => json!({ "command": command, "python": python }),
            Err(why) => json!({ "why": why }),
        };
        described["values"] = json!(cell.values.values().collect::<Vec<_>>());
        described["runs"] = rows.len().into();
        described
    });
    json!({
        "name": manifest.name,
        "title": manifest.title,
        "source": manifest.source,
        "axes": manifest.axes.iter().map(|(axis, values)| axis_of(axis, values)).collect::<Value>(),
        "cells": cells.collect::<Value>(),
        "start": start(manifest),
        "missing": results.missing(),
        "outdated": results.outdated,
        "recordings": !manifest.recordings.is_empty(),
        "sequences": sequences.iter().map(|(row, path)| (row.to_string(), json!(path))).collect::<serde_json::Map<_, _>>(),
    })
}

/// An axis, with the column of numbers that it varies, if there is one.
fn axis_of(axis: &str, values: &[String]) -> Value {
    let column =
        key(axis).filter(|key| matches!(key.dimension.kind(), ValueKind::Integer | ValueKind::Number));
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    json!({ "name": axis, "column": column.map(headway_scenario::Key::column), "values": values })
}

/// The choices of the experiment's own figure.
fn start(manifest: &Manifest) -> Value {
    let figure = &manifest.figure;
    let first = || manifest.axes.keys().find(|axis| Some(*axis) != figure.series.as_ref()).cloned();
    json!({
        "x": figure.x.clone().or_else(first),
        "series": figure.series,
        "panels": figure.panels,
        "y": figure.measure.metric().name,
        "log": figure.log,
    })
}

/// Every column of the table: what it holds, in which unit, and what it means.
pub(super) fn all_columns() -> Value {
    let known: Vec<&str> = parameters().iter().map(|parameter| parameter.name.as_str()).collect();
    columns()
        .map(|column| {
            let metric = METRICS.iter().find(|metric| metric.name == column.name);
            let figure = metric.and_then(|metric| metric.figure.as_ref());
            let role = if known.contains(&column.name) {
                "parameter"
            } else if metric.is_some() {
                "measure"
            } else {
                "run"
            };
            let kind = match column.kind {
                ValueKind::Text => "text",
                ValueKind::Integer => "integer",
                ValueKind::Number => "number",
                ValueKind::Flag => "flag",
            };
            json!({
                "name": column.name,
                "kind": kind,
                "role": role,
                "label": figure.map_or_else(|| plain(column.name), |figure| figure.label.to_owned()),
                "unit": figure.map_or_else(|| unit(column.name), |figure| unit_of(figure.unit)),
                "meaning": column.meaning,
            })
        })
        .collect()
}

const fn unit_of(unit: Unit) -> &'static str {
    match unit {
        Unit::Seconds => "s",
        Unit::BitsPerSecond => "bit/s",
        Unit::Bytes => "B",
        Unit::One | Unit::Share => "",
    }
}

/// The unit that the name of a column ends in, as every column of a dimension does.
fn unit(column: &str) -> &'static str {
    match column.rsplit('_').next() {
        Some("seconds") => "s",
        Some("bps") => "bit/s",
        Some("bytes") => "B",
        _ => "",
    }
}

/// The name of a column in words.
fn plain(column: &str) -> String {
    let ends = ["_seconds", "_bps", "_bytes"];
    let name = ends.iter().find_map(|end| column.strip_suffix(end)).unwrap_or(column);
    name.replace('_', " ")
}
