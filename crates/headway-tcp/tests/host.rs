//! What needs two packets at once, or calls that scripts have no word for.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use headway_tcp::{
    ConnectionError, Error, Features, Host, HostConfig, KeepAlive, Notification, Profile, State, Variant,
};
use headway_test_fixture::packet::{headers, segment};
use headway_test_fixture::two_hosts::{CLIENT, SERVER, TwoHosts, endpoint};
use headway_units::{Duration, Instant};
use headway_wire::{Segment, SeqNumber, TcpFlags, TcpOptions, V2};

#[test]
fn what_was_not_sent_is_bounded() {
    let profile = Profile { not_sent: 10_000, initial_window: 11, nagle: false, ..Profile::standard() };
    let mut pair = TwoHosts::new(profile);
    let [client, server] = pair.connect();
    pair.notifications(CLIENT);
    let write =
        |pair: &mut TwoHosts, bytes: usize| pair.hosts[CLIENT].write(client, &vec![1; bytes]).unwrap();
    // The initial window takes all of it.
    assert_eq!(write(&mut pair, 12_000), 10_000);
    assert_eq!((write(&mut pair, 1), pair.hosts[CLIENT].writable(client)), (0, 0));
    let first = pair.sent(CLIENT);
    assert_eq!(pair.notifications(CLIENT), [Notification::Writable]);
    // Now the window has room for less than is written.
    assert_eq!(write(&mut pair, 20_000), 10_000);
    let second = pair.sent(CLIENT);
    let left = 10_000 - pair.hosts[CLIENT].writable(client);
    assert_eq!(left as u32, pair.hosts[CLIENT].statistics(client).unwrap().unsent);
    assert!(left > 0 && left < 5000, "{left}");
    assert_eq!(pair.notifications(CLIENT), [Notification::Writable]);
    assert_eq!(write(&mut pair, 20_000), 10_000 - left);
    assert_eq!(pair.notifications(CLIENT), []);
    pair.deliver(SERVER, &[first, second].concat());
    pair.settle();
    assert_eq!(pair.notifications(CLIENT), [Notification::Writable]);
    assert_eq!(pair.hosts[SERVER].readable(server), 30_000 - left);
}

#[test]
fn a_head_that_was_owed_is_not_sent_in_place_of_another() {
    let mut pair = TwoHosts::new(Profile { hack: headway_tcp::HackMode::Hack, ..Profile::standard() });
    let [client, server] = pair.connect();
    pair.hosts[CLIENT].write(client, &[1; 2888]).unwrap();
    let mut flight = pair.sent(CLIENT);
    assert_eq!(flight.len(), 2);
    // Much later the second arrives damaged: the head, which was left behind, is owed.
    pair.now += Duration::from_millis(150);
    let last = flight[1].len() - 1;
    flight[1][last] ^= 1;
    pair.deliver(SERVER, &flight[1..2]);
    let special = pair.sent(SERVER);
    flight[1][last] ^= 1;
    pair.deliver(SERVER, &flight);
    let plain = pair.sent(SERVER);
    // Both ACKs come before the host is asked what to send.
    pair.deliver(CLIENT, &special);
    pair.deliver(CLIENT, &plain);
    assert_eq!(pair.sent(CLIENT), Vec::<Vec<u8>>::new());
    pair.hosts[CLIENT].write(client, &[2; 1000]).unwrap();
    assert_eq!(pair.sent(CLIENT).len(), 1);
    assert_eq!(pair.hosts[CLIENT].statistics(client).unwrap().retransmissions, 0);
    assert_eq!(pair.hosts[SERVER].readable(server), 2888);
}

