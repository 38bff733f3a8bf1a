//! Two gateways of a trunk, and an attacker on the path between them. The ordinary tests run the same checks on the
//! corpus.
#![no_main]

#[path = "../../crates/headway-trunk-proto/tests/fuzzed/datagrams.rs"]
mod datagrams;
#[path = "../../crates/headway-trunk-proto/tests/world/mod.rs"]
mod world;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| datagrams::check_datagrams(bytes));
