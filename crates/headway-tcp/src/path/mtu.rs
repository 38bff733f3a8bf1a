//! When the MTUs of paths are forgotten.

use alloc::collections::BTreeSet;

use headway_units::{Duration, Instant};

use crate::slab::Key;

/// RFC 8201, 4: an attempt to find a larger one "must not be done less than 5 minutes after a Packet Too
/// Big message has been received"; RFC 1191, 6.3 recommends ten.
const LIFETIME: Duration = Duration::from_secs(600);

/// Paths whose MTU a router reported, by the time at which a larger one is to be tried.
#[derive(Default)]
pub(super) struct MtuExpiry(BTreeSet<(Instant, Key)>);

impl MtuExpiry {
    /// A router reported the MTU of `path`.
    pub(super) fn schedule(&mut self, path: Key, now: Instant) {
        self.0.insert((now + LIFETIME, path));
    }

    /// There are few: a router had to report each.
    pub(super) fn cancel(&mut self, path: Key) {
        self.0.retain(|&(_, scheduled)| scheduled != path);
    }

    #[inline]
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.0.first().map(|&(at, _)| at)
    }

    /// Takes a path whose time has come.
    pub(super) fn pop_due(&mut self, now: Instant) -> Option<Key> {
        self.next_deadline().filter(|&at| at <= now)?;
        self.0.pop_first().map(|(_, path)| path)
    }
}
