//! Frames in datagrams, which are exchanged with the program of a modem over UDP or Unix sockets.
//!
//! Each datagram is a frame behind a header of 8 bytes (`reference/modem/README.md`), as it is to be sent or as it was received.

use std::fmt;
use std::io::{self, IoSlice, IoSliceMut};
use std::net::SocketAddr;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use headway_units::{Duration, Instant};
use socket2::{Domain, SockAddr, Socket, Type};

use super::link::FrameLink;
use crate::NetError;

/// The length of the header of a datagram.
const FRAME_HEADER: usize = 8;
/// Its first byte.
const VERSION: u8 = 1;
/// The header of what is sent: the modem ignores the rest.
const SENT: [u8; FRAME_HEADER] = [VERSION, 0, 0, 0, 0, 0, 0, 0];
/// How often a header without a frame is sent. It tells a modem's program, which may have been started again, where frames
/// are received.
const ANNOUNCED: Duration = Duration::from_secs(2);
/// The longest frame, of what fits a datagram of UDP over IPv4.
const LONGEST: u16 = 65_499;

/// The socket buffer in bytes for received datagrams; the modem has a queue of its own for those that are sent.
const RECEIVE_BUFFER: usize = 1 << 20;

/// The place of a socket for datagrams: `ADDRESS:PORT` of UDP, or `unix:PATH`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FramesSocket {
    /// UDP.
    Udp(SocketAddr),
    /// A Unix socket.
    Unix(PathBuf),
}

impl FromStr for FramesSocket {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.strip_prefix("unix:") {
            Some("") => Err("expected a path after unix:"),
            Some(path) => Ok(Self::Unix(path.into())),
            None => text
                .parse()
                .map(Self::Udp)
                .map_err(|_| "expected an address with a port, such as 127.0.0.1:5000, or unix:PATH"),
        }
    }
}

impl fmt::Display for FramesSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Udp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl FramesSocket {
    fn name(&self) -> io::Result<SockAddr> {
        match self {
            Self::Udp(address) => Ok((*address).into()),
            Self::Unix(path) => SockAddr::unix(path),
        }
    }
}

/// The socket of this end.
pub(super) struct Datagrams {
    socket: Socket,
    /// Removed with it.
    _path: Option<OwnPath>,
    modem: FramesSocket,
    /// When this end is announced next.
    announced: Instant,
}

impl Datagrams {
    /// Opens the socket at `local`. The modem's program may start later.
    pub(super) fn open(local: &FramesSocket, modem: &FramesSocket, longest: u16) -> Result<Self, NetError> {
        let bad = |got, expected| Err(NetError::BadAddress { got, expected });
        if longest > LONGEST {
            return bad(format!("frames of {longest} bytes"), "at most 65499");
        }
        let are_alike = match (local, modem) {
            (FramesSocket::Udp(local), FramesSocket::Udp(modem)) => {
                local.is_ipv4() == modem.is_ipv4() && modem.port() != 0
            }
            (FramesSocket::Unix(local), FramesSocket::Unix(modem)) => local != modem,
            _ => false,
        };
        if !are_alike {
            return bad(
                format!("frames {local} and {modem}"),
                "two UDP addresses of one family with ports, or two Unix sockets",
            );
        }
        let (socket, path) = open_socket(local, modem)?;
        Ok(Self { socket, _path: path, modem: modem.clone(), announced: Instant::ZERO })
    }
}

impl FrameLink for Datagrams {
    fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn name(&self) -> String {
        self.modem.to_string()
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut header = [0; FRAME_HEADER];
        let parts = &mut [IoSliceMut::new(&mut header), IoSliceMut::new(buffer)];
        let len = rustix::io::readv(&self.socket, parts)?;
        Ok(if header[0] == VERSION { len.saturating_sub(FRAME_HEADER) } else { 0 })
    }

    fn write(&mut self, frame: &[u8]) -> io::Result<usize> {
        let datagram = [IoSlice::new(&SENT), IoSlice::new(frame)];
        match self.socket.send_vectored(&datagram) {
            Err(error) if is_of_another_program(&error, &self.modem) => {
                self.socket.connect(&self.modem.name()?)?;
                self.socket.send_vectored(&datagram)
            }
            done => done,
        }
    }

