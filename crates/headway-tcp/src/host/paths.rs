//! The paths that the host knows. One that nobody uses any more is remembered for a while, if a
//! connection with TCB sharing used it (RFC 9040).

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::net::IpAddr;

use headway_units::{Duration, Instant};

use super::Host;
use super::demux::PathKey;
use super::repair::Receiving;
use super::slab::Key;
use crate::event::Observer;
use crate::path::Path;

/// How long a path outlives its last user, and how many of those there are at most. RFC 9040,
/// section 8.2 has old values expire; ten minutes is how long Careful Resume (RFC 9959) may trust one.
const MEMORY_TIME: Duration = Duration::from_secs(600);
const MEMORIES: usize = 1024;

pub(super) struct PathEntry {
    pub(super) path: Path,
    pub(super) key: PathKey,
    pub(super) users: usize,
    /// The connections that received data last.
    pub(super) receiving: Receiving,
    /// A connection that shares what it learns has used it.
    shared: bool,
    /// Since when nobody uses it.
    idle_since: Option<Instant>,
}

/// Paths without users, by the time since when.
#[derive(Default)]
pub(super) struct IdlePaths(BTreeSet<(Instant, Key)>);

impl<O: Observer> Host<O> {
    /// What is known of the path from `local` to `remote`, while a connection uses it, and for ten
    /// minutes after the last one that had [`Modern::sharing`](crate::Modern::sharing).
    pub fn path(&self, local: IpAddr, remote: IpAddr) -> Option<&Path> {
        let key = self.demux.path(&PathKey { local, remote })?;
        Some(&self.paths.get(key)?.path)
    }

    /// Forgets what earlier connections learnt of the path from `local` to `remote`: its network has
    /// changed, say. What open connections count on it stays. Says whether anything was known.
    pub fn forget_path(&mut self, local: IpAddr, remote: IpAddr) -> bool {
        let Some(key) = self.demux.path(&PathKey { local, remote }) else { return false };
        self.forget(key)
    }

    /// As [`Host::forget_path`], for every path.
    pub fn forget_paths(&mut self) {
        let keys: Vec<Key> = self.paths.iter().map(|(key, _)| key).collect();
        for key in keys {
            self.forget(key);
        }
    }

    fn forget(&mut self, key: Key) -> bool {
        let Some(entry) = self.paths.get_mut(key) else { return false };
        match entry.idle_since {
            Some(since) => {
                self.remove_idle(since, key);
                true
            }
            None => {
                entry.path.receive_window = 0;
                entry.path.memory.take().is_some()
            }
        }
    }

    /// A connection begins to use the path.
    pub(super) fn use_path(&mut self, key: PathKey, shared: bool, now: Instant) -> Key {
        self.expire_paths(now);
        if let Some(found) = self.demux.path(&key)
            && let Some(entry) = self.paths.get_mut(found)
        {
            entry.users += 1;
            entry.shared |= shared;
            if let Some(since) = entry.idle_since.take() {
                entry.path.ledger.begin();
                self.idle_paths.0.remove(&(since, found));
            }
            return found;
        }
        let entry = PathEntry {
            path: Path::default(),
            key,
            users: 1,
            receiving: Receiving::default(),
            shared,
            idle_since: None,
        };
        let made = self.paths.insert(entry);
        self.demux.add_path(key, made);
        made
    }

    /// A connection ceases to use the path.
    pub(super) fn leave_path(&mut self, path: Key, now: Instant) {
        let Some(entry) = self.paths.get_mut(path) else { return };
        entry.users -= 1;
        if entry.users > 0 {
            return;
        }
        entry.idle_since = Some(now);
        self.idle_paths.0.insert((now, path));
        if !entry.shared {
            self.remove_idle(now, path);
        }
        self.expire_paths(now);
    }

    fn expire_paths(&mut self, now: Instant) {
        while let Some(&(since, key)) = self.idle_paths.0.first()
            && (self.idle_paths.0.len() > MEMORIES || now.saturating_since(since) >= MEMORY_TIME)
        {
            self.remove_idle(since, key);
        }
    }

    fn remove_idle(&mut self, since: Instant, key: Key) {
        self.idle_paths.0.remove(&(since, key));
        if let Some(entry) = self.paths.remove(key) {
            self.demux.remove_path(&entry.key);
            self.small_paths.forget(key);
        }
    }
}
