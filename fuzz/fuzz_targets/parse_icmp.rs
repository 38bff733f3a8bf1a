//! Parses any bytes as an ICMP message. The ordinary tests run the same checks on the corpus.
#![no_main]

#[path = "../../crates/headway-wire/tests/checks/mod.rs"]
#[allow(dead_code, reason = "each target uses its own check")]
mod checks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| checks::check_icmp(bytes));
