//! Address resolution for IPv6 (neighbour discovery, RFC 4861).

use std::net::{IpAddr, Ipv6Addr};

use headway_wire::{IpHeader, checksum, icmp::ICMPV6, ip::Datagram};

use super::neighbours::Mac;

const SOLICITATION: u8 = 135;
const ADVERTISEMENT: u8 = 136;
/// Router solicitation and advertisement, neighbour solicitation and advertisement, and redirect.
const NEIGHBOUR_DISCOVERY: std::ops::RangeInclusive<u8> = 133..=137;

const SOURCE_ADDRESS: u8 = 1;
const TARGET_ADDRESS: u8 = 2;

/// The all-nodes multicast address.
const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
/// RFC 4861, 7.1: a packet with this hop limit was not forwarded by a router.
const HOP_LIMIT: u8 = 255;

/// IPv6 header, ICMPv6 header, target, and the option with an Ethernet address.
pub(crate) const MESSAGE: usize = 40 + 8 + 16 + 8;

/// A neighbour solicitation or advertisement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// A request for `target`.
    Solicitation {
        /// The sender; `None`: duplicate address detection (RFC 4862, 5.4).
        from: Option<Ipv6Addr>,
        target: Ipv6Addr,
        mac: Option<Mac>,
    },
    /// Information about `target`.
    Advertisement { target: Ipv6Addr, mac: Option<Mac>, solicited: bool, overrides: bool },
}

/// Whether an IPv6 packet is neighbour discovery, for any destination.
pub(crate) fn is_neighbour_discovery(packet: &[u8]) -> bool {
    packet.get(6) == Some(&ICMPV6) && packet.get(40).is_some_and(|kind| NEIGHBOUR_DISCOVERY.contains(kind))
}

impl Message {
    /// Parses an IPv6 packet; `None` if it is not such a message, or invalid (RFC 4861, 7.1).
    pub(crate) fn parse(packet: &[u8]) -> Option<Self> {
        if !is_neighbour_discovery(packet) {
            return None;
        }
        let datagram = Datagram::parse(packet).ok()?;
        let IpHeader { src: IpAddr::V6(src), dst: IpAddr::V6(dst), hop_limit, .. } = datagram.header else {
            return None;
        };
        let mut sum = datagram.header.pseudo_header_sum(ICMPV6, datagram.body.len());
        sum.add(checksum::sum(datagram.body));
        let (&[kind, code, _, _, flags, ..], body) = datagram.body.split_first_chunk::<8>()?;
        let (target, options) = body.split_first_chunk::<16>()?;
        let target = Ipv6Addr::from(*target);
        if hop_limit != HOP_LIMIT || !sum.is_sound() || code != 0 || target.is_multicast() {
            return None;
        }
        match kind {
            SOLICITATION => {
                let mac = option(options, SOURCE_ADDRESS)?;
                let from = Some(src).filter(|src| !src.is_unspecified());
                // "If the IP source address is the unspecified address, the IP destination address is a
                // solicited-node multicast address [and] there is no source link-layer address option".
                let valid = from.is_some() || (dst == group(target) && mac.is_none());
                valid.then_some(Self::Solicitation { from, target, mac })
            }
            ADVERTISEMENT => {
                let mac = option(options, TARGET_ADDRESS)?;
                let (solicited, overrides) = (flags & 0x40 != 0, flags & 0x20 != 0);
                // "If the IP Destination Address is a multicast address the Solicited flag is zero."
                let valid = !(dst.is_multicast() && solicited);
                valid.then_some(Self::Advertisement { target, mac, solicited, overrides })
            }
            _ => None,
        }
    }
}

/// The Ethernet address in the option of this kind, if there is one; the outer `None`: "all included
/// options have a length that is greater than zero" does not hold.
fn option(mut options: &[u8], wanted: u8) -> Option<Option<Mac>> {
    let mut found = None;
    while let [kind, words, ..] = *options {
        let len = usize::from(words) * 8;
        if len == 0 {
            return None;
        }
        let (option, rest) = options.split_at_checked(len)?;
        if kind == wanted && len == 8 {
            found = option[2..].first_chunk().copied().filter(|mac: &Mac| mac[0] & 1 == 0);
        }
        options = rest;
    }
    Some(found)
}

/// The solicited-node multicast address of an address (RFC 4291, 2.7.1).
pub(crate) fn group(address: Ipv6Addr) -> Ipv6Addr {
    let [.., a, b, c] = address.octets();
    Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00 | u16::from(a), u16::from_be_bytes([b, c]))
}

/// The Ethernet address of a multicast address (RFC 2464, 7).
pub(crate) fn group_mac(group: Ipv6Addr) -> Mac {
    let [.., a, b, c, d] = group.octets();
    [0x33, 0x33, a, b, c, d]
}

/// The solicitation for `target` and its destination: the group of the target, or `known`.
pub(crate) fn request(
    from: (Mac, Ipv6Addr),
    target: Ipv6Addr,
    known: Option<Mac>,
) -> Option<(Mac, [u8; MESSAGE])> {
    let dst = if known.is_some() { target } else { group(target) };
    let packet = emit(from.1, dst, SOLICITATION, 0, target, (SOURCE_ADDRESS, from.0))?;
    Some((known.unwrap_or(group_mac(dst)), packet))
}

