//! Listening, and connections on their way to being accepted (RFC 9293, 3.10.7.2).

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use core::net::SocketAddr;

use headway_units::Instant;
use headway_wire::{IpHeader, Segment, SeqNumber, TcpFlags, Timestamps};

use super::cookies::{self, Kept};
use super::unmatched::StatelessReply;
use super::{ConnectionId, Host, ListenerId};
use crate::connection::{Connection, Context, Endpoints, SynShape, agree, syn_options, tsval_at};
use crate::event::Observer;
use crate::path::table::PathKey;
use crate::profile::Profile;
use crate::receive::first_window;
use crate::{DomainId, Error, State};

/// How far beyond the last number a connection is reopened, if the timer gives no better: more than
/// an unscaled window, as Linux does.
pub(super) const REOPEN_STEP: u32 = 65_535 + 2;

pub(super) struct Listener {
    local: SocketAddr,
    profile: Arc<Profile>,
    /// The congestion domain that its connections share, if they do.
    domain: Option<DomainId>,
    backlog: usize,
    /// In SYN-RECEIVED.
    opening: usize,
    /// When the last cookie was sent.
    cookie_sent: Option<Instant>,
    /// Cookies that came back, the newest last: each opens one connection.
    redeemed: VecDeque<(SocketAddr, SeqNumber)>,
    /// Established, waiting to be accepted.
    waiting: VecDeque<ConnectionId>,
}

/// A SYN that arrived at a listener.
pub(super) struct PassiveOpen<'a> {
    pub(super) listener: ListenerId,
    pub(super) ends: &'a Endpoints,
    pub(super) at: Instant,
    pub(super) syn: &'a Segment<'a>,
}

impl Listener {
    /// Whether connections are to be opened without state when there are too many that are opening: not if as
    /// many wait already to be accepted.
    fn may_use_cookies(&self) -> bool {
        self.profile.features.cookies && self.waiting.len() < self.backlog
    }

    /// How many are established and not accepted.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// For connections to come.
    pub(super) fn set_domain(&mut self, domain: Option<DomainId>) {
        self.domain = domain;
    }

    /// For connections to come.
    pub(super) fn set_profile(&mut self, profile: Arc<Profile>) {
        self.profile = profile;
    }
}

impl<O: Observer> Host<O> {
    /// LISTEN: answers SYNs to `local` (an unspecified address represents all of ours) with
    /// connections of `profile`. At most `backlog` of them (at least one) are kept that are opening
    /// or wait to be accepted; further SYNs are dropped, as if lost, or answered with a cookie where the
    /// profile has [`Features::cookies`](crate::Features::cookies) and fewer than `backlog` wait.
    ///
    /// # Errors
    ///
    /// Something listens there already, the address is not ours, or the profile cannot work.
    pub fn listen(
        &mut self,
        local: SocketAddr,
        backlog: usize,
        profile: Arc<Profile>,
    ) -> Result<ListenerId, Error> {
        profile.check()?;
        if !local.ip().is_unspecified() && !self.config.addresses.contains(&local.ip()) {
            return Err(Error::NotOurAddress(local.ip()));
        }
        if self.listeners.iter().any(|(_, listener)| listener.local == local) {
            return Err(Error::AddressInUse(local));
        }
        let listener = Listener {
            local,
            profile,
            domain: None,
            backlog: backlog.max(1),
            opening: 0,
            cookie_sent: None,
            redeemed: VecDeque::new(),
            waiting: VecDeque::new(),
        };
        Ok(ListenerId(self.listeners.insert(listener)))
    }

    /// Takes the connection that has been waiting longest, if any.
    pub fn accept(&mut self, listener: ListenerId) -> Option<ConnectionId> {
        let id = self.listeners.get_mut(listener.0)?.waiting.pop_front()?;
        self.connections.get_mut(id)?.accept();
        self.wake(id);
        Some(id)
    }

    /// Stops listening; connections that were not accepted are aborted.
    ///
    /// # Errors
    ///
    /// The listener is unknown.
    pub fn close_listener(&mut self, now: Instant, listener: ListenerId) -> Result<(), Error> {
        self.listeners.remove(listener.0).ok_or(Error::UnknownListener)?;
        let orphans: alloc::vec::Vec<ConnectionId> = self
            .connections
            .iter()
            .filter(|(_, entry)| entry.listener() == Some(listener))
            .map(|(id, _)| id)
            .collect();
        for id in orphans {
            if let Some(entry) = self.connections.get_mut(id) {
                entry.accept();
                entry.release();
            }
            self.with_connection(id, now, Connection::abort);
        }
        Ok(())
    }

