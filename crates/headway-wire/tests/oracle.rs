//! An independent implementation reads what we write, and we read what it writes.

use crate::common;

use common::{ip_header, tcp_header};
use etherparse::{
    IpNumber, NetSlice, PacketBuilder, SlicedPacket, TcpOptionElement as Element, TransportSlice,
};
use headway_wire::{Dscp, Ecn, Integrity, IpHeader, Segment, SeqNumber, TcpFlags, TcpOptions, judge};
use proptest::{collection::vec, prelude::*};
use std::net::IpAddr;

fn octets<const N: usize>(addr: IpAddr) -> [u8; N] {
    let octets = match addr {
        IpAddr::V4(addr) => addr.octets().to_vec(),
        IpAddr::V6(addr) => addr.octets().to_vec(),
    };
    octets.try_into().unwrap()
}

/// What the oracle calls our options, in our order. It knows no kinds 14 to 16.
fn elements(options: &TcpOptions) -> Vec<Element> {
    let mut elements = Vec::new();
    elements.extend(options.mss.map(Element::MaximumSegmentSize));
    elements.extend(options.sack_permitted.then_some(Element::SelectiveAcknowledgementPermitted));
    elements.extend(options.timestamps.map(|t| Element::Timestamp(t.tsval, t.tsecr)));
    elements.extend(options.window_scale.map(Element::WindowScale));
    if let [first, rest @ ..] = options.sack.as_slice() {
        let block = |(left, right): &(SeqNumber, SeqNumber)| (left.0, right.0);
        let others = std::array::from_fn(|i| rest.get(i).map(block));
        elements.push(Element::SelectiveAcknowledgement(block(first), others));
    }
    elements
}

