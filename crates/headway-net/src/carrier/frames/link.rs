//! What frames are exchanged through: a socket of a modem's program, or a stream of bytes.

use std::fmt;
use std::io;
use std::os::fd::BorrowedFd;

use headway_units::Instant;

use super::datagrams::{Datagrams, FramesSocket};
use crate::NetError;

/// How a modem is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModemConfig {
    /// Datagrams of its program.
    Datagrams {
        /// Where received frames come.
        local: FramesSocket,
        /// The modem's socket, which takes frames to send.
        modem: FramesSocket,
    },
}

impl ModemConfig {
    /// Opens it. No frame is longer than `longest`.
    pub(in crate::carrier) fn open(&self, longest: u16) -> Result<Box<dyn FrameLink>, NetError> {
        match self {
            Self::Datagrams { local, modem } => Ok(Box::new(Datagrams::open(local, modem, longest)?)),
        }
    }
}

impl fmt::Display for ModemConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Datagrams { modem, .. } => modem.fmt(f),
        }
    }
}

/// Exchanges frames with the other end of a link, which has two.
pub(in crate::carrier) trait FrameLink: Send {
    /// Readable when there may be frames; writable, or readable, when [`FrameLink::write`] may take more.
    fn fd(&self) -> BorrowedFd<'_>;

    /// Its description in messages.
    fn name(&self) -> String;

    /// Reads the next frame as it was received, without waiting; 0: what arrived is no frame.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize>;

    /// Takes a frame to send, or fails with `WouldBlock`.
    fn write(&mut self, frame: &[u8]) -> io::Result<usize>;

    /// Sends what it has taken; returns whether that was all.
    fn flush(&mut self) -> io::Result<bool>;

    /// What an error of [`FrameLink::read`] or [`FrameLink::write`] means.
    fn explain(&self, error: &io::Error) -> String;

    /// What keeps it from working, since the last call.
    fn trouble(&mut self) -> Option<String>;

    /// When [`FrameLink::handle_timeout`] is due.
    fn next_deadline(&self) -> Option<Instant>;

    /// Handles expired deadlines.
    fn handle_timeout(&mut self, now: Instant);
}
