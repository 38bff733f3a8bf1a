//! Looking at packets as they pass a host's interface.

use headway_link::Hit;
use headway_units::Instant;

use super::parts::NodeId;

/// A packet at a host's interface.
#[derive(Clone, Copy, Debug)]
pub struct Passing<'a> {
    /// The host.
    pub host: NodeId,
    /// When it passes.
    pub at: Instant,
    /// It leaves the host; otherwise it arrives.
    pub outbound: bool,
    /// Its bytes.
    pub packet: &'a [u8],
    /// What damage the last link did to it, for packets that arrive.
    pub damage: Option<Hit>,
}

/// Sees every packet that leaves or reaches a host, and may end a race. `()` sees nothing and costs nothing.
pub trait Tap: 'static {
    /// Whether packets are to be shown at all.
    const ENABLED: bool = true;

    /// Called for each packet, in the order of time.
    fn pass(&mut self, passing: &Passing<'_>);

    /// Whether a race should end here, without a result ([`RunError::Stopped`](crate::race::RunError::Stopped)). It is
    /// asked after each event.
    fn is_stopped(&self) -> bool {
        false
    }
}

impl Tap for () {
    const ENABLED: bool = false;
    fn pass(&mut self, _passing: &Passing<'_>) {}
}

impl<T: Tap> Tap for Option<T> {
    fn pass(&mut self, passing: &Passing<'_>) {
        if let Some(tap) = self {
            tap.pass(passing);
        }
    }

    fn is_stopped(&self) -> bool {
        self.as_ref().is_some_and(T::is_stopped)
    }
}
