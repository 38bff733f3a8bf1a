//! Address resolution for IPv4 (ARP, RFC 826).

use std::net::Ipv4Addr;

use super::neighbours::Mac;

/// The length of an ARP packet for IPv4 over Ethernet.
pub(crate) const ARP_LEN: usize = 28;

/// Ethernet, IPv4, and the lengths of their addresses.
const ARP_KIND: [u8; 6] = [0, 1, 8, 0, 6, 4];

/// Whether an ARP packet is a request or a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Request = 1,
    Reply = 2,
}

/// An ARP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arp {
    pub(crate) operation: Operation,
    pub(crate) sender: (Mac, Ipv4Addr),
    pub(crate) target: (Mac, Ipv4Addr),
}

impl Arp {
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; ARP_LEN] = bytes.first_chunk()?;
        if bytes[..6] != ARP_KIND {
            return None;
        }
        let operation = match bytes[6..8] {
            [0, 1] => Operation::Request,
            [0, 2] => Operation::Reply,
            _ => return None,
        };
        let end = |at: usize| {
            Some((*bytes[at..].first_chunk::<6>()?, Ipv4Addr::from(*bytes[at + 6..].first_chunk::<4>()?)))
        };
        Some(Self { operation, sender: end(8)?, target: end(18)? })
    }

    pub(crate) fn emit(&self) -> [u8; ARP_LEN] {
        let mut bytes = [0; ARP_LEN];
        bytes[..6].copy_from_slice(&ARP_KIND);
        bytes[7] = self.operation as u8;
        for (at, (mac, ip)) in [(8, self.sender), (18, self.target)] {
            bytes[at..at + 6].copy_from_slice(&mac);
            bytes[at + 6..at + 10].copy_from_slice(&ip.octets());
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAC: Mac = [2, 0, 0, 0, 0, 7];
    const IP: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 7);

    #[test]
    fn packets_round_trip() {
        let arp =
            Arp { operation: Operation::Reply, sender: (MAC, IP), target: ([3; 6], Ipv4Addr::LOCALHOST) };
        assert_eq!(Arp::parse(&arp.emit()), Some(arp));
        assert_eq!(Arp::parse(&arp.emit()[1..]), None);
        for at in 0..8 {
            let mut bytes = arp.emit();
            bytes[at] ^= 0x10;
            assert_eq!(Arp::parse(&bytes), None, "byte {at}");
        }
    }
}
