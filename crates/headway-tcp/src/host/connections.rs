//! The connections of a host: by their ends, in line to send, in line to notify, and by their deadlines.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use headway_units::Instant;

use super::deadlines::Deadlines;
use super::demux::Demux;
use super::identity::Identity;
use crate::connection::{Connection, Endpoints, Notification};
use crate::slab::{Key, Slab};
use crate::{ConnectionId, ListenerId};

/// A connection, with what the host knows of it.
pub(super) struct HeldConnection {
    connection: Connection,
    domain: Key,
    path: Key,
    /// The listener that it came from, until it is accepted.
    listener: Option<ListenerId>,
    /// In the queue of those that may have something to send.
    ready: bool,
    /// In the queue of those that have notifications.
    notifying: bool,
    /// The application has closed or aborted it and will not ask again.
    released: bool,
    /// The deadline that is registered in [`Deadlines`].
    registered: Option<Instant>,
}

impl HeldConnection {
    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    pub(super) fn connection_mut(&mut self) -> &mut Connection {
        &mut self.connection
    }

    pub(super) fn domain(&self) -> Key {
        self.domain
    }

    pub(super) fn path(&self) -> Key {
        self.path
    }

    pub(super) fn listener(&self) -> Option<ListenerId> {
        self.listener
    }

    /// The application has it: it does not belong to its listener any more.
    pub(super) fn accept(&mut self) {
        self.listener = None;
    }

    pub(super) fn release(&mut self) {
        self.released = true;
    }

    pub(super) fn is_released(&self) -> bool {
        self.released
    }

    /// Registers the deadline, and lines up for notification. Gives the listener that the connection has
    /// not been accepted from.
    #[inline]
    fn line_up(
        &mut self,
        id: ConnectionId,
        deadlines: &mut Deadlines,
        notifying: &mut VecDeque<ConnectionId>,
    ) -> Option<ListenerId> {
        self.register(id, deadlines);
        if self.listener.is_none() && !self.notifying && self.connection.has_notification() {
            self.notifying = true;
            notifying.push_back(id);
        }
        self.listener
    }

    #[inline]
    fn register(&mut self, id: ConnectionId, deadlines: &mut Deadlines) {
        if let Some(deadline) = self.connection.deadline()
            && self.registered.is_none_or(|registered| deadline < registered)
        {
            let before = self.registered.replace(deadline);
            deadlines.place(id, before, deadline);
        }
    }
}

/// See the module's documentation.
pub(super) struct Connections {
    entries: Slab<Box<HeldConnection>>,
    demux: Demux,
    ready: VecDeque<ConnectionId>,
    notifying: VecDeque<ConnectionId>,
    deadlines: Deadlines,
}

impl Connections {
    pub(super) fn new(identity: &Identity) -> Self {
        Self {
            entries: Slab::default(),
            demux: Demux::new(identity),
            ready: VecDeque::new(),
            notifying: VecDeque::new(),
            deadlines: Deadlines::default(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The identity that the next connection will get.
    pub(super) fn next_id(&self) -> ConnectionId {
        ConnectionId(self.entries.next_key())
    }

    pub(super) fn insert(
        &mut self,
        connection: Connection,
        domain: Key,
        path: Key,
        listener: Option<ListenerId>,
    ) -> ConnectionId {
        let ends = connection.ends();
        let id = ConnectionId(self.entries.insert(Box::new(HeldConnection {
            connection,
            domain,
            path,
            listener,
            ready: false,
            notifying: false,
            released: false,
            registered: None,
        })));
        self.demux.add(ends, id, |id| ends_of(&self.entries, id));
        id
    }

    pub(super) fn remove(&mut self, id: ConnectionId) -> Option<Box<HeldConnection>> {
        let entry = self.entries.remove(id.0)?;
        self.deadlines.forget(id, entry.registered);
        self.demux.remove(&entry.connection.ends(), id);
        Some(entry)
    }

    #[inline]
    pub(super) fn get(&self, id: ConnectionId) -> Option<&HeldConnection> {
        self.entries.get(id.0).map(|entry| &**entry)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, id: ConnectionId) -> Option<&mut HeldConnection> {
        self.entries.get_mut(id.0).map(|entry| &mut **entry)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (ConnectionId, &HeldConnection)> {
        self.entries.iter().map(|(key, entry)| (ConnectionId(key), &**entry))
    }

    pub(super) fn find(&self, ends: &Endpoints) -> Option<ConnectionId> {
        self.demux.connection(ends, |id| ends_of(&self.entries, id))
    }

    /// The connection of a packet that arrived.
    pub(super) fn find_arrival(&mut self, ends: &Endpoints) -> Option<ConnectionId> {
        self.demux.find(ends, |id| ends_of(&self.entries, id))
    }

    // --- what is to be done -------------------------------------------------------------------------

    /// The connection may have something to send, to notify of, or another deadline. Gives the listener
    /// that it has not been accepted from: its notifications can wait.
    ///
    /// One that is quiet is not asked what it sends, which would be half of the work of who only receives; but where
    /// members of a domain take turns, as `takes_turns` says, it has to say that it needs none.
    #[inline]
    pub(super) fn wake(
        &mut self,
        id: ConnectionId,
        takes_turns: impl FnOnce(Key) -> bool,
    ) -> Option<ListenerId> {
        let entry = self.entries.get_mut(id.0)?;
        if !entry.ready && (!entry.connection.is_quiet() || takes_turns(entry.domain)) {
            entry.ready = true;
            self.ready.push_back(id);
        }
        entry.line_up(id, &mut self.deadlines, &mut self.notifying)
    }

    /// As [`Self::wake`], for one that has nothing more to send now.
    #[inline]
    pub(super) fn set_idle(&mut self, id: ConnectionId) -> Option<ListenerId> {
        let entry = self.entries.get_mut(id.0)?;
        entry.ready = false;
        entry.line_up(id, &mut self.deadlines, &mut self.notifying)
    }

    /// Takes the connection that is first in line to send.
    #[inline]
    pub(super) fn pop_ready(&mut self) -> Option<ConnectionId> {
        self.ready.pop_front()
    }

    /// The connection has sent: others take their turn before it.
    pub(super) fn push_ready(&mut self, id: ConnectionId) {
        self.ready.push_back(id);
    }

    #[inline]
    pub(super) fn pop_notification(&mut self) -> Option<(ConnectionId, Notification)> {
        while let Some(&id) = self.notifying.front() {
            if let Some(entry) = self.entries.get_mut(id.0) {
                if let Some(notification) = entry.connection.take_notification() {
                    return Some((id, notification));
                }
                entry.notifying = false;
            }
            self.notifying.pop_front();
        }
        None
    }

    pub(super) fn next_deadline(&mut self) -> Option<Instant> {
        self.deadlines.next(|id| self.entries.get_mut(id.0)?.connection.deadline())
    }

    /// Takes a connection whose deadline may have come.
    #[inline]
    pub(super) fn pop_due(&mut self, now: Instant) -> Option<ConnectionId> {
        while let Some(id) = self.deadlines.pop_due(now) {
            if let Some(entry) = self.entries.get_mut(id.0) {
                entry.registered = None;
                return Some(id);
            }
        }
        None
    }
}

fn ends_of(entries: &Slab<Box<HeldConnection>>, id: ConnectionId) -> Option<Endpoints> {
    Some(entries.get(id.0)?.connection.ends())
}
