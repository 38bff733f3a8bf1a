//! What programs ask of their connections: to send, to receive, to close, and what has happened.

use alloc::vec::Vec;
use core::net::IpAddr;

use headway_units::Instant;

use super::{ConnectionId, Host};
use crate::connection::{Connection, Endpoints, Negotiated, Notification, Statistics};
use crate::event::Observer;
use crate::{ConnectionError, Error, State};

impl<O: Observer> Host<O> {
    /// SEND (RFC 9293, 3.10.2): takes as much of `data` as the send buffer holds and says how much
    /// that was. [`Notification::Writable`] follows a short write.
    ///
    /// # Errors
    ///
    /// The connection is unknown, failed, or closed for sending.
    pub fn write(&mut self, id: ConnectionId, data: &[u8]) -> Result<usize, Error> {
        let taken = self.connection_mut(id)?.write(data)?;
        self.wake(id);
        Ok(taken)
    }

    /// Bytes that [`Host::write`] would take now.
    pub fn writable(&self, id: ConnectionId) -> usize {
        self.connection(id).map_or(0, Connection::writable)
    }

    /// Received bytes in order, in the one or two pieces in which they lie; nothing is copied.
    pub fn peek(&self, id: ConnectionId) -> (&[u8], &[u8]) {
        self.connection(id).map_or((&[], &[]), Connection::peek)
    }

    /// What has arrived beyond a hole, ascending: the distance of each run from the first byte of [`Host::peek`], and the
    /// run, in the one or two pieces in which it lies. It has passed every check, and stays as it is until the hole
    /// is filled. For programs whose messages need no order ([`Profile::unordered`](crate::Profile::unordered)).
    pub fn peek_beyond(&self, id: ConnectionId) -> impl Iterator<Item = (usize, (&[u8], &[u8]))> {
        self.connection(id).into_iter().flat_map(Connection::beyond)
    }

    /// Bytes that [`Host::read`] would give now.
    pub fn readable(&self, id: ConnectionId) -> usize {
        self.connection(id).map_or(0, Connection::readable)
    }

    /// RECEIVE (RFC 9293, 3.10.3), after [`Host::peek`]: drops `n` received bytes (at most all),
    /// which opens the window again.
    pub fn consume(&mut self, id: ConnectionId, n: usize) {
        if let Ok(connection) = self.connection_mut(id) {
            connection.consume(n.min(connection.readable()));
            self.wake(id);
        }
    }

    /// Copies received bytes into `buffer` and drops them. 0 means that there are none now;
    /// [`Host::is_finished`] reports the end of the stream.
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
    #[inline]
    pub fn is_finished(&self, id: ConnectionId) -> bool {
        self.connection(id).is_none_or(Connection::is_finished)
    }

    /// As [`Host::is_finished`], whether or not all is read.
    pub fn has_ended(&self, id: ConnectionId) -> bool {
        self.connection(id).is_none_or(Connection::has_ended)
    }

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

    /// [`Host::abort`] for every connection to `remote`: a carrier that authenticates its peers knows that this one was
    /// restarted, and has none of them.
    pub fn abort_peer(&mut self, now: Instant, remote: IpAddr) {
        let to_it =
            self.connections.iter().filter(|(_, entry)| entry.connection().ends().remote.ip() == remote);
        let ids: Vec<ConnectionId> = to_it.map(|(id, _)| id).collect();
        for id in ids {
            self.with_connection(id, now, Connection::abort);
        }
    }

    /// Lets the retransmission timers of all connections to `remote` expire now, if something is outstanding: a carrier
    /// that hears its peers knows that the path has returned, while timers have backed off.
    pub fn retransmit_to(&mut self, now: Instant, remote: IpAddr) {
        let to_it =
            self.connections.iter().filter(|(_, entry)| entry.connection().ends().remote.ip() == remote);
        let ids: Vec<ConnectionId> = to_it.map(|(id, _)| id).collect();
        for id in ids {
            self.with_connection(id, now, |connection, cx| connection.hasten_retransmission(cx.now));
        }
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
        if let Some(entry) = self.connections.get_mut(id) {
            entry.release();
        }
        self.wake(id);
    }

    /// RFC 9293, 3.6.1: "If such a host issues a CLOSE call while received data is still pending in
    /// the TCP connection, or if new data is received after CLOSE is called, its TCP implementation
    /// SHOULD send a RST to show that data was lost".
    #[inline(never)]
    pub(super) fn abort_unread(&mut self, now: Instant, id: ConnectionId) {
        let lost = |connection: &Connection| {
            connection.readable() > 0 && !matches!(connection.state(), State::TimeWait | State::Closed)
        };
        if self.connection(id).is_some_and(lost) {
            self.with_connection(id, now, Connection::abort);
        }
    }

    /// The next thing that the application should know, if any. Each is given once; of several
    /// alike that wait, only one. To be asked until `None`: connections that have notifications wait in
    /// line until then.
    pub fn poll_notification(&mut self) -> Option<(ConnectionId, Notification)> {
        self.connections.pop_notification()
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
        Some(self.connection(id)?.ends())
    }

    /// What the two ends agreed on.
    pub fn negotiated(&self, id: ConnectionId) -> Option<Negotiated> {
        Some(self.connection(id)?.negotiated())
    }

    /// Counters and estimates.
    pub fn statistics(&self, id: ConnectionId) -> Option<Statistics> {
        let entry = self.connections.get(id)?;
        Some(entry.connection().statistics(self.domains.get(entry.domain())?))
    }
}
