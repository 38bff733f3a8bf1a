//! An address of its own on an Ethernet.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::BorrowedFd;

use headway_units::Instant;

use super::neighbours::{ARP_LEN, Arp, BROADCAST, Mac, Neighbours, Next, Operation};
use super::{Carrier, Received};
use crate::packet_socket::{ETHERNET_HEADER, FrameChecksum, PacketSocket};
use crate::{Clock, Interface, NetError, Prefix};

/// What is in a frame.
const IPV4: [u8; 2] = [0x08, 0x00];
const ARP: [u8; 2] = [0x08, 0x06];
/// The protocol numbers of what is for us: TCP and ICMP.
const TAKEN: [u8; 2] = [6, headway_wire::icmp::ICMP];

/// How an [`EthernetCarrier`] is set up.
#[derive(Clone, Debug)]
pub struct EthernetConfig {
    /// The interface.
    pub interface: String,
    /// Our stack's address (IPv4), which the kernel must not have.
    pub address: Prefix,
    /// Where packets for other networks go; `None`: nowhere.
    pub gateway: Option<Ipv4Addr>,
    /// The interface's MTU; `None`: what the system says.
    pub mtu: Option<u16>,
}

/// IPv4 packets on an Ethernet interface, under an address that the kernel does not have: so it does
/// not answer for it, and ARP is done here. The Ethernet address is the interface's.
///
/// Frames that this machine's kernel hands over without a checksum (veth, with transmit checksum
/// offload on) are taken as they are: [`headway_wire::PayloadVerdict::Unchecked`].
pub struct EthernetCarrier {
    socket: PacketSocket,
    address: Prefix,
    ours: Ipv4Addr,
    mac: Mac,
    gateway: Option<Ipv4Addr>,
    mtu: u16,
    neighbours: Neighbours,
    clock: Clock,
}

impl EthernetCarrier {
    /// Opens the interface.
    ///
    /// # Errors
    ///
    /// There is none, the right to see its frames is missing, or the kernel has the address.
    pub fn open(config: &EthernetConfig) -> Result<Self, NetError> {
        let fail = |what, source, expected| NetError::Interface {
            name: config.interface.clone(),
            what,
            source,
            expected,
        };
        let IpAddr::V4(ours) = config.address.address() else {
            return Err(NetError::BadAddress {
                got: config.address.to_string(),
                expected: "an IPv4 address: this carrier does not look for IPv6 neighbours",
            });
        };
        let all =
            Interface::all().map_err(|source| fail("cannot be found", source, "a system with interfaces"))?;
        if all.iter().any(|interface| interface.addresses.contains(&ours.into())) {
            return Err(NetError::KernelsAddress(ours.into()));
        }
        if let Some(gateway) = config.gateway.filter(|&gateway| !config.address.contains(gateway.into())) {
            return Err(NetError::BadAddress {
                got: format!("gateway {gateway}"),
                expected: "an address of our own network",
            });
        }
        let mtu = config.mtu.unwrap_or_else(|| system_mtu(&config.interface));
        let socket = PacketSocket::open(&config.interface, ETHERNET_HEADER + usize::from(mtu))?;
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
        Ok(Self {
            socket,
            address: config.address,
            ours,
            mac,
            gateway: config.gateway,
            mtu,
            neighbours: Neighbours::default(),
            clock: Clock::new(),
        })
    }

    fn ask(&mut self, ip: Ipv4Addr) {
        let question =
            Arp { operation: Operation::Request, sender: (self.mac, self.ours), target: ([0; 6], ip) };
        self.send_arp(BROADCAST, &question);
    }

    /// Without a place it is not sent: whoever needs it asks again.
    fn send_arp(&mut self, to: Mac, arp: &Arp) {
        self.send_frame(to, ARP, &arp.emit());
    }

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

