//! The meaning of the columns of a table of results.

use headway_lab::{COLUMNS, Kind};

/// One row per column, as Markdown.
pub(super) fn markdown() -> String {
    let mut text = String::from(
        "# Columns of `runs.csv` and `runs.parquet`\n\n\
         This page is for users who process the results of `headway lab` and `headway paper` themselves. There\n\
         is one row per run: first the parameters of its cell, then the measurements. Both files have the same\n\
         columns in the same order. If a parameter does not apply, or nothing was measured, the cell is empty\n\
         (CSV) or null (Parquet).\n\n\
         `headway lab columns` prints this page.\n\n\
         | column | type | meaning |\n|---|---|---|\n",
    );
    for column in COLUMNS {
        let kind = match column.kind {
            Kind::Text => "text",
            Kind::Integer => "whole number",
            Kind::Number => "number",
            Kind::Flag => "true or false",
        };
        text.push_str(&format!("| `{}` | {kind} | {} |\n", column.name, column.meaning));
    }
    text
}
