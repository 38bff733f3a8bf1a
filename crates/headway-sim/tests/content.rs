//! What long runs send: the same for all of them. [`Content::generated`] beyond 64 MiB is made as it is sent and again as it
//! arrives.

use std::sync::OnceLock;

use headway_sim::Content;
use headway_test_fixture::pattern::Pattern;

/// More than 10 Mbit/s carry in two minutes.
const LEN: usize = 160_000_000;

/// The same bytes for all runs of the program, in memory.
pub(crate) fn long() -> Content {
    static LONG: OnceLock<Content> = OnceLock::new();
    LONG.get_or_init(|| Content::from_bytes(Pattern(1).bytes(0, LEN))).clone()
}
