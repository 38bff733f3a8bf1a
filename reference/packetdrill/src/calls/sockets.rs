//! Socket calls, as Linux answers them.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use headway_tcp::{ConnectionError, ConnectionId, State};
use headway_units::Duration;
use libc::c_int;

use crate::descriptors::Kind;
use crate::errno::{Errno, Result};
use crate::socket::{Flags, Phase, Socket, WaitLimit};
use crate::stack::Stack;

impl Stack {
    /// `socket`.
    pub(crate) fn socket(&mut self, domain: c_int, kind: c_int, protocol: c_int) -> Result<c_int> {
        let is_v6 = match domain {
            libc::AF_INET => false,
            libc::AF_INET6 => true,
            _ => return Err(Errno(libc::EAFNOSUPPORT)),
        };
        let nonblocking = kind & libc::SOCK_NONBLOCK != 0;
        if kind & !(libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC) != libc::SOCK_STREAM {
            return Err(Errno(libc::ESOCKTNOSUPPORT));
        }
        if !matches!(protocol, 0 | libc::IPPROTO_TCP) {
            return Err(Errno(libc::EPROTONOSUPPORT));
        }
        let socket = Socket::new(is_v6, self.config.profile.clone());
        self.descriptors.add(Kind::Socket(Box::new(socket)), nonblocking)
    }

    /// `bind`.
    pub(crate) fn bind(&mut self, fd: c_int, address: SocketAddr) -> Result<()> {
        let socket = self.descriptors.socket_mut(fd)?;
        if socket.bound.is_some() || socket.phase != Phase::Fresh {
            return Err(Errno(libc::EINVAL));
        }
        if !socket.is_v6 && address.is_ipv6() {
            return Err(Errno(libc::EAFNOSUPPORT));
        }
        socket.bound = Some(address);
        if !address.ip().is_unspecified() {
            // Only packetdrill has the interface's address.
            self.host.add_address(address.ip());
        }
        Ok(())
    }

    /// `listen`.
    pub(crate) fn listen(&mut self, fd: c_int, backlog: c_int) -> Result<()> {
        let fallback = SocketAddr::new(IpAddr::from([0, 0, 0, 0]), 0);
        let socket = self.descriptors.socket(fd)?;
        match socket.phase {
            Phase::Fresh => {}
            // The backlog of an existing listener does not change.
            Phase::Listening(_) => return Ok(()),
            Phase::Connection(_) => return Err(Errno(libc::EINVAL)),
        }
        let local = socket.bound.unwrap_or(fallback);
        let asked = backlog;
        let profile = Arc::new(socket.settings.profile.clone());
        // Linux accepts one more than the backlog.
        let backlog = usize::try_from(backlog).unwrap_or(usize::MAX).saturating_add(1);
        let listener = match local.port() {
            0 => (49_152..=u16::MAX)
                .find_map(|port| {
                    let local = SocketAddr::new(local.ip(), port);
                    self.host.listen(local, backlog, profile.clone()).ok()
                })
                .ok_or(Errno(libc::EADDRINUSE))?,
            _ => self.host.listen(local, backlog, profile)?,
        };
        let socket = self.descriptors.socket_mut(fd)?;
        socket.phase = Phase::Listening(listener);
        socket.backlog = u32::try_from(asked).unwrap_or(u32::MAX);
        Ok(())
    }

    /// `accept`: a descriptor and the peer's address.
    pub(crate) fn accept(&mut self, fd: c_int) -> Result<(c_int, SocketAddr)> {
        let Phase::Listening(listener) = self.descriptors.socket(fd)?.phase else {
            return Err(Errno(libc::EINVAL));
        };
        let id = self.host.accept(listener).ok_or(Errno::WOULD_BLOCK)?;
        let parent = self.descriptors.socket(fd)?;
        let mut child = Socket::new(parent.is_v6, self.config.profile.clone());
        child.settings = parent.settings.clone();
        child.connect_reported = true;
        let ends = self.host.endpoints(id).ok_or(Errno(libc::ECONNABORTED))?;
        child.bound = Some(ends.local);
        let settings = child.settings.clone();
        let accepted = self.descriptors.add(Kind::Socket(Box::new(child)), false)?;
        self.descriptors.connect(accepted, id)?;
        // Options may have been set on the listener since the SYN arrived.
        self.apply_settings(id, &settings)?;
        Ok((accepted, ends.remote))
    }

