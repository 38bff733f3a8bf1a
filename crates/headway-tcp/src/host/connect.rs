//! Opening connections of our own, and giving any connection its place.

use alloc::sync::Arc;
use core::net::{IpAddr, SocketAddr};

use headway_units::Instant;

use super::packets::is_one_host;
use super::{ConnectionId, Host, ListenerId};
use crate::connection::{Connection, Endpoints};
use crate::event::Observer;
use crate::path::table::PathKey;
use crate::profile::Profile;
use crate::slab::Key;
use crate::{DomainId, Error};

impl<O: Observer> Host<O> {
    /// OPEN, active (RFC 9293, 3.10.1). Port 0 of `local` asks for a free one (RFC 6056).
    ///
    /// # Errors
    ///
    /// The address is not ours, is taken, or does not fit the peer's family; the profile cannot
    /// work; the host is full.
    pub fn connect(
        &mut self,
        now: Instant,
        local: SocketAddr,
        remote: SocketAddr,
        profile: Arc<Profile>,
    ) -> Result<ConnectionId, Error> {
        self.open_actively(now, None, (local, remote), profile)
    }

    /// As [`Host::connect`], in a congestion domain that the connection shares.
    ///
    /// # Errors
    ///
    /// As for [`Host::connect`], or the domain is unknown.
    pub fn connect_in(
        &mut self,
        now: Instant,
        domain: DomainId,
        local: SocketAddr,
        remote: SocketAddr,
        profile: Arc<Profile>,
    ) -> Result<ConnectionId, Error> {
        self.check_domain(domain)?;
        self.open_actively(now, Some(domain), (local, remote), profile)
    }

    fn open_actively(
        &mut self,
        now: Instant,
        domain: Option<DomainId>,
        (local, remote): (SocketAddr, SocketAddr),
        profile: Arc<Profile>,
    ) -> Result<ConnectionId, Error> {
        profile.check()?;
        if local.is_ipv4() != remote.is_ipv4() {
            return Err(Error::FamilyMismatch { local, remote });
        }
        if !self.config.addresses.contains(&local.ip()) {
            return Err(Error::NotOurAddress(local.ip()));
        }
        // RFC 9293, 3.9.2.3: a TCP "MUST reject as an error a local OPEN call for an invalid remote IP
        // address (e.g., a broadcast or multicast address)".
        if !is_one_host(remote.ip()) {
            return Err(Error::NoHost(remote.ip()));
        }
        if self.connections.len() >= self.config.max_connections {
            return Err(Error::TooManyConnections);
        }
        let ends = match local.port() {
            0 => self.free_port(local.ip(), remote).ok_or(Error::NoFreePort(remote))?,
            _ => Endpoints { local, remote },
        };
        if self.connections.find(&ends).is_some() {
            return Err(Error::AddressInUse(local));
        }
        let iss = self.identity.initial_sequence(&ends, now);
        let tsval_offset = self.identity.tsval_offset(&ends);
        let domain = self.join_domain(domain, &profile, &ends);
        let path = PathKey { local: ends.local.ip(), remote: ends.remote.ip() };
        let path = self.paths.acquire(path, profile.features.sharing, now);
        let connection = Connection::connect(profile, ends, iss, tsval_offset, now);
        let id = self.add(connection, domain, path, None);
        self.with_connection(id, now, |connection, cx| connection.recall_round_trip(cx));
        Ok(id)
    }

    /// RFC 6056, 3.3.3: "port = min_ephemeral + (next_ephemeral + offset) % num_ephemeral; next_ephemeral++".
    /// So a port that was just given back is not the next to be taken.
    fn free_port(&mut self, local: IpAddr, remote: SocketAddr) -> Option<Endpoints> {
        const FIRST: u32 = 49_152;
        const COUNT: u32 = 65_536 - FIRST;
        let offset = self.identity.port_offset(local, remote);
        (0..COUNT).find_map(|_| {
            let port = FIRST + self.next_port.wrapping_add(offset) % COUNT;
            self.next_port = (self.next_port + 1) % COUNT;
            let ends = Endpoints { local: SocketAddr::new(local, port as u16), remote };
            self.connections.find(&ends).is_none().then_some(ends)
        })
    }

    pub(super) fn add(
        &mut self,
        connection: Connection,
        domain: Key,
        path: Key,
        listener: Option<ListenerId>,
    ) -> ConnectionId {
        let id = self.connections.insert(connection, domain, path, listener);
        self.wake(id);
        id
    }
}