    fn hear(&mut self, at: Instant, arp: &Arp) {
        let (mac, ip) = arp.sender;
        if arp.target.1 != self.ours || ip == self.ours || mac[0] & 1 != 0 {
            return;
        }
        for packet in self.neighbours.learn(at, ip, mac) {
            self.send_frame(mac, IPV4, &packet);
        }
        if arp.operation == Operation::Request {
            let answer =
                Arp { operation: Operation::Reply, sender: (self.mac, self.ours), target: (mac, ip) };
            self.send_arp(mac, &answer);
        }
    }
}

fn ethernet_header(to: Mac, from: Mac, kind: [u8; 2]) -> [u8; ETHERNET_HEADER] {
    let mut header = [0; ETHERNET_HEADER];
    header[..6].copy_from_slice(&to);
    header[6..12].copy_from_slice(&from);
    header[12..].copy_from_slice(&kind);
    header
}

/// What the system says, or the usual.
fn system_mtu(interface: &str) -> u16 {
    const USUAL: u16 = 1500;
    std::fs::read_to_string(format!("/sys/class/net/{interface}/mtu"))
        .ok()
        .and_then(|text| text.trim().parse().ok())
        .unwrap_or(USUAL)
}

/// The destination of an IPv4 packet, whose checksums nobody has looked at yet.
fn destination(packet: &[u8]) -> Option<Ipv4Addr> {
    Some(Ipv4Addr::from(*packet.get(16..)?.first_chunk::<4>()?))
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

    fn fill(&mut self, clock: &Clock) -> io::Result<usize> {
        self.clock = *clock;
        let count = self.socket.fill(clock)?;
        for index in 0..count {
            let frame = self.socket.frame(index);
            if frame.bytes.get(12..ETHERNET_HEADER) == Some(&ARP)
                && let Some(arp) = frame.bytes.get(ETHERNET_HEADER..).and_then(Arp::parse)
            {
                self.hear(frame.at, &arp);
            }
        }
        Ok(count)
    }

    fn received<'a>(&'a self, packets: &mut Vec<Received<'a>>) {
        for index in 0..self.socket.len() {
            let frame = self.socket.frame(index);
            let Some((header, packet)) = frame.bytes.split_first_chunk::<ETHERNET_HEADER>() else { continue };
            // The interface is the kernel's too: most of what arrives is not for us.
            let ours = header[..6] == self.mac && header[12..] == IPV4;
            if !ours
                || destination(packet) != Some(self.ours)
                || !packet.get(9).is_some_and(|protocol| TAKEN.contains(protocol))
            {
                continue;
            }
            packets.extend(match frame.checksum {
                FrameChecksum::Final => Received::judge(packet, frame.at),
                FrameChecksum::Missing => Received::vouched(packet, frame.at),
            });
        }
    }

    fn slot(&mut self) -> Option<&mut [u8]> {
        Some(&mut self.socket.slot()?[ETHERNET_HEADER..])
    }

    fn queue(&mut self, len: usize) {
        let Some(slot) = self.socket.slot() else { return };
        let packet = &mut slot[ETHERNET_HEADER..ETHERNET_HEADER + len];
        let Some(dst) = destination(packet) else { return };
        let next_hop = if self.address.contains(dst.into()) { Some(dst) } else { self.gateway };
        // No route: lost.
        let Some(next_hop) = next_hop else { return };
        match self.neighbours.route(self.clock.now(), next_hop, packet) {
            Next::Send(mac, ask) => {
                slot[..ETHERNET_HEADER].copy_from_slice(&ethernet_header(mac, self.mac, IPV4));
                self.socket.queue(ETHERNET_HEADER + len);
                if ask {
                    self.ask(next_hop);
                }
            }
            Next::Wait(true) => self.ask(next_hop),
            Next::Wait(false) => {}
        }
    }

    fn flush(&mut self) -> io::Result<bool> {
        self.socket.flush()
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.neighbours.next_deadline()
    }

    fn handle_timeout(&mut self, now: Instant) {
        for ip in self.neighbours.due(now) {
            self.ask(ip);
        }
    }
}

const _: () = assert!(ARP_LEN + ETHERNET_HEADER <= 128, "an ARP packet fits any MTU that a profile may have");
