//! TCP segments in UDP datagrams without checksum: needs no privilege, and delivers damaged payloads if
//! the links below do.
//!
//! A datagram contains one TCP segment without an IP header, in the compact form if both ends understand that
//! ([`headway_wire::compact`]). The addresses of TCP's pseudo-header are zero: a
//! translator on the path changes addresses that it does not find in the segment. Each end has names of its own
//! for itself and its peers, the *inner* addresses, and the carrier changes the sums to them and back
//! ([`change_addresses`]). The inner length is from the UDP header, and the ECN field is copied between inner and
//! outer packets in both directions (RFC 6040, 4.1: "normal mode"), as is the DSCP (RFC 2983, 3: the "uniform" model).
//! Outer packets that are sent have the inner hop limit.
//!
//! RFC 768: "An all zero transmitted checksum value means that the transmitter generated no checksum".
//! RFC 6935 and RFC 6936 permit that over IPv6 for tunnels that protect themselves; TCP's checksums do,
//! except for the UDP ports, so a packet with a damaged port is lost.

mod peers;
pub(super) mod socket;

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd as _, BorrowedFd};

use headway_tcp::Transmit;
use headway_units::Instant;
use headway_wire::compact::{self, LEFT_OUT, MOST_LEFT_OUT};
use headway_wire::ip::Datagram;
use headway_wire::{ChecksumTrust, Integrity, IpHeader, TcpFlags, change_addresses, judge};
use socket2::Socket;

use super::batch::{Inbox, Outbox};
use super::{Arrival, Carrier, CarrierProperties, Housekeeping};
use crate::sys::{BATCH, Control, Name};
use crate::{Clock, NetError};
use peers::{Origin, Peers};
use socket::open_socket;

/// The protocol number of TCP.
const TCP: u8 = 6;
/// The length of a UDP header.
const UDP_HEADER: u16 = 8;
/// Room for the IP header that is written before received segments, and for what is restored of TCP's.
const HEADROOM: usize = 40 + MOST_LEFT_OUT;

/// How a [`UdpCarrier`] is set up.
#[derive(Clone, Debug)]
pub struct UdpConfig {
    /// The local address of datagrams.
    pub local: SocketAddr,
    /// The peer; `None`: every host that sends a readable segment is one, known by the source address *and* port
    /// of its datagrams.
    pub peer: Option<SocketAddr>,
    /// The local inner address, a name at this end only; `None`: that of the UDP packets.
    pub inner_local: Option<IpAddr>,
    /// The peer's inner address, a name at this end only; `None`: that of the UDP packets.
    pub inner_peer: Option<IpAddr>,
    /// The longest outer IP packet, UDP header included.
    pub mtu: u16,
}

impl UdpConfig {
    /// Datagrams of at most 1500 bytes between two ends, whose addresses are the inner ones too.
    pub fn new(local: SocketAddr, peer: SocketAddr) -> Self {
        Self { local, peer: Some(peer), inner_local: None, inner_peer: None, mtu: 1500 }
    }
}

/// TCP segments in UDP datagrams without checksum.
pub struct UdpCarrier {
    socket: Socket,
    local: SocketAddr,
    inner_local: IpAddr,
    ends: Ends,
    mtu: u16,
    inbox: Inbox,
    /// How many bytes of the headers were restored.
    restored: [usize; BATCH],
    /// Of which packets of the inbox the host's acceptance matters.
    is_asking: [bool; BATCH],
    outbox: Outbox,
    /// The error of the last read.
    read_error: Option<io::Error>,
}

/// The other ends.
enum Ends {
    /// The socket is connected to this one.
    One(IpAddr),
    /// Any host.
    Many(Box<Peers>),
}

