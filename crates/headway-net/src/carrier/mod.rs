//! Carriers of packets.

pub(crate) mod arp;
mod bare;
pub(crate) mod batch;
mod diverting;
mod ethernet;
mod frames;
#[cfg(test)]
mod fuzzed;
pub(crate) mod ndp;
pub(crate) mod neighbours;
mod train;
mod tun;
mod tunnel;
mod udp;
mod virtio;

use std::io;
use std::net::IpAddr;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use headway_tcp::hack::PayloadTag;
use headway_tcp::{OnlyPeer, Transmit};
use headway_units::Instant;
use headway_wire::{ChecksumTrust, Received};

use crate::{Clock, NetError};
pub use diverting::{Diverted, DivertingCarrier, PacketWriter};
pub use ethernet::{EthernetCarrier, EthernetConfig};
pub use frames::{Callsign, FramesCarrier, FramesConfig, FramesSocket, LegacyRate, ModemConfig, StreamPlace};
pub use tun::{TunCarrier, TunConfig};
pub use tunnel::{OuterDscp, SealedFramesCarrier, TunnelCarrier, TunnelChange, TunnelConfig, TunnelMonitor};
pub use udp::{UdpCarrier, UdpConfig};

/// A received packet, parsed and verified.
#[derive(Debug)]
pub struct Arrival<'a> {
    /// The IP packet.
    pub packet: &'a [u8],
    /// When it arrived; the carrier's most precise timestamp.
    pub at: Instant,
    /// Its kind.
    pub received: Received<'a>,
    /// Whether [`Housekeeping::accepted`] is to be called if the host accepts it.
    pub is_asking: bool,
    /// That of a corrupted payload, if the carrier authenticates payloads.
    pub tag: Option<Arc<dyn PayloadTag>>,
}

impl<'a> Arrival<'a> {
    /// Parses a packet and verifies the checksums that the carrier has not verified.
    #[inline]
    pub fn new(packet: &'a [u8], at: Instant, trust: ChecksumTrust) -> Self {
        Self { packet, at, received: Received::parse(packet, trust), is_asking: false, tag: None }
    }
}

/// Receives and sends IP packets. It has no TCP state.
///
/// A driver waits until [`Carrier::fd`] is readable, lets the carrier read packets ([`Carrier::fill`]),
/// processes them ([`Carrier::received`]), writes packets to the buffers of [`Carrier::slot`], and has
/// them sent ([`Carrier::flush`]). Only `fill` and `flush` make system calls, each for a batch of
/// packets.
///
/// No method has a default, so that a carrier around another one cannot forget to pass on what that one can do.
pub trait Carrier: Send {
    /// Readable when there are packets; writable when packets kept by `flush` can be sent.
    fn fd(&self) -> BorrowedFd<'_>;

    /// The longest IP packet that it carries, in bytes.
    fn mtu(&self) -> u16;

    /// Its description in messages.
    fn name(&self) -> String;

    /// What kind of carrier it is.
    fn properties(&self) -> CarrierProperties;

    /// What it does beside carrying packets; `None`: nothing.
    fn housekeeping(&mut self) -> Option<&mut dyn Housekeeping>;

    /// Reads at most a batch of packets without waiting; returns their number. The packets of the
    /// previous call are dropped.
    ///
    /// # Errors
    ///
    /// The carrier failed: its interface was removed.
    fn fill(&mut self, clock: &Clock) -> io::Result<usize>;

    /// The packets that [`Carrier::fill`] read, verified, in the order of arrival.
    fn received<'a>(&'a self, packets: &mut Vec<Arrival<'a>>);

    /// A buffer of [`Carrier::mtu`] bytes for a packet to send, and of as many more as compact headers are shorter
    /// ([`LEFT_OUT`](headway_wire::compact::LEFT_OUT)) if it [has](CarrierProperties::compacts_headers) those; `None` if
    /// the batch is full.
    fn slot(&mut self) -> Option<&mut [u8]>;

    /// Queues the packet that was written to the last slot.
    fn queue(&mut self, packet: Transmit);

    /// Sends the queued packets; returns whether all were sent. The others are kept until the carrier is
    /// writable. A packet that the system refuses is dropped.
    ///
    /// # Errors
    ///
    /// The carrier failed: its interface was removed.
    fn flush(&mut self) -> io::Result<bool>;
}

