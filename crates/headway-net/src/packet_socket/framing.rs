//! What the frames of an interface begin with.

use std::io;
use std::os::fd::BorrowedFd;

use crate::sys;

/// What the frames of an interface begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Framing {
    /// An Ethernet header: a card, one end of a veth, a bridge, a TAP.
    Ethernet,
    /// The IP header: a TUN.
    Ip,
    /// Something else: the kernel's number of it (`ARPHRD_`).
    Other(u16),
}

impl Framing {
    /// Of the interface that a packet socket is bound to.
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
