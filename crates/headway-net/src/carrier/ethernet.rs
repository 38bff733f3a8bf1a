//! A carrier with its own address on an Ethernet.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd as _, BorrowedFd};

use headway_tcp::{OnlyPeer, Transmit};
use headway_units::Instant;
use headway_wire::ChecksumTrust;
use headway_wire::icmp::ICMP;
use headway_wire::ip::is_header_corrupted;
use socket2::{Domain, Socket, Type};

use super::arp::{ARP_LEN, Arp, Operation};
use super::ndp::{self, Message};
use super::neighbours::{BROADCAST, Mac, NeighbourInfo, Neighbours, Route};
use super::{Arrival, Carrier, CarrierProperties, Housekeeping, declared_peer};
use crate::packet_socket::{ETHERNET_HEADER, FrameChecksum, PacketSocket};
use crate::{Clock, Interface, NetError, Prefix, sys};

/// EtherTypes.
const IPV4: [u8; 2] = [0x08, 0x00];
const ARP: [u8; 2] = [0x08, 0x06];
const IPV6: [u8; 2] = [0x86, 0xdd];
/// The protocol number of TCP.
const TCP: u8 = 6;

/// How an [`EthernetCarrier`] is set up.
#[derive(Clone, Debug)]
pub struct EthernetConfig {
    /// The interface.
    pub interface: String,
    /// The stack's address, which the kernel must not have.
    pub address: Prefix,
    /// The gateway to other networks: an address of the own network, or a link-local one of IPv6; `None`:
    /// no gateway.
    pub gateway: Option<IpAddr>,
    /// The interface's MTU; `None`: the system's value.
    pub mtu: Option<u16>,
    /// Makes the card deliver frames with a wrong check sequence, until the carrier is dropped
    /// ([`PacketSocket::receive_damaged`]).
    pub rx_all: bool,
    /// Static neighbours: their addresses are not resolved.
    pub neighbours: Vec<(IpAddr, [u8; 6])>,
    /// The only host that sends packets to the interface's Ethernet address, which gets those whose IP header
    /// is corrupted counted; `None`: such packets are dropped unseen. Not with a
    /// [`gateway`](Self::gateway), behind which are many.
    pub only_peer: Option<IpAddr>,
}

/// IP packets on an Ethernet interface, with an address that the kernel does not have. So the carrier
/// does ARP (IPv4) or neighbour discovery (IPv6) itself. The Ethernet address is the interface's.
///
/// Frames of this machine's kernel without a checksum (veth with transmit checksum offload) are accepted:
/// [`ChecksumTrust::Tcp`].
pub struct EthernetCarrier {
    socket: PacketSocket,
    address: Prefix,
    ours: IpAddr,
    mac: Mac,
    gateway: Option<IpAddr>,
    mtu: u16,
    neighbours: Neighbours,
    only_peer: Option<OnlyPeer>,
    clock: Clock,
    /// Another station uses our address.
    conflict: bool,
}

