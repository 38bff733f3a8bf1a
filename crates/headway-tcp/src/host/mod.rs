//! Many connections behind one or several addresses.
//!
//! [`connect`] and [`listeners`] open connections, [`application`] is what programs ask of them,
//! [`packets`] what carriers ask of the host, [`cookies`] opens connections without
//! state. [`connections`] keeps them, [`demux`] finds that of an arriving packet,
//! [`unmatched`] replies to segments without a connection, [`deadlines`] keeps the timers of all
//! connections, [`paths`] is what programs ask and routers say of paths, [`identity`] makes sequence numbers and
//! timestamps that cannot be guessed, [`icmp`] takes what routers say of our segments, [`echo`] answers
//! pings, [`interception`] takes connections to any address, [`repair`] takes damaged packets whose header cannot be read,
//! [`settings`] changes what may change while a host runs.

mod application;
mod check;
mod connect;
mod connections;
mod cookies;
mod deadlines;
mod demux;
mod domains;
mod echo;
#[cfg(test)]
mod footprint;
mod icmp;
mod identity;
mod interception;
mod listeners;
mod only_peer;
mod packets;
mod paths;
mod repair;
mod settings;
mod unmatched;

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::net::IpAddr;

use headway_units::Instant;

use crate::congestion::CongestionDomain;
use crate::connection::{Connection, Context};
use crate::event::Observer;
use crate::hack::repair::Repairer;
use crate::path::table::PathTable;
use crate::slab::Slab;
use crate::{ConnectionId, Error, ListenerId};

use connections::{Connections, HeldConnection};
use demux::Keyed;
use echo::Echoes;
use identity::Identity;
use interception::Interception;
pub use interception::Refusal;
use listeners::Listener;
pub use only_peer::OnlyPeer;
pub use packets::Transmit;
use unmatched::UnmatchedReplies;

/// The configuration of a host.
#[derive(Clone, Debug)]
pub struct HostConfig {
    /// The addresses it answers to.
    pub addresses: Vec<IpAddr>,
    /// Secret for initial sequence numbers, timestamps, ports and hash tables (RFC 6528, RFC 7323,
    /// RFC 6056). A live host must draw it at random; a simulation derives it from its seed.
    pub secret: [u8; 16],
    /// Connections at most, of all kinds together.
    pub max_connections: usize,
}

impl HostConfig {
    /// A host of one address.
    pub fn new(address: IpAddr, secret: [u8; 16]) -> Self {
        Self { addresses: alloc::vec![address], secret, max_connections: 1 << 20 }
    }
}

/// What a host counted apart from its connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostCounters {
    /// TCP segments that were sent with lengths that do not fit, or from an address that is not one host's.
    pub malformed: u64,
    /// Packets of protocols other than TCP and ICMP.
    pub other_protocols: u64,
    /// Packets for other addresses.
    pub not_ours: u64,
    /// Damaged packets whose header could not be read.
    pub unreadable: u64,
    /// Damaged packets whose header was repaired.
    pub repaired: u64,
    /// Corrupted segments (header valid, payload damaged) without a connection.
    pub corrupted_unmatched: u64,
    /// RSTs sent in reply to segments without a connection.
    pub resets: u64,
    /// SYNs dropped because a backlog, or the host, was full.
    pub backlog_drops: u64,
    /// SYNs answered with a cookie.
    pub cookies_sent: u64,
    /// Connections that a cookie opened.
    pub cookies_accepted: u64,
    /// ACKs that acknowledged none of our cookies, while some were out.
    pub cookies_refused: u64,
    /// ICMP messages about a segment that was in flight.
    pub icmp_heard: u64,
    /// Other ICMP messages: about nothing that we have in flight, damaged, or nothing to a host.
    pub icmp_ignored: u64,
    /// Echo requests answered.
    pub echoes_sent: u64,
    /// Echo requests that came faster than they are answered.
    pub echoes_dropped: u64,
}

/// A TCP host: connections, listeners and what they share, without I/O and without a clock.
///
/// # Contract
///
/// A carrier and a loop drive the host. In each turn:
///
/// 1. [`Host::receive`] takes every packet that has arrived, with its time of arrival.
/// 2. [`Host::handle_timeout`] is called if the time of [`Host::next_deadline`] has come. Calling it early does no harm.
/// 3. [`Host::poll_notification`] is called until it returns `None`, and programs do what follows from it:
///    [`Host::accept`], [`Host::read`], [`Host::write`], [`Host::close`].
/// 4. [`Host::poll_transmit`] is called until it returns `None`, and what it gives is sent. Where the carrier can send no
///    more, it is called again when the carrier can.
/// 5. [`Host::next_deadline`] says when the next turn is due at the latest. An earlier packet or program begins one.
///
/// Several packets may be received before the rest of a turn. The times given to a host never decrease. No call blocks.
///
/// | answer of | may be another after |
/// |---|---|
/// | [`Host::poll_transmit`] | `receive`, `handle_timeout`; `connect`, `admit`, `refuse`, `write`, `read`, `consume`, `close`, `abort`, `release`, `close_listener`; changes of settings or of the path's MTU |
/// | [`Host::next_deadline`] | the same, and `poll_transmit`: valid once that has returned `None` |
/// | [`Host::poll_notification`] | the same as of `next_deadline` |
/// | [`Host::accept`], [`Host::incoming`] | `receive`, `handle_timeout` |
/// | [`Host::readable`], [`Host::peek`], [`Host::is_finished`] | `receive`; `read`, `consume`, `abort`. [`Notification::Readable`](crate::Notification::Readable) follows |
/// | [`Host::writable`] | `receive`, `write`, `poll_transmit`. [`Notification::Writable`](crate::Notification::Writable) follows after a short `write` |
///
/// A [`ConnectionId`] stays valid until [`Host::release`], even when the connection has ended or failed. Then the host
/// closes what is open, and forgets the connection once that is done.
pub struct Host<O: Observer = ()> {
    config: HostConfig,
    identity: Identity,
    connections: Connections,
    domains: Slab<CongestionDomain>,
    paths: PathTable<Keyed>,
    listeners: Slab<Listener>,
    interception: Option<Interception>,
    replies: UnmatchedReplies,
    echoes: Echoes,
    /// RFC 6056's next_ephemeral.
    next_port: u32,
    /// Made when it is needed first.
    repairer: Option<Box<Repairer>>,
    counters: HostCounters,
    observer: O,
}

