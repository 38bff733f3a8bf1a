//! Pings are answered, at a bounded pace; other ICMP messages change nothing. Scripts say the rest
//! (`rfc1191`, `rfc8201`, `rfc5927`, `rfc1122`).

use std::net::IpAddr;

use headway_tcp::{Host, HostConfig};
use headway_test_fixture::packet;
use headway_test_fixture::two_hosts::{START, hand_in};
use headway_units::Duration;
use headway_wire::ip::Datagram;
use headway_wire::{Dscp, IpHeader};

fn message(src: IpAddr, dst: IpAddr, kind: u8, rest: &[u8]) -> Vec<u8> {
    packet::icmp(&packet::ip(src, dst), [kind, 0], [1, 2, 3, 4], rest)
}

fn host() -> (Host, [IpAddr; 2], [IpAddr; 2]) {
    let ours: [IpAddr; 2] = ["192.0.2.1".parse().unwrap(), "2001:db8::1".parse().unwrap()];
    let theirs = ["198.51.100.2".parse().unwrap(), "2001:db8::2".parse().unwrap()];
    let mut config = HostConfig::new(ours[0], [7; 16]);
    config.addresses.push(ours[1]);
    (Host::new(config), ours, theirs)
}

fn sent(host: &mut Host, now: headway_units::Instant, room: usize) -> Vec<Vec<u8>> {
    let mut buffer = vec![0; room];
    std::iter::from_fn(|| host.poll_transmit(now, &mut buffer).map(|sent| buffer[..sent.len].to_vec()))
        .collect()
}

#[test]
fn pings_are_answered() {
    let (mut host, ours, theirs) = host();
    for (family, request, reply) in [(0, 8, 0), (1, 128, 129)] {
        let ip = IpHeader { dscp: Dscp::EF, ..packet::ip(theirs[family], ours[family]) };
        hand_in(&mut host, START, &packet::icmp(&ip, [request, 0], [1, 2, 3, 4], b"ping"));
        let answers = sent(&mut host, START, 1500);
        assert_eq!(answers.len(), 1);
        let answer = Datagram::parse(&answers[0]).unwrap();
        assert_eq!((answer.header.src, answer.header.dst), (ours[family], theirs[family]));
        assert_eq!(answer.header.dscp, Dscp::EF);
        assert_eq!((answer.body[0], &answer.body[4..]), (reply, &b"\x01\x02\x03\x04ping"[..]));
    }
    assert_eq!(host.counters().echoes_sent, 2);
}

#[test]
fn answers_keep_a_pace() {
    let (mut host, ours, theirs) = host();
    let ping = message(theirs[0], ours[0], 8, &[0; 1000]);
    // A thousand a second, and a few at once; who asks faster gets no more.
    let mut answers = 0;
    for step in 0..100_000_u64 {
        let now = START + Duration::from_micros(step * 10);
        hand_in(&mut host, now, &ping);
        answers += sent(&mut host, now, 1500).len();
    }
    assert!((1000..1100).contains(&answers), "{answers} answers in a second");
    assert_eq!(host.counters().echoes_sent as usize, answers);
    assert_eq!(host.counters().echoes_dropped as usize, 100_000 - answers);
    // What cannot be sent does not pile up.
    let (mut host, ..) = self::host();
    for step in 0..10_000 {
        hand_in(&mut host, START + Duration::from_millis(step), &ping);
    }
    let waiting = sent(&mut host, START + Duration::from_secs(10), 1500);
    assert_eq!(waiting.len(), 32);
    // Nor does what is too long for the carrier.
    hand_in(&mut host, START + Duration::from_secs(20), &ping);
    assert!(sent(&mut host, START + Duration::from_secs(20), 600).is_empty());
    assert!(sent(&mut host, START + Duration::from_secs(20), 1500).is_empty());
}

#[test]
fn nothing_else_is_answered() {
    let (mut host, ours, theirs) = host();
    for kind in (0..=255).filter(|kind| *kind != 8) {
        hand_in(&mut host, START, &message(theirs[0], ours[0], kind, b"quote of nothing that is a packet"));
    }
    for kind in (0..=255).filter(|kind| *kind != 128) {
        hand_in(&mut host, START, &message(theirs[1], ours[1], kind, &[0x60; 60]));
    }
    // Another's address, a wrong checksum, a family's message in the other's packet.
    hand_in(&mut host, START, &message(theirs[0], theirs[0], 8, b""));
    let mut damaged = message(theirs[0], ours[0], 8, b"damaged");
    *damaged.last_mut().unwrap() ^= 1;
    hand_in(&mut host, START, &damaged);
    hand_in(&mut host, START, &message(theirs[0], ours[0], 128, b""));
    assert!(sent(&mut host, START, 1500).is_empty());
    let counters = host.counters();
    assert_eq!((counters.icmp_ignored, counters.not_ours, counters.icmp_heard), (512, 1, 0));
}
