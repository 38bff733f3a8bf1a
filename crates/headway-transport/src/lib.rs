//! The network of a command: its options ([`NetworkArguments`]), and the connections that they open ([`Transport`]): with
//! headway's TCP over a TUN device, UDP or an Ethernet, or with the kernel's for comparison.
//!
//! Its errors are those that all such commands have ([`TransportError`]). A command runs with [`block_on`], until it is
//! done or [`stop_signal`] says that it is to stop; then it closes its transport within [`GRACE`].
#![forbid(unsafe_code)]

mod captures;
mod error;
mod names;
mod network_arguments;
mod stop_signal;
mod transport;

use std::future::Future;
use std::time::Duration;

use tokio::runtime::Runtime;

pub use captures::open_ends;
pub use error::{TransportError, with_causes};
pub use names::{Listen, resolve};
pub use network_arguments::{NetworkArguments, UDP_VARIABLE, profile_of, start_log};
pub use stop_signal::{StopSignal, stop_signal};
pub use transport::{Listener, SenderState, Stream, Transport};

/// How long a command waits at its end until all data is acknowledged.
pub const GRACE: Duration = Duration::from_secs(10);
/// The same after a signal.
pub const GRACE_STOPPED: Duration = Duration::from_secs(2);

/// Runs the work of a command to its end.
pub fn block_on<E: From<TransportError>>(work: impl Future<Output = Result<(), E>>) -> Result<(), E> {
    let runtime = Runtime::new().map_err(TransportError::NoRuntime)?;
    let outcome = runtime.block_on(work);
    // A read of standard input cannot be cancelled.
    runtime.shutdown_background();
    outcome
}
