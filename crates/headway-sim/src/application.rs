//! What runs on a host.

use headway_tcp::{Host, Observer};
use headway_units::Instant;

/// A program on a host of the network.
pub trait Application: 'static {
    /// The observer of the host it runs on.
    type Observer: Observer + 'static;

    /// Called once at the start, and after everything that happened to the host: accept, read,
    /// write, close.
    fn progress(&mut self, host: &mut Host<Self::Observer>, now: Instant);

    /// Whether it has come to an end, well or not; [`NetworkCounters::ended`](crate::NetworkCounters::ended) counts
    /// those.
    fn has_ended(&self) -> bool {
        false
    }
}
