//! Many connections behind one or several addresses.
//!
//! [`demux`] finds the connection of an arriving packet, [`listeners`] answers SYNs,
//! [`strangers`] answers what belongs to nobody, [`deadlines`] keeps the timers of all
//! connections, [`identity`] makes sequence numbers and timestamps that cannot be guessed,
//! [`settings`] changes what may change while a host runs.

mod deadlines;
mod demux;
#[cfg(test)]
mod footprint;
mod identity;
mod listeners;
mod settings;
mod slab;
mod strangers;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use headway_units::Instant;
use headway_wire::{HeaderVerdict, PayloadVerdict, Segment, SeqNumber, TcpFlags, Verdicts};

use crate::congestion::CongestionDomain;
use crate::connection::{Connection, Context, Endpoints, Negotiated, Notification, Reply, State, Statistics};
use crate::event::Observer;
use crate::path::Path;
use crate::profile::Profile;
use crate::{ConnectionError, Error};

use deadlines::Deadlines;
use demux::{Demux, PathKey};
use identity::Identity;
use listeners::Listener;
pub use listeners::ListenerId;
use slab::{Key, Slab};
use strangers::Strangers;

/// A connection of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnectionId(Key);

/// What a host is told when it is made.
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

/// A packet as a carrier hands it over: its bytes, when they arrived, and what the checksums say.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// The IP packet.
    pub packet: &'a [u8],
    /// When it arrived; round-trip samples depend on it.
    pub at: Instant,
    /// Whether header and payload are as they were sent.
    pub verdicts: Verdicts,
}

/// What a host counted apart from its connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostCounters {
    /// Packets that are no TCP over IP, or whose lengths do not fit.
    pub malformed: u64,
    /// Packets for other addresses.
    pub not_ours: u64,
    /// Damaged packets whose header could not be read.
    pub unreadable: u64,
    /// Damaged packets whose header could be read, but that belong to no connection.
    pub salvaged_strangers: u64,
    /// RSTs sent to packets that belong to nobody.
    pub resets: u64,
    /// SYNs dropped because a backlog, or the host, was full.
    pub backlog_drops: u64,
}

struct Entry {
    connection: Connection,
    domain: Key,
    path: Key,
    /// The listener that it came from, until it is accepted.
    listener: Option<ListenerId>,
    /// In the queue of those that may have something to send.
    ready: bool,
    /// In the queue of those that have something to tell.
    telling: bool,
    /// The application has closed or aborted it and will not ask again.
    released: bool,
    /// The deadline that stands in [`Deadlines`].
    registered: Option<Instant>,
}

/// A TCP host. See the crate's documentation.
pub struct Host<O: Observer = ()> {
    config: HostConfig,
    identity: Identity,
    connections: Slab<Box<Entry>>,
    domains: Slab<CongestionDomain>,
    paths: Slab<PathEntry>,
    listeners: Slab<Listener>,
    demux: Demux,
    ready: VecDeque<ConnectionId>,
    telling: VecDeque<ConnectionId>,
    deadlines: Deadlines,
    strangers: Strangers,
    counters: HostCounters,
    observer: O,
}

struct PathEntry {
    path: Path,
    key: PathKey,
    users: usize,
}

impl Host<()> {
    /// A host that nobody observes.
    pub fn new(config: HostConfig) -> Self {
        Self::with_observer(config, ())
    }
}

