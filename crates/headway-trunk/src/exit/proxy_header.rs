//! The PROXY protocol, version 2 (HAProxy's `proxy-protocol.txt`, section 2.2): the first bytes of a connection name the
//! host that it is made for.

use std::net::{IpAddr, SocketAddr};

const SIGNATURE: [u8; 12] = *b"\r\n\r\n\0\r\nQUIT\n";
/// Version 2, and the command: LOCAL or PROXY.
const LOCAL: u8 = 0x20;
const PROXY: u8 = 0x21;
/// TCP over IPv4 and over IPv6.
const TCP4: u8 = 0x11;
const TCP6: u8 = 0x21;

/// The header of a connection to `destination` for `client`. One that is not known makes it the gateway's own connection
/// (LOCAL).
pub(crate) fn header(client: Option<SocketAddr>, destination: SocketAddr) -> Vec<u8> {
    let mut bytes = SIGNATURE.to_vec();
    let Some(client) = client else {
        bytes.extend([LOCAL, 0, 0, 0]);
        return bytes;
    };
    let ips = [client.ip().to_canonical(), destination.ip().to_canonical()];
    if let [IpAddr::V4(client_ip), IpAddr::V4(destination_ip)] = ips {
        bytes.extend([PROXY, TCP4, 0, 12]);
        bytes.extend(client_ip.octets());
        bytes.extend(destination_ip.octets());
    } else {
        bytes.extend([PROXY, TCP6, 0, 36]);
        for ip in ips {
            // Of two families: the IPv4 address as an IPv6 one (RFC 4291, 2.5.5.2).
            let ip = match ip {
                IpAddr::V4(ip) => ip.to_ipv6_mapped(),
                IpAddr::V6(ip) => ip,
            };
            bytes.extend(ip.octets());
        }
    }
    bytes.extend(client.port().to_be_bytes());
    bytes.extend(destination.port().to_be_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(client: &str, destination: &str) -> Vec<u8> {
        header(Some(client.parse().expect("an address")), destination.parse().expect("an address"))
    }

    #[test]
    fn headers_are_those_of_the_specification() {
        let signature = [0x0d, 0x0a, 0x0d, 0x0a, 0, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a];
        let v4 =
            [&signature[..], &[0x21, 0x11, 0, 12, 10, 0, 0, 1, 192, 0, 2, 9, 0x9c, 0x40, 0, 80]].concat();
        assert_eq!(of("10.0.0.1:40000", "192.0.2.9:80"), v4);
        assert_eq!(of("[::ffff:10.0.0.1]:40000", "192.0.2.9:80"), v4);
        let v6 = [
            &signature[..],
            &[0x21, 0x21, 0, 36, 0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
            &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 9, 0x9c, 0x40, 1, 0xbb],
        ];
        assert_eq!(of("[2001:db8::1]:40000", "192.0.2.9:443"), v6.concat());
        let local = [&signature[..], &[0x20, 0, 0, 0]].concat();
        assert_eq!(header(None, "192.0.2.9:80".parse().expect("an address")), local);
    }
}
