//! IP packets that are not as we write them.

use headway_wire::ip::{Datagram, is_header_corrupted, missing};
use headway_wire::{Dscp, Ecn, IpHeader, ParseError, Segment, checksum, layout};

/// An IPv4 packet with a right header checksum. `options` is whole words.
fn v4(options: &[u8], fragment: u16, protocol: u8, body: &[u8]) -> Vec<u8> {
    let header_len = 20 + options.len();
    let mut bytes = vec![0x40 | (header_len / 4) as u8, 0xb9];
    bytes.extend(((header_len + body.len()) as u16).to_be_bytes());
    bytes.extend([0x12, 0x34]);
    bytes.extend(fragment.to_be_bytes());
    bytes.extend([63, protocol, 0, 0, 192, 0, 2, 1, 198, 51, 100, 2]);
    bytes.extend(options);
    correct_v4(&mut bytes);
    bytes.extend(body);
    bytes
}

fn correct_v4(bytes: &mut [u8]) {
    let header_len = usize::from(bytes[0] & 0xf) * 4;
    bytes[10..12].fill(0);
    let check = checksum::sum(&bytes[..header_len.min(bytes.len())]).complement();
    bytes[10..12].copy_from_slice(&check.to_be_bytes());
}

/// An IPv6 packet; `rest` is extension headers and body.
fn v6(next: u8, rest: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x6a, 0xb1, 0x23, 0x45];
    bytes.extend((rest.len() as u16).to_be_bytes());
    bytes.extend([next, 62]);
    bytes.extend([0x20; 16]);
    bytes.extend([0x30; 16]);
    bytes.extend(rest);
    bytes
}

/// A TCP header without options, with "data" behind it.
fn tcp() -> Vec<u8> {
    let mut bytes = vec![0; 20];
    bytes[12] = 0x50;
    bytes.extend(b"data");
    bytes
}

#[test]
fn ipv4_fields_and_options() {
    let packet = v4(&[7, 4, 4, 0], 0x4000, 17, b"body");
    let datagram = Datagram::parse(&packet).unwrap();
    let header = IpHeader {
        dscp: Dscp::EF,
        ecn: Ecn::Ect1,
        hop_limit: 63,
        identification: 0x1234,
        ..IpHeader::new([192, 0, 2, 1].into(), [198, 51, 100, 2].into())
    };
    assert_eq!(datagram, Datagram { header, protocol: 17, header_len: 24, body: b"body" });
}

#[test]
fn ipv6_fields_and_extension_headers() {
    let hop_by_hop = [43, 0, 1, 4, 0, 0, 0, 0];
    let routing_done = [60, 0, 2, 0, 0, 0, 0, 0];
    let mut destination = vec![6, 1];
    destination.resize(16, 0);
    let extensions = [&hop_by_hop[..], &routing_done, &destination].concat();
    let packet = v6(0, &[&extensions[..], &tcp()].concat());
    let header = IpHeader {
        dscp: Dscp::new(42).unwrap(),
        ecn: Ecn::Ce,
        hop_limit: 62,
        ..IpHeader::new([0x20; 16].into(), [0x30; 16].into())
    };
    let datagram = Datagram::parse(&packet).unwrap();
    assert_eq!(datagram, Datagram { header, protocol: 6, header_len: 72, body: &tcp() });
    let segment = Segment::parse(&packet).unwrap();
    assert_eq!((segment.ip_header_len, segment.header_len, segment.payload), (72, 92, &b"data"[..]));
    let layout = layout(&packet).unwrap();
    assert_eq!((layout.ip_header_len, layout.header_len), (72, 92));
}

#[test]
fn what_is_no_packet_of_ours() {
    let good = v4(&[], 0, 6, &tcp());
    let edit = |at: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[at] = value;
        correct_v4(&mut bytes);
        bytes
    };
    let mut bad_checksum = good.clone();
    bad_checksum[10] ^= 1;
    let truncated = |part, needed, room| ParseError::Truncated { part, needed, room };
    let v6_with = |next: u8, extension: [u8; 8]| v6(next, &[&extension[..], &tcp()].concat());
    let cases = [
        (vec![], truncated("the IP version", 1, 0)),
        (vec![0x50; 40], ParseError::Version(5)),
        (good[..19].to_vec(), truncated("an IPv4 header", 20, 19)),
        (edit(0, 0x44), ParseError::Ipv4Length { part: "header length", min: 20, got: 16 }),
        (edit(0, 0x4f)[..44].to_vec(), truncated("an IPv4 header with options", 60, 44)),
        (edit(3, 19), ParseError::Ipv4Length { part: "total length", min: 20, got: 19 }),
        (good[..43].to_vec(), truncated("an IPv4 datagram", 44, 43)),
        (bad_checksum, ParseError::Ipv4Checksum),
        (v4(&[], 0x2000, 6, &tcp()), ParseError::Fragment),
        (v4(&[], 0x0001, 6, &tcp()), ParseError::Fragment),
        (v4(&[], 0, 17, &tcp()), ParseError::NotTcp(17)),
        (v4(&[], 0, 6, &tcp()[..19]), truncated("a TCP header", 20, 19)),
        (edit(32, 0x4f), ParseError::DataOffset { got: 16, room: 24 }),
        (edit(32, 0x70), ParseError::DataOffset { got: 28, room: 24 }),
        (v6(6, &tcp())[..39].to_vec(), truncated("an IPv6 header", 40, 39)),
        (v6(6, &tcp())[..63].to_vec(), truncated("an IPv6 datagram", 64, 63)),
        (v6_with(44, [6, 0, 0, 0, 0, 0, 0, 0]), ParseError::Fragment),
        (v6_with(43, [6, 0, 0, 1, 0, 0, 0, 0]), ParseError::RoutingHeader { segments_left: 1 }),
        (v6_with(60, [6, 9, 0, 0, 0, 0, 0, 0]), truncated("an IPv6 extension header", 120, 72)),
        (v6(0, &[6, 0, 0]), truncated("an IPv6 extension header", 44, 43)),
        (v6(60, &[60, 0, 0, 0, 0, 0, 0, 0].repeat(20)), ParseError::TooManyExtensionHeaders { max: 8 }),
    ];
    for (bytes, error) in cases {
        assert_eq!(Segment::parse(&bytes), Err(error), "{bytes:?}");
        assert_eq!(headway_wire::judge(&bytes), Err(error), "{bytes:?}");
    }
    assert!(Segment::parse(&good).is_ok());
}

