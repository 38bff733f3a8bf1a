//! What a gateway reads of its peers and hosts. The ordinary tests run the same checks on the corpus.
#![no_main]

#[path = "../../crates/headway-trunk/src/fuzzed.rs"]
mod fuzzed;
#[path = "../../crates/headway-trunk/src/packets/ip_packet.rs"]
mod ip_packet;
#[path = "../../crates/headway-trunk/src/packets/quic.rs"]
mod quic;
#[path = "../../crates/headway-trunk/src/stream/request.rs"]
#[allow(dead_code, reason = "this reads")]
mod request;

/// Where the gateway has them.
mod packets {
    pub(crate) use crate::{ip_packet, quic};
}
mod stream {
    pub(crate) use crate::request;
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzzed::check_requests(bytes));
