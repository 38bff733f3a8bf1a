//! `headway trace` as its users meet it.

mod graphs;
mod numbers;
#[path = "../race/program.rs"]
#[allow(dead_code, reason = "each test binary uses its own part")]
mod program;
mod refusals;

use std::path::{Path, PathBuf};

/// The path of a capture.
fn capture(name: &str) -> String {
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../headway-trace/tests/data");
    data.join(name).to_str().expect("a path in UTF-8").to_owned()
}

/// What `headway trace` says of a capture in this way.
fn trace(directory: &Path, name: &str, words: &[&str]) -> String {
    let path = capture(name);
    program::succeed_in(directory, &[&["trace", &path], words].concat())
}