    /// `connect`. [`Errno::WOULD_BLOCK`] while the handshake is under way.
    pub(crate) fn connect(&mut self, fd: c_int, remote: SocketAddr) -> Result<()> {
        let nonblocking = self.descriptors.is_nonblocking(fd);
        let under_way = if nonblocking { Errno(libc::EINPROGRESS) } else { Errno::WOULD_BLOCK };
        let socket = self.descriptors.socket(fd)?;
        match socket.phase {
            Phase::Listening(_) => return Err(Errno(libc::EISCONN)),
            Phase::Connection(id) => match self.host.state(id) {
                State::SynSent | State::SynReceived => {
                    return Err(if nonblocking { Errno(libc::EALREADY) } else { Errno::WOULD_BLOCK });
                }
                State::Closed if !socket.error_reported => {
                    return Err(self.take_error(fd)?.unwrap_or(Errno(libc::ECONNABORTED)));
                }
                // After a failed attempt the socket may connect again.
                State::Closed => self.host.release(self.now, id),
                _ => {
                    let socket = self.descriptors.socket_mut(fd)?;
                    let first = !std::mem::replace(&mut socket.connect_reported, true);
                    return if first { Ok(()) } else { Err(Errno(libc::EISCONN)) };
                }
            },
            Phase::Fresh => {}
        }
        let socket = self.descriptors.socket_mut(fd)?;
        socket.error_reported = false;
        socket.connect_reported = false;
        let local = match socket.bound {
            Some(local) if !local.ip().is_unspecified() => local,
            other => {
                let ip = self.config.local(remote.is_ipv6());
                SocketAddr::new(ip, other.map_or(0, |bound| bound.port()))
            }
        };
        let profile = Arc::new(socket.settings.profile.clone());
        let id = self.host.connect(self.now, local, remote, profile)?;
        self.descriptors.connect(fd, id)?;
        Err(under_way)
    }

    /// `connect` with `AF_UNSPEC`: aborts the connection.
    pub(crate) fn disconnect(&mut self, fd: c_int) -> Result<()> {
        let socket = self.descriptors.socket_mut(fd)?;
        let phase = std::mem::replace(&mut socket.phase, Phase::Fresh);
        socket.connect_reported = false;
        socket.error_reported = false;
        self.end(phase, true);
        Ok(())
    }

    /// Writes `data` to the send buffer as far as there is room; [`Errno::WOULD_BLOCK`] if there is none.
    pub(crate) fn send(&mut self, fd: c_int, data: &[u8], _flags: Flags) -> Result<usize> {
        let Phase::Connection(id) = self.descriptors.socket(fd)?.phase else {
            return Err(Errno(libc::EPIPE));
        };
        if let Some(error) = self.take_error(fd)? {
            return Err(error);
        }
        if self.descriptors.socket(fd)?.write_shut {
            return Err(Errno(libc::EPIPE));
        }
        match self.host.state(id) {
            // Linux waits for the handshake.
            State::SynSent | State::SynReceived => return Err(Errno::WOULD_BLOCK),
            state if !state.may_send() => return Err(Errno(libc::EPIPE)),
            _ => {}
        }
        match self.host.write(id, data)? {
            0 if !data.is_empty() => Err(Errno::WOULD_BLOCK),
            taken => Ok(taken),
        }
    }

    /// Reads at most `len` bytes; none at the end of the stream.
    pub(crate) fn receive(&mut self, fd: c_int, len: usize, flags: Flags) -> Result<Vec<u8>> {
        let socket = self.descriptors.socket(fd)?;
        let Phase::Connection(id) = socket.phase else { return Err(Errno(libc::ENOTCONN)) };
        let read_shut = socket.read_shut;
        let nonblocking = flags.dont_wait || self.descriptors.is_nonblocking(fd);
        let enough = if flags.wait_all { len } else { len.min(socket.settings.receive_low_water) };
        let readable = self.host.readable(id);
        let is_last = read_shut || !self.host.state(id).may_receive();
        if readable > 0 && (readable >= enough || is_last || nonblocking) {
            let (first, second) = self.host.peek(id);
            let data: Vec<u8> = first.iter().chain(second).take(len).copied().collect();
            if !flags.peek {
                self.host.consume(id, data.len());
            }
            return Ok(data);
        }
        if len == 0 {
            return Ok(Vec::new());
        }
        if let Some(error) = self.take_error(fd)? {
            return Err(error);
        }
        if read_shut || self.host.is_finished(id) { Ok(Vec::new()) } else { Err(Errno::WOULD_BLOCK) }
    }

