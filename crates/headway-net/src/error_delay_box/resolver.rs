//! Address resolution for a box between a TUN and an Ethernet.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use headway_units::Instant;

use super::Frame;
use super::port::Port;
use crate::NetError;
use crate::carrier::arp::{Arp, Operation};
use crate::carrier::ndp::{self, Message};
use crate::carrier::neighbours::{BROADCAST, Mac, NeighbourInfo, Neighbours, Route};
use crate::packet_socket::{ETHERNET_HEADER, Framing};

/// Resolves the stations of the Ethernet (ARP, neighbour discovery), and answers their requests for every
/// address, since all other hosts are assumed to be behind the TUN. So the Ethernet must have only one
/// station.
pub(super) struct Resolver {
    /// The interface's address.
    mac: Mac,
    neighbours: Neighbours,
    /// The last sender of each family: the source of requests.
    asking: (Ipv4Addr, Ipv6Addr),
}

/// A task for the box.
pub(super) enum Task {
    /// A packet from the TUN, with its Ethernet header, to pass the link.
    Enqueue(Frame),
    /// A frame to send at the Ethernet at once.
    Send(Frame),
}

const IPV4: [u8; 2] = [0x08, 0x00];
const ARP: [u8; 2] = [0x08, 0x06];
const IPV6: [u8; 2] = [0x86, 0xdd];

impl Resolver {
    fn new(mac: Mac) -> Self {
        let asking = (Ipv4Addr::UNSPECIFIED, Ipv6Addr::UNSPECIFIED);
        Self { mac, neighbours: Neighbours::default(), asking }
    }

    /// The resolver for two interfaces, if they need one.
    pub(super) fn between(ports: &[Port; 2]) -> Result<Option<Self>, NetError> {
        let is_ethernet = |port: &&Port| port.framing() == Framing::Ethernet;
        let mut ethernets = ports.iter().filter(is_ethernet);
        let (Some(ethernet), None) = (ethernets.next(), ethernets.next()) else { return Ok(None) };
        let interface = ethernet.interface();
        let mac = interface.hardware.ok_or_else(|| NetError::Interface {
            name: interface.name.clone(),
            what: "cannot be connected to a TUN",
            source: io::Error::new(io::ErrorKind::Unsupported, "it has no Ethernet address"),
            expected: "an Ethernet interface, such as one end of a veth",
        })?;
        Ok(Some(Self::new(mac)))
    }

    /// A packet arrives from the TUN.
    pub(super) fn outward(&mut self, now: Instant, packet: &[u8], each: &mut impl FnMut(Task)) {
        let Some((src, dst)) = addresses(packet) else { return };
        match src {
            IpAddr::V4(src) => self.asking.0 = src,
            IpAddr::V6(src) => self.asking.1 = src,
        }
        if let Some(group) = group_mac(dst) {
            return each(Task::Enqueue(self.frame(group, dst, packet)));
        }
        match self.neighbours.route(now, dst, packet) {
            Route::Send(mac, ask) => {
                each(Task::Enqueue(self.frame(mac, dst, packet)));
                if ask {
                    self.request(dst, Some(mac), each);
                }
            }
            Route::Wait(true) => self.request(dst, None, each),
            Route::Wait(false) => {}
        }
    }

    /// A frame arrives from the Ethernet. Returns a packet for the TUN, without its Ethernet header.
    pub(super) fn inward(
        &mut self,
        at: Instant,
        frame: &Frame,
        is_ip: bool,
        each: &mut impl FnMut(Task),
    ) -> Option<Frame> {
        if !is_ip {
            let (header, body) = (frame.link_header(), frame.packet());
            let whole = [header, body].concat();
            if whole.get(ETHERNET_HEADER - 2..ETHERNET_HEADER) == Some(&ARP)
                && let Some(arp) = Arp::parse(&whole[ETHERNET_HEADER..])
            {
                self.on_arp(at, &arp, each);
            }
            return None;
        }
        let (&to, rest) = frame.link_header().split_first_chunk()?;
        let &sender = rest.first_chunk()?;
        if ndp::is_neighbour_discovery(frame.packet()) {
            if let Some(message) = Message::parse(frame.packet()) {
                self.on_neighbour_message(at, sender, &message, each);
            }
            return None;
        }
        (to == self.mac).then(|| Frame::new(&[], frame.packet(), &[]))
    }