impl<O: Observer> Host<O> {
    /// A host whose events go to `observer`.
    pub fn with_observer(config: HostConfig, observer: O) -> Self {
        let identity = Identity::new(config.secret);
        Self {
            demux: Demux::new(&identity),
            config,
            identity,
            connections: Slab::default(),
            domains: Slab::default(),
            paths: Slab::default(),
            listeners: Slab::default(),
            ready: VecDeque::new(),
            telling: VecDeque::new(),
            deadlines: Deadlines::default(),
            strangers: Strangers::default(),
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

    /// What is known of the path from `local` to `remote`, while a connection uses it.
    pub fn path(&self, local: IpAddr, remote: IpAddr) -> Option<&Path> {
        let key = self.demux.path(&PathKey { local, remote })?;
        Some(&self.paths.get(key)?.path)
    }

    // --- opening and listening -------------------------------------------------------------------

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
        profile.check()?;
        if local.is_ipv4() != remote.is_ipv4() {
            return Err(Error::FamilyMismatch { local, remote });
        }
        if !self.config.addresses.contains(&local.ip()) {
            return Err(Error::NotOurAddress(local.ip()));
        }
        if self.connections.len() >= self.config.max_connections {
            return Err(Error::TooManyConnections);
        }
        let ends = match local.port() {
            0 => self.free_port(local.ip(), remote).ok_or(Error::NoFreePort(remote))?,
            _ => Endpoints { local, remote },
        };
        if self.demux.connection(&ends).is_some() {
            return Err(Error::AddressInUse(local));
        }
        let iss = self.identity.initial_sequence(&ends, now);
        let stamp_offset = self.identity.stamp_offset(&ends);
        let domain = self.new_domain(&profile);
        let connection = Connection::connect(profile, ends, iss, stamp_offset, now);
        Ok(self.add(connection, domain, None))
    }

    fn free_port(&self, local: IpAddr, remote: SocketAddr) -> Option<Endpoints> {
        const FIRST: u32 = 49_152;
        const COUNT: u32 = 65_536 - FIRST;
        let start = self.identity.port_offset(local, remote);
        (0..COUNT).find_map(|step| {
            let port = FIRST + (start + step) % COUNT;
            let ends = Endpoints { local: SocketAddr::new(local, port as u16), remote };
            self.demux.connection(&ends).is_none().then_some(ends)
        })
    }

    fn new_domain(&mut self, profile: &Profile) -> Key {
        self.domains.insert(CongestionDomain::new(profile.congestion.build(profile.initial_window)))
    }

    fn add(&mut self, connection: Connection, domain: Key, listener: Option<ListenerId>) -> ConnectionId {
        let ends = connection.ends;
        let path = self.use_path(PathKey { local: ends.local.ip(), remote: ends.remote.ip() });
        let id = ConnectionId(self.connections.insert(Box::new(Entry {
            connection,
            domain,
            path,
            listener,
            ready: false,
            telling: false,
            released: false,
            registered: None,
        })));
        self.demux.add(ends, id);
        self.settle(id);
        id
    }

    fn use_path(&mut self, key: PathKey) -> Key {
        if let Some(found) = self.demux.path(&key)
            && let Some(entry) = self.paths.get_mut(found)
        {
            entry.users += 1;
            return found;
        }
        let made = self.paths.insert(PathEntry { path: Path::default(), key, users: 1 });
        self.demux.add_path(key, made);
        made
    }

    // --- data --------------------------------------------------------------------------------------

    /// SEND (RFC 9293, 3.10.2): takes as much of `data` as the send buffer holds and says how much
    /// that was. [`Notification::Writable`] follows a short write.
    ///
    /// # Errors
    ///
    /// The connection is unknown, failed, or closed for sending.
    pub fn write(&mut self, id: ConnectionId, data: &[u8]) -> Result<usize, Error> {
        let taken = self.connection_mut(id)?.write(data)?;
        self.settle(id);
        Ok(taken)
    }

    /// Octets that [`Host::write`] would take now.
    pub fn writable(&self, id: ConnectionId) -> usize {
        self.connection(id).map_or(0, Connection::writable)
    }

    /// Received octets in order, in the one or two pieces in which they lie; nothing is copied.
    pub fn peek(&self, id: ConnectionId) -> (&[u8], &[u8]) {
        self.connection(id).map_or((&[], &[]), Connection::peek)
    }

    /// Octets that [`Host::read`] would give now.
    pub fn readable(&self, id: ConnectionId) -> usize {
        self.connection(id).map_or(0, Connection::readable)
    }

    /// RECEIVE (RFC 9293, 3.10.3), after [`Host::peek`]: drops `n` received octets (at most all),
    /// which opens the window again.
    pub fn consume(&mut self, id: ConnectionId, n: usize) {
        if let Ok(connection) = self.connection_mut(id) {
            connection.consume(n.min(connection.readable()));
            self.settle(id);
        }
    }

    /// Copies received octets into `buffer` and drops them. 0 means that there are none now;
    /// [`Host::is_finished`] tells the end of the stream.
    ///
    /// # Errors
    ///
    /// The connection is unknown.
    pub fn read(&mut self, id: ConnectionId, buffer: &mut [u8]) -> Result<usize, Error> {
        let (a, b) = self.connection(id).ok_or(Error::UnknownConnection)?.peek();
        let first = a.len().min(buffer.len());
        buffer[..first].copy_from_slice(&a[..first]);
        let second = b.len().min(buffer.len() - first);
        buffer[first..first + second].copy_from_slice(&b[..second]);
        self.consume(id, first + second);
        Ok(first + second)
    }

    /// Whether the peer has closed its side, or the connection is over, and all is read.
    pub fn is_finished(&self, id: ConnectionId) -> bool {
        self.connection(id).is_none_or(Connection::is_finished)
    }

    // --- closing -----------------------------------------------------------------------------------

    /// CLOSE (RFC 9293, 3.10.4): our side ends after what was written; the peer may go on sending
    /// and we reading.
    ///
    /// # Errors
    ///
    /// The connection is unknown.
    pub fn close(&mut self, now: Instant, id: ConnectionId) -> Result<(), Error> {
        self.with_connection(id, now, Connection::close).ok_or(Error::UnknownConnection)
    }

    /// ABORT (RFC 9293, 3.10.5): the peer gets a RST, what was not sent or read is dropped.
    ///
    /// # Errors
    ///
    /// The connection is unknown.
    pub fn abort(&mut self, now: Instant, id: ConnectionId) -> Result<(), Error> {
        self.with_connection(id, now, Connection::abort).ok_or(Error::UnknownConnection)
    }

    /// The application will not ask for this connection again: it is forgotten once it is over.
    /// A connection that is still open is closed first; one whose received data was not read, or
    /// gets more of it, is aborted.
    pub fn release(&mut self, now: Instant, id: ConnectionId) {
        if self.with_connection(id, now, Connection::close).is_none() {
            return;
        }
        self.abort_unread(now, id);
        self.with_connection(id, now, Connection::orphan);
        if let Some(entry) = self.connections.get_mut(id.0) {
            entry.released = true;
        }
        self.settle(id);
    }

    // --- what a connection tells -----------------------------------------------------------------

    /// The next thing that the application should know, if any.
    pub fn poll_notification(&mut self) -> Option<(ConnectionId, Notification)> {
        while let Some(&id) = self.telling.front() {
            if let Some(entry) = self.connections.get_mut(id.0) {
                if let Some(notification) = entry.connection.take_notification() {
                    return Some((id, notification));
                }
                entry.telling = false;
            }
            self.telling.pop_front();
        }
        None
    }

    /// The state of a connection; [`State::Closed`] if it is not known any more.
    pub fn state(&self, id: ConnectionId) -> State {
        self.connection(id).map_or(State::Closed, Connection::state)
    }

    /// Why a connection failed, if it did.
    pub fn error(&self, id: ConnectionId) -> Option<ConnectionError> {
        self.connection(id)?.error()
    }

    /// The two ends.
    pub fn endpoints(&self, id: ConnectionId) -> Option<Endpoints> {
        Some(self.connection(id)?.ends)
    }

    /// What the two ends agreed on.
    pub fn negotiated(&self, id: ConnectionId) -> Option<Negotiated> {
        Some(self.connection(id)?.negotiated())
    }

    /// Counters and estimates.
    pub fn statistics(&self, id: ConnectionId) -> Option<Statistics> {
        let entry = self.connections.get(id.0)?;
        Some(entry.connection.statistics(self.domains.get(entry.domain)?))
    }

    // --- packets and time --------------------------------------------------------------------------

    /// A packet arrived.
    pub fn receive(&mut self, arrival: &Arrival<'_>) {
        match Segment::parse(arrival.packet) {
            Ok(segment) => self.receive_segment(arrival.at, &segment, arrival.verdicts),
            // Damage may make a header unreadable in this way too.
            Err(_) if arrival.verdicts.header == HeaderVerdict::Bad => self.counters.unreadable += 1,
            Err(_) => self.counters.malformed += 1,
        }
    }

    /// As [`Host::receive`], for a carrier that has parsed the packet already to judge it.
    pub fn receive_segment(&mut self, at: Instant, segment: &Segment<'_>, verdicts: Verdicts) {
        if !self.config.addresses.contains(&segment.ip.dst) {
            self.counters.not_ours += 1;
            return;
        }
        let key = PathKey { local: segment.ip.dst, remote: segment.ip.src };
        if verdicts.header == HeaderVerdict::Bad {
            // "Header bad: drop and count, on the path (there is no connection to blame)."
            self.counters.unreadable += 1;
            if let Some(path) = self.path_mut(&key) {
                path.unreadable += 1;
            }
            return;
        }
        let ends = Endpoints {
            local: SocketAddr::new(segment.ip.dst, segment.tcp.dst_port),
            remote: SocketAddr::new(segment.ip.src, segment.tcp.src_port),
        };
        let found = self.demux.connection(&ends);
        let intact = verdicts.header == HeaderVerdict::Good && verdicts.payload != PayloadVerdict::Bad;
        if !intact {
            match found {
                Some(id) => self.receive_salvaged(id, at, segment),
                None => self.counters.salvaged_strangers += 1,
            }
            return;
        }
        match found {
            Some(id) => self.receive_intact(id, &ends, at, segment),
            None => self.receive_stranger(&ends, at, segment),
        }
    }

    fn receive_salvaged(&mut self, id: ConnectionId, at: Instant, segment: &Segment<'_>) {
        self.with_connection(id, at, |connection, cx| {
            cx.path.salvaged += 1;
            connection.handle_salvaged(cx, segment);
        });
    }

    fn receive_intact(&mut self, id: ConnectionId, ends: &Endpoints, at: Instant, segment: &Segment<'_>) {
        if let Some((listener, beyond)) = self.reopens(id, ends, segment) {
            self.remove(id);
            self.open_passively(listener, ends, at, segment, Some(beyond));
            return;
        }
        let reply = self.with_connection(id, at, |connection, cx| {
            cx.path.intact += 1;
            connection.handle_segment(cx, segment)
        });
        if reply == Some(Reply::Reset) {
            self.refuse(ends, segment);
        }
        if self.connections.get(id.0).is_some_and(|entry| entry.released) {
            self.abort_unread(at, id);
        }
    }

    /// RFC 9293, 3.6.1: "If such a host issues a CLOSE call while received data is still pending in
    /// the TCP connection, or if new data is received after CLOSE is called, its TCP implementation
    /// SHOULD send a RST to show that data was lost".
    fn abort_unread(&mut self, now: Instant, id: ConnectionId) {
        let lost = |connection: &Connection| {
            connection.readable() > 0 && !matches!(connection.state(), State::TimeWait | State::Closed)
        };
        if self.connection(id).is_some_and(lost) {
            self.with_connection(id, now, Connection::abort);
        }
    }

    /// RFC 9293, 3.6.1 and RFC 6191: a SYN may end TIME-WAIT early if it is surely a new one and
    /// somebody listens. Gives the listener and the number beyond which the new connection begins.
    fn reopens(
        &self,
        id: ConnectionId,
        ends: &Endpoints,
        segment: &Segment<'_>,
    ) -> Option<(ListenerId, SeqNumber)> {
        let flags = segment.tcp.flags;
        if !flags.contains(TcpFlags::SYN) || flags.intersects(TcpFlags::ACK | TcpFlags::RST | TcpFlags::FIN) {
            return None;
        }
        let connection = self.connection(id)?;
        // What has arrived and was acknowledged is not lost by that.
        if connection.readable() > 0 || !connection.may_be_replaced_by(segment) {
            return None;
        }
        Some((self.listener_at(ends.local)?, connection.last_sent()))
    }

    /// A packet for none of our connections: a listener's, or nobody's.
    fn receive_stranger(&mut self, ends: &Endpoints, at: Instant, segment: &Segment<'_>) {
        let flags = segment.tcp.flags;
        // RFC 9293, 3.10.7.2: LISTEN STATE.
        if let Some(listener) = self.listener_at(ends.local) {
            if flags.contains(TcpFlags::RST) {
                return;
            }
            if !flags.contains(TcpFlags::ACK) {
                if flags.contains(TcpFlags::SYN) && !flags.contains(TcpFlags::FIN) {
                    self.open_passively(listener, ends, at, segment, None);
                }
                return;
            }
        }
        self.refuse(ends, segment);
    }

    fn refuse(&mut self, ends: &Endpoints, segment: &Segment<'_>) {
        if self.strangers.refuse(ends, segment) {
            self.counters.resets += 1;
        }
    }

    /// The MTU of the path to `remote` became known (RFC 1191, RFC 8201): segments shrink, and
    /// what is in flight and too long is sent again in pieces.
    pub fn set_path_mtu(&mut self, now: Instant, local: IpAddr, remote: IpAddr, mtu: u16) {
        /// RFC 1191, 3 and RFC 8200, 5: no link may be told to be smaller.
        const LEAST_V4: u16 = 68;
        const LEAST_V6: u16 = 1280;
        let mtu = mtu.max(if remote.is_ipv4() { LEAST_V4 } else { LEAST_V6 });
        let Some(path) = self.path_mut(&PathKey { local, remote }) else { return };
        path.mtu = Some(mtu);
        let affected: Vec<ConnectionId> = self
            .connections
            .iter()
            .filter(|(_, entry)| {
                entry.connection.ends.local.ip() == local && entry.connection.ends.remote.ip() == remote
            })
            .map(|(key, _)| ConnectionId(key))
            .collect();
        for id in affected {
            self.with_connection(id, now, Connection::path_mtu_changed);
        }
    }

    /// Builds the next packet to send into `buffer` and returns its length; `None` when there is
    /// nothing more to send now. `buffer` must hold the largest MTU of any profile in use.
    ///
    /// Any other call that takes `&mut self` may change the answer.
    ///
    /// # Panics
    ///
    /// `buffer` is shorter than a packet to be built.
    pub fn poll_transmit(&mut self, now: Instant, buffer: &mut [u8]) -> Option<usize> {
        if let Some(len) = self.strangers.poll_transmit(buffer) {
            return Some(len);
        }
        while let Some(id) = self.ready.pop_front() {
            let Some(entry) = self.connections.get_mut(id.0) else { continue };
            let (Some(domain), Some(path)) =
                (self.domains.get_mut(entry.domain), self.paths.get_mut(entry.path))
            else {
                continue;
            };
            let mut cx = Context { now, id, domain, path: &mut path.path, observer: &mut self.observer };
            if let Some(len) = entry.connection.poll_transmit(&mut cx, buffer) {
                // Connections take turns.
                self.ready.push_back(id);
                return Some(len);
            }
            entry.ready = false;
            self.note(id);
            self.reap(id);
        }
        None
    }

    /// When [`Host::handle_timeout`] must be called at the latest. Valid after
    /// [`Host::poll_transmit`] returned `None`; any other call that takes `&mut self` may change it.
    pub fn next_deadline(&mut self) -> Option<Instant> {
        let connections = &self.connections;
        self.deadlines.next(|id| connections.get(id.0)?.connection.deadline())
    }

    /// Lets every timer expire whose time has come.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(id) = self.deadlines.pop_due(now) {
            let Some(entry) = self.connections.get_mut(id.0) else { continue };
            entry.registered = None;
            self.with_connection(id, now, Connection::handle_timeout);
        }
    }

    // --- inner workings ---------------------------------------------------------------------------

    fn connection(&self, id: ConnectionId) -> Option<&Connection> {
        Some(&self.connections.get(id.0)?.connection)
    }

    fn connection_mut(&mut self, id: ConnectionId) -> Result<&mut Connection, Error> {
        Ok(&mut self.connections.get_mut(id.0).ok_or(Error::UnknownConnection)?.connection)
    }

    fn path_mut(&mut self, key: &PathKey) -> Option<&mut Path> {
        let key = self.demux.path(key)?;
        Some(&mut self.paths.get_mut(key)?.path)
    }

    /// Lends the connection what it needs, and looks after it afterwards.
    fn with_connection<T>(
        &mut self,
        id: ConnectionId,
        now: Instant,
        work: impl FnOnce(&mut Connection, &mut Context<'_, O>) -> T,
    ) -> Option<T> {
        let entry = self.connections.get_mut(id.0)?;
        let domain = self.domains.get_mut(entry.domain)?;
        let path = &mut self.paths.get_mut(entry.path)?.path;
        let mut cx = Context { now, id, domain, path, observer: &mut self.observer };
        let result = work(&mut entry.connection, &mut cx);
        self.settle(id);
        Some(result)
    }

    /// A connection may have something to send, to tell, or another deadline.
    fn settle(&mut self, id: ConnectionId) {
        let Some(entry) = self.connections.get_mut(id.0) else { return };
        if !entry.ready {
            entry.ready = true;
            self.ready.push_back(id);
        }
        self.note(id);
    }

    fn note(&mut self, id: ConnectionId) {
        let Some(entry) = self.connections.get_mut(id.0) else { return };
        if let Some(deadline) = entry.connection.deadline()
            && entry.registered.is_none_or(|registered| deadline < registered)
        {
            let before = entry.registered.replace(deadline);
            self.deadlines.place(id, before, deadline);
        }
        if let Some(listener) = entry.listener {
            // What a connection that nobody accepted has to tell can wait.
            self.listener_progress(id, listener);
            return;
        }
        if !entry.telling && entry.connection.has_notification() {
            entry.telling = true;
            self.telling.push_back(id);
        }
    }

    /// Forgets a connection that is over and released.
    fn reap(&mut self, id: ConnectionId) {
        let done =
            self.connections.get(id.0).is_some_and(|entry| entry.connection.is_over() && entry.released);
        if done {
            self.remove(id);
        }
    }

    fn remove(&mut self, id: ConnectionId) {
        let Some(entry) = self.connections.remove(id.0) else { return };
        self.deadlines.forget(id, entry.registered);
        self.demux.remove(&entry.connection.ends);
        if let Some(listener) = entry.listener {
            self.forget_pending(listener, id);
        }
        self.domains.remove(entry.domain);
        if let Some(path) = self.paths.get_mut(entry.path) {
            path.users -= 1;
            if path.users == 0 {
                let key = path.key;
                self.demux.remove_path(&key);
                self.paths.remove(entry.path);
            }
        }
    }
}
