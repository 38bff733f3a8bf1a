//! Link-layer headers.

use core::fmt;

/// A link type by its number in the registry of tcpdump.org.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LinkType(pub u16);

/// What a link carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Network<'a> {
    /// An IP packet, possibly followed by padding.
    Ip(&'a [u8]),
    /// Something else, such as ARP.
    Other,
    /// The link header is incomplete.
    Cut,
    /// The link type is not supported.
    UnknownLink,
}

impl LinkType {
    /// BSD loopback: the address family in the byte order of the machine.
    pub const NULL: Self = Self(0);
    /// Ethernet.
    pub const ETHERNET: Self = Self(1);
    /// PPP, as ns-3 writes it; perhaps with the address and control fields of RFC 1662.
    pub const PPP: Self = Self(9);
    /// IPv4 or IPv6 without a link header.
    pub const RAW: Self = Self(101);
    /// OpenBSD loopback: the address family in network byte order.
    pub const LOOP: Self = Self(108);
    /// Linux "cooked" capture.
    pub const LINUX_SLL: Self = Self(113);
    /// IPv4 without a link header.
    pub const IPV4: Self = Self(228);
    /// IPv6 without a link header.
    pub const IPV6: Self = Self(229);
    /// Linux "cooked" capture, version 2.
    pub const LINUX_SLL2: Self = Self(276);

    /// The packet after the link header.
    pub fn network(self, bytes: &[u8]) -> Network<'_> {
        match self {
            // Some systems write 12 or 14 for RAW.
            Self(12 | 14) | Self::RAW | Self::IPV4 | Self::IPV6 => Network::Ip(bytes),
            Self::ETHERNET => ethernet(bytes, 12),
            Self::LINUX_SLL => ethernet(bytes, 14),
            Self::PPP => ppp(bytes),
            Self::LINUX_SLL2 => match (ether_type(bytes, 0), bytes.get(20..)) {
                (Some(kind), Some(body)) if is_ip(kind) => Network::Ip(body),
                (Some(kind), Some(_)) if !is_ip(kind) => Network::Other,
                _ => Network::Cut,
            },
            Self::NULL | Self::LOOP => match bytes.split_first_chunk() {
                // The families of IPv6 differ between systems: 10 Linux, 24 NetBSD, 28 FreeBSD, 30
                // macOS. No family is above 255, so the position of the zero bytes gives the byte order.
                Some((&([0, 0, 0, family] | [family, 0, 0, 0]), body)) => match family {
                    2 | 10 | 24 | 28 | 30 => Network::Ip(body),
                    _ => Network::Other,
                },
                Some(_) => Network::Other,
                None => Network::Cut,
            },
            _ => Network::UnknownLink,
        }
    }
}

impl LinkType {
    /// The interface index in the link header, if it has one. `LINUX_SLL2`:
    /// protocol type and reserved field of 16 bits each, then the "interface index" of 32 bits.
    pub(super) fn interface_index(self, bytes: &[u8]) -> Option<u32> {
        let index = bytes.get(4..)?.first_chunk().copied().map(u32::from_be_bytes)?;
        (self == Self::LINUX_SLL2).then_some(index)
    }
}

impl fmt::Display for LinkType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match *self {
            Self::NULL => "NULL",
            Self::ETHERNET => "Ethernet",
            Self::PPP => "PPP",
            Self::RAW => "RAW",
            Self::LOOP => "LOOP",
            Self::LINUX_SLL => "LINUX_SLL",
            Self::IPV4 => "IPV4",
            Self::IPV6 => "IPV6",
            Self::LINUX_SLL2 => "LINUX_SLL2",
            Self(number) => return write!(f, "{number}"),
        };
        f.write_str(name)
    }
}

fn ether_type(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().copied().map(u16::from_be_bytes)
}

fn is_ip(ether_type: u16) -> bool {
    matches!(ether_type, 0x0800 | 0x86dd)
}

/// RFC 1661, 2: the protocol field; RFC 1662, 3.1: before it, perhaps, address 0xff and control 0x03.
fn ppp(bytes: &[u8]) -> Network<'_> {
    let bytes = bytes.strip_prefix(&[0xff, 0x03]).unwrap_or(bytes);
    match bytes.split_first_chunk() {
        // IPv4 and IPv6, RFC 1332 and RFC 5072.
        Some(([0x00, 0x21 | 0x57], body)) => Network::Ip(body),
        Some(_) => Network::Other,
        None => Network::Cut,
    }
}

/// A header with the EtherType at `at`, possibly preceded by VLAN tags (IEEE 802.1Q and 802.1ad).
fn ethernet(bytes: &[u8], mut at: usize) -> Network<'_> {
    loop {
        match ether_type(bytes, at) {
            Some(0x8100 | 0x88a8 | 0x9100) => at += 4,
            Some(kind) if is_ip(kind) => return bytes.get(at + 2..).map_or(Network::Cut, Network::Ip),
            Some(_) => return Network::Other,
            None => return Network::Cut,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_packet_after_each_header() {
        let ip = [0x45, 1, 2, 3];
        let behind = |header: &[u8]| [header, &ip].concat();
        let mac = [0_u8; 12];
        let cases: [(LinkType, Vec<u8>); 11] = [
            (LinkType::RAW, behind(&[])),
            (LinkType::ETHERNET, behind(&[&mac[..], &[8, 0]].concat())),
            (LinkType::ETHERNET, behind(&[&mac[..], &[0x81, 0, 0, 5, 0x86, 0xdd]].concat())),
            (LinkType::ETHERNET, behind(&[&mac[..], &[0x88, 0xa8, 0, 5, 0x81, 0, 0, 6, 8, 0]].concat())),
            (LinkType::PPP, behind(&[0, 0x21])),
            (LinkType::PPP, behind(&[0xff, 3, 0, 0x57])),
            (LinkType::NULL, behind(&[2, 0, 0, 0])),
            (LinkType::NULL, behind(&[0, 0, 0, 30])),
            (LinkType::LOOP, behind(&[0, 0, 0, 24])),
            (LinkType::LINUX_SLL, behind(&[&[0; 14][..], &[8, 0]].concat())),
            (LinkType::LINUX_SLL2, behind(&[&[0x86, 0xdd][..], &[0; 18]].concat())),
        ];
        for (link, bytes) in cases {
            assert_eq!(link.network(&bytes), Network::Ip(&ip), "{link} {bytes:?}");
        }
    }

    #[test]
    fn rejects_what_is_not_ip() {
        let arp = [&[0; 12][..], &[8, 6, 1, 2]].concat();
        assert_eq!(LinkType::ETHERNET.network(&arp), Network::Other);
        assert_eq!(LinkType::ETHERNET.network(&arp[..13]), Network::Cut);
        assert_eq!(LinkType::LINUX_SLL2.network(&[8, 0, 0]), Network::Cut);
        assert_eq!(LinkType::LINUX_SLL2.network(&[&[8, 6][..], &[0; 18]].concat()), Network::Other);
        assert_eq!(LinkType::NULL.network(&[7, 0, 0, 0]), Network::Other);
        assert_eq!(LinkType::NULL.network(&[2, 0]), Network::Cut);
        assert_eq!(LinkType::PPP.network(&[0xc0, 0x21, 1]), Network::Other);
        assert_eq!(LinkType::PPP.network(&[0xff, 3, 0]), Network::Cut);
        assert_eq!(LinkType(105).network(&arp), Network::UnknownLink);
    }
}
