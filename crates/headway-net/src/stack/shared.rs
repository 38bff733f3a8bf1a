//! State shared by the driver's thread and the programs' tasks.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::task::Waker;

use headway_tcp::{ConnectionError, ConnectionId, Error, Host, ListenerId, Notification, Profile, State};
use headway_units::Instant;
use headway_wire::icmp::IcmpKind;
use parking_lot::{Mutex, MutexGuard};
use rustix::event::{EventfdFlags, eventfd};

use super::reporter::Reporter;
use crate::Clock;

/// The handle of streams and listeners; the driver ends when the last one is dropped.
pub(super) struct Handle {
    pub(super) shared: Arc<Shared>,
    pub(super) addresses: Vec<IpAddr>,
    pub(super) profile: Arc<Profile>,
    /// The carrier's properties.
    pub(super) carries_hack: bool,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.update(|core| core.closing = Some(Instant::ZERO));
    }
}

pub(super) struct Shared {
    core: Mutex<Core>,
    /// An eventfd that wakes the driver.
    kick: OwnedFd,
    pub(super) clock: Clock,
}

/// The host, and the wakers of tasks.
pub(super) struct Core {
    pub(super) host: Host<Reporter>,
    streams: HashMap<ConnectionId, Waiting>,
    pub(super) acceptors: Vec<(ListenerId, Vec<Waker>)>,
    /// Who waits for connections to any address.
    pub(super) interceptor: Option<Waker>,
    /// Connections of dropped streams that may still have data to send.
    lingering: Vec<ConnectionId>,
    /// The length of `lingering` at which closed connections are removed from it.
    prune_at: usize,
    /// A program listens or connects: before that, packets wait, since connections would be refused.
    pub(super) started: bool,
    /// The driver waits for the carrier, or is about to.
    pub(super) sleeping: bool,
    /// The deadline of closing.
    pub(super) closing: Option<Instant>,
    pub(super) closers: Vec<Waker>,
    /// The driver has ended.
    pub(super) ended: bool,
    /// The result; taken by the task that closed the stack.
    pub(super) outcome: Option<io::Result<()>>,
    /// What the system said of the packets sent since the last one arrived.
    pub(super) trouble: Option<String>,
    /// The error of the carrier.
    pub(super) failed: Option<(io::ErrorKind, String)>,
}

/// The tasks that wait for a stream.
#[derive(Default)]
struct Waiting {
    reader: Option<Waker>,
    writer: Option<Waker>,
    /// Connected, or failed.
    opened: bool,
}

/// The event that a task waits for.
#[derive(Clone, Copy)]
pub(super) enum Interest {
    /// Data to read, or the end of the stream.
    Read,
    /// Buffer space to write, or the handshake.
    Write,
}

impl Shared {
    /// Returns also the driver's end of the eventfd.
    pub(super) fn new(host: Host<Reporter>, clock: Clock) -> io::Result<(Arc<Self>, OwnedFd)> {
        let kick = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let kicks = kick.try_clone()?;
        let core = Core {
            host,
            streams: HashMap::new(),
            acceptors: Vec::new(),
            interceptor: None,
            lingering: Vec::new(),
            prune_at: 64,
            started: false,
            sleeping: true,
            closing: None,
            closers: Vec::new(),
            ended: false,
            outcome: None,
            trouble: None,
            failed: None,
        };
        Ok((Arc::new(Self { core: Mutex::new(core), kick, clock }), kicks))
    }

    /// For the driver.
    pub(super) fn lock(&self) -> MutexGuard<'_, Core> {
        self.core.lock()
    }

    /// Calls `work` without waking the driver: for calls after which the host has nothing to send.
    pub(super) fn with_core<T>(&self, work: impl FnOnce(&mut Core) -> T) -> T {
        work(&mut self.core.lock())
    }

    /// Calls `work`, and wakes the driver if it sleeps.
    pub(super) fn update<T>(&self, work: impl FnOnce(&mut Core) -> T) -> T {
        let mut core = self.core.lock();
        let result = work(&mut core);
        let kick = std::mem::take(&mut core.sleeping);
        drop(core);
        if kick {
            // A full counter wakes it too.
            let _ = rustix::io::write(&self.kick, &1_u64.to_ne_bytes());
        }
        result
    }
}

impl Core {
    pub(super) fn check_running(&self) -> io::Result<()> {
        match &self.failed {
            Some((kind, text)) => Err(io::Error::new(*kind, text.clone())),
            None if self.closing.is_some() || self.ended => {
                Err(io::Error::new(io::ErrorKind::NotConnected, "the stack has been closed"))
            }
            None => Ok(()),
        }
    }

    /// Registers a stream.
    pub(super) fn adopt(&mut self, id: ConnectionId) {
        let opened = self.host.state(id) != State::SynSent;
        self.streams.insert(id, Waiting { opened, ..Waiting::default() });
    }

    /// Unregisters a stream.
    pub(super) fn release(&mut self, now: Instant, id: ConnectionId) {
        self.streams.remove(&id);
        self.host.release(now, id);
        self.lingering.push(id);
        if self.lingering.len() >= self.prune_at {
            self.prune();
            self.prune_at = (self.lingering.len() * 2).max(64);
        }
    }

    fn prune(&mut self) {
        let host = &self.host;
        self.lingering.retain(|&id| !matches!(host.state(id), State::Closed | State::TimeWait));
    }

    pub(super) fn is_open(&self, id: ConnectionId) -> bool {
        self.streams.get(&id).is_none_or(|waiting| waiting.opened)
    }

