//! What the gateway reads of the IP packets that it carries as they are.

use std::net::IpAddr;

/// Source and destination.
pub(crate) fn ends(packet: &[u8]) -> Option<(IpAddr, IpAddr)> {
    let v4 = |at: usize| packet.get(at..at + 4)?.first_chunk::<4>().map(|bytes| IpAddr::from(*bytes));
    let v6 = |at: usize| packet.get(at..at + 16)?.first_chunk::<16>().map(|bytes| IpAddr::from(*bytes));
    match packet.first()? >> 4 {
        4 => Some((v4(12)?, v4(16)?)),
        6 => Some((v6(8)?, v6(24)?)),
        _ => None,
    }
}

/// The number of the protocol in it; of IPv6 that of the first header that follows.
pub(crate) fn protocol(packet: &[u8]) -> Option<u8> {
    match packet.first()? >> 4 {
        4 => packet.get(9).copied(),
        _ => packet.get(6).copied(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_and_protocol_are_those_of_the_header() {
        let v4: Vec<u8> = (0..24).map(|byte| if byte == 0 { 0x46 } else { byte }).collect();
        let v6: Vec<u8> = (0..48).map(|byte| if byte == 0 { 0x6f } else { byte }).collect();
        let of = |text: &str| text.parse::<IpAddr>().expect("an address");
        assert_eq!(ends(&v4), Some((of("12.13.14.15"), of("16.17.18.19"))));
        let (source, destination) =
            ("809:a0b:c0d:e0f:1011:1213:1415:1617", "1819:1a1b:1c1d:1e1f:2021:2223:2425:2627");
        assert_eq!(ends(&v6), Some((of(source), of(destination))));
        assert_eq!((protocol(&v4), protocol(&v6)), (Some(9), Some(6)));
        assert_eq!((ends(&v4[..19]), ends(&v6[..39])), (None, None));
        assert_eq!((protocol(&v4[..9]), protocol(&v6[..6]), protocol(&[])), (None, None, None));
        assert_eq!(ends(&[0x50; 60]), None);
    }
}
