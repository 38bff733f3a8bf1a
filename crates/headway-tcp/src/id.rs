//! What programs call the connections and listeners of a host.

use crate::slab::Key;

/// A connection of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnectionId(pub(crate) Key);

/// A listener of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ListenerId(pub(crate) Key);
