//! Experiment files, and files that describe a link. The ordinary tests run the same checks on the corpus.
#![no_main]

#[path = "../../crates/headway-lab/tests/fuzzed/mod.rs"]
mod fuzzed;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzzed::check_experiment(bytes));
