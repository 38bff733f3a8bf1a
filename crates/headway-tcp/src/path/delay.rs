//! The delay of a path, as a round-trip sample shows it.

use headway_units::Duration;

/// What a round-trip sample says of the queue at the bottleneck.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Delay {
    pub(crate) latest: Duration,
    pub(crate) min: Duration,
    pub(crate) smoothed: Duration,
}
