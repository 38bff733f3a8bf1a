//! A session: the keys of one handshake.

use headway_units::{Duration, Instant};

use crate::handshake::{Introduction, SessionKeys};
use crate::seal::{MOST_PACKETS, Opener, Sealer};

/// A session is replaced when it is this old: what an attacker who learns a key can read ends there.
const REKEY_AFTER: Duration = Duration::from_secs(120);
/// The end that did not begin it waits longer, and begins the next if the other has not.
const REKEY_MARGIN: Duration = Duration::from_secs(30);

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

    /// Whether `next` came before this one was old: data was not answered, or the peer was restarted.
    pub(crate) fn is_followed_early_by(&self, next: &Self) -> bool {
        next.since.saturating_since(self.since) < REKEY_AFTER
    }

    /// When another session is due: because of its age, or at once after many packets.
    pub(crate) fn replace_at(&self) -> Instant {
        if self.sealer.packets() > MOST_PACKETS / 2 {
            return Instant::ZERO;
        }
        self.since + if self.initiated { REKEY_AFTER } else { REKEY_AFTER + REKEY_MARGIN }
    }
}
