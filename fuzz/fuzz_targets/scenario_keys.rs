//! Keys of a scenario, and the files that they name. The ordinary tests run the same checks on the corpus.
#![no_main]

#[path = "../../crates/headway-scenario/tests/fuzzed/mod.rs"]
mod fuzzed;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzzed::check_keys(bytes));
