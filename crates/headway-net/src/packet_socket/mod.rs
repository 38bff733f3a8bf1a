//! Ethernet frames of an interface, as they are on the wire (Linux's `AF_PACKET`).

mod framing;
mod offload;

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};

use headway_units::Instant;
use socket2::{Domain, Socket, Type};

use crate::carrier::batch::{Inbox, Outbox};
use crate::carrier::is_fatal;
use crate::sys::{self, Control, Name, Outgoing};
use crate::{Clock, Interface, NetError};
pub use framing::Framing;
pub use offload::{ChecksumPlace, OFFLOAD_HEADER, Offload, SegmentKind, Segments};

/// Destination, source, and what is inside.
pub const ETHERNET_HEADER: usize = 14;

/// The frame check sequence, behind the frame.
const FRAME_CHECK: usize = 4;

/// The longest frame that can arrive: an interface with segmentation offload hands over segments
/// that were never on a wire in one piece.
const LONGEST: usize = OFFLOAD_HEADER + ETHERNET_HEADER + 65_536;

/// Bytes that may wait in the socket, each way.
const SOCKET_BUFFER: usize = 8 << 20;

/// The same, for a program that must not lose what it relays: over 100 ms of 1 Gbit/s in packets of 1500
/// octets, as the kernel counts their memory.
const RELAY_BUFFER: usize = 32 << 20;

const RIGHTS: &str = "root or CAP_NET_RAW";

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
    /// What is left to do to it; nothing that is known of, unless the socket was opened
    /// [for relaying](PacketSocket::open_for_relaying).
    pub offload: Offload,
    /// A VLAN tag that the interface has taken out from behind the two addresses, as it was there.
    pub vlan: Option<[u8; 4]>,
    /// Whether all of it is there.
    pub whole: bool,
}

