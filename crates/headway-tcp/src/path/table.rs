//! The paths that a host knows. One without users is remembered for a while: all that was learnt, if a
//! connection with TCB sharing used it (RFC 9040), and its MTU in any case.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::hash::BuildHasher;
use core::net::IpAddr;

use hashbrown::HashMap;
use headway_units::Instant;

use super::Path;
use super::memory::LIFETIME;
use super::mtu::MtuExpiry;
use super::receivers::RecentReceivers;
use crate::id::ConnectionId;
use crate::slab::{Key, Slab};

/// How many paths without users there are at most. Each outlives its last user by [`LIFETIME`].
const MEMORIES: usize = 1024;

/// A pair of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PathKey {
    pub(crate) local: IpAddr,
    pub(crate) remote: IpAddr,
}

/// What the table keeps for each path.
pub(crate) struct PathEntry {
    path: Path,
    key: PathKey,
    users: u32,
    receivers: RecentReceivers,
    /// A connection that shares what it learns has used it.
    shared: bool,
    /// Since when it has no users, if it has none.
    idle_since: Instant,
}

impl PathEntry {
    fn idle_since(&self) -> Option<Instant> {
        (self.users == 0).then_some(self.idle_since)
    }
}

/// See the module's documentation. Its map is looked up, never walked: its order reaches no result.
pub(crate) struct PathTable<S> {
    entries: Slab<PathEntry>,
    keys: HashMap<PathKey, Key, S>,
    /// Paths without users, by the time since when.
    idle: BTreeSet<(Instant, Key)>,
    mtus: MtuExpiry,
}

impl<S: BuildHasher> PathTable<S> {
    pub(crate) fn new(hasher: S) -> Self {
        Self {
            entries: Slab::default(),
            keys: HashMap::with_hasher(hasher),
            idle: BTreeSet::new(),
            mtus: MtuExpiry::default(),
        }
    }

    pub(crate) fn find(&self, key: &PathKey) -> Option<Key> {
        self.keys.get(key).copied()
    }

    #[inline]
    pub(crate) fn get(&self, path: Key) -> Option<&Path> {
        Some(&self.entries.get(path)?.path)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, path: Key) -> Option<&mut Path> {
        Some(&mut self.entries.get_mut(path)?.path)
    }

    // --- users --------------------------------------------------------------------------------------

    /// A connection begins to use the path; `shared`: it learns from earlier ones, and for later ones.
    pub(crate) fn acquire(&mut self, key: PathKey, shared: bool, now: Instant) -> Key {
        self.expire(now);
        if let Some(found) = self.find(&key)
            && let Some(entry) = self.entries.get_mut(found)
        {
            let idle_since = entry.idle_since();
            entry.users += 1;
            // A connection that has been open since, and had little to send, keeps the path but not this.
            entry.path.memory.take_if(|memory| memory.is_expired(now));
            if let Some(since) = idle_since {
                self.idle.remove(&(since, found));
                if entry.shared {
                    entry.path.begin();
                }
            }
            entry.shared |= shared;
            return found;
        }
        let added = self.entries.insert(PathEntry {
            path: Path::default(),
            key,
            users: 1,
            receivers: RecentReceivers::default(),
            shared,
            idle_since: now,
        });
        self.keys.insert(key, added);
        added
    }

    /// A connection ceases to use the path.
    pub(crate) fn release(&mut self, path: Key, now: Instant) {
        let Some(entry) = self.entries.get_mut(path) else { return };
        entry.users -= 1;
        if entry.users > 0 {
            return;
        }
        entry.idle_since = now;
        self.idle.insert((now, path));
        if !entry.shared {
            // RFC 1191, 3: "An attempt to detect an increase [...] MUST NOT be done less than 5 minutes after a Datagram
            // Too Big message has been received for the given destination".
            match entry.path.only_mtu() {
                Some(rest) => (entry.path, entry.receivers) = (rest, RecentReceivers::default()),
                None => self.remove_idle(now, path),
            }
        }
        self.expire(now);
    }

    fn expire(&mut self, now: Instant) {
        while let Some(&(since, path)) = self.idle.first()
            && (self.idle.len() > MEMORIES || now.saturating_since(since) >= LIFETIME)
        {
            self.remove_idle(since, path);
        }
    }

    fn remove_idle(&mut self, since: Instant, path: Key) {
        self.idle.remove(&(since, path));
        if let Some(entry) = self.entries.remove(path) {
            self.keys.remove(&entry.key);
            self.mtus.cancel(path);
        }
    }

