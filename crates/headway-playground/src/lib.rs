//! Races in a browser: what `headway race` does, for one seed, as WebAssembly.
//!
//! [`answer`] takes a request as JSON and gives the results as JSON; [`exports`] is how a page reaches it. The packets are
//! those of the command: the digest of each run is that of the file that `headway race --pcap` writes.
#![deny(unsafe_code)]

mod answer;
#[allow(unsafe_code, reason = "names without mangling, for the browser")]
pub mod exports;
mod recorder;
mod request;

pub use answer::answer;
