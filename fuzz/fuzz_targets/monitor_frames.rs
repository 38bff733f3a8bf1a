//! What Wi-Fi cards in monitor mode hand up. The ordinary tests run the same checks on the corpus.
#![no_main]

#[path = "../../crates/headway-net/src/carrier/frames/monitor/diversity.rs"]
#[allow(dead_code, reason = "the target needs a part")]
mod diversity;
#[path = "../../crates/headway-net/src/carrier/frames/monitor/fuzzed.rs"]
mod fuzzed;
#[path = "../../crates/headway-net/src/carrier/frames/monitor/header.rs"]
#[allow(dead_code, reason = "the target needs a part")]
mod header;
#[path = "../../crates/headway-net/src/carrier/frames/monitor/radiotap.rs"]
#[allow(dead_code, reason = "the target needs a part")]
mod radiotap;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzzed::check_monitor(bytes));
