//! A packet on its way between two hosts.

use std::net::SocketAddr;
use std::rc::Rc;

use headway_link::PacketBuffer;

/// A copy of a packet.
#[derive(Clone)]
pub(super) struct Wire {
    /// What this copy has become: an IP packet, or the payload of a UDP datagram.
    pub(super) bytes: Vec<u8>,
    /// Where the datagram comes from and goes to; nothing of a plain packet.
    pub(super) outer: Option<Outer>,
    pub(super) sent: Rc<Sent>,
}

/// The outer header of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Outer {
    pub(super) from: SocketAddr,
    pub(super) to: SocketAddr,
    pub(super) has_checksum: bool,
}

/// A packet as it was sent.
pub(super) struct Sent {
    /// As it entered the link.
    pub(super) bytes: Vec<u8>,
    /// The number of the packet, for whoever recognises it.
    pub(super) number: u64,
    /// The host that sent it.
    pub(super) from: usize,
    /// The connection that it belongs to.
    pub(super) flow: Option<usize>,
    /// What is sealed in it.
    pub(super) inner: Vec<u8>,
    /// It was forged, or changed by an attacker.
    pub(super) is_forged: bool,
}

impl AsMut<[u8]> for Wire {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

impl PacketBuffer for Wire {
    fn set_len(&mut self, len: usize) {
        self.bytes.resize(len, 0);
    }
}

impl Wire {
    pub(super) fn is_damaged(&self) -> bool {
        self.bytes != self.sent.bytes
    }
}