    /// When [`Resolver::handle_timeout`] is due.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.neighbours.next_deadline()
    }

    /// Repeats unanswered requests.
    pub(super) fn handle_timeout(&mut self, now: Instant, each: &mut impl FnMut(Task)) {
        for (ip, known) in self.neighbours.due(now) {
            self.request(ip, known, each);
        }
    }

    fn request(&self, ip: IpAddr, known: Option<Mac>, each: &mut impl FnMut(Task)) {
        match ip {
            IpAddr::V4(ip) => {
                let sender = (self.mac, self.asking.0);
                let question = Arp { operation: Operation::Request, sender, target: ([0; 6], ip) };
                each(Task::Send(self.frame_of(known.unwrap_or(BROADCAST), ARP, &question.emit())));
            }
            IpAddr::V6(ip) => {
                if let Some((to, question)) = ndp::request((self.mac, self.asking.1), ip, known) {
                    each(Task::Send(self.frame_of(to, IPV6, &question)));
                }
            }
        }
    }

    fn on_arp(&mut self, at: Instant, arp: &Arp, each: &mut impl FnMut(Task)) {
        let (mac, ip) = arp.sender;
        // RFC 5227, 2.1.1: a probe has no sender address. Probes and announcements are not answered.
        if mac == self.mac || mac[0] & 1 != 0 || ip.is_unspecified() {
            return;
        }
        self.learn(at, ip.into(), NeighbourInfo { mac: Some(mac), solicited: true, overrides: true }, each);
        if arp.operation == Operation::Request && arp.target.1 != ip {
            let sender = (self.mac, arp.target.1);
            let answer = Arp { operation: Operation::Reply, sender, target: (mac, ip) };
            each(Task::Send(self.frame_of(mac, ARP, &answer.emit())));
        }
    }

    fn on_neighbour_message(
        &mut self,
        at: Instant,
        sender: Mac,
        message: &Message,
        each: &mut impl FnMut(Task),
    ) {
        match *message {
            Message::Solicitation { from: Some(from), target, mac } if target != from => {
                let mac = mac.unwrap_or(sender);
                let info = NeighbourInfo { mac: Some(mac), solicited: false, overrides: true };
                self.learn(at, from.into(), info, each);
                if let Some((to, answer)) = ndp::answer((self.mac, target), Some((mac, from))) {
                    each(Task::Send(self.frame_of(to, IPV6, &answer)));
                }
            }
            // Duplicate address detection is not answered.
            Message::Solicitation { .. } => {}
            Message::Advertisement { target, mac, solicited, overrides } => {
                self.learn(at, target.into(), NeighbourInfo { mac, solicited, overrides }, each);
            }
        }
    }

    fn learn(&mut self, at: Instant, ip: IpAddr, info: NeighbourInfo, each: &mut impl FnMut(Task)) {
        let Some((mac, waited)) = self.neighbours.learn(at, ip, info) else { return };
        for packet in waited {
            each(Task::Enqueue(self.frame(mac, ip, &packet)));
        }
    }

    fn frame(&self, to: Mac, dst: IpAddr, packet: &[u8]) -> Frame {
        self.frame_of(to, if dst.is_ipv4() { IPV4 } else { IPV6 }, packet)
    }

    fn frame_of(&self, to: Mac, kind: [u8; 2], body: &[u8]) -> Frame {
        let mut header = [0; ETHERNET_HEADER];
        header[..6].copy_from_slice(&to);
        header[6..12].copy_from_slice(&self.mac);
        header[12..].copy_from_slice(&kind);
        Frame::new(&header, body, &[])
    }
}