impl UdpCarrier {
    /// Opens the socket.
    ///
    /// # Errors
    ///
    /// The addresses are inconsistent or in use, or the system has no UDP without checksum.
    pub fn open(config: &UdpConfig) -> Result<Self, NetError> {
        let UdpConfig { local, peer, .. } = *config;
        let bad = |got, expected| Err(NetError::BadAddress { got, expected });
        if let Some(peer) = peer.filter(|peer| peer.is_ipv4() != local.is_ipv4()) {
            return bad(format!("{local} and {peer}"), "two addresses of one family");
        }
        if peer.is_some_and(|peer| peer.port() == 0 || peer.ip().is_unspecified()) {
            return bad(
                format!("peer {}", peer.unwrap_or(local)),
                "an address and a port, such as 192.0.2.2:4000",
            );
        }
        let socket = open_socket(local, peer).map_err(|(what, source, expected)| NetError::Udp {
            what,
            source,
            expected,
        })?;
        let bound = socket.local_addr().ok().and_then(|name| name.as_socket()).unwrap_or(local);
        let inner_local = config.inner_local.unwrap_or(bound.ip());
        if inner_local.is_unspecified() {
            return bad(
                format!("local address {local}"),
                "an address of this machine, or also an inner address, if any peer is accepted",
            );
        }
        let ends = match (peer, config.inner_peer) {
            (Some(peer), inner) => {
                let inner = inner.unwrap_or(peer.ip());
                if inner.is_ipv4() != inner_local.is_ipv4() {
                    return bad(
                        format!("inner addresses {inner_local} and {inner}"),
                        "two addresses of one family",
                    );
                }
                Ends::One(inner)
            }
            (None, Some(inner)) => {
                return bad(
                    format!("inner address {inner} of any peer"),
                    "a peer, if its inner address is given",
                );
            }
            (None, None) => Ends::Many(Box::new(Peers::new(inner_local.is_ipv4()))),
        };
        let outer_header = if local.is_ipv4() { 20 } else { 40 };
        let inner_header = if inner_local.is_ipv4() { 20 } else { 40 };
        let mtu = config.mtu.saturating_sub(outer_header + UDP_HEADER).saturating_add(inner_header);
        // A peer may have a larger MTU.
        let longest = (usize::from(mtu) + LEFT_OUT).max(2048);
        Ok(Self {
            socket,
            local: bound,
            inner_local,
            ends,
            mtu,
            inbox: Inbox::new(HEADROOM, longest),
            restored: [0; BATCH],
            is_asking: [false; BATCH],
            outbox: Outbox::new(0, longest),
            read_error: None,
        })
    }

    /// The local address of datagrams.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// The local inner address, which the stack must have.
    pub fn inner_address(&self) -> IpAddr {
        self.inner_local
    }
}

impl Carrier for UdpCarrier {
    fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn mtu(&self) -> u16 {
        self.mtu
    }

    fn name(&self) -> String {
        format!("UDP {}", self.local)
    }

    fn properties(&self) -> CarrierProperties {
        CarrierProperties { compacts_headers: true, ..CarrierProperties::default() }
    }

    fn housekeeping(&mut self) -> Option<&mut dyn Housekeeping> {
        Some(self)
    }

    fn fill(&mut self, clock: &Clock) -> io::Result<usize> {
        match self.inbox.receive(self.socket.as_fd(), clock) {
            Ok(_) => {}
            Err(error) => {
                let error = super::unless_fatal(error)?;
                // No packet, or ICMP port unreachable from the peer.
                if error.kind() != io::ErrorKind::WouldBlock {
                    tracing::debug!(%error, "reading from the UDP socket");
                    self.read_error = Some(error);
                }
                return Ok(0);
            }
        }
        for index in 0..self.inbox.len() {
            self.is_asking[index] = false;
            self.restored[index] = compact::expand(self.inbox.place(index).0, HEADROOM, &WIRE);
            let start = HEADROOM - self.restored[index];
            let src = self.source(index, clock.now());
            let (dscp, ecn) = self.inbox.control(index).marks();
            let header = IpHeader { dscp, ecn, ..IpHeader::new(src, self.inner_local) };
            let header_len = header.emitted_len();
            let (place, _) = self.inbox.place(index);
            let len = place.len() - start;
            change_addresses(&mut place[start..], &WIRE, &header);
            if self.restored[index] > 0 {
                // As restored: the CRCs decide.
                place[start..][CHECKSUM].fill(0);
            }
            if let Err(error) = header.emit(&mut place[start - header_len..], TCP, len) {
                // It is counted as unreadable.
                tracing::debug!(%error, "an inner header");
            }
        }
        Ok(self.inbox.len())
    }

    fn received<'a>(&'a self, packets: &mut Vec<Arrival<'a>>) {
        for index in 0..self.inbox.len() {
            let (packet, at) = self.packet(index);
            let arrival = Arrival::new(packet, at, ChecksumTrust::None);
            packets.push(Arrival { is_asking: self.is_asking[index], ..arrival });
        }
    }

    fn slot(&mut self) -> Option<&mut [u8]> {
        self.outbox.slot()
    }

    fn queue(&mut self, Transmit { len, compact }: Transmit) {
        let Some(packet) = self.outbox.place().get_mut(..len) else { return };
        let Ok(Datagram { header, header_len, body, .. }) = Datagram::parse(packet) else { return };
        let tcp_port = body.get(2..4).and_then(<[u8]>::first_chunk).map(|port| u16::from_be_bytes(*port));
        let peer = SocketAddr::new(header.dst, tcp_port.unwrap_or_default());
        let name = match &self.ends {
            Ends::One(inner) if *inner == header.dst => Name::NONE,
            Ends::Many(peers) => match peers.name(peer) {
                Some(name) => *name,
                None => return,
            },
            // Other addresses are unreachable.
            Ends::One(_) => return,
        };
        let segment = &mut packet[header_len..];
        change_addresses(segment, &header, &WIRE);
        let shorter = if compact { compact::compact(segment).unwrap_or_default() } else { 0 };
        let control = Control::of_header(&header, self.local.is_ipv4());
        self.outbox.queue_with((header_len + shorter, len), name, control);
    }

    fn flush(&mut self) -> io::Result<bool> {
        let named = matches!(self.ends, Ends::Many(_));
        self.outbox.send(self.socket.as_fd(), named)
    }
}

