//! A host that takes connections to any address: nothing is answered before the program has decided.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use headway_tcp::{Endpoints, Error, Host, HostConfig, Profile, Refusal, State};
use headway_test_fixture::packet;
use headway_test_fixture::two_hosts::hand_in;
use headway_units::{Duration, Instant};
use headway_wire::icmp::{IcmpKind, IcmpMessage, Unreachable};
use headway_wire::ip::Datagram;
use headway_wire::{Segment, SeqNumber, TcpFlags, TcpHeader, TcpOptions};

const AT: Instant = Instant::ZERO;

fn ends(v4: bool, port: u16) -> Endpoints {
    let (local, remote) =
        if v4 { ("203.0.113.9", "192.168.7.2") } else { ("2001:db8:9::9", "2001:db8:7::2") };
    let of = |text: &str, port| SocketAddr::new(text.parse::<IpAddr>().unwrap(), port);
    Endpoints { local: of(local, 443), remote: of(remote, port) }
}

fn host(backlog: usize) -> Host {
    let mut config = HostConfig::new("10.77.0.2".parse().unwrap(), [7; 16]);
    config.addresses.push("fd00::2".parse().unwrap());
    let mut host = Host::new(config);
    host.intercept(backlog, Arc::new(Profile::modern())).unwrap();
    host
}

fn segment(ends: &Endpoints, flags: TcpFlags, seq: u32, ack: u32, data: &[u8]) -> Vec<u8> {
    let (ip, tcp) = packet::headers(ends.remote, ends.local, flags);
    let tcp = TcpHeader { seq: SeqNumber(seq), ack: SeqNumber(ack), window: 1000, ..tcp };
    packet::segment(&ip, &tcp, &TcpOptions::default(), data)
}

fn sent(host: &mut Host) -> Vec<Vec<u8>> {
    let mut buffer = vec![0; 1500];
    std::iter::from_fn(|| host.poll_transmit(AT, &mut buffer).map(|sent| buffer[..sent.len].to_vec()))
        .collect()
}

#[test]
fn a_connection_is_answered_when_it_is_admitted() {
    for v4 in [true, false] {
        let (mut host, ends) = (host(4), ends(v4, 5000));
        for _ in 0..2 {
            // The second is a retransmission, of which the program is not told.
            hand_in(&mut host, AT, &segment(&ends, TcpFlags::SYN, 100, 0, b""));
        }
        assert!(host.has_incoming());
        assert_eq!((host.incoming(), host.incoming()), (Some(ends), None));
        assert_eq!((sent(&mut host).len(), host.connections()), (0, 0));

        let id = host.admit(AT, &ends).unwrap();
        let answers = sent(&mut host);
        let answer = Segment::parse(&answers[0]).unwrap();
        assert_eq!((answer.tcp.flags, answer.tcp.ack), (TcpFlags::SYN | TcpFlags::ACK, SeqNumber(101)));
        assert_eq!((answer.ip.src, answer.ip.dst), (ends.local.ip(), ends.remote.ip()));
        let ours = answer.tcp.seq + 1;
        hand_in(&mut host, AT, &segment(&ends, TcpFlags::ACK, 101, ours.0, b"to the server"));
        assert_eq!(host.state(id), State::Established);
        let mut data = [0; 100];
        assert_eq!(host.read(id, &mut data), Ok(13));
        assert_eq!(&data[..13], b"to the server");
        assert_eq!(host.admit(AT, &ends), Err(Error::UnknownConnection), "it waits no more");
    }
}

#[test]
fn a_refused_connection_learns_why() {
    for v4 in [true, false] {
        for (refusal, kind) in [
            (Refusal::Unreachable(Unreachable::Host), IcmpKind::HostUnreachable),
            (Refusal::Unreachable(Unreachable::Network), IcmpKind::NetworkUnreachable),
            (Refusal::Unreachable(Unreachable::Prohibited), IcmpKind::Prohibited),
        ] {
            let (mut host, ends) = (host(4), ends(v4, 5000));
            hand_in(&mut host, AT, &segment(&ends, TcpFlags::SYN, 100, 0, b""));
            host.refuse(&ends, refusal);
            assert!(host.incoming().is_none());
            let messages = sent(&mut host);
            assert_eq!(messages.len(), 1);
            let datagram = Datagram::parse(&messages[0]).unwrap();
            assert_eq!(datagram.header.dst, ends.remote.ip());
            let IcmpMessage::Error(error) = IcmpMessage::parse(&datagram) else { panic!("{datagram:?}") };
            assert_eq!((error.kind, error.segment.seq), (kind, SeqNumber(100)));
            assert_eq!((error.segment.src, error.segment.dst), (ends.remote, ends.local));
        }
        let (mut host, ends) = (host(4), ends(v4, 5000));
        hand_in(&mut host, AT, &segment(&ends, TcpFlags::SYN, 100, 0, b""));
        host.refuse(&ends, Refusal::Reset);
        let answers = sent(&mut host);
        let answer = Segment::parse(&answers[0]).unwrap();
        assert_eq!((answer.tcp.flags, answer.tcp.ack), (TcpFlags::RST | TcpFlags::ACK, SeqNumber(101)));
        hand_in(&mut host, AT, &segment(&ends, TcpFlags::SYN, 100, 0, b""));
        host.refuse(&ends, Refusal::Silence);
        assert_eq!(sent(&mut host).len(), 0);
        // It tries again.
        hand_in(&mut host, AT, &segment(&ends, TcpFlags::SYN, 100, 0, b""));
        assert_eq!(host.incoming(), Some(ends));
    }
}

