//! A TUN whose packets that are not TCP's go elsewhere.

use std::net::UdpSocket;

use headway_net::{Carrier as _, Clock, Diverted, DivertingCarrier, TunCarrier, TunConfig};
use headway_tcp::Transmit;
use headway_test_fixture::packet;
use headway_wire::TcpFlags;

use super::cable::{in_namespace, segment, wait};

const OURS: &str = "10.78.0.2";
const KERNELS: &str = "10.78.0.1";

fn open(takes_tcp: bool) -> (DivertingCarrier, Diverted) {
    let config = TunConfig {
        device: "hw0".into(),
        address: "10.78.0.2/24".parse().expect("a prefix"),
        kernel: None,
        mtu: Some(1400),
        offload: false,
        only_peer: None,
    };
    DivertingCarrier::new(TunCarrier::open(&config).expect("a TUN"), takes_tcp).expect("a descriptor")
}

/// Reads until `count` packets have arrived: those for the host.
fn receive(carrier: &mut DivertingCarrier, mut count: usize) -> Vec<Vec<u8>> {
    let clock = Clock::new();
    let mut all = Vec::new();
    while count > 0 {
        wait(carrier.fd());
        count -= carrier.fill(&clock).expect("a TUN");
        let mut arrivals = Vec::new();
        carrier.received(&mut arrivals);
        all.extend(arrivals.iter().map(|arrival| arrival.packet.to_vec()));
    }
    all
}

/// The kernel sends a datagram and asks for a connection.
fn let_the_kernel_send() {
    let udp = UdpSocket::bind((KERNELS, 7)).expect("an address");
    udp.send_to(b"data", (OURS, 9)).expect("a route");
    let tcp = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).expect("a socket");
    tcp.set_nonblocking(true).expect("a socket");
    let to: std::net::SocketAddr = format!("{OURS}:80").parse().expect("an address");
    // It is not answered.
    let _ = tcp.connect(&to.into());
}

#[test]
fn the_host_gets_tcp_and_the_program_the_rest() {
    for takes_tcp in [true, false] {
        in_namespace(|| {
            let (mut carrier, mut diverted) = open(takes_tcp);
            assert_eq!((carrier.mtu(), carrier.name()), (1400, "TUN hw0".into()));
            assert!(carrier.housekeeping().is_none());
            let_the_kernel_send();
            let hosts = receive(&mut carrier, 2);
            let others: Vec<_> = std::iter::from_fn(|| diverted.try_next()).collect();
            let protocols = |packets: &[Vec<u8>]| packets.iter().map(|packet| packet[9]).collect::<Vec<_>>();
            let (expected, rest): (&[u8], &[u8]) = if takes_tcp { (&[6], &[17]) } else { (&[], &[17, 6]) };
            assert_eq!((&protocols(&hosts)[..], &protocols(&others)[..]), (expected, rest));
        });
    }
}

/// What is said of segments is the host's too; a question is not.
#[test]
fn errors_about_segments_go_where_segments_go() {
    for takes_tcp in [true, false] {
        in_namespace(|| {
            let (mut carrier, mut diverted) = open(takes_tcp);
            let raw = socket2::Socket::new(
                socket2::Domain::IPV4,
                socket2::Type::RAW,
                Some(socket2::Protocol::ICMPV4),
            )
            .expect("a socket");
            let to: std::net::SocketAddr = format!("{OURS}:0").parse().expect("an address");
            let ip = packet::ip(KERNELS.parse().expect("an address"), OURS.parse().expect("an address"));
            let error = packet::icmp(&ip, [3, 1], [0; 4], &segment(OURS, KERNELS, b"")[..28]);
            let question = packet::icmp(&ip, [8, 0], [0; 4], b"question");
            for message in [error, question] {
                raw.send_to(&message[20..], &to.into()).expect("a route");
            }
            let kinds = |packets: &[Vec<u8>]| packets.iter().map(|packet| packet[20]).collect::<Vec<_>>();
            let hosts = receive(&mut carrier, 2);
            let others: Vec<_> = std::iter::from_fn(|| diverted.try_next()).collect();
            let (expected, rest): (&[u8], &[u8]) = if takes_tcp { (&[3], &[8]) } else { (&[], &[3, 8]) };
            assert_eq!((&kinds(&hosts)[..], &kinds(&others)[..]), (expected, rest));
        });
    }
}

#[tokio::test]
async fn the_program_writes_into_the_device_too() {
    let mut end = None;
    in_namespace(|| {
        let (mut carrier, diverted) = open(true);
        let udp = UdpSocket::bind((KERNELS, 7)).expect("an address");
        udp.set_read_timeout(Some(std::time::Duration::from_secs(20))).expect("a socket");
        let ip = packet::ip(OURS.parse().expect("an address"), KERNELS.parse().expect("an address"));
        let mut datagram = vec![0; 20 + 8 + 4];
        ip.emit(&mut datagram, 17, 12).expect("a header");
        datagram[20..28].copy_from_slice(&[0, 9, 0, 7, 0, 12, 0, 0]);
        datagram[28..].copy_from_slice(b"data");
        let writer = diverted.writer().try_clone().expect("a descriptor");
        for writer in [&writer, diverted.writer()] {
            writer.write(&datagram).expect("a TUN");
            let mut received = [0; 16];
            let (len, from) = udp.recv_from(&mut received).expect("a datagram");
            assert_eq!((&received[..len], from.to_string()), (&b"data"[..], format!("{OURS}:9")));
        }
        assert!(writer.write(&[0; 20]).is_err());
        // A segment of the host.
        let (ip, tcp) = packet::headers(
            (OURS.parse::<std::net::IpAddr>().expect("an address"), 1).into(),
            (KERNELS.parse::<std::net::IpAddr>().expect("an address"), 2).into(),
            TcpFlags::SYN,
        );
        let syn = packet::segment(&ip, &tcp, &headway_wire::TcpOptions::default(), b"");
        carrier.slot().expect("room")[..syn.len()].copy_from_slice(&syn);
        carrier.queue(Transmit { len: syn.len(), compact: false });
        assert!(carrier.flush().expect("a TUN"));
        let answer = receive(&mut carrier, 1).remove(0);
        assert_eq!(answer[33] & TcpFlags::RST.bits(), TcpFlags::RST.bits(), "no one listens");
        udp.send_to(b"data", (OURS, 9)).expect("a route");
        assert!(receive(&mut carrier, 1).is_empty());
        end = Some(diverted);
    });
    // Skipped without root.
    let Some(mut diverted) = end else { return };
    assert_eq!(diverted.next().await.expect("a packet")[9], 17);
    assert_eq!(diverted.next().await, None, "the carrier has ended");
}
