//! ICMP messages about segments, and echo.

use std::net::SocketAddr;

use headway_test_fixture::packet;
use headway_wire::icmp::{ICMPV6, IcmpError, IcmpKind, IcmpMessage, Quoted, Unreachable};
use headway_wire::{EmitError, IpHeader, SeqNumber, TcpFlags, TcpHeader, TcpOptions, ip::Datagram};

const ROUTER: [&str; 2] = ["203.0.113.1", "2001:db8:3::1"];
const OURS: [&str; 2] = ["192.0.2.1", "2001:db8:1::1"];
const THEIRS: [&str; 2] = ["198.51.100.2", "2001:db8:2::2"];

fn ip(src: &str, dst: &str) -> IpHeader {
    packet::ip(src.parse().unwrap(), dst.parse().unwrap())
}

fn segment(family: usize) -> Vec<u8> {
    let quoted = quoted(family);
    let (ip, tcp) = packet::headers(quoted.src, quoted.dst, TcpFlags::ACK);
    let tcp = TcpHeader { seq: quoted.seq, ack: SeqNumber(1), window: 1000, ..tcp };
    packet::segment(&ip, &tcp, &TcpOptions::default(), &[7; 1000])
}

fn quoted(family: usize) -> Quoted {
    let end = |address: &str, port| SocketAddr::new(address.parse().unwrap(), port);
    Quoted {
        src: end(OURS[family], 5000),
        dst: end(THEIRS[family], 80),
        seq: SeqNumber(0x1234_5678),
        len: [1040, 1060][family],
    }
}

/// The message of this kind and code about our segment, of which `kept` bytes come back.
fn about(family: usize, start: [u8; 2], parameter: u32, kept: usize) -> Vec<u8> {
    packet::icmp(&ip(ROUTER[family], OURS[family]), start, parameter.to_be_bytes(), &segment(family)[..kept])
}

fn parse(packet: &[u8]) -> Option<IcmpError> {
    match IcmpMessage::parse(&Datagram::parse(packet).unwrap()) {
        IcmpMessage::Error(error) => Some(error),
        IcmpMessage::EchoRequest(_) | IcmpMessage::Other => None,
    }
}

#[test]
fn errors_are_told_apart() {
    let too_big = |mtu| IcmpKind::PacketTooBig { mtu };
    for (family, start, parameter, kind) in [
        (0, [3, 0], 0, IcmpKind::NetworkUnreachable),
        (0, [3, 1], 0, IcmpKind::HostUnreachable),
        (0, [3, 2], 0, IcmpKind::ProtocolUnreachable),
        (0, [3, 3], 0, IcmpKind::PortUnreachable),
        (0, [3, 4], 0, too_big(None)),
        (0, [3, 4], 0xffff_0240, too_big(Some(576))),
        (0, [3, 5], 0, IcmpKind::HostUnreachable),
        (0, [3, 6], 0, IcmpKind::NetworkUnreachable),
        (0, [3, 11], 0, IcmpKind::NetworkUnreachable),
        (0, [3, 12], 0, IcmpKind::HostUnreachable),
        (0, [3, 13], 0, IcmpKind::Prohibited),
        (0, [11, 0], 0, IcmpKind::TimeExceeded),
        (0, [12, 0], 0, IcmpKind::ParameterProblem),
        (1, [1, 0], 0, IcmpKind::NetworkUnreachable),
        (1, [1, 1], 0, IcmpKind::Prohibited),
        (1, [1, 3], 0, IcmpKind::HostUnreachable),
        (1, [1, 4], 0, IcmpKind::PortUnreachable),
        (1, [2, 0], 1280, too_big(Some(1280))),
        (1, [2, 0], 1 << 20, too_big(Some(u16::MAX))),
        (1, [3, 0], 0, IcmpKind::TimeExceeded),
        (1, [4, 0], 0, IcmpKind::ParameterProblem),
        (1, [4, 1], 0, IcmpKind::ProtocolUnreachable),
    ] {
        // "plus the first 64 bits of the original datagram's data" is the least there is.
        let least = [28, 48][family];
        for kept in [least, least + 1, 500] {
            let packet = about(family, start, parameter, kept);
            let expected = IcmpError { from: ROUTER[family].parse().unwrap(), kind, segment: quoted(family) };
            assert_eq!(parse(&packet), Some(expected), "{family} {start:?} {parameter} {kept}");
            // A byte more or less of the quote would be of another message.
            assert_eq!(parse(&about(family, start, parameter, least - 1)), None);
        }
    }
}

