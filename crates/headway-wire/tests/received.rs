//! The entry: what each kind of packet is, for each carrier.

use headway_wire::icmp::{ICMP, ICMPV6, IcmpMessage};
use headway_wire::{
    ChecksumTrust, IpHeader, Received, SeqNumber, TcpFlags, TcpHeader, TcpOptions, V2, checksum, emit,
};

const ADDRESSES: [[&str; 2]; 2] = [["192.0.2.1", "192.0.2.2"], ["2001:db8::1", "2001:db8::2"]];

/// What a packet is, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Intact,
    Corrupted,
    Unreadable,
    /// Not even the IP header can be read.
    NoIpHeader,
    EchoRequest,
    OtherIcmp,
    OtherProtocol,
    Malformed,
}

fn kind(packet: &[u8], trust: ChecksumTrust) -> Kind {
    match Received::parse(packet, trust) {
        Received::Intact(_) => Kind::Intact,
        Received::Corrupted(_) => Kind::Corrupted,
        Received::Unreadable(Some(datagram)) => {
            assert_eq!(datagram.body, &packet[datagram.header_len..], "what a repair needs is there");
            Kind::Unreadable
        }
        Received::Unreadable(None) => Kind::NoIpHeader,
        Received::Icmp { message: IcmpMessage::EchoRequest(_), .. } => Kind::EchoRequest,
        Received::Icmp { .. } => Kind::OtherIcmp,
        Received::OtherProtocol(_) => Kind::OtherProtocol,
        Received::Malformed(_) => Kind::Malformed,
    }
}

fn ip(family: usize) -> IpHeader {
    let [src, dst] = ADDRESSES[family].map(|address| address.parse().unwrap());
    IpHeader::new(src, dst)
}

fn segment(family: usize, options: &TcpOptions) -> Vec<u8> {
    let tcp = TcpHeader {
        src_port: 5000,
        dst_port: 80,
        seq: SeqNumber(1),
        ack: SeqNumber(1),
        flags: TcpFlags::ACK,
        window: 1000,
        urgent: 0,
    };
    let mut packet = vec![0; 200];
    let len = emit(&mut packet, &ip(family), &tcp, options, (b"payload", &[])).unwrap();
    packet.truncate(len);
    packet
}

fn datagram(family: usize, protocol: u8, body: &[u8]) -> Vec<u8> {
    let ip = ip(family);
    let mut packet = vec![0; ip.emitted_len() + body.len()];
    let start = ip.emit(&mut packet, protocol, body.len()).unwrap();
    packet[start..].copy_from_slice(body);
    packet
}

fn echo_request(family: usize) -> Vec<u8> {
    let (protocol, kind) = [(ICMP, 8), (ICMPV6, 128)][family];
    let mut body = [kind, 0, 0, 0, 1, 2, 3, 4];
    let mut sum = checksum::sum(&body);
    if protocol == ICMPV6 {
        sum.add(ip(family).pseudo_header_sum(protocol, body.len()));
    }
    body[2..4].copy_from_slice(&sum.complement().to_be_bytes());
    datagram(family, protocol, &body)
}

/// `packet` with the bits of `flips` flipped `back` bytes before its end.
fn corrupt(mut packet: Vec<u8>, back: usize, flips: u8) -> Vec<u8> {
    let at = packet.len() - back;
    packet[at] ^= flips;
    packet
}

#[test]
fn packets_by_trust() {
    use Kind::{Corrupted, EchoRequest, Intact, Malformed, NoIpHeader, OtherIcmp, OtherProtocol, Unreadable};
    for family in [0, 1] {
        let plain = segment(family, &TcpOptions::default());
        let hack = segment(family, &TcpOptions { hack: Some(0), ..TcpOptions::default() });
        let v2 = segment(family, &TcpOptions { v2: Some(V2::data()), ..TcpOptions::default() });
        let mss = segment(family, &TcpOptions { mss: Some(1460), ..TcpOptions::default() });
        // The option's length, which was 4, and what it takes off the sum given back to it by the window.
        let no_length = corrupt(corrupt(mss.clone(), 7 + 3, 4), 7 + 9, 4);
        let cut = datagram(family, 6, &[0; 19]);
        // What it is where nothing is vouched for, and where the TCP checksum is.
        for (what, packet, verified, trusted) in [
            ("a segment", plain.clone(), Intact, Intact),
            ("with kind 14", hack.clone(), Intact, Intact),
            ("with version 2", v2.clone(), Intact, Intact),
            ("payload corrupted", corrupt(plain.clone(), 1, 1), Unreadable, Intact),
            ("with kind 14, payload corrupted", corrupt(hack.clone(), 1, 1), Corrupted, Intact),
            ("with version 2, payload corrupted", corrupt(v2.clone(), 1, 1), Corrupted, Intact),
            ("header corrupted", corrupt(plain.clone(), 7 + 16, 1), Unreadable, Intact),
            ("with kind 14, header corrupted", corrupt(hack.clone(), 7 + 20, 1), Unreadable, Intact),
            ("with version 2, header corrupted", corrupt(v2.clone(), 7 + 28, 1), Unreadable, Intact),
            ("data offset too short", corrupt(plain.clone(), 7 + 8, 0x40), Unreadable, Malformed),
            ("an option without end", no_length, Malformed, Malformed),
            ("an option corrupted", corrupt(mss, 7 + 3, 4), Unreadable, Malformed),
            ("half a TCP header", cut, Unreadable, Malformed),
            ("half a packet", plain[..plain.len() / 2].to_vec(), NoIpHeader, NoIpHeader),
            ("nothing", vec![], NoIpHeader, NoIpHeader),
            ("an unknown version of IP", vec![0x55; 60], NoIpHeader, NoIpHeader),
            ("an echo request", echo_request(family), EchoRequest, EchoRequest),
            ("an echo request corrupted", corrupt(echo_request(family), 1, 1), OtherIcmp, OtherIcmp),
            ("ICMP of the other version", datagram(family, [58, 1][family], &[0; 8]), OtherIcmp, OtherIcmp),
            ("UDP", datagram(family, 17, &[0; 64]), OtherProtocol, OtherProtocol),
        ] {
            assert_eq!(kind(&packet, ChecksumTrust::None), verified, "{what}, family {family}");
            assert_eq!(kind(&packet, ChecksumTrust::Tcp), trusted, "{what}, family {family}, trusted");
        }
    }
    // IPv4 has a checksum of its own.
    let mut packet = segment(0, &TcpOptions::default());
    packet[9] ^= 1;
    assert_eq!(kind(&packet, ChecksumTrust::Tcp), NoIpHeader);
}
