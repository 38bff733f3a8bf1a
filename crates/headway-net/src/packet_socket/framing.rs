//! The link header of an interface's frames.

use std::io;
use std::os::fd::BorrowedFd;

use crate::sys;

/// The link header of an interface's frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Framing {
    /// An Ethernet header: a card, one end of a veth, a bridge, a TAP.
    Ethernet,
    /// None, IP only: a TUN.
    Ip,
    /// Another kind, by the kernel's number (`ARPHRD_`).
    Other(u16),
}

impl Framing {
    /// The framing of the interface to which a packet socket is bound.
    pub(super) fn of(socket: BorrowedFd<'_>) -> io::Result<Self> {
        /// `linux/if_arp.h`: a modem with plain IP.
        const RAW_IP: u16 = 519;
        Ok(match sys::hardware_type(socket)? {
            libc::ARPHRD_ETHER => Self::Ethernet,
            libc::ARPHRD_NONE | RAW_IP => Self::Ip,
            other => Self::Other(other),
        })
    }
}
