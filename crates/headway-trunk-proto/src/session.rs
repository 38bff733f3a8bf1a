//! A session: the keys of one handshake.

use headway_units::Instant;

use crate::handshake::{Introduction, SessionKeys};
use crate::seal::{MOST_PACKETS, Opener, Sealer};

/// The keys of one handshake, in both directions.
pub(crate) struct Session {
    /// By which the peer names it in packets to us.
    pub(crate) index: u32,
    pub(crate) sealer: Sealer,
    pub(crate) opener: Opener,
    pub(crate) since: Instant,
    /// The peer's process, and its time at the handshake.
    pub(crate) peer: Introduction,
    /// We began the handshake, and are the one who begins the next.
    pub(crate) initiated: bool,
}

impl Session {
    pub(crate) fn new(
        keys: &SessionKeys,
        (ours, theirs): (u32, u32),
        since: Instant,
        peer: Introduction,
        initiated: bool,
    ) -> Self {
        Self {
            index: ours,
            sealer: Sealer::new(&keys.sending, theirs),
            opener: Opener::new(&keys.receiving),
            since,
            peer,
            initiated,
        }
    }

    /// Whether a new session is due, because of the number of sealed packets.
    pub(crate) fn is_worn(&self) -> bool {
        self.sealer.packets() > MOST_PACKETS / 2
    }
}
