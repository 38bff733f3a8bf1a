//! IP packets in a byte stream, as the trunk of the papers has them. The ordinary tests run the same checks on the corpus.
#![no_main]

#[path = "../../crates/headway-trunk-proto/tests/fuzzed/packets.rs"]
mod packets;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| packets::check_packets(bytes));
