//! Socket calls, as Linux answers them.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use headway_tcp::{ConnectionError, ConnectionId, ListenerId, Profile, State};
use headway_units::Duration;
use libc::c_int;

use crate::blocking::Patience;
use crate::descriptors::Kind;
use crate::errno::{Errno, Result};
use crate::options::Settings;
use crate::stack::Stack;

/// What a socket is at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Fresh,
    Listening(ListenerId),
    Connection(ConnectionId),
}

/// Counts what happened to a socket, for edge-triggered epoll.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct News {
    pub(crate) input: u64,
    pub(crate) output: u64,
}

/// A TCP socket.
#[derive(Clone, Debug)]
pub(crate) struct Socket {
    /// Of the socket, not of the connection: IPv4 goes through an IPv6 socket as a mapped address.
    pub(crate) is_v6: bool,
    pub(crate) bound: Option<SocketAddr>,
    pub(crate) phase: Phase,
    pub(crate) settings: Settings,
    pub(crate) news: News,
    pub(crate) read_shut: bool,
    pub(crate) write_shut: bool,
    /// `connect` has told that the connection is open.
    told_connected: bool,
    /// A call or `SO_ERROR` has told why the connection failed.
    told_error: bool,
}

impl Socket {
    fn new(is_v6: bool, profile: Profile) -> Self {
        Self {
            is_v6,
            bound: None,
            phase: Phase::Fresh,
            settings: Settings::new(profile),
            news: News::default(),
            read_shut: false,
            write_shut: false,
            told_connected: false,
            told_error: false,
        }
    }
}

/// Flags of a receive or send call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flags {
    pub(crate) dont_wait: bool,
    pub(crate) peek: bool,
    pub(crate) wait_all: bool,
}

impl Flags {
    /// Reads `MSG_*` flags.
    pub(crate) fn parse(bits: c_int) -> Result<Self> {
        let fast_open = 0x2000_0000;
        if bits & (libc::MSG_OOB | fast_open) != 0 {
            return Err(Errno(libc::EOPNOTSUPP));
        }
        Ok(Self {
            dont_wait: bits & libc::MSG_DONTWAIT != 0,
            peek: bits & libc::MSG_PEEK != 0,
            wait_all: bits & libc::MSG_WAITALL != 0,
        })
    }
}

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
            // The interface's address is known to packetdrill only.
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
            // The backlog of a listener that exists stays as it is.
            Phase::Listening(_) => return Ok(()),
            Phase::Connection(_) => return Err(Errno(libc::EINVAL)),
        }
        let local = socket.bound.unwrap_or(fallback);
        let profile = Arc::new(socket.settings.profile.clone());
        // Linux keeps one more than it was asked for.
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
        child.told_connected = true;
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
                State::Closed if !socket.told_error => {
                    return Err(self.take_error(fd)?.unwrap_or(Errno(libc::ECONNABORTED)));
                }
                // A socket whose attempt failed may try again.
                State::Closed => self.host.release(self.now, id),
                _ => {
                    let socket = self.descriptors.socket_mut(fd)?;
                    let first = !std::mem::replace(&mut socket.told_connected, true);
                    return if first { Ok(()) } else { Err(Errno(libc::EISCONN)) };
                }
            },
            Phase::Fresh => {}
        }
        let socket = self.descriptors.socket_mut(fd)?;
        socket.told_error = false;
        socket.told_connected = false;
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

    /// `connect` with `AF_UNSPEC`: gives the connection up.
    pub(crate) fn disconnect(&mut self, fd: c_int) -> Result<()> {
        let socket = self.descriptors.socket_mut(fd)?;
        let phase = std::mem::replace(&mut socket.phase, Phase::Fresh);
        socket.told_connected = false;
        socket.told_error = false;
        self.end(phase, true);
        Ok(())
    }

    /// Sends what the buffer takes of `data`; [`Errno::WOULD_BLOCK`] if it takes nothing.
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

    /// What has arrived, at most `len` octets; nothing at the end of the stream.
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
                socket.news.input += 1;
                socket.news.output += 1;
                if write {
                    self.host.close(self.now, id)?;
                }
            }
        }
        Ok(())
    }

    /// `close`. A connection whose end is to be waited for (`SO_LINGER`) is handed back with the
    /// time that it may take.
    pub(crate) fn close(&mut self, fd: c_int) -> Result<Option<(ConnectionId, Patience)>> {
        let nonblocking = self.descriptors.is_nonblocking(fd);
        match self.descriptors.remove(fd)? {
            Kind::Socket(socket) => {
                let abort = socket.settings.linger == Some(Duration::ZERO);
                self.end(socket.phase, abort);
                Ok(match (socket.phase, socket.settings.linger) {
                    (Phase::Connection(id), Some(time)) if !abort && !nonblocking => {
                        Some((id, Patience::For(time)))
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

    /// [`Errno::WOULD_BLOCK`] until a closed connection has delivered all.
    pub(crate) fn lingers(&mut self, id: ConnectionId) -> Result<()> {
        match self.host.state(id) {
            State::FinWait1 | State::Closing | State::LastAck => Err(Errno::WOULD_BLOCK),
            _ => Ok(()),
        }
    }

    /// The application is done with what a socket stood for.
    fn end(&mut self, phase: Phase, abort: bool) {
        match phase {
            Phase::Fresh => {}
            Phase::Listening(listener) => {
                // It is there: the phase says so.
                let _ = self.host.close_listener(self.now, listener);
            }
            Phase::Connection(id) => {
                // RFC 2525, 2.17: who closes with data unread sends a RST, as the peer would
                // otherwise take it for read.
                if abort || self.host.readable(id) > 0 {
                    let _ = self.host.abort(self.now, id);
                }
                self.host.release(self.now, id);
                self.host.observer_mut().forget(id);
            }
        }
    }

    /// Why the connection of a socket failed, the first time that somebody asks.
    pub(crate) fn take_error(&mut self, fd: c_int) -> Result<Option<Errno>> {
        let socket = self.descriptors.socket_mut(fd)?;
        let Phase::Connection(id) = socket.phase else { return Ok(None) };
        if socket.told_error {
            return Ok(None);
        }
        let error = self.host.error(id).filter(|error| is_failure(*error));
        socket.told_error = error.is_some();
        Ok(error.map(Errno::from))
    }

    /// Whether a socket's connection failed and nobody was told.
    pub(crate) fn has_error(&self, fd: c_int) -> bool {
        self.descriptors.socket(fd).is_ok_and(|socket| match socket.phase {
            Phase::Connection(id) => !socket.told_error && self.host.error(id).is_some_and(is_failure),
            _ => false,
        })
    }

    /// How long a call on a socket may wait.
    pub(crate) fn patience(&self, fd: c_int, flags: Flags, sends: bool) -> Patience {
        if flags.dont_wait || self.descriptors.is_nonblocking(fd) {
            return Patience::None;
        }
        let limit = self.descriptors.socket(fd).ok().and_then(|socket| {
            if sends { socket.settings.send_timeout } else { socket.settings.receive_timeout }
        });
        limit.map_or(Patience::Endless, Patience::For)
    }
}

/// What the application did itself is no failure.
fn is_failure(error: ConnectionError) -> bool {
    !matches!(error, ConnectionError::Aborted | ConnectionError::Closing)
}