impl EthernetCarrier {
    /// Opens the interface.
    ///
    /// # Errors
    ///
    /// There is none, the right to open a packet socket is missing, the kernel has the address, or the
    /// card does not support the configuration.
    pub fn open(config: &EthernetConfig) -> Result<Self, NetError> {
        let fail = |what, source, expected| NetError::Interface {
            name: config.interface.clone(),
            what,
            source,
            expected,
        };
        let ours = config.address.address();
        let all =
            Interface::all().map_err(|source| fail("cannot be found", source, "a system with interfaces"))?;
        if all.iter().any(|interface| interface.addresses.contains(&ours)) {
            return Err(NetError::KernelsAddress(ours));
        }
        if let Some(gateway) = config.gateway.filter(|&gateway| !is_reachable(&config.address, gateway)) {
            return Err(NetError::BadAddress {
                got: format!("gateway {gateway}"),
                expected: "an address of the own network, or fe80::... over IPv6",
            });
        }
        if let (Some(gateway), Some(peer)) = (config.gateway, config.only_peer) {
            return Err(NetError::BadAddress {
                got: format!("only peer {peer} beside gateway {gateway}"),
                expected: "no gateway, behind which are other hosts, or no only peer",
            });
        }
        let only_peer = declared_peer(ours, config.only_peer)?;
        let mtu = config.mtu.unwrap_or_else(|| system_mtu(&config.interface));
        let mut socket = PacketSocket::open(&config.interface, ETHERNET_HEADER + usize::from(mtu))?;
        if socket.interface().loopback {
            return Err(NetError::BadAddress {
                got: format!("interface {}", config.interface),
                expected: "an Ethernet interface: on the loopback there are no other hosts",
            });
        }
        let no_ethernet = || {
            let source = io::Error::new(io::ErrorKind::Unsupported, "it has no Ethernet address");
            fail("cannot carry frames", source, "an Ethernet interface, such as eth0 or one end of a veth")
        };
        let mac = socket.interface().hardware.ok_or_else(no_ethernet)?;
        if !socket.interface().up {
            let source = io::Error::from_raw_os_error(libc::ENETDOWN);
            return Err(fail(
                "cannot carry frames",
                source,
                "an interface that is up (`ip link set NAME up`)",
            ));
        }
        if let IpAddr::V6(ours) = ours {
            // RFC 4861, 7.2.1: solicitations for our address are sent to this group.
            socket
                .join(ndp::group_mac(ndp::group(ours)))
                .map_err(|source| fail("cannot join a group", source, "an interface with multicast"))?;
        }
        if config.rx_all {
            socket.receive_damaged()?;
        }
        let mut neighbours = Neighbours::default();
        config.neighbours.iter().for_each(|&(ip, mac)| neighbours.insert_static(ip, mac));
        Ok(Self {
            socket,
            address: config.address,
            ours,
            mac,
            gateway: config.gateway,
            mtu,
            neighbours,
            only_peer,
            clock: Clock::new(),
            conflict: false,
        })
    }

    /// Sends a request for `ip`: multicast, or unicast to `known` to confirm it.
    fn request(&mut self, ip: IpAddr, known: Option<Mac>) {
        match (self.ours, ip) {
            (IpAddr::V4(ours), IpAddr::V4(ip)) => {
                let sender = (self.mac, ours);
                let question = Arp { operation: Operation::Request, sender, target: ([0; 6], ip) };
                self.send_frame(known.unwrap_or(BROADCAST), ARP, &question.emit());
            }
            (IpAddr::V6(ours), IpAddr::V6(ip)) => {
                if let Some((to, question)) = ndp::request((self.mac, ours), ip, known) {
                    self.send_frame(to, IPV6, &question);
                }
            }
            // A next hop is always of the same family.
            _ => {}
        }
    }

    /// Without a free buffer it is not sent: requests are repeated.
    fn send_frame(&mut self, to: Mac, kind: [u8; 2], body: &[u8]) {
        let header = ethernet_header(to, self.mac, kind);
        let Some(slot) = self.socket.slot() else { return };
        let len = ETHERNET_HEADER + body.len();
        if let Some(slot) = slot.get_mut(..len) {
            slot[..ETHERNET_HEADER].copy_from_slice(&header);
            slot[ETHERNET_HEADER..].copy_from_slice(body);
            self.socket.queue(len);
        }
    }

    fn on_arp(&mut self, at: Instant, ours: Ipv4Addr, arp: &Arp) {
        let (mac, ip) = arp.sender;
        if mac == self.mac || mac[0] & 1 != 0 {
            return;
        }
        if ip == ours {
            self.report_conflict(mac);
        }
        if arp.target.1 != ours || ip == ours {
            return;
        }
        self.learn(at, ip.into(), NeighbourInfo { mac: Some(mac), solicited: true, overrides: true });
        if arp.operation == Operation::Request {
            let answer = Arp { operation: Operation::Reply, sender: (self.mac, ours), target: (mac, ip) };
            self.send_frame(mac, ARP, &answer.emit());
        }
    }

    /// `sender`: the Ethernet source address of the frame.
    fn on_neighbour_message(&mut self, at: Instant, ours: Ipv6Addr, sender: Mac, message: &Message) {
        if sender == self.mac {
            return;
        }
        match *message {
            Message::Solicitation { from: Some(from), target, mac } if target == ours && from != ours => {
                // RFC 4861, 7.2.3: a solicitation contains the sender's Ethernet address; otherwise it is
                // taken from the frame.
                let mac = mac.unwrap_or(sender);
                self.learn(
                    at,
                    from.into(),
                    NeighbourInfo { mac: Some(mac), solicited: false, overrides: true },
                );
                if let Some((to, answer)) = ndp::answer((self.mac, ours), Some((mac, from))) {
                    self.send_frame(to, IPV6, &answer);
                }
            }
            Message::Solicitation { from: None, target, .. } if target == ours => {
                // Duplicate address detection for our address.
                if let Some((to, answer)) = ndp::answer((self.mac, ours), None) {
                    self.send_frame(to, IPV6, &answer);
                }
            }
            Message::Advertisement { target, .. } if target == ours => self.report_conflict(sender),
            Message::Advertisement { target, mac, solicited, overrides } => {
                self.learn(at, target.into(), NeighbourInfo { mac, solicited, overrides });
            }
            Message::Solicitation { .. } => {}
        }
    }

