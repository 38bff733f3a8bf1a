//! Which connection a packet belongs to.

use core::hash::{BuildHasher, Hash as _, Hasher as _};
use core::net::IpAddr;

use hashbrown::HashTable;
use siphasher::sip::SipHasher24;

use super::identity::Identity;
use crate::ConnectionId;
use crate::connection::Endpoints;

/// Keyed, so that a peer cannot choose ports that collide.
#[derive(Clone)]
pub(super) struct Keyed(SipHasher24);

impl BuildHasher for Keyed {
    type Hasher = SipHasher24;
    fn build_hasher(&self) -> SipHasher24 {
        self.0
    }
}

/// A table that is looked up, never walked: its order reaches no result.
pub(super) struct Demux {
    /// Without their ends, which the connections know.
    connections: HashTable<ConnectionId>,
    keyed: Keyed,
    /// The last connection found: packets come in runs.
    last: Option<(Endpoints, ConnectionId)>,
}

impl Keyed {
    pub(super) fn new(identity: &Identity) -> Self {
        Self(identity.hasher())
    }

    /// The hash of `ends`, which go into it in one piece.
    fn hash(&self, ends: &Endpoints) -> u64 {
        let mut hasher = self.0;
        let ports = u32::from(ends.local.port()) << 16 | u32::from(ends.remote.port());
        hasher.write_u32(ports);
        match (ends.local.ip(), ends.remote.ip()) {
            (IpAddr::V4(a), IpAddr::V4(b)) => {
                hasher.write_u64(u64::from(a.to_bits()) << 32 | u64::from(b.to_bits()));
            }
            (a, b) => (a, b).hash(&mut hasher),
        }
        hasher.finish()
    }
}

impl Demux {
    pub(super) fn new(identity: &Identity) -> Self {
        Self { connections: HashTable::new(), keyed: Keyed::new(identity), last: None }
    }

    /// `ends_of` gives the ends of the connections in the table.
    pub(super) fn connection(
        &self,
        ends: &Endpoints,
        ends_of: impl Fn(ConnectionId) -> Option<Endpoints>,
    ) -> Option<ConnectionId> {
        let hash = self.keyed.hash(ends);
        self.connections.find(hash, |&id| ends_of(id) == Some(*ends)).copied()
    }

    /// The connection of a packet that arrived.
    pub(super) fn find(
        &mut self,
        ends: &Endpoints,
        ends_of: impl Fn(ConnectionId) -> Option<Endpoints>,
    ) -> Option<ConnectionId> {
        if let Some((last, id)) = self.last
            && last == *ends
        {
            return Some(id);
        }
        let id = self.connection(ends, ends_of)?;
        self.last = Some((*ends, id));
        Some(id)
    }

    /// Adds a connection, whose ends are among those that `ends_of` gives.
    pub(super) fn add(
        &mut self,
        ends: Endpoints,
        id: ConnectionId,
        ends_of: impl Fn(ConnectionId) -> Option<Endpoints>,
    ) {
        let keyed = &self.keyed;
        let hash = |&id: &ConnectionId| ends_of(id).map_or(0, |ends| keyed.hash(&ends));
        self.connections.insert_unique(keyed.hash(&ends), id, hash);
        self.last = Some((ends, id));
    }

    pub(super) fn remove(&mut self, ends: &Endpoints, id: ConnectionId) {
        let hash = self.keyed.hash(ends);
        if let Ok(found) = self.connections.find_entry(hash, |&other| other == id) {
            found.remove();
        }
        self.last = None;
    }
}