/// The advertisement in response to a solicitation for our address, and its destination.
pub(crate) fn answer(ours: (Mac, Ipv6Addr), to: Option<(Mac, Ipv6Addr)>) -> Option<(Mac, [u8; MESSAGE])> {
    const SOLICITED: u8 = 0x40;
    const OVERRIDE: u8 = 0x20;
    // RFC 4861, 7.2.4: "If the source of the solicitation is the unspecified address, the node MUST set
    // the Solicited flag to zero and multicast the advertisement to the all-nodes address."
    let (mac, dst, flags) = match to {
        Some((mac, ip)) => (mac, ip, SOLICITED | OVERRIDE),
        None => (group_mac(ALL_NODES), ALL_NODES, OVERRIDE),
    };
    Some((mac, emit(ours.1, dst, ADVERTISEMENT, flags, ours.1, (TARGET_ADDRESS, ours.0))?))
}

fn emit(
    src: Ipv6Addr,
    dst: Ipv6Addr,
    kind: u8,
    flags: u8,
    target: Ipv6Addr,
    (option, mac): (u8, Mac),
) -> Option<[u8; MESSAGE]> {
    let mut packet = [0; MESSAGE];
    let ip = IpHeader { hop_limit: HOP_LIMIT, ..IpHeader::new(src.into(), dst.into()) };
    let len = MESSAGE - ip.emitted_len();
    let start = ip.emit(&mut packet, ICMPV6, len).ok()?;
    let body = &mut packet[start..];
    body[0] = kind;
    body[4] = flags;
    body[8..24].copy_from_slice(&target.octets());
    body[24..26].copy_from_slice(&[option, 1]);
    body[26..].copy_from_slice(&mac);
    let mut sum = ip.pseudo_header_sum(ICMPV6, len);
    sum.add(checksum::sum(body));
    body[2..4].copy_from_slice(&sum.complement().to_be_bytes());
    Some(packet)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAC: Mac = [2, 0, 0, 0, 0, 7];
    const OURS: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0x12, 0x3456);
    const THEIRS: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 9);

    #[test]
    fn messages_round_trip() {
        assert_eq!(group(OURS).to_string(), "ff02::1:ff12:3456");
        assert_eq!(group_mac(group(OURS)), [0x33, 0x33, 0xff, 0x12, 0x34, 0x56]);
        let (to, question) = request((MAC, OURS), THEIRS, None).unwrap();
        assert_eq!(to, [0x33, 0x33, 0xff, 0, 0, 9]);
        let solicitation = Message::Solicitation { from: Some(OURS), target: THEIRS, mac: Some(MAC) };
        assert_eq!(Message::parse(&question), Some(solicitation));
        let (to, question) = request((MAC, OURS), THEIRS, Some([4; 6])).unwrap();
        assert_eq!((to, Message::parse(&question)), ([4; 6], Some(solicitation)));
        for (to, solicited) in [(Some(([4; 6], THEIRS)), true), (None, false)] {
            let (mac, packet) = answer((MAC, OURS), to).unwrap();
            assert_eq!(mac, if solicited { [4; 6] } else { [0x33, 0x33, 0, 0, 0, 1] });
            let expected =
                Message::Advertisement { target: OURS, mac: Some(MAC), solicited, overrides: true };
            assert_eq!(Message::parse(&packet), Some(expected));
        }
    }

    #[test]
    fn invalid_messages_are_ignored() {
        let (_, packet) = request((MAC, OURS), THEIRS, None).unwrap();
        // Each byte except those of traffic class and flow label, which have no effect.
        for at in (0..MESSAGE).filter(|at| !(1..4).contains(at)) {
            let mut other = packet;
            other[at] ^= 0x10;
            assert_eq!(Message::parse(&other), None, "byte {at}");
            assert_eq!(Message::parse(&packet[..at]), None);
        }
    }

    /// With a valid checksum after each change.
    #[test]
    fn the_validation_rules_of_7_1_apply() {
        let changed = |packet: &[u8; MESSAGE], change: &dyn Fn(&mut [u8; MESSAGE])| {
            let mut packet = *packet;
            change(&mut packet);
            packet[42..44].fill(0);
            let header = Datagram::parse(&packet).unwrap().header;
            let mut sum = header.pseudo_header_sum(ICMPV6, MESSAGE - 40);
            sum.add(checksum::sum(&packet[40..]));
            packet[42..44].copy_from_slice(&sum.complement().to_be_bytes());
            Message::parse(&packet)
        };
        let (_, question) = request((MAC, OURS), THEIRS, None).unwrap();
        assert!(changed(&question, &|_| {}).is_some());
        assert_eq!(changed(&question, &|packet| packet[7] = 254), None, "forwarded");
        assert_eq!(changed(&question, &|packet| packet[41] = 1), None, "code");
        assert_eq!(changed(&question, &|packet| packet[48] = 0xff), None, "multicast target");
        assert_eq!(changed(&question, &|packet| packet[65] = 0), None, "option of no length");
        assert_eq!(changed(&question, &|packet| packet[65] = 2), None, "option too long");
        let unspecified = |packet: &mut [u8; MESSAGE]| packet[8..24].fill(0);
        assert_eq!(changed(&question, &unspecified), None, "no sender, with an Ethernet address");
        let probe = |packet: &mut [u8; MESSAGE]| {
            unspecified(packet);
            packet[64] = 14;
        };
        let expected = Message::Solicitation { from: None, target: THEIRS, mac: None };
        assert_eq!(changed(&question, &probe), Some(expected));
        let (_, unicast) = request((MAC, OURS), THEIRS, Some(MAC)).unwrap();
        assert_eq!(changed(&unicast, &probe), None, "unicast probe");
        let (_, unsolicited) = answer((MAC, OURS), None).unwrap();
        assert_eq!(changed(&unsolicited, &|packet| packet[44] |= 0x40), None, "solicited, to a group");
    }
}
