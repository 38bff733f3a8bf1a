//! "Packet too big", the only ICMP message that the stack processes.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use headway_wire::ip::Datagram;

/// A router's message about the MTU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooBig {
    /// The source of the quoted packet, and the destination of the message.
    pub(crate) local: IpAddr,
    /// The destination of the quoted packet.
    pub(crate) remote: IpAddr,
    /// The next-hop MTU in bytes.
    pub(crate) mtu: u16,
}

/// Parses an ICMP message in `packet`: RFC 792 with RFC 1191's next-hop MTU, or RFC 4443, 3.2.
pub(crate) fn too_big(packet: &[u8]) -> Option<TooBig> {
    const ICMP: u8 = 1;
    const ICMPV6: u8 = 58;
    let datagram = Datagram::parse(packet).ok()?;
    let (head, quoted) = datagram.body.split_first_chunk::<8>()?;
    let [kind, code, _, _, m0, m1, m2, m3] = *head;
    let (mtu, remote) = match (datagram.protocol, kind, code) {
        // Destination unreachable, fragmentation needed and DF set.
        (ICMP, 3, 4) => {
            let to: [u8; 4] = quoted.get(16..20)?.try_into().ok()?;
            (u16::from_be_bytes([m2, m3]), IpAddr::V4(Ipv4Addr::from(to)))
        }
        (ICMPV6, 2, 0) => {
            let to: [u8; 16] = quoted.get(24..40)?.try_into().ok()?;
            (u32::from_be_bytes([m0, m1, m2, m3]).try_into().ok()?, IpAddr::V6(Ipv6Addr::from(to)))
        }
        _ => return None,
    };
    // Zero is sent by routers older than RFC 1191, and gives no MTU.
    (mtu > 0).then_some(TooBig { local: datagram.header.dst, remote, mtu })
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_wire::{Ecn, IpHeader};

    fn message(protocol: u8, src: IpAddr, dst: IpAddr, body: &[u8]) -> Vec<u8> {
        let ip = IpHeader { src, dst, ecn: Ecn::NotEct, hop_limit: 64, identification: 0 };
        let mut packet = vec![0; ip.emitted_len() + body.len()];
        let at = ip.emit(&mut packet, protocol, body.len()).unwrap();
        packet[at..].copy_from_slice(body);
        packet
    }

    #[test]
    fn fragmentation_needed_tells_the_mtu() {
        let (router, us) = (IpAddr::from([192, 0, 2, 9]), IpAddr::from([192, 168, 0, 1]));
        let mut body = vec![3, 4, 0, 0, 0, 0, 5, 0];
        body.extend([0; 16]);
        body.extend([192, 0, 2, 1]);
        let expected = TooBig { local: us, remote: IpAddr::from([192, 0, 2, 1]), mtu: 1280 };
        assert_eq!(too_big(&message(1, router, us, &body)), Some(expected));
        body[1] = 1;
        assert_eq!(too_big(&message(1, router, us, &body)), None, "host unreachable");
        body[1] = 4;
        assert_eq!(too_big(&message(1, router, us, &body[..27])), None, "the quoted packet is truncated");
    }
}
