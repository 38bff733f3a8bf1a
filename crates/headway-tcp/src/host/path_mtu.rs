//! The MTUs of paths: how they become known, and how they are forgotten.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::net::IpAddr;

use headway_units::{Duration, Instant};

use super::demux::PathKey;
use super::slab::Key;
use super::{ConnectionId, Host};
use crate::connection::Connection;
use crate::event::Observer;

/// RFC 8201, 4: an attempt to find a larger one "must not be done less than 5 minutes after a Packet Too
/// Big message has been received"; RFC 1191, 6.3 recommends ten.
const LIFETIME: Duration = Duration::from_secs(600);

/// Paths whose MTU a router told, by the time at which that is to be tried again.
#[derive(Default)]
pub(super) struct SmallPaths(BTreeSet<(Instant, Key)>);

impl SmallPaths {
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.0.first().map(|&(at, _)| at)
    }

    /// There are few: a router had to speak for each.
    pub(super) fn forget(&mut self, path: Key) {
        self.0.retain(|&(_, small)| small != path);
    }
}

impl<O: Observer> Host<O> {
    /// The MTU of the path to `remote` became known (RFC 1191, RFC 8201): segments shrink, and
    /// what is in flight and too long is sent again in pieces.
    pub fn set_path_mtu(&mut self, now: Instant, local: IpAddr, remote: IpAddr, mtu: u16) {
        /// RFC 1191, 3 and RFC 8200, 5: no link may be told to be smaller.
        const LEAST_V4: u16 = 68;
        const LEAST_V6: u16 = 1280;
        let mtu = mtu.max(if remote.is_ipv4() { LEAST_V4 } else { LEAST_V6 });
        let key = PathKey { local, remote };
        if let Some(found) = self.demux.path(&key) {
            self.small_paths.forget(found);
            self.change_path_mtu(now, found, Some(mtu));
        }
    }

    /// The MTU of the path is forgotten after a while: the way may be another then.
    pub(super) fn expire_path_mtu(&mut self, now: Instant, local: IpAddr, remote: IpAddr) {
        if let Some(path) = self.demux.path(&PathKey { local, remote }) {
            self.small_paths.0.insert((now + LIFETIME, path));
        }
    }

    /// Tries again what has been too long before, where the time has come.
    pub(super) fn forget_path_mtus(&mut self, now: Instant) {
        while let Some(&(at, path)) = self.small_paths.0.first()
            && at <= now
        {
            self.small_paths.0.pop_first();
            self.change_path_mtu(now, path, None);
        }
    }

    fn change_path_mtu(&mut self, now: Instant, path: Key, mtu: Option<u16>) {
        let Some(entry) = self.paths.get_mut(path) else { return };
        entry.path.mtu = mtu;
        let connections = self.connections.iter().filter(|(_, entry)| entry.path == path);
        let affected: Vec<ConnectionId> = connections.map(|(key, _)| ConnectionId(key)).collect();
        for id in affected {
            self.with_connection(id, now, Connection::path_mtu_changed);
        }
    }
}
