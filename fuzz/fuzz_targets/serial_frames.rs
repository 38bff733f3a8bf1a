//! The stream of a serial line with frames. The ordinary tests run the same checks on the corpus.
#![no_main]

#[path = "../../crates/headway-net/src/carrier/frames/ax25.rs"]
#[allow(dead_code, reason = "the target needs a part")]
mod ax25;
#[path = "../../crates/headway-net/src/carrier/frames/framing.rs"]
#[allow(dead_code, reason = "the target needs a part")]
mod framing;
#[path = "../../crates/headway-net/src/carrier/frames/fuzzed.rs"]
#[allow(dead_code, reason = "the target needs a part")]
mod fuzzed;
#[path = "../../crates/headway-net/src/carrier/frames/kiss.rs"]
#[allow(dead_code, reason = "the target needs a part")]
mod kiss;
#[path = "../../crates/headway-net/src/carrier/frames/marks.rs"]
#[allow(dead_code, reason = "the target needs a part")]
mod marks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzzed::check_marks(bytes));
