//! The output of `tcptrace -lrn`.

use std::collections::BTreeMap;

/// The numbers of both directions of a connection, by tcptrace's names.
#[derive(Debug, Default)]
pub(crate) struct Connection {
    pub(crate) rows: BTreeMap<String, [String; 2]>,
}

impl Connection {
    /// A number of a direction, without its unit. `None` if tcptrace has no value or "NA".
    pub(crate) fn number(&self, row: &str, side: usize) -> Option<f64> {
        self.text(row, side)?.parse().ok()
    }

    /// A cell, without its unit.
    pub(crate) fn text(&self, row: &str, side: usize) -> Option<&str> {
        self.rows.get(row)?[side].split_whitespace().next()
    }
}

/// Reads the long output: of each connection, rows of two columns, each `label: value unit`.
pub(crate) fn parse(text: &str) -> Vec<Connection> {
    let mut connections: Vec<Connection> = Vec::new();
    let mut is_table = false;
    for line in text.lines() {
        if line.trim_start().starts_with("host ") && line.starts_with('\t') {
            if is_table || connections.is_empty() {
                connections.push(Connection::default());
            }
            is_table = false;
        } else if line.starts_with("   ") && line.contains("->") {
            is_table = true;
        } else if is_table && let Some((label, first, second)) = row(line) {
            let connection = connections.last_mut().expect("a connection before its rows");
            // Two rows have the same label and differ by their unit.
            let label = match (label, first.split_whitespace().nth(1)) {
                ("initial window", Some(unit)) => format!("initial window {unit}"),
                (label, _) => label.into(),
            };
            connection.rows.insert(label, [first.into(), second.into()]);
        }
    }
    connections
}

/// The label, which both columns have, and the two values.
fn row(line: &str) -> Option<(&str, &str, &str)> {
    let line = line.strip_prefix("     ")?;
    let (label, rest) = line.split_once(':')?;
    let again = rest.find(&format!("{label}:"))?;
    let (first, second) = (&rest[..again], &rest[again + label.len() + 1..]);
    Some((label, first.trim(), second.trim()))
}
