//! A TUN device whose packets that are not TCP's go elsewhere.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use headway_tcp::Transmit;
use headway_wire::Received;
use headway_wire::icmp::IcmpMessage;
use tokio::sync::mpsc;

use super::{Arrival, Carrier, CarrierProperties, Housekeeping, TunCarrier};
use crate::{Clock, NetError};

/// Packets that wait to be taken; more are dropped, as a queue drops them.
const MOST_WAITING: usize = 1024;

/// A [`TunCarrier`] that gives TCP segments, and ICMP errors about them, to its host, and everything else to a
/// [`Diverted`].
pub struct DivertingCarrier {
    inner: TunCarrier,
    divert: mpsc::Sender<Vec<u8>>,
    takes_tcp: bool,
}

/// The other end of a [`DivertingCarrier`].
#[derive(Debug)]
pub struct Diverted {
    packets: mpsc::Receiver<Vec<u8>>,
    writer: PacketWriter,
}

/// Writes packets into a TUN device.
#[derive(Debug)]
pub struct PacketWriter {
    device: OwnedFd,
}

impl DivertingCarrier {
    /// Splits what arrives at `inner`. With `takes_tcp` off, segments of TCP are diverted too.
    ///
    /// # Errors
    ///
    /// The system has no descriptor left.
    pub fn new(inner: TunCarrier, takes_tcp: bool) -> Result<(Self, Diverted), NetError> {
        let device = inner.fd().try_clone_to_owned().map_err(NetError::Start)?;
        let (divert, packets) = mpsc::channel(MOST_WAITING);
        let diverted = Diverted { packets, writer: PacketWriter { device } };
        Ok((Self { inner, divert, takes_tcp }, diverted))
    }

    fn is_hosts(&self, received: &Received<'_>) -> bool {
        match received {
            Received::Intact(_) | Received::Corrupted(_) | Received::Unreadable(_) => self.takes_tcp,
            Received::Icmp { message: IcmpMessage::Error(_), .. } => self.takes_tcp,
            _ => false,
        }
    }
}

impl Diverted {
    /// Waits for a packet; `None` when the carrier has ended. Cancel safe.
    pub async fn next(&mut self) -> Option<Vec<u8>> {
        self.packets.recv().await
    }

    /// The next packet, if one waits.
    pub fn try_next(&mut self) -> Option<Vec<u8>> {
        self.packets.try_recv().ok()
    }

    /// For packets into the device.
    pub fn writer(&self) -> &PacketWriter {
        &self.writer
    }
}

impl PacketWriter {
    /// Gives a packet to the kernel.
    ///
    /// # Errors
    ///
    /// The kernel does not take it: it is no IP packet, or longer than the MTU, or the device is down.
    pub fn write(&self, packet: &[u8]) -> io::Result<()> {
        rustix::io::write(&self.device, packet)?;
        Ok(())
    }

    /// Another one.
    ///
    /// # Errors
    ///
    /// The system has no descriptor left.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { device: self.device.try_clone()? })
    }
}

impl Carrier for DivertingCarrier {
    fn fd(&self) -> BorrowedFd<'_> {
        self.inner.fd()
    }

    fn mtu(&self) -> u16 {
        self.inner.mtu()
    }

    fn name(&self) -> String {
        self.inner.name()
    }

    fn properties(&self) -> CarrierProperties {
        self.inner.properties()
    }

    fn housekeeping(&mut self) -> Option<&mut dyn Housekeeping> {
        self.inner.housekeeping()
    }

    fn fill(&mut self, clock: &Clock) -> io::Result<usize> {
        self.inner.fill(clock)
    }

    fn received<'a>(&'a self, packets: &mut Vec<Arrival<'a>>) {
        let first = packets.len();
        self.inner.received(packets);
        let others = packets.extract_if(first.., |arrival| !self.is_hosts(&arrival.received));
        for arrival in others {
            // If it is full, the packet is lost.
            let _ = self.divert.try_send(arrival.packet.to_vec());
        }
    }

    fn slot(&mut self) -> Option<&mut [u8]> {
        self.inner.slot()
    }

    fn queue(&mut self, sent: Transmit) {
        self.inner.queue(sent);
    }

    fn flush(&mut self) -> io::Result<bool> {
        self.inner.flush()
    }
}