    pub(super) fn listener_at(&self, local: SocketAddr) -> Option<ListenerId> {
        let exact = self.listeners.iter().find(|(_, listener)| listener.local == local);
        let any = || {
            self.listeners.iter().find(|(_, listener)| {
                listener.local.ip().is_unspecified()
                    && listener.local.is_ipv4() == local.is_ipv4()
                    && listener.local.port() == local.port()
            })
        };
        exact.or_else(any).map(|(key, _)| ListenerId(key))
    }

    /// The IP header of what a listener sends without a connection.
    pub(super) fn listener_ip_header(&self, listener: ListenerId, ends: &Endpoints) -> Option<IpHeader> {
        let profile = &self.listeners.get(listener.0)?.profile;
        Some(profile.ip_header(ends.local.ip(), ends.remote.ip()))
    }

    /// A SYN arrived at a listener. `beyond` is the last number of a connection that it replaces.
    pub(super) fn open_passively(&mut self, open: &PassiveOpen<'_>, beyond: Option<SeqNumber>) {
        let full = self.connections.len() >= self.config.max_connections;
        let Some(listener) = self.listeners.get_mut(open.listener.0) else { return };
        let pressed = listener.opening + listener.waiting.len() >= listener.backlog;
        if full || (pressed && !listener.may_use_cookies()) {
            self.counters.backlog_drops += 1;
            return;
        }
        let profile = listener.profile.clone();
        if pressed {
            self.send_cookie(open, &profile);
            return;
        }
        let iss = self.identity.initial_sequence(open.ends, open.at);
        // RFC 9293, 3.6.1: "it assigns its initial sequence number for the new connection to be larger
        // than the largest sequence number it used on the previous connection incarnation". A fast
        // connection outruns the timer of RFC 6528.
        let iss = beyond.filter(|&beyond| iss.le(beyond)).map_or(iss, |beyond| beyond + REOPEN_STEP);
        self.add_passive(open, profile, iss);
    }

    /// Adds a connection that answers a SYN.
    fn add_passive(
        &mut self,
        open: &PassiveOpen<'_>,
        profile: Arc<Profile>,
        iss: SeqNumber,
    ) -> Option<ConnectionId> {
        let &PassiveOpen { listener, ends, at, syn } = open;
        let found = self.listeners.get_mut(listener.0)?;
        found.opening += 1;
        let domain = found.domain;
        self.add_answering(at, (ends, syn), (profile, iss), (domain, Some(listener)))
    }

