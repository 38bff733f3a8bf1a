//! Ethernet frames of an interface, as they are on the wire (Linux's `AF_PACKET`).

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};

use headway_units::Instant;
use socket2::{Domain, Socket, Type};

use crate::carrier::batch::{Inbox, Outbox};
use crate::carrier::is_fatal;
use crate::sys::{self, Name};
use crate::{Clock, Interface, NetError};

/// Destination, source, and what is inside.
pub const ETHERNET_HEADER: usize = 14;

/// The frame check sequence, behind the frame.
const FRAME_CHECK: usize = 4;

/// The longest frame that can arrive: an interface with segmentation offload hands over segments
/// that were never on a wire in one piece.
const LONGEST: usize = ETHERNET_HEADER + 65_536;

/// Bytes that may wait in the socket, each way.
const SOCKET_BUFFER: usize = 8 << 20;

/// Whether the checksum that a frame carries is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FrameChecksum {
    /// It is what the sender put there, perhaps damaged since.
    Final,
    /// The frame comes from this machine's kernel, which left the checksum of TCP or UDP to be
    /// computed by hardware that is not there (`CHECKSUM_PARTIAL`, as on veth). It was on no wire.
    Missing,
}

/// A frame that arrived.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// From the destination address on; without the frame check sequence.
    pub bytes: &'a [u8],
    /// When it arrived, by the kernel's stamp.
    pub at: Instant,
    /// Whether the checksum inside is one.
    pub checksum: FrameChecksum,
}

/// All frames that arrive at an interface, and a way to send. Batches of them in one system call.
pub struct PacketSocket {
    socket: Socket,
    interface: Interface,
    inbox: Inbox,
    outbox: Outbox,
    /// The card hands up the frame check sequence too.
    has_fcs: bool,
    /// Switched on by us, and off again at the end.
    rx_all: Option<RxAll>,
}

/// A card that hands up frames whose check sequence is wrong, until this is dropped.
struct RxAll {
    interface: String,
}

