//! A TCP socket.

use std::net::SocketAddr;

use headway_tcp::{ConnectionId, ListenerId, Profile};
use headway_units::Duration;
use libc::c_int;

use crate::errno::{Errno, Result};
use crate::events::EventCounts;
use crate::settings::Settings;

/// The state of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Fresh,
    Listening(ListenerId),
    Connection(ConnectionId),
}

/// A TCP socket.
#[derive(Clone, Debug)]
pub(crate) struct Socket {
    /// The family of the socket, not of the connection: an IPv6 socket can have an IPv4-mapped address.
    pub(crate) is_v6: bool,
    pub(crate) bound: Option<SocketAddr>,
    pub(crate) phase: Phase,
    /// As `listen` was given it.
    pub(crate) backlog: u32,
    pub(crate) settings: Settings,
    pub(crate) event_counts: EventCounts,
    pub(crate) read_shut: bool,
    pub(crate) write_shut: bool,
    /// `connect` has returned success.
    pub(crate) connect_reported: bool,
    /// A call or `SO_ERROR` has returned the connection's error.
    pub(crate) error_reported: bool,
}

impl Socket {
    pub(crate) fn new(is_v6: bool, profile: Profile) -> Self {
        Self {
            is_v6,
            bound: None,
            phase: Phase::Fresh,
            backlog: 0,
            settings: Settings::new(profile),
            event_counts: EventCounts::default(),
            read_shut: false,
            write_shut: false,
            connect_reported: false,
            error_reported: false,
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
    /// Parses `MSG_*` flags.
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

/// How long a call may wait, in virtual time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitLimit {
    NoWait,
    For(Duration),
    Unlimited,
}