/// Source and destination of a packet.
fn addresses(packet: &[u8]) -> Option<(IpAddr, IpAddr)> {
    let v4 = |at: usize| Some(IpAddr::from(*packet.get(at..)?.first_chunk::<4>()?));
    let v6 = |at: usize| Some(IpAddr::from(*packet.get(at..)?.first_chunk::<16>()?));
    match packet.first()? >> 4 {
        4 => Some((v4(12)?, v4(16)?)),
        6 => Some((v6(8)?, v6(24)?)),
        _ => None,
    }
}

/// The Ethernet address of a multicast or broadcast destination.
fn group_mac(dst: IpAddr) -> Option<Mac> {
    match dst {
        IpAddr::V4(dst) if dst.is_broadcast() => Some(BROADCAST),
        // RFC 1112, 6.4: the low 23 bits of the group.
        IpAddr::V4(dst) if dst.is_multicast() => {
            let [_, a, b, c] = dst.octets();
            Some([0x01, 0x00, 0x5e, a & 0x7f, b, c])
        }
        IpAddr::V6(dst) if dst.is_multicast() => Some(ndp::group_mac(dst)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use headway_units::Duration;

    use super::*;

    const OURS: Mac = [2, 0, 0, 0, 0, 1];
    const STATION: Mac = [2, 0, 0, 0, 0, 9];

    /// A packet without payload.
    fn packet(src: &str, dst: &str) -> Vec<u8> {
        let ip = headway_wire::IpHeader::new(src.parse().unwrap(), dst.parse().unwrap());
        let mut packet = vec![0; 60];
        let len = ip.emit(&mut packet, 17, 0).unwrap();
        packet.truncate(len);
        packet
    }

    fn frame(to: Mac, kind: [u8; 2], body: &[u8]) -> Frame {
        Frame::new(&[&to[..], &STATION, &kind].concat(), body, &[])
    }

    /// The tasks, as kind and bytes from the Ethernet header on.
    fn tasks(work: impl FnOnce(&mut dyn FnMut(Task))) -> Vec<(char, Vec<u8>)> {
        let mut tasks = Vec::new();
        work(&mut |task| {
            let (letter, frame) = match task {
                Task::Enqueue(frame) => ('o', frame),
                Task::Send(frame) => ('s', frame),
            };
            tasks.push((letter, [frame.link_header(), frame.packet()].concat()));
        });
        tasks
    }

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn a_station_is_requested_with_the_senders_address() {
        let mut resolver = Resolver::new(OURS);
        let first = packet("10.0.0.1", "10.0.0.2");
        let asked = tasks(|mut each| resolver.outward(at(1), &first, &mut each));
        let [('s', question)] = &asked[..] else { panic!("{asked:?}") };
        assert_eq!(question[..6], BROADCAST);
        let question = Arp::parse(&question[14..]).unwrap();
        assert_eq!(question.sender, (OURS, [10, 0, 0, 1].into()));
        assert_eq!(question.target.1, Ipv4Addr::new(10, 0, 0, 2));
        assert_eq!(resolver.next_deadline(), Some(at(2)));
        assert_eq!(tasks(|mut each| resolver.handle_timeout(at(2), &mut each)), asked, "again");
        // The answer releases the waiting packets.
        let answer = Arp {
            operation: Operation::Reply,
            sender: (STATION, [10, 0, 0, 2].into()),
            target: (OURS, [10, 0, 0, 1].into()),
        };
        let reply = frame(OURS, ARP, &answer.emit());
        let done = tasks(|mut each| {
            assert!(resolver.inward(at(2), &reply, false, &mut each).is_none());
        });
        let expected = [&STATION[..], &OURS, &IPV4, &first].concat();
        assert_eq!(done, [('o', expected.clone())]);
        assert_eq!(tasks(|mut each| resolver.outward(at(3), &first, &mut each)), [('o', expected)]);
        assert!(tasks(|mut each| resolver.outward(at(3), &[0; 40], &mut each)).is_empty());
    }

    #[test]
    fn stations_are_answered_for_all_addresses_except_their_own() {
        let mut resolver = Resolver::new(OURS);
        let receive = |resolver: &mut Resolver, sender: [u8; 4], target: [u8; 4]| {
            let arp = Arp {
                operation: Operation::Request,
                sender: (STATION, sender.into()),
                target: ([0; 6], target.into()),
            };
            let reply = frame(BROADCAST, ARP, &arp.emit());
            tasks(|mut each| {
                resolver.inward(at(1), &reply, false, &mut each);
            })
        };
        let sent = receive(&mut resolver, [10, 0, 0, 2], [10, 0, 0, 1]);
        let [('s', answer)] = &sent[..] else { panic!("{sent:?}") };
        assert_eq!(answer[..6], STATION);
        let answer = Arp::parse(&answer[14..]).unwrap();
        assert_eq!((answer.operation, answer.sender), (Operation::Reply, (OURS, [10, 0, 0, 1].into())));
        assert!(receive(&mut resolver, [10, 0, 0, 2], [10, 0, 0, 2]).is_empty(), "an announcement");
        assert!(receive(&mut resolver, [0; 4], [10, 0, 0, 1]).is_empty(), "a probe");
    }

    #[test]
    fn neighbour_discovery_works_too() {
        let mut resolver = Resolver::new(OURS);
        let waiting = packet("fd00::1", "fd00::2");
        let asked = tasks(|mut each| resolver.outward(at(1), &waiting, &mut each));
        let [('s', question)] = &asked[..] else { panic!("{asked:?}") };
        assert!(matches!(Message::parse(&question[14..]), Some(Message::Solicitation { .. })));
        let target: Ipv6Addr = "fd00::2".parse().unwrap();
        let (_, answer) = ndp::answer((STATION, target), Some((OURS, "fd00::1".parse().unwrap()))).unwrap();
        let reply = frame(OURS, IPV6, &answer);
        let done = tasks(|mut each| {
            assert!(resolver.inward(at(1), &reply, true, &mut each).is_none());
        });
        assert_eq!(done, [('o', [&STATION[..], &OURS, &IPV6, &waiting].concat())]);
        // A request of the station.
        let (to, question) = ndp::request((STATION, target), "fd00::1".parse().unwrap(), None).unwrap();
        let reply = frame(to, IPV6, &question);
        let sent = tasks(|mut each| {
            assert!(resolver.inward(at(1), &reply, true, &mut each).is_none());
        });
        let [('s', answer)] = &sent[..] else { panic!("{sent:?}") };
        assert!(matches!(
            Message::parse(&answer[14..]),
            Some(Message::Advertisement { mac: Some(OURS), solicited: true, .. })
        ));
    }

    #[test]
    fn frames_for_others_are_not_forwarded() {
        let mut resolver = Resolver::new(OURS);
        let body = packet("10.0.0.2", "10.0.0.1");
        let mut inward = |to| resolver.inward(at(1), &frame(to, IPV4, &body), true, &mut |_| {});
        assert_eq!(inward(OURS), Some(Frame::new(&[], &body, &[])));
        assert_eq!(inward([2, 0, 0, 0, 0, 5]), None);
        assert_eq!(inward(BROADCAST), None);
        let to = |dst: &str| group_mac(dst.parse().unwrap());
        assert_eq!(to("224.129.2.3"), Some([1, 0, 0x5e, 1, 2, 3]));
        assert_eq!(to("255.255.255.255"), Some(BROADCAST));
        assert_eq!(to("ff02::1:2"), Some([0x33, 0x33, 0, 1, 0, 2]));
        assert_eq!((to("10.0.0.1"), to("fd00::1")), (None, None));
    }
}
