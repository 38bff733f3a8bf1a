//! The meaning of the columns of a table of results.

use headway_lab::{ValueKind, columns};

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
    for column in columns() {
        let kind = match column.kind {
            ValueKind::Text => "text",
            ValueKind::Integer => "whole number",
            ValueKind::Number => "number",
            ValueKind::Flag => "true or false",
        };
        text.push_str(&format!("| `{}` | {kind} | {} |\n", column.name, column.meaning));
    }
    text.push_str(
        "\n## Which runs are made again\n\n\
         Each row of the journal, `runs.jsonl`, is stored with the code that made it. A sweep keeps the rows of\n\
         code that gives the same results, and makes the others again; `--reuse` keeps them all. The code\n\
         is named by a digest of the packets of a fixed set of runs, so comments, new names and other\n\
         changes that leave every packet as it was keep stored runs valid. `CONTRIBUTING.md` describes how the\n\
         digest is proven (`crates/headway-lab/results.lock`). A program built from changed sources that are not\n\
         in that file yet names its code by a hash of the sources.\n\n\
         One sweep at a time writes to a folder: a second one is refused as long as the first one runs, and told which\n\
         process that is.\n",
    );
    text
}
