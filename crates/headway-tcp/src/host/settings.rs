//! What may change while a host runs: its addresses, and settings of open connections.

use alloc::sync::Arc;
use core::net::IpAddr;

use headway_units::{Duration, Instant};
use headway_wire::Dscp;

use super::listeners::Listener;
use super::{ConnectionId, Host, ListenerId};
use crate::Error;
use crate::connection::{Connection, Context};
use crate::event::Observer;
use crate::profile::{KeepAlive, Profile};

impl<O: Observer> Host<O> {
    /// The host answers to `address` too, from now on.
    pub fn add_address(&mut self, address: IpAddr) {
        if !self.config.addresses.contains(&address) {
            self.config.addresses.push(address);
        }
    }

    /// Connections of `listener` that wait to be accepted.
    pub fn acceptable(&self, listener: ListenerId) -> usize {
        self.listeners.get(listener.0).map_or(0, Listener::waiting)
    }

    /// Connections that `listener` answers from now on get `profile`.
    ///
    /// # Errors
    ///
    /// The listener is unknown, or the profile cannot work.
    pub fn set_listener_profile(&mut self, listener: ListenerId, profile: Arc<Profile>) -> Result<(), Error> {
        profile.check()?;
        self.listeners.get_mut(listener.0).ok_or(Error::UnknownListener)?.set_profile(profile);
        Ok(())
    }

    /// Switches Nagle's algorithm (RFC 9293, 3.7.4) on or off; off sends at once what it held back.
    ///
    /// # Errors
    ///
    /// The connection is unknown.
    pub fn set_nagle(&mut self, now: Instant, id: ConnectionId, on: bool) -> Result<(), Error> {
        self.change(now, id, |connection, _| connection.set_nagle(on))
    }

    /// Sets [`Profile::dscp`] of an open connection, for all that is sent from now on. RFC 9293, 3.9.1.9: "the application
    /// SHOULD be able to change the Differentiated Services field during the connection lifetime".
    ///
    /// # Errors
    ///
    /// The connection is unknown.
    pub fn set_dscp(&mut self, now: Instant, id: ConnectionId, dscp: Dscp) -> Result<(), Error> {
        self.change(now, id, |connection, _| connection.set_dscp(dscp))
    }

    /// Sets [`Profile::hop_limit`] of an open connection, for all that is sent from now on.
    ///
    /// # Errors
    ///
    /// The connection is unknown, or the limit is 0.
    pub fn set_hop_limit(&mut self, now: Instant, id: ConnectionId, hops: u8) -> Result<(), Error> {
        Profile::check_hop_limit(hops)?;
        self.change(now, id, |connection, _| connection.set_hop_limit(hops))
    }

    /// Sets [`Profile::unordered`] of an open connection.
    ///
    /// # Errors
    ///
    /// The connection is unknown.
    pub fn set_unordered(&mut self, now: Instant, id: ConnectionId, on: bool) -> Result<(), Error> {
        self.change(now, id, |connection, _| connection.set_unordered(on))
    }

    /// Sets [`Profile::not_sent`] of an open connection, in bytes.
    ///
    /// # Errors
    ///
    /// The connection is unknown.
    pub fn set_not_sent(&mut self, now: Instant, id: ConnectionId, limit: usize) -> Result<(), Error> {
        self.change(now, id, |connection, _| connection.set_not_sent(limit))
    }

    /// Switches keep-alive (RFC 9293, 3.8.4) on or off; the idle time runs from now.
    ///
    /// # Errors
    ///
    /// The connection is unknown, or one of the times is zero.
    pub fn set_keep_alive(
        &mut self,
        now: Instant,
        id: ConnectionId,
        config: Option<KeepAlive>,
    ) -> Result<(), Error> {
        config.as_ref().map_or(Ok(()), KeepAlive::check)?;
        self.change(now, id, |connection, cx| connection.set_keep_alive(cx, config))
    }

    /// Sets the user timeout (RFC 9293, 3.8.3; RFC 5482); it also limits what is under way.
    ///
    /// # Errors
    ///
    /// The connection is unknown.
    pub fn set_user_timeout(
        &mut self,
        now: Instant,
        id: ConnectionId,
        limit: Option<Duration>,
    ) -> Result<(), Error> {
        self.change(now, id, |connection, _| connection.set_user_timeout(limit))
    }

    fn change(
        &mut self,
        now: Instant,
        id: ConnectionId,
        work: impl FnOnce(&mut Connection, &mut Context<'_, O>),
    ) -> Result<(), Error> {
        self.with_connection(id, now, work).ok_or(Error::UnknownConnection)
    }
}
