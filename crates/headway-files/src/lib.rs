//! Files over HTTP: `headway serve` and `headway fetch`.
#![forbid(unsafe_code)]

mod fetch;
mod http;
mod serve;

use headway_command::Failure;
use headway_transport::block_on;

pub use fetch::Arguments as FetchArguments;
pub use serve::Arguments as ServeArguments;

/// Serves a folder until SIGINT or SIGTERM.
pub fn run_serve(arguments: &ServeArguments) -> Result<(), impl Failure> {
    block_on(serve::run(arguments))
}

/// Downloads a file, or uploads one.
pub fn run_fetch(arguments: &FetchArguments) -> Result<(), impl Failure> {
    block_on(fetch::run(arguments))
}
