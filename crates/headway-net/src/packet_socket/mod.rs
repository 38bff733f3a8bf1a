//! Ethernet frames of an interface (Linux's `AF_PACKET`).

mod framing;
mod offload;

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};

use headway_units::Instant;
use socket2::{Domain, Socket, Type};

use crate::carrier::batch::{Inbox, Outbox};
use crate::carrier::unless_fatal;
use crate::sys::{self, Control, Name, Outgoing};
use crate::{Clock, Interface, NetError};
pub use framing::Framing;
pub use offload::{ChecksumPlace, OFFLOAD_HEADER, Offload, SegmentKind, Segments};

/// Destination, source and type.
pub const ETHERNET_HEADER: usize = 14;

/// The frame check sequence after the frame.
const FRAME_CHECK: usize = 4;

/// The longest frame that can arrive, with segmentation offload.
const LONGEST: usize = OFFLOAD_HEADER + ETHERNET_HEADER + 65_536;

/// The socket buffer in bytes, for each direction.
const SOCKET_BUFFER: usize = 8 << 20;

/// The same for relaying: over 100 ms of 1 Gbit/s in packets of 1500 bytes, as the kernel counts their
/// memory.
const RELAY_BUFFER: usize = 32 << 20;

pub(crate) const RIGHTS: &str = "root or CAP_NET_RAW";

/// Whether the checksum in a frame is valid for verification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FrameChecksum {
    /// Computed by the sender; possibly damaged.
    Final,
    /// Not computed: the frame comes from this machine's kernel with checksum offload
    /// (`CHECKSUM_PARTIAL`, as on veth), and was not on a wire.
    Missing,
}

/// A received frame.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// From the destination address on; without the frame check sequence.
    pub bytes: &'a [u8],
    /// When it arrived, by the kernel's timestamp.
    pub at: Instant,
    /// Whether its checksum was computed.
    pub checksum: FrameChecksum,
    /// Its pending offload; only known if the socket was opened [for
    /// relaying](PacketSocket::open_for_relaying).
    pub offload: Offload,
    /// The VLAN tag that the interface removed after the two addresses.
    pub vlan: Option<[u8; 4]>,
    /// Whether it is complete.
    pub whole: bool,
}

/// Receives all frames of an interface, and sends frames, in batches.
pub struct PacketSocket {
    socket: Socket,
    interface: Interface,
    inbox: Inbox,
    outbox: Outbox,
    /// Frames begin with an [`OFFLOAD_HEADER`], in both directions.
    offload: bool,
    /// Frames that could not be read.
    unreadable: u64,
    /// Frames include the frame check sequence.
    has_fcs: bool,
    /// Set if rx-all was switched on here; restored on drop.
    rx_all: Option<RxAll>,
}

/// Keeps rx-all (delivery of frames with a wrong check sequence) on until this is dropped.
struct RxAll {
    interface: String,
}

impl PacketSocket {
    /// Opens the interface of this name, for sending frames of at most `longest` bytes, header included.
    ///
    /// # Errors
    ///
    /// There is none, it is down or not an Ethernet, or the right to open a packet socket is missing.
    pub fn open(name: &str, longest: usize) -> Result<Self, NetError> {
        let mut socket = Self::prepare(name, SOCKET_BUFFER)?;
        socket.outbox = Outbox::new(0, longest);
        socket.bind()
    }

    /// Opens the interface of this name for a relaying program: it receives frames for every address,
    /// with their [pending offload](Frame::offload), has larger buffers, and sends only with
    /// [`PacketSocket::send`].
    ///
    /// # Errors
    ///
    /// As [`PacketSocket::open`].
    pub fn open_for_relaying(name: &str) -> Result<Self, NetError> {
        let mut socket = Self::prepare(name, RELAY_BUFFER)?;
        sys::set_option(socket.fd(), libc::SOL_PACKET, PACKET_VNET_HDR, 1).map_err(|source| {
            let what = "its frames cannot be distinguished";
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
        // Whoever lacks the right learns that first: no other interface would do.
        let socket = Socket::new(Domain::PACKET, Type::RAW.nonblocking().cloexec(), None)
            .map_err(|source| fail("its packet socket cannot be opened", source, RIGHTS))?;
        let interface = Interface::named(name)
            .map_err(|source| fail("cannot be found", source, "an interface that `ip link` shows"))?;
        let set = |level, option| sys::set_option(socket.as_fd(), level, option, 1);
        set(libc::SOL_PACKET, libc::PACKET_AUXDATA)
            .and_then(|()| set(libc::SOL_PACKET, PACKET_IGNORE_OUTGOING))
            .map_err(|source| fail("its frames cannot be distinguished", source, "Linux 4.20 or later"))?;
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
            let (name, what) = (self.interface.name.clone(), "cannot be bound to");
            NetError::Interface { name, what, source, expected: RIGHTS }
        })?;
        Ok(self)
    }

