//! What programs and routers say of paths, and what programs may ask of them.

use alloc::vec::Vec;
use core::net::IpAddr;

use headway_units::Instant;

use super::{ConnectionId, Host};
use crate::connection::Connection;
use crate::event::Observer;
use crate::path::Path;
use crate::path::table::PathKey;
use crate::slab::Key;

impl<O: Observer> Host<O> {
    /// What is known of the path from `local` to `remote`, while a connection uses it. For ten minutes after the last one
    /// that had [`Features::sharing`](crate::Features::sharing) it stays; after others the MTU alone does.
    pub fn path(&self, local: IpAddr, remote: IpAddr) -> Option<&Path> {
        self.paths.get(self.paths.find(&PathKey { local, remote })?)
    }

    /// Forgets what earlier connections learnt of the path from `local` to `remote`: its network has
    /// changed, say. What open connections count on it stays. Says whether anything was known.
    pub fn forget_path(&mut self, local: IpAddr, remote: IpAddr) -> bool {
        self.paths.find(&PathKey { local, remote }).is_some_and(|path| self.paths.forget(path))
    }

    /// As [`Host::forget_path`], for every path.
    pub fn forget_paths(&mut self) {
        self.paths.forget_all();
    }

    /// The MTU of the path to `remote` became known (RFC 1191, RFC 8201): segments shrink, and
    /// what is in flight and too long is retransmitted in pieces. A tunnel's may be below the 1280 bytes of
    /// IPv6, so what a router reports is checked where it arrives. Less than 68 bytes is taken for 68
    /// (RFC 1191, 3), and segments have an MSS of 48 bytes at least.
    pub fn set_path_mtu(&mut self, now: Instant, local: IpAddr, remote: IpAddr, mtu: u16) {
        let mtu = mtu.max(68);
        if let Some(path) = self.paths.find(&PathKey { local, remote }) {
            self.paths.set_mtu(path, mtu);
            self.on_path_mtu_changed(now, path);
        }
    }

    /// The MTU of the path, which a router reported, is forgotten after a while: the route may be
    /// another then.
    pub(super) fn expire_path_mtu(&mut self, now: Instant, local: IpAddr, remote: IpAddr) {
        if let Some(path) = self.paths.find(&PathKey { local, remote }) {
            self.paths.expire_mtu(path, now);
        }
    }

    /// Tries again what has been too long before, where the time has come.
    pub(super) fn forget_path_mtus(&mut self, now: Instant) {
        while let Some(path) = self.paths.forget_expired_mtu(now) {
            self.on_path_mtu_changed(now, path);
        }
    }

    fn on_path_mtu_changed(&mut self, now: Instant, path: Key) {
        let connections = self.connections.iter().filter(|(_, entry)| entry.path() == path);
        let affected: Vec<ConnectionId> = connections.map(|(id, _)| id).collect();
        for id in affected {
            self.with_connection(id, now, Connection::path_mtu_changed);
        }
    }
}