    /// Sets the waker of `id` for `interest`.
    pub(super) fn wait(&mut self, id: ConnectionId, interest: Interest, waker: &Waker) {
        let Some(waiting) = self.streams.get_mut(&id) else { return };
        let place = match interest {
            Interest::Read => &mut waiting.reader,
            Interest::Write => &mut waiting.writer,
        };
        match place {
            Some(known) => known.clone_from(waker),
            None => *place = Some(waker.clone()),
        }
    }

    /// Takes the wakers of all streams and listeners with new events.
    pub(super) fn notify(&mut self, wakers: &mut Vec<Waker>) {
        while let Some((id, notification)) = self.host.poll_notification() {
            let Some(waiting) = self.streams.get_mut(&id) else { continue };
            match notification {
                Notification::Readable => wakers.extend(waiting.reader.take()),
                Notification::Writable => wakers.extend(waiting.writer.take()),
                Notification::Connected => {
                    waiting.opened = true;
                    wakers.extend(waiting.writer.take());
                }
                Notification::Closed => {
                    waiting.opened = true;
                    wakers.extend(waiting.reader.take());
                    wakers.extend(waiting.writer.take());
                }
                _ => {}
            }
        }
        if self.host.has_incoming() {
            wakers.extend(self.interceptor.take());
        }
        for (listener, waiting) in &mut self.acceptors {
            if self.host.acceptable(*listener) > 0 {
                wakers.append(waiting);
            }
        }
    }

    /// Whether closing has nothing to wait for.
    pub(super) fn is_quiet(&mut self) -> bool {
        self.prune();
        let host = &self.host;
        let over = |id: &ConnectionId| matches!(host.state(*id), State::Closed | State::TimeWait);
        self.lingering.is_empty() && self.streams.len() == self.count_streams(over)
    }

    #[expect(clippy::disallowed_methods, reason = "a count does not depend on the order")]
    fn count_streams(&self, what: impl Fn(&ConnectionId) -> bool) -> usize {
        self.streams.keys().filter(|id| what(id)).count()
    }

    /// Bytes of heap that connections use.
    #[expect(clippy::disallowed_methods, reason = "a sum does not depend on the order")]
    pub(super) fn memory(&self) -> usize {
        let ids = self.streams.keys().chain(&self.lingering);
        ids.filter_map(|&id| self.host.statistics(id)).map(|statistics| statistics.memory).sum()
    }

    /// Resets a connection, if it is not over. One that was reset already still has its RST to send, which another abort would
    /// take back.
    pub(super) fn abort(&mut self, now: Instant, id: ConnectionId) {
        if self.host.state(id) != State::Closed {
            // It fails only for a connection that is not known.
            let _ = self.host.abort(now, id);
        }
    }

    /// Ends every connection.
    #[expect(clippy::disallowed_methods, reason = "all of them, in any order")]
    pub(super) fn abort_all(&mut self, now: Instant) {
        let streams: Vec<ConnectionId> = self.streams.keys().copied().collect();
        for id in streams.into_iter().chain(std::mem::take(&mut self.lingering)) {
            self.abort(now, id);
        }
        for (listener, _) in &self.acceptors {
            let _ = self.host.close_listener(now, *listener);
        }
    }

    /// Takes the wakers of all tasks.
    pub(super) fn wake_all(&mut self, wakers: &mut Vec<Waker>) {
        for waiting in self.streams.values_mut() {
            waiting.opened = true;
            wakers.extend(waiting.reader.take());
            wakers.extend(waiting.writer.take());
        }
        for (_, waiting) in &mut self.acceptors {
            wakers.append(waiting);
        }
        wakers.extend(self.interceptor.take());
        wakers.append(&mut self.closers);
    }

    /// The error of a stream, if any.
    pub(super) fn stream_error(&self, id: ConnectionId) -> Option<io::Error> {
        if let Some((kind, text)) = &self.failed {
            return Some(io::Error::new(*kind, text.clone()));
        }
        let error = connection_error(self.host.error(id)?);
        Some(match &self.trouble {
            Some(trouble) if error.kind() == io::ErrorKind::TimedOut => {
                io::Error::new(error.kind(), format!("{error}: {trouble}"))
            }
            _ => error,
        })
    }
}

pub(super) fn connection_error(error: ConnectionError) -> io::Error {
    let kind = match error {
        ConnectionError::Refused => io::ErrorKind::ConnectionRefused,
        ConnectionError::Reset => io::ErrorKind::ConnectionReset,
        ConnectionError::TimedOut | ConnectionError::UserTimeout => io::ErrorKind::TimedOut,
        ConnectionError::Aborted => io::ErrorKind::ConnectionAborted,
        ConnectionError::Closing => io::ErrorKind::BrokenPipe,
        ConnectionError::Unreachable(IcmpKind::NetworkUnreachable) => io::ErrorKind::NetworkUnreachable,
        ConnectionError::Unreachable(_) => io::ErrorKind::HostUnreachable,
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, error)
}

pub(super) fn io_error(error: Error) -> io::Error {
    let kind = match error {
        Error::Connection(error) => return connection_error(error),
        Error::AddressInUse(_) => io::ErrorKind::AddrInUse,
        Error::NotOurAddress(_) | Error::NoFreePort(_) => io::ErrorKind::AddrNotAvailable,
        Error::FamilyMismatch { .. } | Error::NoHost(_) | Error::BadProfile(_) => io::ErrorKind::InvalidInput,
        Error::UnknownConnection | Error::UnknownListener => io::ErrorKind::NotConnected,
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, error)
}
