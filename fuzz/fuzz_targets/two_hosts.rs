//! Two connected hosts whose fate the bytes decide. See the checks, which the ordinary tests replay on
//! the corpus.
#![no_main]

#[path = "../../crates/headway-tcp/tests/two_hosts/mod.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| checks::check_two_hosts(bytes));
