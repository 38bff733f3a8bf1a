//! Bringing packets in and out.

pub(crate) mod arp;
pub(crate) mod batch;
mod ethernet;
pub(crate) mod ndp;
pub(crate) mod neighbours;
mod train;
mod tun;
mod udp;
mod virtio;

use std::io;
use std::os::fd::BorrowedFd;

use headway_units::Instant;
use headway_wire::{ChecksumTrust, Received};

use crate::Clock;
pub use ethernet::{EthernetCarrier, EthernetConfig};
pub use tun::{TunCarrier, TunConfig};
pub use udp::{UdpCarrier, UdpConfig};

/// A packet that arrived, parsed and judged.
#[derive(Debug)]
pub struct Arrival<'a> {
    /// The IP packet.
    pub packet: &'a [u8],
    /// When it arrived, as near to the wire as the carrier can tell.
    pub at: Instant,
    /// What it is.
    pub received: Received<'a>,
}

impl<'a> Arrival<'a> {
    /// Parses a packet and judges it by those checksums that the carrier does not vouch for.
    #[inline]
    pub fn new(packet: &'a [u8], at: Instant, trust: ChecksumTrust) -> Self {
        Self { packet, at, received: Received::parse(packet, trust) }
    }
}

/// Brings IP packets in and out. It knows nothing of TCP's state.
///
/// A driver waits until [`Carrier::fd`] is readable, lets the carrier read what waits
/// ([`Carrier::fill`]), takes it ([`Carrier::received`]), writes packets into the places that
/// [`Carrier::slot`] gives, and has them sent ([`Carrier::flush`]). System calls happen in `fill` and
/// `flush` alone, each for a batch of packets.
pub trait Carrier: Send {
    /// Readable when packets wait; writable when packets that `flush` kept may go.
    fn fd(&self) -> BorrowedFd<'_>;

    /// The longest IP packet that it carries, in bytes.
    fn mtu(&self) -> u16;

    /// What it is, for people.
    fn name(&self) -> String;

    /// Whether each segment goes and comes as a packet of its own, with its own checksums, as HACK needs
    /// it.
    fn keeps_segments(&self) -> bool {
        true
    }

    /// Reads packets that wait, as many as fit a batch, without waiting for any; says how many there
    /// are. Those of the call before are dropped.
    ///
    /// # Errors
    ///
    /// The carrier cannot go on: its interface is gone.
    fn fill(&mut self, clock: &Clock) -> io::Result<usize>;

    /// The packets that [`Carrier::fill`] read, judged, in the order of their arrival.
    fn received<'a>(&'a self, packets: &mut Vec<Arrival<'a>>);

    /// A place for a packet to be sent, as long as [`Carrier::mtu`] says; `None` while a batch waits
    /// to be flushed.
    fn slot(&mut self) -> Option<&mut [u8]>;

    /// The packet of `len` bytes that was written into the last slot is to be sent.
    fn queue(&mut self, len: usize);

    /// Sends what is queued, and says whether all of it went; otherwise it is kept until the carrier
    /// is writable. A packet that the system refuses is dropped, as if lost.
    ///
    /// # Errors
    ///
    /// The carrier cannot go on: its interface is gone.
    fn flush(&mut self) -> io::Result<bool>;

    /// When the carrier has something to do of its own, such as asking again for a neighbour.
    fn next_deadline(&self) -> Option<Instant> {
        None
    }

    /// Does what is due. Packets that this queues go with the next [`Carrier::flush`].
    fn handle_timeout(&mut self, now: Instant) {
        let _ = now;
    }
}

impl Carrier for Box<dyn Carrier> {
    fn fd(&self) -> BorrowedFd<'_> {
        (**self).fd()
    }

    fn mtu(&self) -> u16 {
        (**self).mtu()
    }

    fn name(&self) -> String {
        (**self).name()
    }

    fn keeps_segments(&self) -> bool {
        (**self).keeps_segments()
    }

    fn fill(&mut self, clock: &Clock) -> io::Result<usize> {
        (**self).fill(clock)
    }

    fn received<'a>(&'a self, packets: &mut Vec<Arrival<'a>>) {
        (**self).received(packets);
    }

    fn slot(&mut self) -> Option<&mut [u8]> {
        (**self).slot()
    }

    fn queue(&mut self, len: usize) {
        (**self).queue(len);
    }

    fn flush(&mut self) -> io::Result<bool> {
        (**self).flush()
    }

    fn next_deadline(&self) -> Option<Instant> {
        (**self).next_deadline()
    }

    fn handle_timeout(&mut self, now: Instant) {
        (**self).handle_timeout(now);
    }
}

/// Whether `error` says that an interface or socket will never work again.
pub(crate) fn is_fatal(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EBADFD | libc::EBADF | libc::ENODEV | libc::ENXIO))
}
