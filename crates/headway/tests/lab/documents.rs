//! What the program generates for the documents is what stands there.

use std::fs;
use std::path::Path;

use crate::HEADWAY;

#[track_caller]
fn is_current(document: &str, words: &[&str]) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let stored = fs::read_to_string(root.join(document)).expect(document);
    assert!(
        stored == HEADWAY.succeed(&root, words),
        "{document} is out of date: headway {} > {document}",
        words.join(" ")
    );
}

#[test]
fn the_schema_of_experiment_files() {
    is_current("docs/experiment.schema.json", &["lab", "schema"]);
}

#[test]
fn the_columns_of_results() {
    is_current("docs/results.md", &["lab", "columns"]);
}
