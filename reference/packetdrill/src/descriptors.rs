//! File descriptors of the stack under test.
//!
//! packetdrill closes the open descriptors of a script with `close(2)`, so every descriptor is a real one
//! of the process, opened on `/dev/null`.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::{AsRawFd, IntoRawFd};

use headway_tcp::ConnectionId;
use libc::c_int;

use crate::epoll::Epoll;
use crate::errno::{Errno, Result};
use crate::pipes::PipeEnd;
use crate::socket::{Phase, Socket};

/// The object of a descriptor.
#[derive(Debug)]
pub(crate) enum Kind {
    Socket(Box<Socket>),
    Epoll(Epoll),
    Pipe(PipeEnd),
}

#[derive(Debug)]
pub(crate) struct Descriptor {
    file: File,
    pub(crate) nonblocking: bool,
    pub(crate) kind: Kind,
}

/// All open descriptors.
#[derive(Debug, Default)]
pub(crate) struct Descriptors {
    open: BTreeMap<c_int, Descriptor>,
    /// The descriptors of connections.
    owners: BTreeMap<ConnectionId, c_int>,
}

impl Descriptors {
    /// Opens a descriptor.
    pub(crate) fn add(&mut self, kind: Kind, nonblocking: bool) -> Result<c_int> {
        let opened = File::options().read(true).write(true).open("/dev/null");
        let file = opened.map_err(|error| Errno(error.raw_os_error().unwrap_or(libc::EMFILE)))?;
        let fd = file.as_raw_fd();
        if let Some(stale) = self.open.insert(fd, Descriptor { file, nonblocking, kind }) {
            // packetdrill closed that descriptor itself, and its number is in use again.
            let _ = stale.file.into_raw_fd();
        }
        Ok(fd)
    }

    /// Closes a descriptor and returns its object.
    pub(crate) fn remove(&mut self, fd: c_int) -> Result<Kind> {
        let descriptor = self.open.remove(&fd).ok_or(Errno(libc::EBADF))?;
        self.owners.retain(|_, owner| *owner != fd);
        Ok(descriptor.kind)
    }

    pub(crate) fn get(&self, fd: c_int) -> Result<&Descriptor> {
        self.open.get(&fd).ok_or(Errno(libc::EBADF))
    }

    pub(crate) fn get_mut(&mut self, fd: c_int) -> Result<&mut Descriptor> {
        self.open.get_mut(&fd).ok_or(Errno(libc::EBADF))
    }

    pub(crate) fn socket(&self, fd: c_int) -> Result<&Socket> {
        match &self.get(fd)?.kind {
            Kind::Socket(socket) => Ok(socket),
            _ => Err(Errno(libc::ENOTSOCK)),
        }
    }

    pub(crate) fn socket_mut(&mut self, fd: c_int) -> Result<&mut Socket> {
        match &mut self.get_mut(fd)?.kind {
            Kind::Socket(socket) => Ok(socket),
            _ => Err(Errno(libc::ENOTSOCK)),
        }
    }

    /// Makes `id` the connection of socket `fd`.
    pub(crate) fn connect(&mut self, fd: c_int, id: ConnectionId) -> Result<()> {
        self.socket_mut(fd)?.phase = Phase::Connection(id);
        self.owners.insert(id, fd);
        Ok(())
    }

    /// The socket of a connection.
    pub(crate) fn owner(&mut self, id: ConnectionId) -> Option<&mut Socket> {
        let fd = *self.owners.get(&id)?;
        self.socket_mut(fd).ok()
    }

    pub(crate) fn is_nonblocking(&self, fd: c_int) -> bool {
        self.open.get(&fd).is_some_and(|descriptor| descriptor.nonblocking)
    }
}

impl Drop for Descriptors {
    fn drop(&mut self) {
        // packetdrill has closed them, and the numbers may be in use again.
        for (_, descriptor) in std::mem::take(&mut self.open) {
            let _ = descriptor.file.into_raw_fd();
        }
    }
}