impl PacketSocket {
    /// Opens the interface of this name, for frames of at most `longest` octets to be sent, header
    /// included.
    ///
    /// # Errors
    ///
    /// There is none, it is down, it is no Ethernet, or the right to see its frames is missing.
    pub fn open(name: &str, longest: usize) -> Result<Self, NetError> {
        const RIGHTS: &str = "root or CAP_NET_RAW";
        let fail = |what, source, expected| NetError::Interface { name: name.into(), what, source, expected };
        let interface = Interface::named(name)
            .map_err(|source| fail("cannot be found", source, "an interface that `ip link` shows"))?;
        let socket = Socket::new(Domain::PACKET, Type::RAW.nonblocking().cloexec(), None)
            .map_err(|source| fail("its frames cannot be seen", source, RIGHTS))?;
        let set = |level, option| sys::set_option(socket.as_fd(), level, option, 1);
        set(libc::SOL_PACKET, libc::PACKET_AUXDATA)
            .and_then(|()| set(libc::SOL_PACKET, PACKET_IGNORE_OUTGOING))
            .map_err(|source| fail("its frames cannot be told apart", source, "Linux 4.20 or later"))?;
        for result in [
            set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS),
            sys::set_option(socket.as_fd(), libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, SOCKET_BUFFER as i32)
                .or_else(|_| socket.set_recv_buffer_size(SOCKET_BUFFER)),
            sys::set_option(socket.as_fd(), libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, SOCKET_BUFFER as i32)
                .or_else(|_| socket.set_send_buffer_size(SOCKET_BUFFER)),
        ] {
            if let Err(error) = result {
                tracing::debug!(%error, interface = name, "an option of the packet socket");
            }
        }
        sys::bind_packet(socket.as_fd(), interface.index, libc::ETH_P_ALL as u16)
            .map_err(|source| fail("cannot be listened to", source, RIGHTS))?;
        let features = sys::features(socket.as_fd(), name).unwrap_or_default();
        let has_fcs = features.iter().any(|(feature, _, active)| feature == "rx-fcs" && *active);
        Ok(Self {
            socket,
            interface,
            inbox: Inbox::new(0, LONGEST),
            outbox: Outbox::new(0, longest),
            has_fcs,
            rx_all: None,
        })
    }

    /// Has the card hand up frames whose check sequence is wrong (`ethtool -K NAME rx-all on`), until the
    /// socket is dropped. Where that is on already it stays on.
    ///
    /// # Errors
    ///
    /// The card cannot do that, or the right to change it is missing.
    pub fn take_damaged(&mut self) -> Result<(), NetError> {
        let name = self.interface.name.clone();
        let fail = |source, expected| NetError::Interface {
            name: name.clone(),
            what: "frames with a wrong check sequence stay in the card (rx-all)",
            source,
            expected,
        };
        const CARD: &str = "a card and driver with rx-all: see `ethtool -k NAME`";
        let features = sys::features(self.socket.as_fd(), &name).map_err(|source| fail(source, CARD))?;
        match features.iter().find(|(feature, ..)| feature == "rx-all") {
            Some((.., true)) => Ok(()),
            Some((_, true, false)) => {
                sys::switch_feature(self.socket.as_fd(), &name, "rx-all", true)
                    .map_err(|source| fail(source, "root or CAP_NET_ADMIN"))?;
                self.rx_all = Some(RxAll { interface: name });
                Ok(())
            }
            _ => Err(fail(io::Error::from(io::ErrorKind::Unsupported), CARD)),
        }
    }

    /// Has the card take frames to this group.
    ///
    /// # Errors
    ///
    /// The interface has no groups.
    pub fn join(&self, group: [u8; 6]) -> io::Result<()> {
        sys::join(self.socket.as_fd(), self.interface.index, group)
    }

    /// The interface.
    pub fn interface(&self) -> &Interface {
        &self.interface
    }

    /// Readable when frames wait.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Reads frames that wait, at most a batch; those of the call before are dropped.
    ///
    /// # Errors
    ///
    /// The interface is gone.
    pub fn fill(&mut self, clock: &Clock) -> io::Result<usize> {
        match self.inbox.receive(self.socket.as_fd(), clock) {
            Ok(count) => Ok(count),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
            Err(error) if is_fatal(&error) => Err(error),
            Err(error) => {
                // It went down, and may come up again, unless it went for good.
                tracing::warn!(%error, interface = self.interface.name, "reading frames");
                match Interface::named(&self.interface.name) {
                    Ok(now) if now.index == self.interface.index => Ok(0),
                    _ => Err(io::Error::from_raw_os_error(libc::ENODEV)),
                }
            }
        }
    }

    /// How many frames [`PacketSocket::fill`] read.
    pub fn len(&self) -> usize {
        self.inbox.len()
    }

    /// Whether it read none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A frame that [`PacketSocket::fill`] read.
    ///
    /// # Panics
    ///
    /// It read no so many.
    pub fn frame(&self, index: usize) -> Frame<'_> {
        /// `linux/if_packet.h`.
        const TP_STATUS_CSUMNOTREADY: u32 = 1 << 3;
        let (bytes, at, _) = self.inbox.packet(index);
        let fcs = if self.has_fcs { FRAME_CHECK } else { 0 };
        let bytes = &bytes[..bytes.len().saturating_sub(fcs)];
        let status = self
            .inbox
            .control(index)
            .find(libc::SOL_PACKET, libc::PACKET_AUXDATA)
            .and_then(|value| value.first_chunk())
            .map_or(0, |status| u32::from_ne_bytes(*status));
        let missing = status & TP_STATUS_CSUMNOTREADY != 0;
        Frame { bytes, at, checksum: if missing { FrameChecksum::Missing } else { FrameChecksum::Final } }
    }

    /// A place for a frame to be sent; `None` while a batch waits to be flushed.
    pub fn slot(&mut self) -> Option<&mut [u8]> {
        self.outbox.slot()
    }

    /// The frame of `len` octets that was written into the last slot is to be sent.
    ///
    /// # Panics
    ///
    /// There was no slot.
    pub fn queue(&mut self, len: usize) {
        self.outbox.queue((0, len), Name::NONE);
    }

    /// Sends what is queued, and says whether all of it went; otherwise it is kept until the socket
    /// is writable.
    ///
    /// # Errors
    ///
    /// The interface is gone.
    pub fn flush(&mut self) -> io::Result<bool> {
        self.outbox.send(self.socket.as_fd(), false)
    }
}

impl Drop for RxAll {
    fn drop(&mut self) {
        let switched = Socket::new(Domain::IPV4, Type::DGRAM, None)
            .and_then(|socket| sys::switch_feature(socket.as_fd(), &self.interface, "rx-all", false));
        if let Err(error) = switched {
            tracing::warn!(%error, interface = self.interface, "rx-all stays on");
        }
    }
}

/// `linux/if_packet.h`: frames that leave this interface are not shown.
const PACKET_IGNORE_OUTGOING: i32 = 23;