    fn flush(&mut self) -> io::Result<bool> {
        Ok(true)
    }

    fn explain(&self, error: &io::Error) -> String {
        match error.kind() {
            io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => {
                format!("no program of a modem has the socket {}", self.modem)
            }
            _ => format!("frames {}: {error}", self.modem),
        }
    }

    fn judged(&mut self, _is_readable: bool) {}

    fn trouble(&mut self) -> Option<String> {
        None
    }

    fn next_deadline(&self) -> Option<Instant> {
        Some(self.announced)
    }

    fn handle_timeout(&mut self, now: Instant) {
        if now < self.announced {
            return;
        }
        self.announced = now + ANNOUNCED;
        if let Err(error) = self.write(&[]) {
            tracing::debug!(%error, modem = %self.modem, "this end was not announced");
        }
    }
}

/// A socket at `local` for the datagrams of `modem`, whose program may start later where it has a Unix socket.
fn open_socket(local: &FramesSocket, modem: &FramesSocket) -> Result<(Socket, Option<OwnPath>), NetError> {
    let failed = |what: String, source, expected| NetError::Frames { what, source, expected };
    let domain = match local {
        FramesSocket::Udp(address) => Domain::for_address(*address),
        FramesSocket::Unix(_) => Domain::UNIX,
    };
    let socket = Socket::new(domain, Type::DGRAM.nonblocking().cloexec(), None)
        .map_err(|source| failed(format!("{local}"), source, "a system with sockets for datagrams"))?;
    if let Err(error) = socket.set_recv_buffer_size(RECEIVE_BUFFER) {
        tracing::debug!(%error, "the socket buffer cannot be resized");
    }
    let (name, path, expected) = match local {
        FramesSocket::Udp(_) => (local.name(), None, "an address of this machine with an unused port"),
        FramesSocket::Unix(path) => {
            remove_if_abandoned(path);
            (local.name(), Some(path), "a path that does not exist, in a folder that can be written to")
        }
    };
    name.and_then(|name| socket.bind(&name))
        .map_err(|source| failed(format!("{local}"), source, expected))?;
    let path = path.map(|path| OwnPath(path.clone()));
    let is_later = |error: &io::Error| {
        let kinds = [io::ErrorKind::NotFound, io::ErrorKind::ConnectionRefused];
        matches!(modem, FramesSocket::Unix(_)) && kinds.contains(&error.kind())
    };
    match modem.name().and_then(|name| socket.connect(&name)) {
        Err(source) if !is_later(&source) => {
            Err(failed(format!("{local} to {modem}"), source, "the socket of a modem's program"))
        }
        _ => Ok((socket, path)),
    }
}

/// The path of a socket of ours.
struct OwnPath(PathBuf);

impl Drop for OwnPath {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_file(&self.0) {
            tracing::debug!(%error, path = %self.0.display(), "the socket was not removed");
        }
    }
}

/// Removes a socket that no program has open, as one leaves that was killed.
fn remove_if_abandoned(path: &Path) {
    let is_abandoned = || {
        let socket = Socket::new(Domain::UNIX, Type::DGRAM, None)?;
        socket.connect(&SockAddr::unix(path)?)
    };
    if is_abandoned().is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
        && let Err(error) = std::fs::remove_file(path)
    {
        tracing::debug!(%error, path = %path.display(), "an abandoned socket was not removed");
    }
}

/// Whether a Unix socket was that of a program that ended: another one may have made it anew.
fn is_of_another_program(error: &io::Error, modem: &FramesSocket) -> bool {
    let gone =
        [io::ErrorKind::ConnectionRefused, io::ErrorKind::NotConnected, io::ErrorKind::ConnectionReset];
    matches!(modem, FramesSocket::Unix(_)) && gone.contains(&error.kind())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_are_named_as_they_are_written() {
        for text in ["127.0.0.1:5000", "[::1]:5000", "unix:/run/modem/near", "unix:near"] {
            assert_eq!(text.parse::<FramesSocket>().expect(text).to_string(), text);
        }
        for text in ["unix:", "127.0.0.1", "near", ""] {
            assert!(text.parse::<FramesSocket>().is_err(), "{text}");
        }
    }
}