impl Host<()> {
    /// A host without an observer.
    pub fn new(config: HostConfig) -> Self {
        Self::with_observer(config, ())
    }
}

impl<O: Observer> Host<O> {
    /// A host whose events go to `observer`.
    pub fn with_observer(config: HostConfig, observer: O) -> Self {
        let identity = Identity::new(config.secret);
        Self {
            connections: Connections::new(&identity),
            paths: PathTable::new(Keyed::new(&identity)),
            config,
            identity,
            domains: Slab::default(),
            listeners: Slab::default(),
            interception: None,
            replies: UnmatchedReplies::default(),
            echoes: Echoes::default(),
            next_port: 0,
            repairer: None,
            counters: HostCounters::default(),
            observer,
        }
    }

    /// The observer.
    pub fn observer(&self) -> &O {
        &self.observer
    }

    /// The observer, to change it.
    pub fn observer_mut(&mut self) -> &mut O {
        &mut self.observer
    }

    /// Takes the host apart, to keep what was observed.
    pub fn into_observer(self) -> O {
        self.observer
    }

    /// What was counted.
    pub fn counters(&self) -> HostCounters {
        self.counters
    }

    /// Connections in any state.
    pub fn connections(&self) -> usize {
        self.connections.len()
    }

    // --- what the parts share ----------------------------------------------------------------------

    #[inline]
    fn connection(&self, id: ConnectionId) -> Option<&Connection> {
        Some(self.connections.get(id)?.connection())
    }

    fn connection_mut(&mut self, id: ConnectionId) -> Result<&mut Connection, Error> {
        Ok(self.connections.get_mut(id).ok_or(Error::UnknownConnection)?.connection_mut())
    }

    /// Lends the connection what it needs, and looks after it afterwards.
    fn with_connection<T>(
        &mut self,
        id: ConnectionId,
        now: Instant,
        work: impl FnOnce(&mut Connection, &mut Context<'_, O>) -> T,
    ) -> Option<T> {
        let result = self.lend(id, now, work)?;
        self.wake(id);
        Some(result)
    }

    /// Lends the connection its domain and its path. Another member of the domain may have its turn then.
    #[inline]
    fn lend<T>(
        &mut self,
        id: ConnectionId,
        now: Instant,
        work: impl FnOnce(&mut Connection, &mut Context<'_, O>) -> T,
    ) -> Option<T> {
        let entry = self.connections.get_mut(id)?;
        let domain = self.domains.get_mut(entry.domain())?;
        let path = self.paths.get_mut(entry.path())?;
        let connection = entry.connection_mut();
        if domain.is_shared() {
            take_over(id, connection, domain);
        }
        connection.set_transmissions(path.transmissions());
        let mut cx = Context { now, id, domain, path, observer: &mut self.observer };
        let result = work(connection, &mut cx);
        cx.path.set_transmissions(connection.transmissions());
        if cx.domain.is_shared()
            && let Some(next) = give_back(id, now, connection, cx.domain)
        {
            self.wake(next);
        }
        Some(result)
    }

    /// A connection may have something to send, to notify of, or another deadline.
    fn wake(&mut self, id: ConnectionId) {
        let takes_turns = |domain| self.domains.get(domain).is_some_and(CongestionDomain::is_shared);
        if let Some(listener) = self.connections.wake(id, takes_turns) {
            self.listener_progress(id, listener);
        }
    }

    /// Forgets a connection that is over and released. Says whether it was.
    fn reap(&mut self, id: ConnectionId, now: Instant) -> bool {
        let done = |entry: &HeldConnection| entry.connection().is_over() && entry.is_released();
        let is_done = self.connections.get(id).is_some_and(done);
        if is_done {
            self.remove(id, now);
        }
        is_done
    }

    #[inline(never)]
    fn remove(&mut self, id: ConnectionId, now: Instant) {
        let Some(entry) = self.connections.remove(id) else { return };
        if let Some(listener) = entry.listener() {
            self.forget_pending(listener, id);
        }
        if let Some(domain) = self.domains.get_mut(entry.domain())
            && domain.leave(id, entry.connection().pipe())
        {
            self.domains.remove(entry.domain());
        }
        self.paths.release(entry.path(), now);
    }
}

/// A connection learns what the other members of its domain have done.
#[inline(never)]
fn take_over(id: ConnectionId, connection: &mut Connection, domain: &mut CongestionDomain) {
    connection.set_others(&domain.lend(id, connection.pipe()));
}

/// The other members of a domain learn what a connection has done. Gives the one whose turn it is.
#[inline(never)]
fn give_back(
    id: ConnectionId,
    now: Instant,
    connection: &Connection,
    domain: &mut CongestionDomain,
) -> Option<ConnectionId> {
    if let Some(deliveries) = connection.deliveries() {
        domain.set_deliveries(now, deliveries);
    }
    domain.give_back(id, connection.pipe(), connection.has_data_to_send())
}
