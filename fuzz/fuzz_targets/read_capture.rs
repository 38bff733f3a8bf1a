//! Any bytes as a capture: the reader, and the analysis of what it reads. See the checks,
//! which the ordinary tests replay on the corpus.
#![no_main]

#[path = "../../crates/headway-trace/tests/checks/mod.rs"]
#[allow(dead_code, reason = "each target uses its own check")]
mod checks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| checks::check_capture(bytes));
