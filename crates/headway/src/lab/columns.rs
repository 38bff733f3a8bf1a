//! What the columns of a table of results mean.

use headway_lab::{COLUMNS, Kind};

/// A row for each column, as Markdown.
pub(super) fn markdown() -> String {
    let mut text = String::from(
        "# Columns of `runs.csv` and `runs.parquet`\n\n\
         A row for each run: the parameters of its cell, then what was measured. Both files hold the same\n\
         columns in the same order; where a parameter does not apply, or nothing was measured, the cell is\n\
         empty (CSV) or null (Parquet).\n\n\
         This table is what `headway lab columns` prints.\n\n\
         | column | holds | meaning |\n|---|---|---|\n",
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
