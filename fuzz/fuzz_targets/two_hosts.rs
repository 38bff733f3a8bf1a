//! Two connected hosts, with the events chosen by the bytes. The ordinary tests run the same checks on
//! the corpus.
#![no_main]

#[path = "../../crates/headway-tcp/tests/two_hosts/mod.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| checks::check_two_hosts(bytes));