    /// `shutdown`.
    pub(crate) fn shutdown(&mut self, fd: c_int, how: c_int) -> Result<()> {
        let (read, write) = match how {
            libc::SHUT_RD => (true, false),
            libc::SHUT_WR => (false, true),
            libc::SHUT_RDWR => (true, true),
            _ => return Err(Errno(libc::EINVAL)),
        };
        let socket = self.descriptors.socket_mut(fd)?;
        match socket.phase {
            Phase::Fresh => return Err(Errno(libc::ENOTCONN)),
            Phase::Listening(listener) => {
                if read {
                    socket.phase = Phase::Fresh;
                    self.host.close_listener(self.now, listener)?;
                }
                return Ok(());
            }
            Phase::Connection(id) => {
                if self.host.state(id) == State::Closed {
                    return Err(Errno(libc::ENOTCONN));
                }
                socket.read_shut |= read;
                socket.write_shut |= write;
                socket.event_counts.input += 1;
                socket.event_counts.output += 1;
                if write {
                    self.host.close(self.now, id)?;
                }
            }
        }
        Ok(())
    }

    /// `close`. Returns a connection to wait for (`SO_LINGER`) with the time limit.
    pub(crate) fn close(&mut self, fd: c_int) -> Result<Option<(ConnectionId, WaitLimit)>> {
        let nonblocking = self.descriptors.is_nonblocking(fd);
        match self.descriptors.remove(fd)? {
            Kind::Socket(socket) => {
                let abort = socket.settings.linger == Some(Duration::ZERO);
                self.end(socket.phase, abort);
                Ok(match (socket.phase, socket.settings.linger) {
                    (Phase::Connection(id), Some(time)) if !abort && !nonblocking => {
                        Some((id, WaitLimit::For(time)))
                    }
                    _ => None,
                })
            }
            Kind::Epoll(_) => Ok(None),
            Kind::Pipe(end) => {
                self.pipes.close(end);
                Ok(None)
            }
        }
    }

    /// [`Errno::WOULD_BLOCK`] until all data of a closed connection and its FIN are acknowledged.
    pub(crate) fn lingers(&mut self, id: ConnectionId) -> Result<()> {
        match self.host.state(id) {
            State::FinWait1 | State::Closing | State::LastAck => Err(Errno::WOULD_BLOCK),
            _ => Ok(()),
        }
    }

    /// Ends a socket's listener or connection.
    fn end(&mut self, phase: Phase, abort: bool) {
        match phase {
            Phase::Fresh => {}
            Phase::Listening(listener) => {
                // The listener exists in this phase.
                let _ = self.host.close_listener(self.now, listener);
            }
            Phase::Connection(id) => {
                // RFC 2525, 2.17: closing with unread data sends a RST, since the peer would otherwise
                // assume that it was read.
                if abort || self.host.readable(id) > 0 {
                    let _ = self.host.abort(self.now, id);
                }
                self.host.release(self.now, id);
                self.host.observer_mut().forget(id);
            }
        }
    }

    /// The error of a socket's connection, once.
    pub(crate) fn take_error(&mut self, fd: c_int) -> Result<Option<Errno>> {
        let socket = self.descriptors.socket_mut(fd)?;
        let Phase::Connection(id) = socket.phase else { return Ok(None) };
        if socket.error_reported {
            return Ok(None);
        }
        let error = self.host.error(id).filter(|error| is_failure(*error));
        socket.error_reported = error.is_some();
        let is_v6 = self.host.endpoints(id).is_some_and(|ends| ends.remote.is_ipv6());
        Ok(error.map(|error| Errno::of_failure(error, is_v6)))
    }

    /// Whether a socket's connection has an error that was not returned yet.
    pub(crate) fn has_error(&self, fd: c_int) -> bool {
        self.descriptors.socket(fd).is_ok_and(|socket| match socket.phase {
            Phase::Connection(id) => !socket.error_reported && self.host.error(id).is_some_and(is_failure),
            _ => false,
        })
    }

    /// How long a call on a socket may wait.
    pub(crate) fn wait_limit(&self, fd: c_int, flags: Flags, sends: bool) -> WaitLimit {
        if flags.dont_wait || self.descriptors.is_nonblocking(fd) {
            return WaitLimit::NoWait;
        }
        let limit = self.descriptors.socket(fd).ok().and_then(|socket| {
            if sends { socket.settings.send_timeout } else { socket.settings.receive_timeout }
        });
        limit.map_or(WaitLimit::Unlimited, WaitLimit::For)
    }
}

/// Whether it is an error: not if the application ended the connection itself.
fn is_failure(error: ConnectionError) -> bool {
    !matches!(error, ConnectionError::Aborted | ConnectionError::Closing)
}
