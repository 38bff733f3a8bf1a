//! Compact headers are agreed in the SYNs, and make room for data.

use headway_tcp::{Profile, Variant};
use headway_test_fixture::packet;
use headway_test_fixture::two_hosts::{CLIENT, Fate, Passed, SERVER, TwoHosts, address, endpoint};
use headway_units::Duration;
use headway_wire::compact::{LEFT_OUT, compact};
use headway_wire::{IpHeader, SeqNumber, TcpFlags, TcpHeader, TcpOptions, layout};

const MTU: usize = 1500;

fn profile(compact_headers: bool) -> Profile {
    Profile { compact_headers, ..Variant::Headway.apply(Profile::modern()) }
}

/// A connection, after data in both directions with losses and damage.
fn exchanged(profiles: [Profile; 2]) -> TwoHosts {
    let mut hosts = TwoHosts::with(profiles, ());
    hosts.is_reading = true;
    hosts.connect();
    let mut passing = 0;
    for _ in 0..40 {
        hosts.write(CLIENT, 30_000);
        hosts.write(SERVER, 30_000);
        hosts.run(Duration::from_millis(500), |packet| {
            passing += 1;
            match passing % 29 {
                3 => Fate::Lost,
                11 if packet.segment.payload.len() > 10 => Fate::Corrupted,
                _ => Fate::Arrives,
            }
        });
        hosts.read(CLIENT);
    }
    assert_eq!((hosts.read(CLIENT), hosts.read(SERVER)), (0, 0), "all was read");
    hosts
}

/// How long a packet is for the path, in the compact form and in the whole one.
fn lengths(packet: &[u8]) -> (usize, usize) {
    let mut bytes = packet.to_vec();
    let ip = layout(packet).expect("a segment").ip_header_len;
    (packet.len() - compact(&mut bytes[ip..]).unwrap_or_default(), packet.len())
}

/// Which of the packets that a host has to send now may have the compact form.
fn forms(hosts: &mut TwoHosts, host: usize) -> Vec<bool> {
    let (now, mut buffer) = (hosts.now, [0; MTU + LEFT_OUT]);
    let sent = std::iter::from_fn(|| hosts.hosts[host].poll_transmit(now, &mut buffer));
    sent.map(|sent| sent.compact).collect()
}

fn longest(passed: &[Passed]) -> (usize, usize) {
    let lengths = passed.iter().map(|passed| lengths(&passed.packet));
    lengths.fold((0, 0), |longest, lengths| (longest.0.max(lengths.0), longest.1.max(lengths.1)))
}

#[test]
fn data_fills_what_the_headers_leave() {
    let hosts = exchanged([profile(true), profile(true)]);
    for host in [CLIENT, SERVER] {
        let negotiated = hosts.hosts[host].negotiated(hosts.id(host)).unwrap();
        assert!(negotiated.compact && negotiated.v2);
        assert_eq!(hosts.statistics(host).mss, 1436 + LEFT_OUT as u32);
    }
    assert_eq!(longest(&hosts.passed), (MTU, MTU + LEFT_OUT));
    let with_sack =
        |packet: &[u8]| layout(packet).is_some_and(|layout| layout.header_len == 76 && packet.len() > 76);
    assert!(hosts.passed.iter().any(|passed| with_sack(&passed.packet)), "no SACK block beside data");
    assert!(hosts.passed.iter().any(|passed| passed.fate == Fate::Corrupted));
}

#[test]
fn who_does_not_offer_them_gets_whole_segments() {
    for (client, server) in [(true, false), (false, true), (false, false)] {
        let mut hosts = exchanged([profile(client), profile(server)]);
        for host in [CLIENT, SERVER] {
            let negotiated = hosts.hosts[host].negotiated(hosts.id(host)).unwrap();
            assert!(!negotiated.compact && negotiated.v2 && negotiated.partial);
            hosts.write(host, 10);
            assert_eq!(forms(&mut hosts, host), [false]);
        }
        assert_eq!(longest(&hosts.passed).1, MTU, "{client}, {server}");
    }
    // Nor who has no timestamps.
    let without = Profile { timestamps: false, ..profile(true) };
    let hosts = exchanged([profile(true), without]);
    assert!(!hosts.hosts[CLIENT].negotiated(hosts.id(CLIENT)).unwrap().compact);
    assert_eq!(longest(&hosts.passed).1, MTU);
}

#[test]
fn the_host_says_which_packets_may_have_the_form() {
    let mut hosts = TwoHosts::connected(profile(true));
    hosts.write(CLIENT, 10);
    assert_eq!(forms(&mut hosts, CLIENT), [true]);
    // A RST for a segment without a connection.
    let tcp = TcpHeader { src_port: 9, dst_port: 9, flags: TcpFlags::ACK, ..TcpHeader::default() };
    let (src, dst) = (address(SERVER), address(CLIENT));
    let ip = IpHeader::new(src, dst);
    hosts.deliver(CLIENT, &[packet::segment(&ip, &tcp, &TcpOptions::default(), b"")]);
    assert_eq!(forms(&mut hosts, CLIENT), [false]);
}

/// There is no room for it in a cookie.
#[test]
fn a_connection_of_a_cookie_has_whole_headers() {
    let mut hosts = TwoHosts::new(profile(true));
    // More than the backlog of the listener.
    for port in 0..20 {
        let tcp = TcpHeader {
            src_port: 10_000 + port,
            dst_port: endpoint(SERVER).port(),
            seq: SeqNumber(1),
            flags: TcpFlags::SYN,
            window: 1000,
            ..TcpHeader::default()
        };
        let (src, dst) = ([203, 0, 113, 7].into(), address(SERVER));
        let ip = IpHeader::new(src, dst);
        hosts.deliver(SERVER, &[packet::segment(&ip, &tcp, &TcpOptions::default(), b"")]);
    }
    hosts.sent(SERVER);
    hosts.connect();
    assert!(hosts.hosts[SERVER].counters().cookies_accepted == 1);
    for host in [CLIENT, SERVER] {
        let negotiated = hosts.hosts[host].negotiated(hosts.id(host)).unwrap();
        assert!(negotiated.v2 && !negotiated.compact);
    }
}