    /// Adds a connection that answers a SYN, of a listener or of none.
    pub(super) fn add_answering(
        &mut self,
        at: Instant,
        (ends, syn): (&Endpoints, &Segment<'_>),
        (profile, iss): (Arc<Profile>, SeqNumber),
        (domain, listener): (Option<DomainId>, Option<ListenerId>),
    ) -> Option<ConnectionId> {
        let tsval_offset = self.identity.tsval_offset(ends);
        let domain = self.join_domain(domain, &profile, ends);
        let path = PathKey { local: ends.local.ip(), remote: ends.remote.ip() };
        let path = self.paths.acquire(path, profile.features.sharing, at);
        let (lent_domain, lent_path) = (self.domains.get_mut(domain)?, self.paths.get_mut(path)?);
        // Events before the connection has a place carry the identity that it is about to get.
        let id = self.connections.next_id();
        let mut cx =
            Context { now: at, id, domain: lent_domain, path: lent_path, observer: &mut self.observer };
        let connection = Connection::accept(&mut cx, profile, *ends, iss, tsval_offset, syn);
        Some(self.add(connection, domain, path, listener))
    }

    /// Answers a SYN and keeps nothing of it here.
    fn send_cookie(&mut self, open: &PassiveOpen<'_>, profile: &Profile) {
        let &PassiveOpen { listener, ends, at, syn } = open;
        let agreed = agree(profile, syn);
        let kept = Kept::of(syn, &agreed);
        let agreed = kept.agreed(agreed);
        let stamp = tsval_at(profile, self.identity.tsval_offset(ends), at);
        let echo = syn.options.timestamps.map_or(0, |timestamps| timestamps.tsval);
        let timestamps = Timestamps { tsval: kept.stamp(stamp), tsecr: echo };
        let shape = SynShape { bare: false, answers: true, v4: ends.local.is_ipv4() };
        let options = syn_options(profile, agreed, shape, timestamps);
        let seq = cookies::cookie(&self.identity, ends, syn.tcp.seq, kept, at);
        let mut flags = TcpFlags::SYN | TcpFlags::ACK;
        if agreed.ecn {
            flags |= TcpFlags::ECE;
        }
        let reply =
            StatelessReply { seq, ack: syn.tcp.seq + 1, flags, window: first_window(profile), options };
        let ip = profile.ip_header(ends.local.ip(), ends.remote.ip());
        if !self.replies.push((ip, (ends.local.port(), ends.remote.port())), reply) {
            self.counters.backlog_drops += 1;
            return;
        }
        self.counters.cookies_sent += 1;
        if let Some(entry) = self.listeners.get_mut(listener.0) {
            entry.cookie_sent = Some(at);
        }
    }

    /// An ACK for a listener, and for no connection, may bring a cookie back. Says whether that may be so: then
    /// the connection is there, or the peer will send again.
    pub(super) fn redeem_cookie(
        &mut self,
        listener: ListenerId,
        ends: &Endpoints,
        at: Instant,
        ack: &Segment<'_>,
    ) -> bool {
        let Some(entry) = self.listeners.get(listener.0) else { return false };
        // Without pressure there are no cookies, and nothing to guess.
        let out = entry.cookie_sent.is_some_and(|sent| at.saturating_since(sent) < cookies::LIFE);
        if !out || ack.tcp.flags.intersects(TcpFlags::SYN | TcpFlags::RST) {
            return false;
        }
        let Some(kept) = cookies::check(&self.identity, ends, ack, at) else {
            // RFC 9293, 3.10.7.2 has ACKs reset in LISTEN. But this may be a later segment of a connection
            // whose ACK was lost or damaged: the one that brings the cookie will come again.
            self.counters.cookies_refused += 1;
            return true;
        };
        // The ACK of a handshake may be repeated, or overtaken, long after its connection has ended.
        let used = (ends.remote, ack.tcp.ack);
        if entry.redeemed.contains(&used) {
            return false;
        }
        if !entry.may_use_cookies() || self.connections.len() >= self.config.max_connections {
            self.counters.backlog_drops += 1;
            return true;
        }
        let profile = entry.profile.clone();
        let syn = kept.syn(ack);
        let open = PassiveOpen { listener, ends, at, syn: &syn };
        let Some(id) = self.add_passive(&open, profile, ack.tcp.ack - 1) else { return true };
        if let Ok(connection) = self.connection_mut(id) {
            connection.has_answered();
        }
        self.counters.cookies_accepted += 1;
        if let Some(entry) = self.listeners.get_mut(listener.0) {
            if entry.redeemed.len() == cookies::REMEMBERED {
                entry.redeemed.pop_front();
            }
            entry.redeemed.push_back(used);
        }
        self.receive_intact(id, ends, at, ack);
        true
    }

    /// A connection that came from a listener moved on: it waits to be accepted, or is over.
    #[inline(never)]
    pub(super) fn listener_progress(&mut self, id: ConnectionId, listener: ListenerId) {
        let Some(entry) = self.connections.get_mut(id) else { return };
        let Some(found) = self.listeners.get_mut(listener.0) else { return };
        let waits = found.waiting.contains(&id);
        match entry.connection().state() {
            State::Closed => {
                // It failed before anyone accepted it.
                if waits {
                    found.waiting.retain(|&waiting| waiting != id);
                } else {
                    found.opening -= 1;
                }
                entry.accept();
                entry.release();
            }
            State::SynReceived => {}
            _ if waits => {}
            _ => {
                found.opening -= 1;
                found.waiting.push_back(id);
            }
        }
    }

    pub(super) fn forget_pending(&mut self, listener: ListenerId, id: ConnectionId) {
        if let Some(found) = self.listeners.get_mut(listener.0) {
            let before = found.waiting.len();
            found.waiting.retain(|&waiting| waiting != id);
            if found.waiting.len() == before {
                found.opening = found.opening.saturating_sub(1);
            }
        }
    }
}