    /// Forgets what earlier connections learnt of the path; what open connections count on it stays.
    /// Says whether anything was known.
    pub(crate) fn forget(&mut self, path: Key) -> bool {
        let Some(entry) = self.entries.get_mut(path) else { return false };
        match entry.idle_since() {
            Some(since) => {
                self.remove_idle(since, path);
                true
            }
            None => {
                entry.path.receive_window = 0;
                entry.path.memory.take().is_some()
            }
        }
    }

    /// As [`Self::forget`], for every path.
    pub(crate) fn forget_all(&mut self) {
        let paths: Vec<Key> = self.entries.iter().map(|(path, _)| path).collect();
        for path in paths {
            self.forget(path);
        }
    }

    // --- receivers ----------------------------------------------------------------------------------

    /// The connection received data over the path.
    #[inline]
    pub(crate) fn record_receiver(&mut self, path: Key, id: ConnectionId) {
        if let Some(entry) = self.entries.get_mut(path) {
            entry.receivers.record(id);
        }
    }

    /// The connections that received data last, the latest first.
    pub(crate) fn receivers(&self, path: Key) -> impl Iterator<Item = ConnectionId> + use<S> {
        let receivers = self.entries.get(path).map(|entry| entry.receivers);
        receivers.unwrap_or_default().into_iter()
    }

    // --- MTU ----------------------------------------------------------------------------------------

    /// The MTU of the path became known.
    pub(crate) fn set_mtu(&mut self, path: Key, mtu: u16) {
        self.mtus.cancel(path);
        if let Some(entry) = self.entries.get_mut(path) {
            entry.path.mtu = Some(mtu);
        }
    }

    /// The MTU of the path is to be forgotten after a while: a larger one may be possible then.
    pub(crate) fn expire_mtu(&mut self, path: Key, now: Instant) {
        self.mtus.schedule(path, now);
    }

    /// When the next MTU is to be forgotten.
    pub(crate) fn next_mtu_deadline(&self) -> Option<Instant> {
        self.mtus.next_deadline()
    }

    /// Forgets an MTU whose time is over, and says of which path.
    pub(crate) fn forget_expired_mtu(&mut self, now: Instant) -> Option<Key> {
        let path = self.mtus.pop_due(now)?;
        if let Some(entry) = self.entries.get_mut(path) {
            entry.path.mtu = None;
            if let (false, Some(since), None) =
                (entry.shared, entry.idle_since(), entry.path.largest_packet())
            {
                self.remove_idle(since, path);
            }
        }
        Some(path)
    }
}

#[cfg(test)]
mod tests {
    use core::hash::BuildHasherDefault;
    use core::net::Ipv4Addr;

    use headway_units::Duration;
    use siphasher::sip::SipHasher24;

    use super::*;

    fn key(n: u32) -> PathKey {
        PathKey { local: Ipv4Addr::LOCALHOST.into(), remote: Ipv4Addr::from_bits(n).into() }
    }

    #[test]
    fn of_a_path_that_is_not_shared_the_mtu_is_remembered_and_nothing_else() {
        let mut table = PathTable::new(BuildHasherDefault::<SipHasher24>::default());
        let at = |second: u64| Instant::ZERO + Duration::from_secs(second);
        for mtu in [None, Some(1300)] {
            let path = table.acquire(key(1), false, at(0));
            if let Some(mtu) = mtu {
                table.set_mtu(path, mtu);
                table.expire_mtu(path, at(0));
            }
            table.get_mut(path).unwrap().unreadable = 3;
            table.release(path, at(10));
            assert_eq!(table.find(&key(1)).is_some(), mtu.is_some());
        }
        let path = table.acquire(key(1), false, at(20));
        assert_eq!(table.get(path), Some(&Path { mtu: Some(1300), ..Path::default() }));
        table.release(path, at(30));
        assert_eq!(table.next_mtu_deadline(), Some(at(600)));
        assert!(table.forget_expired_mtu(at(600)).is_some());
        assert!(table.entries.iter().next().is_none() && table.idle.is_empty());
    }

    #[test]
    fn paths_that_are_remembered_for_their_mtu_are_bounded() {
        let mut table = PathTable::new(BuildHasherDefault::<SipHasher24>::default());
        for n in 0..3 * MEMORIES as u32 {
            let path = table.acquire(key(n), false, Instant::ZERO);
            table.set_mtu(path, 1300);
            table.expire_mtu(path, Instant::ZERO);
            table.release(path, Instant::ZERO);
        }
        assert_eq!(table.entries.iter().count(), MEMORIES);
        assert_eq!(table.keys.len(), MEMORIES);
        let mut expired = 0;
        while table.forget_expired_mtu(Instant::ZERO + LIFETIME).is_some() {
            expired += 1;
        }
        assert_eq!(expired, MEMORIES);
        assert!(table.keys.is_empty());
    }
}
