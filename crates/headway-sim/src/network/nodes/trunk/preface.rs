//! What precedes the bytes of a stream between gateways in split mode: whom it connects.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// Two addresses of 16 bytes with a port each; those of IPv4 are mapped (RFC 4291, 2.5.5.2).
pub(super) const LEN: usize = 36;

pub(super) fn emit(source: SocketAddr, sink: SocketAddr) -> [u8; LEN] {
    let mut bytes = [0; LEN];
    for (half, end) in bytes.chunks_exact_mut(LEN / 2).zip([source, sink]) {
        let address = match end.ip() {
            IpAddr::V4(address) => address.to_ipv6_mapped(),
            IpAddr::V6(address) => address,
        };
        half[..16].copy_from_slice(&address.octets());
        half[16..].copy_from_slice(&end.port().to_be_bytes());
    }
    bytes
}

pub(super) fn parse(bytes: &[u8; LEN]) -> (SocketAddr, SocketAddr) {
    let end = |at: usize| {
        let address: [u8; 16] = std::array::from_fn(|place| bytes[at + place]);
        let port = u16::from_be_bytes([bytes[at + 16], bytes[at + 17]]);
        SocketAddr::new(Ipv6Addr::from(address).to_canonical(), port)
    };
    (end(0), end(LEN / 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes() {
        for (source, sink) in
            [("10.0.1.1:40000", "10.0.2.1:5001"), ("[2001:db8::1]:1", "[2001:db8::2]:65535")]
        {
            let ends = (source.parse().unwrap(), sink.parse().unwrap());
            assert_eq!(parse(&emit(ends.0, ends.1)), ends);
        }
    }
}
