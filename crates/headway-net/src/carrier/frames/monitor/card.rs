//! The packet socket of an interface in monitor mode.

use std::io::{self, Read as _};
use std::os::fd::{AsFd, BorrowedFd};

use socket2::{Domain, Socket, Type};

use crate::packet_socket::{ETHERNET_HEADER, PACKET_IGNORE_OUTGOING, RIGHTS};
use crate::{NetError, sys};

/// `linux/if_arp.h`: frames have a radiotap header.
const RADIOTAP: u16 = 803;
/// The socket buffer in bytes for received frames, those of others too.
const RECEIVE_BUFFER: usize = 1 << 20;

/// An open interface in monitor mode.
pub(super) struct Card(Socket);

impl Card {
    /// Opens the interface of this name, which has to carry `longest` bytes with all headers.
    pub(super) fn open(name: &str, longest: usize) -> Result<Self, NetError> {
        let fail = |what, source, expected| NetError::Interface { name: name.into(), what, source, expected };
        let is_other = |text: String| io::Error::new(io::ErrorKind::Unsupported, text);
        let socket = Socket::new(Domain::PACKET, Type::RAW.nonblocking().cloexec(), None)
            .map_err(|source| fail("its packet socket cannot be opened", source, RIGHTS))?;
        let index = sys::interface_index(socket.as_fd(), name)
            .map_err(|source| fail("cannot be found", source, "an interface that `ip link` shows"))?;
        sys::set_option(socket.as_fd(), libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
            .map_err(|source| fail("its frames cannot be distinguished", source, "Linux 4.20 or later"))?;
        sys::bind_packet(socket.as_fd(), index, libc::ETH_P_ALL as u16)
            .map_err(|source| fail("cannot be bound to", source, RIGHTS))?;
        let kind = sys::hardware_type(socket.as_fd())
            .map_err(|source| fail("its link type cannot be read", source, "a system with ARPHRD_ types"))?;
        if kind != RADIOTAP {
            return Err(fail(
                "is not in monitor mode",
                is_other(format!("it has link type {kind}, not {RADIOTAP}")),
                "a Wi-Fi card after `ip link set NAME down; iw dev NAME set type monitor; ip link set NAME up`",
            ));
        }
        // Linux says so of an interface that is down.
        if let Some(source) = socket.take_error().unwrap_or_else(Some) {
            return Err(fail(
                "cannot carry frames",
                source,
                "an interface that is up (`ip link set NAME up`)",
            ));
        }
        // A packet socket takes frames that are longer than the MTU by the header of Ethernet, which the driver declares.
        let mtu = sys::interface_mtu(socket.as_fd(), name)
            .map_err(|source| fail("its MTU cannot be read", source, "an interface with an MTU"))?;
        let most = mtu as usize + ETHERNET_HEADER;
        if longest > most {
            let text = format!("with their headers they have {longest} bytes, and it takes {most}");
            let expected = "shorter frames, or a larger MTU (`ip link set NAME mtu 2304`)";
            return Err(fail("does not carry frames of this length", is_other(text), expected));
        }
        if let Err(error) = socket.set_recv_buffer_size(RECEIVE_BUFFER) {
            tracing::debug!(%error, interface = name, "the socket buffer cannot be resized");
        }
        Ok(Self(socket))
    }

    pub(super) fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }

    pub(super) fn send(&self, frame: &[u8]) -> io::Result<usize> {
        self.0.send(frame)
    }
}

impl AsFd for Card {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
