//! What programs call the connections and listeners of a host.

use crate::slab::Key;

/// A connection of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnectionId(pub(crate) Key);

#[cfg(test)]
impl ConnectionId {
    /// For tests that need one and no host.
    pub(crate) fn of_test() -> Self {
        Self(crate::slab::Slab::default().insert(()))
    }
}

/// A listener of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ListenerId(pub(crate) Key);

/// A congestion domain that connections of a host share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DomainId(pub(crate) Key);