    /// Makes the card deliver frames with a wrong check sequence (`ethtool -K NAME rx-all on`) until the
    /// socket is dropped. If it was on before, it stays on.
    ///
    /// # Errors
    ///
    /// The card cannot do that, or the right to change it is missing.
    pub fn receive_damaged(&mut self) -> Result<(), NetError> {
        let name = self.interface.name.clone();
        let fail = |source, expected| NetError::Interface {
            name: name.clone(),
            what: "the card cannot deliver frames with a wrong check sequence (rx-all)",
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

    /// Makes the card receive frames to this group.
    ///
    /// # Errors
    ///
    /// The interface has no multicast.
    pub fn join(&self, group: [u8; 6]) -> io::Result<()> {
        sys::join(self.socket.as_fd(), self.interface.index, group)
    }

    /// The interface.
    pub fn interface(&self) -> &Interface {
        &self.interface
    }

    /// Whether the interface still exists under its name; it may be down.
    pub fn exists(&self) -> bool {
        sys::interface_index(self.fd(), &self.interface.name).is_ok_and(|now| now == self.interface.index)
    }

    /// The framing of its frames.
    ///
    /// # Errors
    ///
    /// The system call failed.
    pub fn framing(&self) -> io::Result<Framing> {
        Framing::of(self.fd())
    }

    /// Readable when there are frames.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Reads frames, at most a batch; the frames of the previous call are dropped.
    ///
    /// # Errors
    ///
    /// The interface was removed.
    pub fn fill(&mut self, clock: &Clock) -> io::Result<usize> {
        match self.inbox.receive(self.socket.as_fd(), clock) {
            Ok(count) => Ok(count),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
            Err(error) => self.not_read(unless_fatal(error)?).map(|()| 0),
        }
    }

    fn not_read(&mut self, error: io::Error) -> io::Result<()> {
        // A frame with an offload that the offload header cannot describe: the kernel has dropped it.
        if self.offload && error.kind() == io::ErrorKind::InvalidInput {
            self.unreadable += 1;
            return Ok(());
        }
        // It is down and may come up again, unless it was removed.
        tracing::warn!(%error, interface = self.interface.name, "reading frames");
        if self.exists() { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::ENODEV)) }
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
    /// `index` is not below [`PacketSocket::len`].
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
        // `struct tpacket_auxdata`: status, length, captured length, offsets of the headers, VLAN tag and
        // type.
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

    /// How many frames the kernel dropped for lack of buffer since the last call.
    ///
    /// # Errors
    ///
    /// The system call failed.
    pub fn drops(&self) -> io::Result<u32> {
        sys::packet_drops(self.fd())
    }

    /// How many frames were dropped because their pending offload cannot be described: segmentation
    /// offload in tunnels.
    pub fn unreadable(&self) -> u64 {
        self.unreadable
    }

    /// Sends the first of these frames, at most a batch and without waiting; returns how many. Each
    /// begins with an [`OFFLOAD_HEADER`] if the socket was opened [for
    /// relaying](PacketSocket::open_for_relaying).
    ///
    /// # Errors
    ///
    /// The first of them was refused.
    pub fn send<'a>(&self, frames: impl Iterator<Item = &'a [u8]>) -> io::Result<usize> {
        let packets =
            frames.map(|bytes| Outgoing { bytes, name: None, control: &Control::NONE, joined: false });
        sys::send_batch(self.fd(), packets)
    }

    /// A buffer for a frame to send; `None` if the batch is full.
    pub fn slot(&mut self) -> Option<&mut [u8]> {
        self.outbox.slot()
    }

    /// Queues the frame of `len` bytes that was written to the last slot.
    ///
    /// # Panics
    ///
    /// There was no slot.
    pub fn queue(&mut self, len: usize) {
        self.outbox.queue((0, len), Name::NONE);
    }

    /// Sends the queued frames; returns whether all were sent. The others are kept until the socket is
    /// writable.
    ///
    /// # Errors
    ///
    /// The interface was removed.
    pub fn flush(&mut self) -> io::Result<bool> {
        self.outbox.send(self.socket.as_fd(), false)
    }
}

impl Drop for RxAll {
    fn drop(&mut self) {
        let switched = Socket::new(Domain::IPV4, Type::DGRAM, None)
            .and_then(|socket| sys::switch_feature(socket.as_fd(), &self.interface, "rx-all", false));
        if let Err(error) = switched {
            tracing::warn!(%error, interface = self.interface, "rx-all cannot be switched off");
        }
    }
}

/// `linux/if_packet.h`: outgoing frames are not received.
pub(crate) const PACKET_IGNORE_OUTGOING: i32 = 23;
/// `linux/if_packet.h`: frames have an offload header.
const PACKET_VNET_HDR: i32 = 15;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::namespace::within;

    /// As with a frame of a kind of offload that is newer than the header.
    #[test]
    fn a_frame_that_cannot_be_described_is_counted_where_offload_is_described() {
        within(|_| {
            let refuse = |mut socket: PacketSocket, number| {
                socket.not_read(io::Error::from_raw_os_error(number)).expect("an interface that exists");
                socket.unreadable()
            };
            let relaying = || PacketSocket::open_for_relaying("lo").expect("an interface");
            assert_eq!(refuse(relaying(), libc::EINVAL), 1);
            assert_eq!(refuse(relaying(), libc::ENETDOWN), 0);
            assert_eq!(refuse(PacketSocket::open("lo", 1514).expect("an interface"), libc::EINVAL), 0);
        });
    }
}
