//! A stream of records, in whatever order it arrives. The ordinary tests run the same checks on the corpus.
#![no_main]

#[path = "../../crates/headway-trunk-proto/tests/fuzzed/records.rs"]
mod records;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| records::check_records(bytes));