    fn learn(&mut self, at: Instant, ip: IpAddr, info: NeighbourInfo) {
        let Some((mac, waited)) = self.neighbours.learn(at, ip, info) else { return };
        let kind = if ip.is_ipv4() { IPV4 } else { IPV6 };
        for packet in waited {
            self.send_frame(mac, kind, &packet);
        }
    }

    fn report_conflict(&mut self, mac: Mac) {
        if !std::mem::replace(&mut self.conflict, true) {
            let mac: Vec<String> = mac.iter().map(|byte| format!("{byte:02x}")).collect();
            tracing::warn!(address = %self.ours, other = mac.join(":"), "another station has our address");
        }
    }
}

/// Whether a gateway is on the own network.
fn is_reachable(network: &Prefix, gateway: IpAddr) -> bool {
    let on_link = matches!(gateway, IpAddr::V6(gateway) if gateway.is_unicast_link_local());
    gateway != network.address() && (network.contains(gateway) || on_link && network.address().is_ipv6())
}

fn ethernet_header(to: Mac, from: Mac, kind: [u8; 2]) -> [u8; ETHERNET_HEADER] {
    let mut header = [0; ETHERNET_HEADER];
    header[..6].copy_from_slice(&to);
    header[6..12].copy_from_slice(&from);
    header[12..].copy_from_slice(&kind);
    header
}

/// The system's value, or the default.
fn system_mtu(interface: &str) -> u16 {
    const USUAL: u16 = 1500;
    // A file of /sys would be that of another namespace, in which it was mounted.
    Socket::new(Domain::IPV4, Type::DGRAM, None)
        .and_then(|socket| sys::interface_mtu(socket.as_fd(), interface))
        .ok()
        .and_then(|mtu| mtu.try_into().ok())
        .unwrap_or(USUAL)
}

/// The destination of a packet, whose checksums are not verified yet.
fn destination(v4: bool, packet: &[u8]) -> Option<IpAddr> {
    Some(if v4 {
        Ipv4Addr::from(*packet.get(16..)?.first_chunk::<4>()?).into()
    } else {
        Ipv6Addr::from(*packet.get(24..)?.first_chunk::<16>()?).into()
    })
}

/// Whether a packet for our address goes to the stack: not neighbour discovery, and not other protocols.
fn is_stacks(v4: bool, packet: &[u8]) -> bool {
    if v4 { matches!(packet.get(9), Some(&(TCP | ICMP))) } else { !ndp::is_neighbour_discovery(packet) }
}

