//! Pings are answered, at a bounded pace; other ICMP messages change nothing. Scripts say the rest
//! (`rfc1191`, `rfc8201`, `rfc5927`, `rfc1122`).

use std::net::IpAddr;

use headway_tcp::{Host, HostConfig};
use headway_units::{Duration, Instant};
use headway_wire::icmp::{ICMP, ICMPV6};
use headway_wire::{ChecksumTrust, Ecn, IpHeader, Received, checksum::Sum, ip::Datagram};

fn message(src: IpAddr, dst: IpAddr, kind: u8, rest: &[u8]) -> Vec<u8> {
    let ip = IpHeader { src, dst, ecn: Ecn::NotEct, hop_limit: 64, identification: 0 };
    let mut body = [&[kind, 0, 0, 0, 1, 2, 3, 4], rest].concat();
    let (protocol, mut sum) = match dst {
        IpAddr::V4(_) => (ICMP, Sum::default()),
        IpAddr::V6(_) => (ICMPV6, ip.pseudo_header_sum(ICMPV6, body.len())),
    };
    sum.add_bytes(&body);
    body[2..4].copy_from_slice(&sum.complement().to_be_bytes());
    let mut packet = vec![0; ip.emitted_len() + body.len()];
    let start = ip.emit(&mut packet, protocol, body.len()).unwrap();
    packet[start..].copy_from_slice(&body);
    packet
}

fn host() -> (Host, [IpAddr; 2], [IpAddr; 2]) {
    let ours: [IpAddr; 2] = ["192.0.2.1".parse().unwrap(), "2001:db8::1".parse().unwrap()];
    let theirs = ["198.51.100.2".parse().unwrap(), "2001:db8::2".parse().unwrap()];
    let mut config = HostConfig::new(ours[0], [7; 16]);
    config.addresses.push(ours[1]);
    (Host::new(config), ours, theirs)
}

fn give(host: &mut Host, at: Instant, packet: &[u8]) {
    host.receive(at, &Received::parse(packet, ChecksumTrust::None));
}

fn sent(host: &mut Host, now: Instant, room: usize) -> Vec<Vec<u8>> {
    let mut buffer = vec![0; room];
    std::iter::from_fn(|| host.poll_transmit(now, &mut buffer).map(|len| buffer[..len].to_vec())).collect()
}

const NOW: Instant = Instant::from_nanos(1_000_000_000_000);

#[test]
fn pings_are_answered() {
    let (mut host, ours, theirs) = host();
    for (family, request, reply) in [(0, 8, 0), (1, 128, 129)] {
        give(&mut host, NOW, &message(theirs[family], ours[family], request, b"ping"));
        let answers = sent(&mut host, NOW, 1500);
        assert_eq!(answers.len(), 1);
        let answer = Datagram::parse(&answers[0]).unwrap();
        assert_eq!((answer.header.src, answer.header.dst), (ours[family], theirs[family]));
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
        let now = NOW + Duration::from_micros(step * 10);
        give(&mut host, now, &ping);
        answers += sent(&mut host, now, 1500).len();
    }
    assert!((1000..1100).contains(&answers), "{answers} answers in a second");
    assert_eq!(host.counters().echoes_sent as usize, answers);
    assert_eq!(host.counters().echoes_dropped as usize, 100_000 - answers);
    // What cannot be sent does not pile up.
    let (mut host, ..) = self::host();
    for step in 0..10_000 {
        give(&mut host, NOW + Duration::from_millis(step), &ping);
    }
    let waiting = sent(&mut host, NOW + Duration::from_secs(10), 1500);
    assert_eq!(waiting.len(), 32);
    // Nor does what is too long for the carrier.
    give(&mut host, NOW + Duration::from_secs(20), &ping);
    assert!(sent(&mut host, NOW + Duration::from_secs(20), 600).is_empty());
    assert!(sent(&mut host, NOW + Duration::from_secs(20), 1500).is_empty());
}

#[test]
fn nothing_else_is_answered() {
    let (mut host, ours, theirs) = host();
    for kind in (0..=255).filter(|kind| *kind != 8) {
        give(&mut host, NOW, &message(theirs[0], ours[0], kind, b"quote of nothing that is a packet"));
    }
    for kind in (0..=255).filter(|kind| *kind != 128) {
        give(&mut host, NOW, &message(theirs[1], ours[1], kind, &[0x60; 60]));
    }
    // Another's address, a wrong checksum, a family's message in the other's packet.
    give(&mut host, NOW, &message(theirs[0], theirs[0], 8, b""));
    let mut damaged = message(theirs[0], ours[0], 8, b"damaged");
    *damaged.last_mut().unwrap() ^= 1;
    give(&mut host, NOW, &damaged);
    give(&mut host, NOW, &message(theirs[0], ours[0], 128, b""));
    assert!(sent(&mut host, NOW, 1500).is_empty());
    let counters = host.counters();
    assert_eq!((counters.icmp_ignored, counters.not_ours, counters.icmp_heard), (512, 1, 0));
}
