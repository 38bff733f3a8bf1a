//! The two programs of a file transfer.

use std::net::SocketAddr;
use std::sync::Arc;

use headway_tcp::{
    ConnectionError, ConnectionId, Host, ListenerId, Notification, Observer, Profile, State, Statistics,
};
use headway_units::Instant;
use sha2::{Digest, Sha256};

use crate::content::{Content, ContentError, ContentReader};

/// Connects, sends a [`Content`], closes.
pub struct Sender {
    starts_at: Instant,
    remote: SocketAddr,
    local: SocketAddr,
    profile: Arc<Profile>,
    content: ContentReader,
    connection: Option<ConnectionId>,
    writable: bool,
    closed: bool,
    failure: Option<ConnectionError>,
}

impl Sender {
    /// Will send `content` from `local` to `remote`.
    ///
    /// # Errors
    ///
    /// The content cannot be opened.
    pub fn new(
        local: SocketAddr,
        remote: SocketAddr,
        profile: Arc<Profile>,
        content: &Content,
    ) -> Result<Self, ContentError> {
        Ok(Self {
            starts_at: Instant::ZERO,
            remote,
            local,
            profile,
            content: content.open()?,
            connection: None,
            writable: false,
            closed: false,
            failure: None,
        })
    }

    /// The same, but it does not connect before `at`; something has to wake it then.
    #[must_use]
    pub fn starting_at(self, at: Instant) -> Self {
        Self { starts_at: at, ..self }
    }

    /// It does not connect before `at`, unless it has already; something has to wake it then.
    pub(crate) fn start_at(&mut self, at: Instant) {
        self.starts_at = at;
    }

    /// The connection, once there is one.
    pub fn connection(&self) -> Option<ConnectionId> {
        self.connection
    }

    /// Why the connection failed, if it did.
    pub fn failure(&self) -> Option<ConnectionError> {
        self.failure
    }

    /// Counters of the connection.
    pub fn statistics<O: Observer>(&self, host: &Host<O>) -> Statistics {
        self.connection.and_then(|id| host.statistics(id)).unwrap_or_default()
    }

    /// Whether nothing more is to come from this side.
    pub fn is_over<O: Observer>(&self, host: &Host<O>) -> bool {
        self.connection
            .is_some_and(|id| matches!(host.state(id), State::Closed | State::TimeWait | State::FinWait2))
    }

    /// See [`crate::Application::progress`].
    pub fn progress<O: Observer>(&mut self, host: &mut Host<O>, now: Instant) {
        let id = match self.connection {
            Some(id) => id,
            None if now < self.starts_at => return,
            None => match host.connect(now, self.local, self.remote, self.profile.clone()) {
                Ok(id) => *self.connection.insert(id),
                Err(error) => panic!("a fresh host refuses to connect: {error}"),
            },
        };
        while let Some((connection, notification)) = host.poll_notification() {
            match notification {
                _ if connection != id => {}
                Notification::Connected | Notification::Writable => self.writable = true,
                Notification::Closed => self.failure = host.error(id),
                _ => {}
            }
        }
        if self.writable && !self.closed {
            self.write(host, now, id);
        }
    }

    fn write<O: Observer>(&mut self, host: &mut Host<O>, now: Instant, id: ConnectionId) {
        while !self.content.is_at_end() {
            let chunk = self.content.chunk();
            let wanted = chunk.len();
            let Ok(taken) = host.write(id, chunk) else { return };
            self.content.advance(taken);
            if taken < wanted {
                self.writable = false;
                return;
            }
        }
        self.closed = true;
        let closing = host.close(now, id);
        debug_assert!(closing.is_ok());
    }
}

/// What a [`Receiver`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReceiverReport {
    /// Bytes delivered in order.
    pub delivered: u64,
    /// Of those, bytes that differ from what was sent.
    pub damaged: u64,
    /// When the last byte of the content had arrived.
    pub completed: Option<Instant>,
    /// Whether the SHA-256 of what arrived is the content's; `None` where it was not asked for.
    pub sha256_ok: Option<bool>,
}

