//! `headway trace` as its users meet it.

mod graphs;
mod numbers;
mod refusals;

use std::path::{Path, PathBuf};

use crate::HEADWAY;

/// The path of a capture.
fn capture(name: &str) -> String {
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../headway-trace/tests/data");
    data.join(name).to_str().expect("a path in UTF-8").to_owned()
}

/// What `headway trace` says of a capture in this way.
fn trace(directory: &Path, name: &str, words: &[&str]) -> String {
    let path = capture(name);
    HEADWAY.succeed(directory, &[&["trace", &path], words].concat())
}