/// `docs/protocol.md`, 6.4: "the host sends one ACK at once", also where data is about to be sent, which has no room
/// for the count.
#[test]
fn the_count_of_an_unreadable_packet_does_not_wait_for_data() {
    let profile = Variant::Headway.apply(Profile::modern());
    let features = Features { repair: false, ..profile.features };
    let mut pair = TwoHosts::new(Profile { features, ..profile });
    let [client, server] = pair.connect();
    pair.hosts[CLIENT].write(client, &[1; 1000]).unwrap();
    pair.settle();
    pair.wait(Duration::from_secs(1));
    pair.hosts[CLIENT].write(client, &[1; 1000]).unwrap();
    let mut packet = pair.sent(CLIENT).remove(0);
    // The window field.
    packet[20 + 14] ^= 1;
    pair.hosts[SERVER].write(server, &[2; 500]).unwrap();
    pair.deliver(SERVER, &[packet]);
    let sent = pair.sent(SERVER);
    let [ack, data] = &sent[..] else { panic!("{} packets", sent.len()) };
    let [ack, data] = [ack, data].map(|packet| Segment::parse(packet).unwrap());
    assert_eq!(ack.options.v2.as_ref().and_then(V2::as_ack).map(|ack| ack.damaged), Some(1));
    assert_eq!((ack.payload.len(), data.payload.len()), (0, 500));
}

#[test]
fn an_empty_write_does_not_take_back_a_promise() {
    let mut pair = TwoHosts::new(Profile { send_buffer: 3000, ..Profile::standard() });
    let [client, _] = pair.connect();
    pair.notifications(CLIENT);
    assert_eq!(pair.hosts[CLIENT].write(client, &[0; 4000]), Ok(3000));
    assert_eq!(pair.hosts[CLIENT].write(client, &[]), Ok(0));
    pair.settle();
    pair.wait(Duration::from_secs(1));
    assert_eq!(pair.notifications(CLIENT), [Notification::Writable]);
}

/// A program that was told to wait may try again earlier, and wait after that for what it was promised.
#[test]
fn a_write_that_found_room_does_not_take_back_a_promise() {
    let mut pair = TwoHosts::new(Profile { send_buffer: 30_000, initial_window: 2, ..Profile::standard() });
    let [client, _] = pair.connect();
    pair.notifications(CLIENT);
    assert_eq!(pair.hosts[CLIENT].write(client, &[0; 40_000]), Ok(30_000));
    assert_eq!(pair.hosts[CLIENT].write(client, &[0; 10_000]), Ok(0));
    // One flight is acknowledged: there is room, and less than the notification waits for.
    let flight = pair.sent(CLIENT);
    pair.deliver(SERVER, &flight);
    let acks = pair.sent(SERVER);
    pair.deliver(CLIENT, &acks);
    assert_eq!(pair.notifications(CLIENT), []);
    assert_eq!(pair.hosts[CLIENT].write(client, &[0; 1000]), Ok(1000));
    pair.settle();
    pair.wait(Duration::from_secs(1));
    assert_eq!(pair.notifications(CLIENT), [Notification::Writable]);
}

#[test]
fn the_user_timeout_runs_from_the_last_advance() {
    let mut pair = TwoHosts::new(Profile::standard());
    let [client, _] = pair.connect();
    pair.hosts[CLIENT].write(client, &[0; 100]).unwrap();
    let lost = pair.sent(CLIENT);
    assert_eq!(lost.len(), 1);
    pair.now += Duration::from_secs(5);
    // "it also limits what is under way": five seconds of the six are over.
    pair.hosts[CLIENT].set_user_timeout(pair.now, client, Some(Duration::from_secs(6))).unwrap();
    pair.now += Duration::from_secs(1);
    pair.hosts[CLIENT].handle_timeout(pair.now);
    assert_eq!(pair.hosts[CLIENT].error(client), Some(ConnectionError::UserTimeout));
    assert_eq!(pair.hosts[CLIENT].state(client), State::Closed);
}