#[test]
fn eight_extension_headers_are_skipped() {
    let mut rest = [60, 0, 0, 0, 0, 0, 0, 0].repeat(8);
    rest[56] = 17;
    let packet = v6(60, &rest);
    assert_eq!(Datagram::parse(&packet).map(|d| (d.protocol, d.header_len)), Ok((17, 104)));
}

#[test]
fn damage_of_the_ip_header_is_distinguished_from_what_was_sent_so() {
    let good = v4(&[1, 1, 1, 0], 0, 6, &tcp());
    assert!(!is_header_corrupted(&good));
    for bit in 0..24 * 8 {
        let mut packet = good.clone();
        packet[bit / 8] ^= 0x80 >> (bit % 8);
        assert!(is_header_corrupted(&packet), "bit {bit}");
    }
    for len in 0..good.len() {
        assert!(is_header_corrupted(&good[..len]), "{len} bytes");
    }
    // A fragment; padding behind the packet.
    assert!(!is_header_corrupted(&v4(&[], 0x2000, 6, &tcp())));
    assert!(!is_header_corrupted(&[good, vec![0; 7]].concat()));

    let good = v6(6, &tcp());
    assert!(!is_header_corrupted(&good));
    for len in 0..good.len() {
        assert!(is_header_corrupted(&good[..len]), "{len} bytes");
    }
    assert!(!is_header_corrupted(&v6(44, &[6, 0, 0, 0, 0, 0, 0, 0])), "a fragment");
    assert!(is_header_corrupted(&v6(60, &[60, 200, 0, 0, 0, 0, 0, 0])), "an extension header without end");
}

/// Cross traffic of another protocol goes through the same two functions.
#[test]
fn another_protocol_round_trips() {
    for addr in ["192.0.2.7", "2001:db8::7"] {
        let addr = addr.parse().unwrap();
        let header = IpHeader { ecn: Ecn::Ect0, hop_limit: 1, ..IpHeader::new(addr, addr) };
        let mut buf = [0; 100];
        let header_len = header.emit(&mut buf, 17, 8).unwrap();
        buf[header_len..header_len + 8].copy_from_slice(b"udp body");
        let datagram = Datagram::parse(&buf).unwrap();
        assert_eq!(datagram, Datagram { header, protocol: 17, header_len, body: b"udp body" });
        assert_eq!(layout(&buf), None);
    }
}

/// The layout is for a link that damages what it carries: no sum matters to it.
#[test]
fn layout_looks_at_lengths_only() {
    let mut packet = v4(&[1, 1, 1, 0], 0, 6, &tcp());
    packet[10] ^= 0xff;
    assert_eq!(layout(&packet).map(|l| (l.ip_header_len, l.header_len)), Some((24, 44)));
    for len in 0..44 {
        assert_eq!(layout(&packet[..len]), None);
    }
    packet[36] = 0x40;
    assert_eq!(layout(&packet), None);
}

#[test]
fn what_a_frame_that_ended_early_lacks_is_known_if_its_header_is_right() {
    for (packet, header) in
        [(v4(&[], 0, 6, &tcp()), 20), (v4(&[1; 8], 0, 6, &tcp()), 28), (v6(6, &tcp()), 40)]
    {
        for len in 0..packet.len() {
            let lacking = if len < header { 0 } else { packet.len() - len };
            assert_eq!(missing(&packet[..len]), lacking, "{len} of {}", packet.len());
        }
        assert_eq!(missing(&[&packet[..], &[0; 9]].concat()), 0, "longer than it says");
    }
    let mut damaged = v4(&[], 0, 6, &tcp());
    damaged[2] ^= 1;
    assert_eq!((missing(&damaged), missing(&[0x99; 60])), (0, 0));
}