/// All frames that arrive at an interface, and a way to send. Batches of them in one system call.
pub struct PacketSocket {
    socket: Socket,
    interface: Interface,
    inbox: Inbox,
    outbox: Outbox,
    /// Frames have an [`OFFLOAD_HEADER`] in front, both ways.
    offload: bool,
    /// Frames that could not be read.
    unreadable: u64,
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
        let mut socket = Self::prepare(name, SOCKET_BUFFER)?;
        socket.outbox = Outbox::new(0, longest);
        socket.bind()
    }

    /// Opens the interface of this name for a program that sends on what it receives: it sees frames for
    /// every address, hears [what is left to do](Frame::offload) to each, has larger buffers, and sends
    /// with [`PacketSocket::send`] alone.
    ///
    /// # Errors
    ///
    /// As [`PacketSocket::open`].
    pub fn open_for_relaying(name: &str) -> Result<Self, NetError> {
        let mut socket = Self::prepare(name, RELAY_BUFFER)?;
        sys::set_option(socket.fd(), libc::SOL_PACKET, PACKET_VNET_HDR, 1).map_err(|source| {
            let what = "its frames cannot be told apart";
            NetError::Interface { name: name.into(), what, source, expected: "Linux 4.20 or later" }
        })?;
        socket.offload = true;
        let index = socket.interface.index;
        sys::join_promiscuous(socket.fd(), index).map_err(|source| {
            let what = "cannot be made promiscuous";
            NetError::Interface { name: name.into(), what, source, expected: RIGHTS }
        })?;
        socket.bind()
    }

    /// A socket that does not receive yet.
    fn prepare(name: &str, buffer: usize) -> Result<Self, NetError> {
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
            sys::set_option(socket.as_fd(), libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, buffer as i32)
                .or_else(|_| socket.set_recv_buffer_size(buffer)),
            sys::set_option(socket.as_fd(), libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, buffer as i32)
                .or_else(|_| socket.set_send_buffer_size(buffer)),
        ] {
            if let Err(error) = result {
                tracing::debug!(%error, interface = name, "an option of the packet socket");
            }
        }
        let (inbox, outbox) = (Inbox::new(0, LONGEST), Outbox::new(0, 0));
        let features = sys::features(socket.as_fd(), name).unwrap_or_default();
        let has_fcs = features.iter().any(|(feature, _, active)| feature == "rx-fcs" && *active);
        Ok(Self { socket, interface, inbox, outbox, offload: false, unreadable: 0, has_fcs, rx_all: None })
    }

    fn bind(self) -> Result<Self, NetError> {
        sys::bind_packet(self.fd(), self.interface.index, libc::ETH_P_ALL as u16).map_err(|source| {
            let (name, what) = (self.interface.name.clone(), "cannot be listened to");
            NetError::Interface { name, what, source, expected: RIGHTS }
        })?;
        Ok(self)
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

    /// Whether the interface is still there, under its name; perhaps it is down.
    pub fn is_there(&self) -> bool {
        sys::interface_index(self.fd(), &self.interface.name).is_ok_and(|now| now == self.interface.index)
    }

    /// What its frames begin with.
    ///
    /// # Errors
    ///
    /// The system does not say.
    pub fn framing(&self) -> io::Result<Framing> {
        Framing::of(self.fd())
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
            // A frame to be cut in a way for which the offload header has no word: the kernel has dropped it.
            Err(error) if self.offload && error.kind() == io::ErrorKind::InvalidInput => {
                self.unreadable += 1;
                Ok(0)
            }
            Err(error) => {
                // It went down, and may come up again, unless it went for good.
                tracing::warn!(%error, interface = self.interface.name, "reading frames");
                if self.is_there() { Ok(0) } else { Err(io::Error::from_raw_os_error(libc::ENODEV)) }
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
        const TP_STATUS_VLAN_VALID: u32 = 1 << 4;
        let (mut bytes, at, _) = self.inbox.packet(index);
        let mut offload = Offload::default();
        if self.offload
            && let Some((header, frame)) = bytes.split_first_chunk()
        {
            (offload, bytes) = (Offload::parse(header), frame);
        }
        // `struct tpacket_auxdata`: status, length, how much of it there is, where the headers are, and
        // the VLAN's number and kind.
        let auxiliary = self.inbox.control(index).find(libc::SOL_PACKET, libc::PACKET_AUXDATA);
        let word = |at: usize| {
            let word = auxiliary.and_then(|value| value.get(at..)?.first_chunk());
            word.map_or(0, |word| u32::from_ne_bytes(*word))
        };
        let half = |at: usize| {
            let half = auxiliary.and_then(|value| value.get(at..)?.first_chunk());
            half.map_or(0, |half| u16::from_ne_bytes(*half))
        };
        let status = word(0);
        let checksum =
            if status & TP_STATUS_CSUMNOTREADY != 0 { FrameChecksum::Missing } else { FrameChecksum::Final };
        let vlan = (status & TP_STATUS_VLAN_VALID != 0).then(|| {
            let ([a, b], [c, d]) = (half(18).to_be_bytes(), half(16).to_be_bytes());
            [a, b, c, d]
        });
        let whole = word(4) as usize <= bytes.len();
        let fcs = if self.has_fcs { FRAME_CHECK } else { 0 };
        let bytes = &bytes[..bytes.len().saturating_sub(fcs)];
        Frame { bytes, at, checksum, offload, vlan, whole }
    }

    /// How many frames the kernel had no room for since this was last asked.
    ///
    /// # Errors
    ///
    /// The system does not say.
    pub fn drops(&self) -> io::Result<u32> {
        sys::packet_drops(self.fd())
    }

    /// How many frames are lost because the kernel has no way to say what is left to do to them: those of
    /// tunnels, in a piece longer than a packet may be.
    pub fn unreadable(&self) -> u64 {
        self.unreadable
    }

    /// Sends the first of these frames, at most a batch and without waiting, and says how many. Each has
    /// an [`OFFLOAD_HEADER`] in front, if the socket was opened [for
    /// relaying](PacketSocket::open_for_relaying).
    ///
    /// # Errors
    ///
    /// The first of them was refused.
    pub fn send<'a>(&self, frames: impl Iterator<Item = &'a [u8]>) -> io::Result<usize> {
        let packets = frames.map(|bytes| Outgoing { bytes, name: None, control: &Control::NONE });
        sys::send_batch(self.fd(), packets)
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
/// `linux/if_packet.h`: frames have an offload header.
const PACKET_VNET_HDR: i32 = 15;