#[test]
fn those_that_wait_are_bounded_and_may_give_up() {
    let mut host = host(3);
    for port in 1..=10 {
        hand_in(&mut host, AT, &segment(&ends(true, port), TcpFlags::SYN, 100, 0, b""));
    }
    assert_eq!(host.counters().backlog_drops, 7);
    assert_eq!(host.incoming(), Some(ends(true, 1)));
    // Only a RST with the very next number counts.
    for seq in [100, 103, 101] {
        hand_in(&mut host, AT, &segment(&ends(true, 3), TcpFlags::RST, seq, 0, b""));
        hand_in(&mut host, AT, &segment(&ends(true, 1), TcpFlags::RST, seq - 1, 0, b""));
    }
    assert!(host.admit(AT, &ends(true, 1)).is_ok());
    assert_eq!(host.admit(AT, &ends(true, 3)), Err(Error::UnknownConnection));
    assert_eq!((host.incoming(), host.incoming()), (Some(ends(true, 2)), None));
}

#[test]
fn one_that_gives_up_and_comes_again_is_told_of_once() {
    let (mut host, ends) = (host(3), ends(true, 1));
    for _ in 0..10 {
        hand_in(&mut host, AT, &segment(&ends, TcpFlags::SYN, 100, 0, b""));
        hand_in(&mut host, AT, &segment(&ends, TcpFlags::RST, 101, 0, b""));
        assert!(!host.has_incoming());
    }
    hand_in(&mut host, AT, &segment(&ends, TcpFlags::SYN, 100, 0, b""));
    assert_eq!((host.incoming(), host.incoming()), (Some(ends), None));
}

/// A host that gives up says nothing: its SYN comes no more.
#[test]
fn one_whose_syn_comes_no_more_has_given_up() {
    let (mut host, ends) = (host(3), ends(true, 1));
    assert_eq!(host.incoming_until(&ends), None);
    let second = |seconds| AT + Duration::from_secs(seconds);
    // As Linux sends it: after 1 s, and each time after twice as long. One may be lost.
    for (at, until) in [(0, 4), (1, 8), (3, 16), (7, 32), (31, 128), (63, 256)] {
        hand_in(&mut host, second(at), &segment(&ends, TcpFlags::SYN, 100, 0, b""));
        assert_eq!(host.incoming_until(&ends), Some(second(until)), "after the SYN at {at} s");
    }
    // Another attempt from the same port.
    hand_in(&mut host, second(70), &segment(&ends, TcpFlags::SYN, 200, 0, b""));
    assert_eq!(host.incoming_until(&ends), Some(second(74)));
    hand_in(&mut host, second(71), &segment(&ends, TcpFlags::RST, 201, 0, b""));
    assert_eq!(host.incoming_until(&ends), None);
}

#[test]
fn what_belongs_to_no_connection_is_reset_and_pings_of_others_are_theirs() {
    let (mut host, ends) = (host(4), ends(true, 5000));
    // A connection of before the program was restarted.
    hand_in(&mut host, AT, &segment(&ends, TcpFlags::ACK, 100, 200, b"data"));
    let answers = sent(&mut host);
    let answer = Segment::parse(&answers[0]).unwrap();
    assert_eq!((answer.tcp.flags, answer.tcp.seq), (TcpFlags::RST, SeqNumber(200)));
    let ping = |to: &str| {
        let ip = packet::ip(ends.remote.ip(), to.parse().unwrap());
        packet::icmp(&ip, [8, 0], [1, 2, 3, 4], b"ping")
    };
    for (to, answers) in [("203.0.113.9", 0), ("10.77.0.2", 1)] {
        hand_in(&mut host, AT, &ping(to));
        assert_eq!(sent(&mut host).len(), answers, "{to}");
    }
}

#[test]
fn a_port_in_time_wait_can_be_used_again() {
    let (mut host, ends) = (host(4), ends(true, 5000));
    hand_in(&mut host, AT, &segment(&ends, TcpFlags::SYN, 100, 0, b""));
    let id = host.admit(AT, &ends).unwrap();
    let ours = Segment::parse(&sent(&mut host)[0]).unwrap().tcp.seq + 1;
    hand_in(&mut host, AT, &segment(&ends, TcpFlags::ACK, 101, ours.0, b""));
    host.close(AT, id).unwrap();
    host.release(AT, id);
    sent(&mut host);
    hand_in(&mut host, AT, &segment(&ends, TcpFlags::ACK | TcpFlags::FIN, 101, ours.0 + 1, b""));
    assert_eq!(host.state(id), State::TimeWait);
    sent(&mut host);
    let later = AT + Duration::from_millis(10);
    while host.incoming().is_some() {}
    hand_in(&mut host, later, &segment(&ends, TcpFlags::SYN, 70_000, 0, b""));
    assert_eq!(host.incoming(), Some(ends));
    host.admit(later, &ends).unwrap();
    let again = Segment::parse(&sent(&mut host)[0]).unwrap().tcp;
    assert!(again.seq.gt(ours), "beyond what the old one sent");
}
