//! Any bytes as what hosts on an Ethernet send to find each other.

use std::net::{IpAddr, Ipv6Addr};

use headway_wire::{IpHeader, checksum, icmp::ICMPV6};

use super::arp::Arp;
use super::ndp::{Message, is_neighbour_discovery};

/// As they are, and as the body of an ICMPv6 packet with a sound checksum: the first byte says from where it comes, and
/// whether it was forwarded.
pub(crate) fn check_neighbours(bytes: &[u8]) {
    if let Some(arp) = Arp::parse(bytes) {
        assert_eq!(arp.emit(), bytes[..arp.emit().len()]);
    }
    let _ = Message::parse(bytes);
    let Some((&kind, body)) = bytes.split_first() else { return };
    let host = |host| Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, host);
    let group = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00, 2);
    let src = if kind & 1 == 0 { host(1) } else { Ipv6Addr::UNSPECIFIED };
    let dst = if kind & 2 == 0 { group } else { host(2) };
    let hop_limit = if kind & 4 == 0 { 255 } else { 64 };
    let ip = IpHeader { hop_limit, ..IpHeader::new(src.into(), dst.into()) };
    let mut packet = vec![0; 40 + body.len()];
    let start = ip.emit(&mut packet, ICMPV6, body.len()).expect("a packet with room");
    packet[start..].copy_from_slice(body);
    if let Some(sum) = packet.get_mut(42..44) {
        sum.fill(0);
        let mut sum = ip.pseudo_header_sum(ICMPV6, body.len());
        sum.add(checksum::sum(&packet[40..]));
        packet[42..44].copy_from_slice(&sum.complement().to_be_bytes());
    }
    // RFC 4861, 7.1.
    let Some(message) = Message::parse(&packet) else { return };
    assert!(is_neighbour_discovery(&packet) && hop_limit == 255);
    let (target, mac) = match message {
        Message::Solicitation { from, target, mac } => {
            assert_eq!(from.map_or(IpAddr::from(Ipv6Addr::UNSPECIFIED), IpAddr::from), ip.src);
            assert!(from.is_some() || mac.is_none());
            (target, mac)
        }
        Message::Advertisement { target, mac, solicited, .. } => {
            assert!(!solicited || dst != group);
            (target, mac)
        }
    };
    assert!(!target.is_multicast() && mac.is_none_or(|mac| mac[0] & 1 == 0));
}

#[cfg(test)]
#[test]
fn the_corpus_holds() {
    headway_test_fixture::corpus::replay("neighbours", check_neighbours);
}