proptest! {
    #[test]
    fn the_oracle_reads_what_we_write(mut input in common::input()) {
        // Its list ends at the first kind that it does not know.
        input.options.hack = None;
        input.options.hack_ack = None;
        input.options.xhack_ack.clear();
        input.options.v2 = None;
        let packet = input.packet();
        let sliced = SlicedPacket::from_ip(&packet).unwrap();
        let ip = input.ip;
        let Some(TransportSlice::Tcp(tcp)) = sliced.transport else { panic!("no TCP: {sliced:?}") };
        match sliced.net {
            Some(NetSlice::Ipv4(slice)) => {
                let header = slice.header().to_header();
                prop_assert_eq!(header.calc_header_checksum(), header.header_checksum);
                prop_assert_eq!((IpAddr::from(header.source), IpAddr::from(header.destination)), (ip.src, ip.dst));
                prop_assert_eq!(header.ecn.value(), ip.ecn.bits());
                prop_assert_eq!(header.dscp.value(), ip.dscp.value());
                prop_assert_eq!((header.time_to_live, header.identification), (ip.hop_limit, ip.identification));
                prop_assert!(header.dont_fragment && !header.more_fragments);
                prop_assert_eq!(header.protocol, IpNumber::TCP);
                let sum = tcp.calc_checksum_ipv4(header.source, header.destination).unwrap();
                prop_assert_eq!(tcp.checksum(), sum);
            }
            Some(NetSlice::Ipv6(slice)) => {
                let header = slice.header().to_header();
                prop_assert_eq!((IpAddr::from(header.source), IpAddr::from(header.destination)), (ip.src, ip.dst));
                let class = ip.dscp.value() << 2 | ip.ecn.bits();
                prop_assert_eq!((header.traffic_class, header.hop_limit), (class, ip.hop_limit));
                prop_assert_eq!(header.flow_label.value(), 0);
                let sum = tcp.calc_checksum_ipv6(header.source, header.destination).unwrap();
                prop_assert_eq!(tcp.checksum(), sum);
            }
            other => panic!("no IP: {other:?}"),
        }
        let header = input.tcp;
        prop_assert_eq!((tcp.source_port(), tcp.destination_port()), (header.src_port, header.dst_port));
        prop_assert_eq!((tcp.sequence_number(), tcp.acknowledgment_number()), (header.seq.0, header.ack.0));
        prop_assert_eq!((tcp.window_size(), tcp.urgent_pointer()), (header.window, header.urgent));
        let flags = [tcp.fin(), tcp.syn(), tcp.rst(), tcp.psh(), tcp.ack(), tcp.urg(), tcp.ece(), tcp.cwr()];
        let bits = flags.iter().enumerate().map(|(place, flag)| u8::from(*flag) << place).sum();
        prop_assert_eq!(TcpFlags::from_bits(bits), header.flags);
        prop_assert_eq!(tcp.payload(), &input.payload[..]);
        let seen: Vec<_> = tcp.options_iterator().map(Result::unwrap).filter(|e| *e != Element::Noop).collect();
        prop_assert_eq!(seen, elements(&input.options));
    }

    /// HACK's options are foreign to it, the checksum is not.
    #[test]
    fn the_oracle_agrees_on_the_checksum_beside_hack(input in common::input()) {
        let packet = input.packet();
        let sliced = SlicedPacket::from_ip(&packet).unwrap();
        let Some(TransportSlice::Tcp(tcp)) = sliced.transport else { panic!("no TCP: {sliced:?}") };
        let sum = match input.ip.src {
            IpAddr::V4(_) => tcp.calc_checksum_ipv4(octets(input.ip.src), octets(input.ip.dst)),
            IpAddr::V6(_) => tcp.calc_checksum_ipv6(octets(input.ip.src), octets(input.ip.dst)),
        };
        prop_assert_eq!(tcp.checksum(), sum.unwrap());
    }

    #[test]
    fn we_read_what_the_oracle_writes(
        ip in ip_header(), tcp in tcp_header(), mss in any::<u16>(), blocks in vec(any::<(u32, u32)>(), 1..=3),
        payload in vec(any::<u8>(), 0..300),
    ) {
        let builder = match ip.src {
            IpAddr::V4(_) => PacketBuilder::ipv4(octets(ip.src), octets(ip.dst), ip.hop_limit),
            IpAddr::V6(_) => PacketBuilder::ipv6(octets(ip.src), octets(ip.dst), ip.hop_limit),
        };
        let mut header = etherparse::TcpHeader::new(tcp.src_port, tcp.dst_port, tcp.seq.0, tcp.window);
        header.acknowledgment_number = tcp.ack.0;
        header.urgent_pointer = tcp.urgent;
        let flag = |flag| tcp.flags.contains(flag);
        (header.fin, header.syn, header.rst, header.psh) =
            (flag(TcpFlags::FIN), flag(TcpFlags::SYN), flag(TcpFlags::RST), flag(TcpFlags::PSH));
        (header.ack, header.urg, header.ece, header.cwr) =
            (flag(TcpFlags::ACK), flag(TcpFlags::URG), flag(TcpFlags::ECE), flag(TcpFlags::CWR));
        let others = std::array::from_fn(|i| blocks.get(i + 1).copied());
        header
            .set_options(&[
                Element::MaximumSegmentSize(mss),
                Element::SelectiveAcknowledgement(blocks[0], others),
                Element::WindowScale(9),
            ])
            .unwrap();
        let mut packet = Vec::new();
        builder.tcp_header(header).write(&mut packet, &payload).unwrap();

        let segment = Segment::parse(&packet).unwrap();
        prop_assert_eq!(segment.ip, IpHeader { dscp: Dscp::DEFAULT, ecn: Ecn::NotEct, identification: 0, ..ip });
        prop_assert_eq!(segment.tcp, tcp);
        let mut options = TcpOptions { mss: Some(mss), window_scale: Some(9), ..TcpOptions::default() };
        for (left, right) in blocks {
            options.sack.push((SeqNumber(left), SeqNumber(right)));
        }
        prop_assert_eq!(segment.options, options);
        prop_assert_eq!(segment.payload, &payload[..]);
        prop_assert_eq!(judge(&packet), Ok(Integrity::Intact));
    }
}
