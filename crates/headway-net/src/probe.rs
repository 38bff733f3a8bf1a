//! Probes of this machine's capabilities.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd as _, BorrowedFd};

use headway_tcp::Transmit;
use headway_wire::{IpHeader, Received, SeqNumber, TcpFlags, TcpHeader, TcpOptions, emit};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use socket2::{Domain, Socket, Type};
use tun_rs::DeviceBuilder;

use crate::packet_socket::PacketSocket;
use crate::{Carrier, Clock, NetError, UdpCarrier, UdpConfig, sys};

/// An offload feature of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Feature {
    /// The kernel's name.
    pub name: String,
    /// Whether it can be changed.
    pub available: bool,
    /// Whether it is on.
    pub active: bool,
}

/// Whether a TUN device can be created: creates one and removes it.
///
/// # Errors
///
/// The system's error.
pub fn tun() -> io::Result<()> {
    // The kernel chooses a number.
    DeviceBuilder::new().name("hwprobe%d").offload(false).inherit_enable_state().build_sync().map(|_| ())
}

/// Whether a packet socket can be opened on an interface.
///
/// # Errors
///
/// The system's error.
pub fn packet(interface: &str) -> Result<(), NetError> {
    PacketSocket::open(interface, 1514).map(|_| ())
}

/// The offload features of an interface.
///
/// # Errors
///
/// The driver does not report them.
pub fn features(interface: &str) -> io::Result<Vec<Feature>> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, None)?;
    let features = sys::features(socket.as_fd(), interface)?;
    Ok(features.into_iter().map(|(name, available, active)| Feature { name, available, active }).collect())
}

/// Whether this machine sends and receives UDP without checksum: a segment with a damaged payload is sent
/// over the loopback, and must arrive unchanged.
///
/// # Errors
///
/// It cannot be sent or does not arrive.
pub fn udp_without_checksum(v6: bool) -> Result<(), NetError> {
    let loopback = if v6 { Ipv6Addr::LOCALHOST.into() } else { Ipv4Addr::LOCALHOST.into() };
    let fail = |what: &str, source| NetError::Udp { what: what.into(), source, expected: "a loopback" };
    let any = SocketAddr::new(loopback, 0);
    let mut to = UdpCarrier::open(&UdpConfig { peer: None, ..UdpConfig::new(any, any) })?;
    let mut from = UdpCarrier::open(&UdpConfig::new(any, to.local()))?;
    let ends = (from.local(), to.local());
    let slot = from.slot().ok_or_else(|| fail("no room", io::ErrorKind::OutOfMemory.into()))?;
    let len = damaged_segment(slot, ends.0, ends.1).map_err(|source| fail("no segment", source))?;
    from.queue(Transmit { len, compact: false });
    from.flush().map_err(|source| fail("cannot be sent", source))?;
    let clock = Clock::new();
    // The loopback delivers at once, or after a short time on a busy machine.
    while is_readable(to.fd()).map_err(|source| fail("cannot be received", source))? {
        to.fill(&clock).map_err(|source| fail("cannot be received", source))?;
        let mut arrivals = Vec::new();
        to.received(&mut arrivals);
        if arrivals.iter().any(|arrival| matches!(arrival.received, Received::Corrupted(_))) {
            return Ok(());
        }
    }
    Err(fail("without checksum does not arrive", io::ErrorKind::TimedOut.into()))
}

/// Whether something arrives within a second.
fn is_readable(socket: BorrowedFd<'_>) -> io::Result<bool> {
    let second = Timespec { tv_sec: 1, tv_nsec: 0 };
    let ready = retry_on_intr(|| poll(&mut [PollFd::from_borrowed_fd(socket, PollFlags::IN)], Some(&second)));
    Ok(ready? > 0)
}

/// A segment with a valid header checksum and a damaged payload.
fn damaged_segment(slot: &mut [u8], from: SocketAddr, to: SocketAddr) -> io::Result<usize> {
    let ip = IpHeader::new(from.ip(), to.ip());
    let tcp = TcpHeader {
        src_port: 1,
        dst_port: 2,
        seq: SeqNumber(3),
        ack: SeqNumber(4),
        flags: TcpFlags::ACK,
        window: 5,
        urgent: 0,
    };
    let options = TcpOptions { hack: Some(0), ..TcpOptions::default() };
    let len = emit(slot, &ip, &tcp, &options, (b"damaged ", b"payload")).map_err(io::Error::other)?;
    slot[len - 1] ^= 0x10;
    Ok(len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::namespace::within;

    #[test]
    fn the_loopback_delivers_damage() {
        udp_without_checksum(false).unwrap();
        udp_without_checksum(true).unwrap();
    }

    #[test]
    fn without_a_loopback_nothing_is_delivered() {
        within(|_| assert!(udp_without_checksum(false).is_err()));
    }

    #[test]
    fn there_is_no_packet_socket_without_an_interface() {
        let error = packet("no-such-one").unwrap_err().to_string();
        assert!(error.contains("no-such-one"), "{error}");
    }

    #[test]
    fn the_payload_alone_is_damaged() {
        let mut slot = [0; 100];
        let ends = ["10.0.0.1:0", "10.0.0.2:0"].map(|address| address.parse().unwrap());
        let len = damaged_segment(&mut slot, ends[0], ends[1]).unwrap();
        let Received::Corrupted(segment) = Received::parse(&slot[..len], headway_wire::ChecksumTrust::None)
        else {
            panic!("it is not damaged so that its header can be read")
        };
        assert_eq!(segment.payload, b"damaged payloat");
    }

    #[test]
    fn features_have_names() {
        let features = features("lo").unwrap();
        assert!(features.iter().any(|feature| feature.name == "tx-checksum-ip-generic"), "{features:?}");
        assert!(features.iter().any(|feature| feature.name == "rx-all"), "{features:?}");
        assert!(super::features("no-such-one").is_err());
    }
}