impl Housekeeping for UdpCarrier {
    fn accepted(&mut self, index: usize) {
        let Ends::Many(peers) = &mut self.ends else { return };
        let name = self.inbox.packet(index).2;
        let (packet, _) = self.inbox.with_header(index, header_len(self.inner_local) + self.restored[index]);
        if let (Some(place), Ok(inner)) = (name.place(), Datagram::parse(packet))
            && let Some(tcp_port) = source_port(inner.body)
        {
            peers.on_accepted(SocketAddr::new(inner.header.src, tcp_port), place, name);
        }
    }

    fn trouble(&mut self) -> Option<String> {
        let error = self.read_error.take().or(self.outbox.take_refusal())?;
        let peer = self.socket.peer_addr().ok().and_then(|name| name.as_socket());
        Some(explain(&error, &peer.map_or_else(|| "peers".into(), |peer| peer.to_string())))
    }
}

/// What an error of the socket means.
fn explain(error: &io::Error, peer: &str) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => {
            format!("nothing listens at UDP {peer} (ICMP port unreachable)")
        }
        _ => format!("UDP {peer}: {error}"),
    }
}

/// What the sums of a datagram's segment are taken with: IPv4's pseudo-header with addresses of zero.
const WIRE: IpHeader = IpHeader::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), IpAddr::V4(Ipv4Addr::UNSPECIFIED));

/// Where a TCP header has its checksum.
const CHECKSUM: std::ops::Range<usize> = 16..18;

/// The length of the IP header that segments of a host get.
fn header_len(inner: IpAddr) -> usize {
    if inner.is_ipv4() { 20 } else { 40 }
}

fn source_port(segment: &[u8]) -> Option<u16> {
    segment.first_chunk().map(|port| u16::from_be_bytes(*port))
}

impl UdpCarrier {
    /// An arrived packet with its inner IP header, and when it arrived.
    fn packet(&self, index: usize) -> (&[u8], Instant) {
        self.inbox.with_header(index, header_len(self.inner_local) + self.restored[index])
    }

    /// The inner address that an arrived segment is from.
    fn source(&mut self, index: usize, now: Instant) -> IpAddr {
        let peers = match &mut self.ends {
            Ends::One(inner) => return *inner,
            Ends::Many(peers) => peers,
        };
        let name = *self.inbox.packet(index).2;
        let segment_at = HEADROOM - self.restored[index];
        let (place, _) = self.inbox.place(index);
        let len = place.len() - segment_at;
        let (Some(from), Some(tcp_port)) = (name.place(), source_port(&place[segment_at..])) else {
            return self.inner_local;
        };
        // A damaged segment creates nothing and moves no one.
        let start = segment_at - WIRE.emitted_len();
        let is_readable = WIRE.emit(&mut place[start..], TCP, len).is_ok()
            && matches!(judge(&place[start..]), Ok(Integrity::Intact | Integrity::Corrupted));
        if !is_readable {
            return peers.find(from, tcp_port).unwrap_or(from.ip());
        }
        let flags = TcpFlags::from_bits(place[segment_at + 13]);
        let is_syn = flags.contains(TcpFlags::SYN) && !flags.contains(TcpFlags::ACK);
        let (src, is_asking) = peers.on_received(Origin { place: from, name: &name, tcp_port, is_syn }, now);
        self.is_asking[index] = is_asking;
        src
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_the_socket_is_explained() {
        let refused = explain(&io::ErrorKind::ConnectionRefused.into(), "192.0.2.1:9");
        assert_eq!(refused, "nothing listens at UDP 192.0.2.1:9 (ICMP port unreachable)");
        let other = explain(&io::ErrorKind::HostUnreachable.into(), "192.0.2.1:9");
        assert!(other.starts_with("UDP 192.0.2.1:9: "), "{other}");
    }
}
