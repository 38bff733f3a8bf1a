//! Which connection, and which path, a packet belongs to.

use core::hash::{BuildHasher, Hash, Hasher};
use core::net::IpAddr;

use hashbrown::HashMap;
use siphasher::sip::SipHasher24;

use super::ConnectionId;
use super::identity::Identity;
use super::slab::Key;
use crate::connection::Endpoints;

/// A pair of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct PathKey {
    pub(super) local: IpAddr,
    pub(super) remote: IpAddr,
}

/// Keyed, so that a peer cannot choose ports that collide.
struct Keyed(SipHasher24);

impl BuildHasher for Keyed {
    type Hasher = SipHasher24;
    fn build_hasher(&self) -> SipHasher24 {
        self.0
    }
}

/// Tables that are looked up, never walked: their order reaches no result.
pub(super) struct Demux {
    connections: HashMap<Compact, ConnectionId, Keyed>,
    paths: HashMap<PathKey, Key, Keyed>,
    /// The last connection found: packets come in runs.
    last: Option<(Endpoints, ConnectionId)>,
}

/// [`Endpoints`], hashed in one piece.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Compact(Endpoints);

impl Hash for Compact {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let ports = u32::from(self.0.local.port()) << 16 | u32::from(self.0.remote.port());
        hasher.write_u32(ports);
        match (self.0.local.ip(), self.0.remote.ip()) {
            (IpAddr::V4(a), IpAddr::V4(b)) => {
                hasher.write_u64(u64::from(a.to_bits()) << 32 | u64::from(b.to_bits()));
            }
            (a, b) => (a, b).hash(hasher),
        }
    }
}

impl Demux {
    pub(super) fn new(identity: &Identity) -> Self {
        let keyed = || Keyed(identity.hasher());
        Self { connections: HashMap::with_hasher(keyed()), paths: HashMap::with_hasher(keyed()), last: None }
    }

    pub(super) fn connection(&self, ends: &Endpoints) -> Option<ConnectionId> {
        self.connections.get(&Compact(*ends)).copied()
    }

    /// The connection of a packet that arrived.
    pub(super) fn find(&mut self, ends: &Endpoints) -> Option<ConnectionId> {
        if let Some((last, id)) = self.last
            && last == *ends
        {
            return Some(id);
        }
        let id = self.connection(ends)?;
        self.last = Some((*ends, id));
        Some(id)
    }

    pub(super) fn add(&mut self, ends: Endpoints, id: ConnectionId) {
        self.connections.insert(Compact(ends), id);
        self.last = Some((ends, id));
    }

    pub(super) fn remove(&mut self, ends: &Endpoints) {
        self.connections.remove(&Compact(*ends));
        self.last = None;
    }

    pub(super) fn path(&self, key: &PathKey) -> Option<Key> {
        self.paths.get(key).copied()
    }

    pub(super) fn add_path(&mut self, key: PathKey, path: Key) {
        self.paths.insert(key, path);
    }

    pub(super) fn remove_path(&mut self, key: &PathKey) {
        self.paths.remove(key);
    }
}