/// What is always so of a carrier. The default: every segment is a packet of its own, and nothing is special.
#[derive(Clone, Debug)]
pub struct CarrierProperties {
    /// Each segment is a packet of its own with its own checksums, as HACK requires.
    pub keeps_segments: bool,
    /// Damaged payloads have a tag ([`Arrival::tag`]), and nothing but that is to be believed
    /// ([`Profile::tagged_payloads`](headway_tcp::Profile::tagged_payloads)).
    pub tags_payloads: bool,
    /// It understands segments in the compact form, and gives it to those that it is told to
    /// ([`Carrier::queue`], [`Profile::compact_headers`](headway_tcp::Profile::compact_headers)).
    pub compacts_headers: bool,
    /// The only host that packets come from, if there is exactly one. The carrier then also delivers packets
    /// whose IP header is corrupted, which the host counts as damaged packets of that peer
    /// ([`Host::receive_from_only_peer`](headway_tcp::Host::receive_from_only_peer)).
    pub only_peer: Option<OnlyPeer>,
}

impl Default for CarrierProperties {
    fn default() -> Self {
        Self { keeps_segments: true, tags_payloads: false, compacts_headers: false, only_peer: None }
    }
}

/// What a carrier does beside carrying packets: it has deadlines, or knows more of its peers than their packets say.
pub trait Housekeeping {
    /// The host accepts this packet of those of [`Carrier::received`], which asked for it, as the next one of an
    /// open connection ([`Host::accepts`](headway_tcp::Host::accepts)): its sender is no impostor.
    fn accepted(&mut self, index: usize) {
        let _ = index;
    }

    /// What the system has said of sent packets since the last call, such as an ICMP error of its own socket. It is
    /// a hint for messages: anyone can send ICMP, so it ends no connection (RFC 5927).
    fn trouble(&mut self) -> Option<String> {
        None
    }

    /// The peers, by their inner addresses, whose process is another one than before, since the last call: no
    /// connection to them exists there. Connections that packets of the same batch open are the new process's. Only a carrier
    /// that authenticates its peers can know.
    fn restarted_peers(&mut self) -> Vec<IpAddr> {
        Vec::new()
    }

    /// The peers, by their inner addresses, that are heard of again after a silence, or can be sent to again, since the last call:
    /// what waits for a timer that has backed off can be sent. Only a carrier that authenticates its peers can know.
    fn returned_peers(&mut self) -> Vec<IpAddr> {
        Vec::new()
    }

    /// Paths whose MTU is smaller than the carrier's: their two addresses, ours first, and the MTU in bytes. Only a carrier
    /// that probes its paths can know.
    fn path_mtus(&self) -> &[(IpAddr, IpAddr, u16)] {
        &[]
    }

    /// Whether it has packets that [`Carrier::fill`] returns although its socket may have none.
    fn holds_packets(&self) -> bool {
        false
    }

    /// The next deadline, such as repeating a request for a neighbour.
    fn next_deadline(&self) -> Option<Instant> {
        None
    }

    /// Handles expired deadlines. Packets queued here are sent by the next [`Carrier::flush`].
    fn handle_timeout(&mut self, now: Instant) {
        let _ = now;
    }

    /// The stack ends. What it still had to send was sent.
    fn close(&mut self) {}
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

    fn properties(&self) -> CarrierProperties {
        (**self).properties()
    }

    fn housekeeping(&mut self) -> Option<&mut dyn Housekeeping> {
        (**self).housekeeping()
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

    fn queue(&mut self, packet: Transmit) {
        (**self).queue(packet);
    }

    fn flush(&mut self) -> io::Result<bool> {
        (**self).flush()
    }
}

/// The only peer of a carrier whose own address is `ours`.
fn declared_peer(ours: IpAddr, peer: Option<IpAddr>) -> Result<Option<OnlyPeer>, NetError> {
    let Some(peer) = peer else { return Ok(None) };
    if peer == ours || peer.is_ipv4() != ours.is_ipv4() || peer.is_unspecified() || peer.is_multicast() {
        return Err(NetError::BadAddress {
            got: format!("only peer {peer} of {ours}"),
            expected: "the address of another host, of the same family",
        });
    }
    Ok(Some(OnlyPeer::new(ours, peer)))
}

/// Whether `error` means that an interface or socket is permanently unusable.
pub(crate) fn is_fatal(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EBADFD | libc::EBADF | libc::ENODEV | libc::ENXIO))
}

/// The error, if what failed can be tried again.
pub(crate) fn unless_fatal(error: io::Error) -> io::Result<io::Error> {
    if is_fatal(&error) { Err(error) } else { Ok(error) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_that_is_gone_ends_a_carrier_and_one_that_is_down_does_not() {
        let goes_on = |number| unless_fatal(io::Error::from_raw_os_error(number)).is_ok();
        let gone = [libc::EBADFD, libc::EBADF, libc::ENODEV, libc::ENXIO];
        let passing =
            [libc::EAGAIN, libc::EIO, libc::ENETDOWN, libc::ECONNREFUSED, libc::EINVAL, libc::ENOBUFS];
        assert_eq!((gone.map(goes_on), passing.map(goes_on)), ([false; 4], [true; 6]));
    }
}
