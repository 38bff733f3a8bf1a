//! The sockets of carriers over UDP, and what comes with a datagram: its DSCP, its ECN field and where it is from.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::os::fd::AsFd as _;

use headway_wire::{Dscp, Ecn, IpHeader};
use socket2::{Domain, Protocol, Socket, Type};

use crate::sys::{self, Control, Name};

/// The socket buffer in bytes, for each direction.
const SOCKET_BUFFER: usize = 4 << 20;

/// What failed, the error, and what was expected.
pub(in crate::carrier) type Failed = (String, io::Error, &'static str);

/// A UDP socket that sends datagrams without checksum, and receives them; bound to `local`, and connected to `peer`
/// if that is given.
pub(in crate::carrier) fn open_socket(local: SocketAddr, peer: Option<SocketAddr>) -> Result<Socket, Failed> {
    let domain = Domain::for_address(local);
    let what = |text: &str, source| (format!("{local}: {text}"), source, "a system with UDP");
    let socket = Socket::new(domain, Type::DGRAM.nonblocking().cloexec(), Some(Protocol::UDP))
        .map_err(|source| what("no socket", source))?;
    let options: &[(i32, i32)] = if local.is_ipv4() {
        &[(libc::SOL_SOCKET, libc::SO_NO_CHECK)]
    } else {
        &[(libc::SOL_UDP, UDP_NO_CHECK6_TX), (libc::SOL_UDP, UDP_NO_CHECK6_RX)]
    };
    for &(level, name) in options {
        sys::set_option(socket.as_fd(), level, name, 1)
            .map_err(|source| (format!("{local}: the checksum stays on"), source, "Linux 3.16 or later"))?;
    }
    // Without it every packet appears as Not-ECT, which TCP supports.
    let receive_ecn = if local.is_ipv4() {
        (libc::IPPROTO_IP, libc::IP_RECVTOS)
    } else {
        (libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS)
    };
    if let Err(error) = sys::set_option(socket.as_fd(), receive_ecn.0, receive_ecn.1, 1) {
        tracing::debug!(%error, "the ECN field is not available");
    }
    // The kernel's arrival timestamps; without them the time of reading is used.
    if let Err(error) = sys::set_option(socket.as_fd(), libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1) {
        tracing::debug!(%error, "no timestamps");
    }
    // The kernel limits the size; a short buffer drops bursts.
    for result in [socket.set_recv_buffer_size(SOCKET_BUFFER), socket.set_send_buffer_size(SOCKET_BUFFER)] {
        if let Err(error) = result {
            tracing::debug!(%error, "the socket buffer cannot be resized");
        }
    }
    socket
        .bind(&local.into())
        .map_err(|source| (format!("{local}"), source, "an address of this machine with an unused port"))?;
    if let Some(peer) = peer {
        socket.connect(&peer.into()).map_err(|source| {
            (format!("{local} to {peer}"), source, "a peer with a route from this machine")
        })?;
    }
    Ok(socket)
}

/// `linux/udp.h`.
const UDP_NO_CHECK6_TX: i32 = 101;
const UDP_NO_CHECK6_RX: i32 = 102;

/// Whether datagrams leave `socket` without checksum from now on.
pub(in crate::carrier) fn set_unchecked(socket: &Socket, is_v4: bool, unchecked: bool) -> io::Result<()> {
    let (level, name) =
        if is_v4 { (libc::SOL_SOCKET, libc::SO_NO_CHECK) } else { (libc::SOL_UDP, UDP_NO_CHECK6_TX) };
    sys::set_option(socket.as_fd(), level, name, unchecked.into())
}

/// Datagrams that leave `socket` are never fragmented, and the kernel keeps none back for what routers say.
pub(in crate::carrier) fn set_unfragmented(socket: &Socket, is_v4: bool) -> io::Result<()> {
    let (level, name, value) = if is_v4 {
        (libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_PROBE)
    } else {
        (libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_PROBE)
    };
    sys::set_option(socket.as_fd(), level, name, value)
}

impl Control {
    /// With which a packet of IPv4, or of IPv6, gets the DSCP, the ECN field and the hop limit of `inner`. Where these are
    /// what the kernel gives anyway there is none.
    pub(in crate::carrier) fn of_header(inner: &IpHeader, is_v4: bool) -> Self {
        let (level, class, hops) = if is_v4 {
            (libc::IPPROTO_IP, libc::IP_TOS, libc::IP_TTL)
        } else {
            (libc::IPPROTO_IPV6, libc::IPV6_TCLASS, libc::IPV6_HOPLIMIT)
        };
        let mut control = Self::NONE;
        let octet = inner.dscp.traffic_class(inner.ecn);
        if octet != 0 {
            control = control.and_int(level, class, octet.into());
        }
        if inner.hop_limit != IpHeader::HOP_LIMIT {
            control = control.and_int(level, hops, inner.hop_limit.into());
        }
        control
    }

    /// DSCP and ECN field of the packet; a byte for IPv4, an `int` for IPv6.
    pub(in crate::carrier) fn marks(&self) -> (Dscp, Ecn) {
        let v4 = self.find(libc::IPPROTO_IP, libc::IP_TOS).and_then(|value| value.first().copied());
        let v6 = self.find(libc::IPPROTO_IPV6, libc::IPV6_TCLASS).and_then(|value| value.first_chunk());
        let octet = v4.or(v6.map(|value| i32::from_ne_bytes(*value) as u8)).unwrap_or_default();
        (Dscp::from_traffic_class(octet), Ecn::from_bits(octet))
    }
}

impl Name {
    /// The `sockaddr_in` or `sockaddr_in6` of an address and port.
    pub(in crate::carrier) fn of(place: SocketAddr) -> Self {
        let mut name = Self::NONE;
        match place {
            SocketAddr::V4(v4) => {
                name.bytes[..2].copy_from_slice(&(libc::AF_INET as u16).to_ne_bytes());
                name.bytes[2..4].copy_from_slice(&v4.port().to_be_bytes());
                name.bytes[4..8].copy_from_slice(&v4.ip().octets());
                name.len = size_of::<libc::sockaddr_in>();
            }
            SocketAddr::V6(v6) => {
                name.bytes[..2].copy_from_slice(&(libc::AF_INET6 as u16).to_ne_bytes());
                name.bytes[2..4].copy_from_slice(&v6.port().to_be_bytes());
                name.bytes[8..24].copy_from_slice(&v6.ip().octets());
                name.bytes[24..28].copy_from_slice(&v6.scope_id().to_ne_bytes());
                name.len = size_of::<libc::sockaddr_in6>();
            }
        }
        name
    }

    /// The address and port of a `sockaddr_in` or `sockaddr_in6`.
    pub(in crate::carrier) fn place(&self) -> Option<SocketAddr> {
        let family = i32::from(u16::from_ne_bytes(*self.bytes.first_chunk()?));
        let port = u16::from_be_bytes(*self.bytes[2..].first_chunk()?);
        match family {
            libc::AF_INET => {
                let ip = Ipv4Addr::from(*self.bytes[4..].first_chunk::<4>()?);
                Some(SocketAddr::new(ip.into(), port))
            }
            libc::AF_INET6 => {
                let ip = Ipv6Addr::from(*self.bytes[8..].first_chunk::<16>()?);
                // The kernel gives the interface of link-local addresses alone.
                let interface = u32::from_ne_bytes(*self.bytes[24..].first_chunk()?);
                Some(SocketAddrV6::new(ip, port, 0, interface).into())
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Clock;
    use crate::carrier::batch::{Inbox, Outbox};

    #[test]
    fn a_datagram_has_the_marks_and_the_hop_limit_that_it_is_sent_with() {
        for local in ["127.0.0.1:0", "[::1]:0"] {
            let local: SocketAddr = local.parse().expect("an address");
            let (level, asked, hops) = if local.is_ipv4() {
                (libc::IPPROTO_IP, libc::IP_RECVTTL, libc::IP_TTL)
            } else {
                (libc::IPPROTO_IPV6, libc::IPV6_RECVHOPLIMIT, libc::IPV6_HOPLIMIT)
            };
            let to = open_socket(local, None).expect("a socket");
            sys::set_option(to.as_fd(), level, asked, 1).expect("an option");
            let at = to.local_addr().ok().and_then(|at| at.as_socket()).expect("an address");
            let from = open_socket(local, Some(at)).expect("a socket");
            let mut outbox = Outbox::new(0, 1);
            let header = IpHeader::new(local.ip(), local.ip());
            let sent = [
                (header, 64),
                (IpHeader { dscp: Dscp::EF, ..header }, 64),
                (IpHeader { ecn: Ecn::Ect1, hop_limit: 9, ..header }, 9),
                (IpHeader { dscp: Dscp::EF, ecn: Ecn::Ce, hop_limit: 255, ..header }, 255),
            ];
            for (header, _) in &sent {
                outbox.slot().expect("room");
                outbox.queue_with((0, 1), Name::NONE, Control::of_header(header, local.is_ipv4()));
            }
            assert!(outbox.send(from.as_fd(), false).expect("a route"));
            // The loopback delivers at once.
            let mut inbox = Inbox::new(0, 1);
            assert_eq!(inbox.receive(to.as_fd(), &Clock::new()).expect("datagrams"), sent.len());
            for (index, (header, hop_limit)) in sent.iter().enumerate() {
                let control = inbox.control(index);
                assert_eq!(control.marks(), (header.dscp, header.ecn), "{local}");
                let got = control.find(level, hops).and_then(|value| value.first_chunk());
                assert_eq!(got.map(|value| i32::from_ne_bytes(*value)), Some(*hop_limit), "{local}");
            }
        }
    }

    #[test]
    fn names_are_read_as_they_were_written() {
        for text in ["192.0.2.1:7", "[2001:db8::1]:65535", "[fe80::1%3]:4433"] {
            let place: SocketAddr = text.parse().expect("an address");
            assert_eq!(Name::of(place).place(), Some(place));
        }
        assert_eq!(Name::NONE.place(), None);
    }
}