#[test]
fn a_reopened_connection_begins_beyond_the_last() {
    let mut pair = TwoHosts::new(Profile::standard());
    let [client, server] = pair.connect();
    // More than RFC 6528's timer advances by until the next SYN.
    for _ in 0..20 {
        pair.hosts[SERVER].write(server, &[0; 100_000]).unwrap();
        pair.settle();
        let arrived = pair.hosts[CLIENT].readable(client);
        pair.hosts[CLIENT].consume(client, arrived);
        pair.settle();
    }
    pair.hosts[SERVER].release(pair.now, server);
    let last = pair.sent(SERVER);
    let fin = Segment::parse(&last[0]).unwrap();
    let end = fin.tcp.seq + fin.sequence_len();
    pair.deliver(CLIENT, &last);
    pair.hosts[CLIENT].release(pair.now, client);
    pair.settle();
    assert_eq!(pair.hosts[SERVER].connections(), 1, "in TIME-WAIT");
    pair.wait(Duration::from_secs(1));
    pair.hosts[CLIENT]
        .connect(pair.now, endpoint(CLIENT), endpoint(SERVER), pair.profiles[CLIENT].clone())
        .unwrap();
    let syn = pair.sent(CLIENT);
    pair.deliver(SERVER, &syn);
    let answer = pair.sent(SERVER);
    let syn_ack = Segment::parse(&answer[0]).unwrap();
    assert!(syn_ack.tcp.seq.gt(end), "{:?} after {end:?}", syn_ack.tcp.seq);
}

#[test]
fn timers_of_no_time_are_refused() {
    const IDLE: KeepAlive = KeepAlive { idle: Duration::ZERO, interval: Duration::from_secs(1), probes: 3 };
    let mut pair = TwoHosts::new(Profile::standard());
    let [client, _] = pair.connect();
    let refused = pair.hosts[CLIENT].set_keep_alive(pair.now, client, Some(IDLE));
    assert!(matches!(refused, Err(Error::BadProfile(_))), "{refused:?}");
    for spoil in [
        (|profile| profile.keep_alive = Some(IDLE)) as fn(&mut Profile),
        |profile| profile.rto.initial = Duration::ZERO,
        |profile| profile.rto.max = Duration::ZERO,
        |profile| profile.clock = Duration::ZERO,
    ] {
        let mut profile = Profile::standard();
        spoil(&mut profile);
        assert!(profile.check().is_err(), "{profile:?}");
    }
}

/// Paths are remembered for ten minutes, the latest 1024 of them (RFC 9040).
#[test]
fn paths_are_remembered_within_bounds() {
    let local = Ipv4Addr::new(192, 0, 2, 1).into();
    let remote = |n: u32| IpAddr::from(Ipv4Addr::from_bits(0x0a00_0000 + n));
    let mut host = Host::new(HostConfig::new(local, [7; 16]));
    let profile = Arc::new(Profile::modern());
    let mut buffer = [0; 1500];
    let mut visit = |host: &mut Host, n: u32, at: Instant| {
        let id = host.connect(at, (local, 0).into(), (remote(n), 80).into(), profile.clone()).unwrap();
        host.release(at, id);
        while host.poll_transmit(at, &mut buffer).is_some() {}
    };
    let at = |seconds| Instant::ZERO + Duration::from_secs(seconds);
    for n in 0..1030 {
        visit(&mut host, n, at(1) + Duration::from_millis(u64::from(n)));
    }
    assert_eq!(host.connections(), 0);
    let known = (0..1030).filter(|&n| host.path(local, remote(n)).is_some()).count();
    assert_eq!(known, 1024);
    assert!(host.path(local, remote(0)).is_none() && host.path(local, remote(1029)).is_some());
    assert!(host.forget_path(local, remote(1029)) && !host.forget_path(local, remote(1029)));
    assert!(host.path(local, remote(1029)).is_none());
    // Used again, a path stays; the others go when their time has come.
    visit(&mut host, 500, at(400));
    visit(&mut host, 2000, at(700));
    let known: Vec<u32> = (0..2001).filter(|&n| host.path(local, remote(n)).is_some()).collect();
    assert_eq!(known, [500, 2000]);
    host.forget_paths();
    assert!(host.path(local, remote(500)).is_none());
}

