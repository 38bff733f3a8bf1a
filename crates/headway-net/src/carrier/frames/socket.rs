//! The sockets of a modem's program and of this end: UDP, or Unix sockets.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use socket2::{Domain, SockAddr, Socket, Type};

use crate::NetError;

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
    pub(super) fn name(&self) -> io::Result<SockAddr> {
        match self {
            Self::Udp(address) => Ok((*address).into()),
            Self::Unix(path) => SockAddr::unix(path),
        }
    }
}

/// A socket at `local` for the datagrams of `modem`, whose program may start later where it has a Unix socket.
pub(super) fn open_socket(
    local: &FramesSocket,
    modem: &FramesSocket,
) -> Result<(Socket, Option<OwnPath>), NetError> {
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
pub(super) struct OwnPath(PathBuf);

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
pub(super) fn is_of_another_program(error: &io::Error, modem: &FramesSocket) -> bool {
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