impl Carrier for EthernetCarrier {
    fn fd(&self) -> BorrowedFd<'_> {
        self.socket.fd()
    }

    fn mtu(&self) -> u16 {
        self.mtu
    }

    fn name(&self) -> String {
        format!("interface {}", self.socket.interface().name)
    }

    fn properties(&self) -> CarrierProperties {
        CarrierProperties { only_peer: self.only_peer, ..CarrierProperties::default() }
    }

    fn housekeeping(&mut self) -> Option<&mut dyn Housekeeping> {
        Some(self)
    }

    fn fill(&mut self, clock: &Clock) -> io::Result<usize> {
        self.clock = *clock;
        let count = self.socket.fill(clock)?;
        for index in 0..count {
            let frame = self.socket.frame(index);
            let at = frame.at;
            let Some((header, packet)) = frame.bytes.split_first_chunk::<ETHERNET_HEADER>() else { continue };
            let [.., s0, s1, s2, s3, s4, s5, k0, k1] = *header;
            match (self.ours, [k0, k1]) {
                (IpAddr::V4(ours), ARP) => {
                    if let Some(arp) = Arp::parse(packet) {
                        self.on_arp(at, ours, &arp);
                    }
                }
                (IpAddr::V6(ours), IPV6) => {
                    if let Some(message) = Message::parse(packet) {
                        self.on_neighbour_message(at, ours, [s0, s1, s2, s3, s4, s5], &message);
                    }
                }
                _ => {}
            }
        }
        Ok(count)
    }

    fn received<'a>(&'a self, packets: &mut Vec<Arrival<'a>>) {
        let v4 = self.ours.is_ipv4();
        let kind = if v4 { IPV4 } else { IPV6 };
        for index in 0..self.socket.len() {
            let frame = self.socket.frame(index);
            let Some((header, packet)) = frame.bytes.split_first_chunk::<ETHERNET_HEADER>() else { continue };
            // The kernel uses the interface too: most frames are not for the stack.
            let ours = header[..6] == self.mac && header[12..] == kind;
            let is_stacks = || destination(v4, packet) == Some(self.ours) && is_stacks(v4, packet);
            let is_peers = || self.only_peer.is_some() && is_header_corrupted(packet);
            if !ours || !(is_stacks() || is_peers()) {
                continue;
            }
            let trust = match frame.checksum {
                FrameChecksum::Final => ChecksumTrust::None,
                FrameChecksum::Missing => ChecksumTrust::Tcp,
            };
            packets.push(Arrival::new(packet, frame.at, trust));
        }
    }

    fn slot(&mut self) -> Option<&mut [u8]> {
        Some(&mut self.socket.slot()?[ETHERNET_HEADER..])
    }

    fn queue(&mut self, Transmit { len, .. }: Transmit) {
        let Some(slot) = self.socket.slot() else { return };
        let packet = &mut slot[ETHERNET_HEADER..ETHERNET_HEADER + len];
        let v4 = self.ours.is_ipv4();
        let Some(dst) = destination(v4, packet) else { return };
        let next_hop = if self.address.contains(dst) { Some(dst) } else { self.gateway };
        // No route: dropped.
        let Some(next_hop) = next_hop else { return };
        let kind = if v4 { IPV4 } else { IPV6 };
        match self.neighbours.route(self.clock.now(), next_hop, packet) {
            Route::Send(mac, ask) => {
                slot[..ETHERNET_HEADER].copy_from_slice(&ethernet_header(mac, self.mac, kind));
                self.socket.queue(ETHERNET_HEADER + len);
                if ask {
                    self.request(next_hop, Some(mac));
                }
            }
            Route::Wait(true) => self.request(next_hop, None),
            Route::Wait(false) => {}
        }
    }

    fn flush(&mut self) -> io::Result<bool> {
        self.socket.flush()
    }
}

impl Housekeeping for EthernetCarrier {
    fn next_deadline(&self) -> Option<Instant> {
        self.neighbours.next_deadline()
    }

    fn handle_timeout(&mut self, now: Instant) {
        for (ip, known) in self.neighbours.due(now) {
            self.request(ip, known);
        }
    }
}

const _: () = assert!(ARP_LEN <= 128 && ndp::MESSAGE <= 128, "a request fits the minimum MTU of a profile");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stack_gets_tcp_and_icmp_and_no_neighbour_discovery() {
        for (protocol, expected) in [(TCP, true), (ICMP, true), (17, false), (58, false)] {
            let mut packet = [0x45; 20];
            packet[9] = protocol;
            assert_eq!(is_stacks(true, &packet), expected, "{protocol}");
        }
        assert!(!is_stacks(true, &[0x45; 9]), "too short");
        let mut packet = [0; 64];
        (packet[0], packet[6]) = (0x60, TCP);
        assert!(is_stacks(false, &packet));
    }

    #[test]
    fn a_frame_names_whom_it_is_to_whom_it_is_from_and_what_it_has() {
        let header = ethernet_header([1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11, 12], [8, 6]);
        assert_eq!(header, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 8, 6]);
    }

    #[test]
    fn the_destination_is_where_the_header_has_it() {
        let packet: Vec<u8> = (0..40).collect();
        assert_eq!(destination(true, &packet), Some([16, 17, 18, 19].into()));
        let v6: [u8; 16] = std::array::from_fn(|at| 24 + at as u8);
        assert_eq!(destination(false, &packet), Some(v6.into()));
        assert_eq!((destination(true, &packet[..19]), destination(false, &packet[..39])), (None, None));
    }
}