/// RFC 6056, 3.3.3: ports towards one peer follow one another, from a start that does not reveal that
/// towards another; one that was given back is not the next.
#[test]
fn ephemeral_ports_are_not_reused_at_once() {
    let local = Ipv4Addr::new(192, 0, 2, 1).into();
    let mut host = Host::new(HostConfig::new(local, [7; 16]));
    let profile = Arc::new(Profile::standard());
    let mut buffer = [0; 1500];
    let mut port = |host: &mut Host, peer: u8| {
        let remote = (Ipv4Addr::new(198, 51, 100, peer), 80).into();
        let id = host.connect(Instant::ZERO, (local, 0).into(), remote, profile.clone()).unwrap();
        let port = host.endpoints(id).unwrap().local.port();
        host.release(Instant::ZERO, id);
        while host.poll_transmit(Instant::ZERO, &mut buffer).is_some() {}
        port
    };
    let ports: Vec<u16> = (0..20_000).map(|_| port(&mut host, 2)).collect();
    assert!(ports.iter().all(|&port| port >= 49_152));
    let mut first: Vec<u16> = ports[..16_384].to_vec();
    first.sort_unstable();
    first.dedup();
    assert_eq!(first.len(), 16_384, "all of them before any is taken again");
    assert_eq!(ports[0], ports[16_384]);
    let step = |a: u16, b: u16| (i32::from(b) - i32::from(a)).rem_euclid(16_384);
    assert_eq!(step(ports[0], ports[1]), 1);
    let (a, b) = (port(&mut host, 2), port(&mut host, 3));
    assert_ne!(step(a, b), 1, "another peer, another place to start from");
}

/// A carrier that hears its peer again knows before any timer that has backed off.
#[test]
fn what_waits_for_a_timer_is_sent_when_the_path_is_back() {
    let mut pair = TwoHosts::connected(Profile::modern());
    pair.write(CLIENT, 400);
    assert_eq!(pair.sent(CLIENT).len(), 1, "and lost");
    for _ in 0..100 {
        pair.now += Duration::from_secs(1);
        let now = pair.now;
        pair.hosts[CLIENT].handle_timeout(now);
        pair.sent(CLIENT);
    }
    assert_eq!(pair.sent(CLIENT).len(), 0, "it waits");
    let now = pair.now;
    pair.hosts[CLIENT].retransmit_to(now, endpoint(SERVER).ip());
    assert_eq!(pair.hosts[CLIENT].next_deadline(), Some(now));
    pair.hosts[CLIENT].handle_timeout(now);
    let sent = pair.sent(CLIENT);
    assert_eq!(sent.len(), 1);
    pair.deliver(SERVER, &sent);
    assert_eq!(pair.read(SERVER), 400);
    // Where nothing is outstanding, nothing is sent.
    pair.settle();
    pair.hosts[CLIENT].retransmit_to(now, endpoint(SERVER).ip());
    pair.hosts[CLIENT].handle_timeout(now);
    assert_eq!(pair.sent(CLIENT).len(), 0);
}

/// RFC 9293, 3.10.7.4, of a RST in SYN-RECEIVED: "If this connection was initiated with a passive OPEN (i.e., came from the LISTEN
/// state), then return this connection to LISTEN state".
#[test]
fn a_syn_right_after_a_rst_opens_a_connection() {
    let mut pair = TwoHosts::new(Profile::standard());
    let client = pair.hosts[CLIENT].connect(
        pair.now,
        endpoint(CLIENT),
        endpoint(SERVER),
        pair.profiles[CLIENT].clone(),
    );
    let syn = pair.sent(CLIENT).remove(0);
    // Who sends it knows the ports, but not the numbers.
    let (ip, mut tcp) = headers(endpoint(CLIENT), endpoint(SERVER), TcpFlags::SYN);
    tcp.seq = SeqNumber(1000);
    pair.deliver(SERVER, &[segment(&ip, &tcp, &TcpOptions::default(), &[])]);
    let answer = pair.sent(SERVER);
    // The client knows nothing of it, and says so. Its own SYN arrives before the server is asked what to send.
    pair.deliver(CLIENT, &answer);
    let rst = pair.sent(CLIENT).remove(0);
    pair.deliver(SERVER, &[rst, syn]);
    pair.settle();
    assert_eq!(pair.hosts[CLIENT].state(client.unwrap()), State::Established);
}