/// Accepts one connection, compares every byte with what was sent, closes after the peer did.
pub struct Receiver {
    local: SocketAddr,
    profile: Arc<Profile>,
    content: Content,
    expected: ContentReader,
    listener: Option<ListenerId>,
    connection: Option<ConnectionId>,
    hashes: bool,
    /// SHA-256 of what arrived and of what was sent, from the first difference on.
    differing: Option<(Sha256, Sha256)>,
    report: ReceiverReport,
    closed: bool,
}

impl Receiver {
    /// Will expect `content` at `local`; `hash` also compares the SHA-256 of both,
    /// which is taken only where they differ.
    ///
    /// # Errors
    ///
    /// The content cannot be opened.
    pub fn new(
        local: SocketAddr,
        profile: Arc<Profile>,
        content: &Content,
        hash: bool,
    ) -> Result<Self, ContentError> {
        Ok(Self {
            local,
            profile,
            content: content.clone(),
            expected: content.open()?,
            listener: None,
            connection: None,
            hashes: hash,
            differing: None,
            report: ReceiverReport::default(),
            closed: false,
        })
    }

    /// What was found so far.
    pub fn report(&self) -> &ReceiverReport {
        &self.report
    }

    /// Counters of the connection.
    pub fn statistics<O: Observer>(&self, host: &Host<O>) -> Statistics {
        self.connection.and_then(|id| host.statistics(id)).unwrap_or_default()
    }

    /// Whether the whole content has arrived.
    pub fn is_complete(&self) -> bool {
        self.report.completed.is_some()
    }

    /// See [`crate::Application::progress`].
    pub fn progress<O: Observer>(&mut self, host: &mut Host<O>, now: Instant) {
        let listener = match self.listener {
            Some(listener) => listener,
            None => match host.listen(self.local, 1, self.profile.clone()) {
                Ok(listener) => *self.listener.insert(listener),
                Err(error) => panic!("a fresh host refuses to listen: {error}"),
            },
        };
        if self.connection.is_none() {
            self.connection = host.accept(listener);
        }
        while host.poll_notification().is_some() {}
        let Some(id) = self.connection else { return };
        if host.readable(id) > 0 {
            let (a, b) = host.peek(id);
            let n = a.len() + b.len();
            self.compare(a);
            self.compare(b);
            host.consume(id, n);
            if self.report.delivered == self.content.len() && self.report.completed.is_none() {
                self.report.completed = Some(now);
                // Equal bytes have equal sums.
                let differing = self.differing.take();
                let is_equal = differing.is_none_or(|(arrived, sent)| arrived.finalize() == sent.finalize());
                self.report.sha256_ok = self.hashes.then_some(is_equal);
            }
        }
        if !self.closed && host.is_finished(id) {
            self.closed = true;
            let closing = host.close(now, id);
            debug_assert!(closing.is_ok());
        }
    }

    fn compare(&mut self, mut arrived: &[u8]) {
        while !arrived.is_empty() {
            let expected = self.expected.chunk();
            let n = arrived.len().min(expected.len());
            if n == 0 {
                // More than was sent: every byte of it is wrong.
                self.report.damaged += arrived.len() as u64;
                self.report.delivered += arrived.len() as u64;
                return;
            }
            let (part, rest) = arrived.split_at(n);
            if part != &expected[..n] {
                self.report.damaged += part.iter().zip(expected).filter(|(a, b)| a != b).count() as u64;
                if self.hashes && self.differing.is_none() {
                    let equal = sum_of(&self.content, self.report.delivered);
                    self.differing = Some((equal.clone(), equal));
                }
            }
            if let Some((received, sent)) = &mut self.differing {
                received.update(part);
                sent.update(&expected[..n]);
            }
            self.expected.advance(n);
            self.report.delivered += n as u64;
            arrived = rest;
        }
    }
}

/// The SHA-256 of the first `len` bytes.
///
/// # Panics
///
/// The file became unreadable while it was sent, as in [`ContentReader::chunk`].
fn sum_of(content: &Content, len: u64) -> Sha256 {
    let mut reader = match content.open() {
        Ok(reader) => reader,
        Err(error) => panic!("the file became unreadable while it was being sent: {error}"),
    };
    let (mut sum, mut left) = (Sha256::new(), len);
    while left > 0 {
        let chunk = reader.chunk();
        let n = chunk.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        sum.update(&chunk[..n]);
        reader.advance(n);
        left -= n as u64;
    }
    sum
}
