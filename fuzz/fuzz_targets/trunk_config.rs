//! The configuration of a gateway. The ordinary tests run the same checks on the corpus.
#![no_main]

#[path = "../../crates/headway-trunk/tests/config/fuzzed.rs"]
mod config;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| config::check_config(bytes));