#[test]
fn what_is_no_error_about_tcp_is_left_alone() {
    for (family, start) in
        [(0, [0, 0]), (0, [8, 0]), (0, [5, 1]), (1, [128, 0]), (1, [135, 0]), (1, [137, 0])]
    {
        assert_eq!(parse(&about(family, start, 0, 100)), None, "{family} {start:?}");
    }
    // Any byte that is not as it was sent.
    for family in [0, 1] {
        let packet = about(family, [[3, 4], [2, 0]][family], 1300, 60);
        assert!(parse(&packet).is_some());
        for at in [20, 40][family]..packet.len() {
            let mut damaged = packet.clone();
            damaged[at] ^= 0x10;
            assert_eq!(parse(&damaged), None, "byte {at}");
        }
    }
    // A quote of UDP, of a later fragment, of another version, of a header too short.
    for (at, value) in [(9, 17), (7, 1), (0, 0x65), (0, 0x44)] {
        let mut quote = segment(0);
        quote[at] = value;
        let packet = packet::icmp(&ip(ROUTER[0], OURS[0]), [3, 4], [0, 0, 2, 0], &quote[..60]);
        assert_eq!(parse(&packet), None, "byte {at}");
    }
    // ICMPv6 over IPv4.
    let body = &about(0, [3, 4], 1300, 60)[20..];
    let mut wrong = vec![0; 20 + body.len()];
    ip(ROUTER[0], OURS[0]).emit(&mut wrong, ICMPV6, body.len()).unwrap();
    wrong[20..].copy_from_slice(body);
    assert_eq!(parse(&wrong), None);
}

#[test]
fn echo_brings_back_what_was_sent() {
    for (family, start, reply) in [(0, [8, 0], [0, 0]), (1, [128, 0], [129, 0])] {
        let request = packet::icmp(&ip(THEIRS[family], OURS[family]), start, [1, 2, 3, 4], b"odd data!");
        let expected = packet::icmp(&ip(OURS[family], THEIRS[family]), reply, [1, 2, 3, 4], b"odd data!");
        let read = |packet| IcmpMessage::parse(&Datagram::parse(packet).unwrap());
        let IcmpMessage::EchoRequest(echo) = read(&request) else { panic!("{:?}", read(&request)) };
        let mut buf = [0xaa; 100];
        assert_eq!((echo.reply(&mut buf), echo.reply_len()), (Ok(expected.len()), expected.len()));
        assert_eq!(buf[..expected.len()], expected);
        let short = expected.len() - 1;
        assert!(matches!(echo.reply(&mut buf[..short]), Err(EmitError::BufferTooSmall { .. })));
        // A reply is not answered, nor a corrupted request.
        assert_eq!(read(&expected), IcmpMessage::Other);
        let mut damaged = request.clone();
        *damaged.last_mut().unwrap() ^= 1;
        assert_eq!(read(&damaged), IcmpMessage::Other);
    }
}

/// RFC 792 and RFC 1812, 5.2.7.1; RFC 4443, 3.1.
#[test]
fn what_is_unreachable_is_said_as_specified() {
    for (family, reason, start) in [
        (0, Unreachable::Network, [3, 0]),
        (0, Unreachable::Host, [3, 1]),
        (0, Unreachable::Prohibited, [3, 13]),
        (1, Unreachable::Network, [1, 0]),
        (1, Unreachable::Prohibited, [1, 1]),
        (1, Unreachable::Host, [1, 3]),
    ] {
        let expected = about(family, start, 0, 61);
        let quote = &segment(family)[..61];
        let [src, dst] = [ROUTER[family], OURS[family]].map(|address| address.parse().unwrap());
        assert_eq!(Unreachable::message_len(src, quote.len()), expected.len());
        let mut buf = [0xaa; 120];
        assert_eq!(reason.emit(&mut buf, src, dst, quote), Ok(expected.len()));
        assert_eq!(buf[..expected.len()], expected, "{reason:?} {family}");
        let short = expected.len() - 1;
        let emitted = reason.emit(&mut buf[..short], src, dst, quote);
        assert!(matches!(emitted, Err(EmitError::BufferTooSmall { .. })));
    }
}

#[test]
fn any_bytes_can_be_looked_at() {
    // Every prefix of a message, and every value of each of its bytes, under a right checksum.
    for family in [0, 1] {
        for kept in 0..80 {
            for start in 0..=255 {
                let packet = about(family, [start, 4], 1300, kept);
                let message = IcmpMessage::parse(&Datagram::parse(&packet).unwrap());
                if let IcmpMessage::EchoRequest(echo) = message {
                    let _ = echo.reply(&mut [0; 64]);
                }
            }
        }
        let quote = segment(family);
        for at in 0..60 {
            for value in 0..=255 {
                let mut quote = quote[..60].to_vec();
                quote[at] = value;
                let _ = parse(&packet::icmp(
                    &ip(ROUTER[family], OURS[family]),
                    [[3, 4], [2, 0]][family],
                    [0; 4],
                    &quote,
                ));
            }
        }
    }
}
