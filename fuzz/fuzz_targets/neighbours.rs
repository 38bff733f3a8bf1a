//! Address resolution on an Ethernet. The ordinary tests run the same checks on the corpus.
#![no_main]

#[path = "../../crates/headway-net/src/carrier/arp.rs"]
mod arp;
#[path = "../../crates/headway-net/src/carrier/fuzzed.rs"]
mod fuzzed;
#[path = "../../crates/headway-net/src/carrier/ndp.rs"]
#[allow(dead_code, reason = "this reads")]
mod ndp;

/// What the parsers use of it.
mod neighbours {
    pub(crate) type Mac = [u8; 6];
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzzed::check_neighbours(bytes));
