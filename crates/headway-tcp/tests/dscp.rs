//! DSCP and hop limit: whatever is sent has those of the connection, or of the listener that it is sent for.

use std::sync::Arc;

use headway_tcp::{Error, Features, Host, HostConfig, KeepAlive, Profile, Refusal};
use headway_test_fixture::packet;
use headway_test_fixture::two_hosts::{CLIENT, SERVER, START, TwoHosts, address, drain, endpoint, hand_in};
use headway_units::Duration;
use headway_wire::ip::Datagram;
use headway_wire::{Dscp, Ecn, IpHeader, Segment, TcpFlags, TcpOptions};

const LOWER: Dscp = match Dscp::new(1) {
    Some(dscp) => dscp,
    None => panic!("a codepoint"),
};

fn marked(dscp: Dscp, hop_limit: u8, profile: Profile) -> Profile {
    Profile { dscp, hop_limit, ..profile }
}

/// DSCP and hop limit of packets, which are all the same.
#[track_caller]
fn marks<P: AsRef<[u8]>>(packets: &[P]) -> (Dscp, u8) {
    let of = |packet: &P| {
        let header = Datagram::parse(packet.as_ref()).expect("a packet").header;
        (header.dscp, header.hop_limit)
    };
    let first = of(packets.first().expect("a packet"));
    assert!(packets.iter().all(|packet| of(packet) == first));
    first
}

/// RFC 9293, 3.9.1.9: "The application layer MUST be able to specify the Differentiated Services field for segments
/// that are sent on a connection", and 3.9.2: "The TTL value used to send TCP segments MUST be configurable".
#[test]
fn each_end_sends_its_own_from_the_syn_to_time_wait() {
    let keep_alive = KeepAlive { idle: Duration::from_secs(5), interval: Duration::from_secs(1), probes: 3 };
    let profile = Profile { keep_alive: Some(keep_alive), ..Profile::modern() };
    let ends = [marked(Dscp::EF, 255, profile.clone()), marked(LOWER, 7, profile)];
    let mut pair = TwoHosts::with(ends, ());
    pair.delay = Duration::from_millis(10);
    let [client, server] = pair.connect();
    pair.write(CLIENT, 60_000);
    pair.write(SERVER, 5_000);
    let mut number = 0;
    pair.run(Duration::from_secs(1), |_| {
        number += 1;
        if number % 10 == 5 {
            headway_test_fixture::two_hosts::Fate::Lost
        } else {
            headway_test_fixture::two_hosts::Fate::Arrives
        }
    });
    pair.read(SERVER);
    pair.read(CLIENT);
    // Keep-alive probes and their answers.
    pair.wait(Duration::from_secs(20));
    pair.hosts[CLIENT].close(pair.now, client).expect("open");
    pair.wait(Duration::from_millis(100));
    pair.hosts[SERVER].close(pair.now, server).expect("open");
    pair.wait(Duration::from_millis(100));
    // TIME-WAIT acknowledges the FIN that comes again.
    let again = pair.passed.iter().rfind(|passed| passed.from == SERVER).expect("a FIN").packet.clone();
    let mut fin = Segment::parse(&again).expect("a segment");
    fin.tcp.flags.insert(TcpFlags::FIN);
    fin.tcp.seq = fin.tcp.seq - 1;
    let fin = packet::segment(&fin.ip, &fin.tcp, &fin.options, b"");
    pair.deliver(CLIENT, &[fin]);
    pair.wait(Duration::from_millis(100));
    let sent = |host| -> Vec<_> {
        pair.passed.iter().filter(|passed| passed.from == host).map(|passed| &passed.packet).collect()
    };
    assert!(sent(CLIENT).len() > 40 && sent(SERVER).len() > 30);
    assert_eq!(marks(&sent(CLIENT)), (Dscp::EF, 255));
    assert_eq!(marks(&sent(SERVER)), (LOWER, 7));
    // The ECN bits are TCP's: data is ECT(0), and the SYN is not.
    let ecn = |packet: &Vec<u8>| Datagram::parse(packet).expect("a packet").header.ecn;
    assert_eq!(ecn(sent(CLIENT)[0]), Ecn::NotEct);
    assert!(sent(CLIENT).iter().any(|packet| ecn(packet) == Ecn::Ect0));
}

/// RFC 9293, 3.9.1.9: "the application SHOULD be able to change the Differentiated Services field during the
/// connection lifetime".
#[test]
fn an_open_connection_may_change_them() {
    let mut pair = TwoHosts::connected(Profile { nagle: false, ..Profile::standard() });
    let (client, now) = (pair.id(CLIENT), pair.now);
    let write = |pair: &mut TwoHosts| {
        pair.write(CLIENT, 10);
        let sent = pair.sent(CLIENT);
        pair.deliver(SERVER, &sent);
        pair.settle();
        marks(&sent)
    };
    assert_eq!(write(&mut pair), (Dscp::DEFAULT, 64));
    pair.hosts[CLIENT].set_dscp(now, client, Dscp::EF).expect("open");
    assert_eq!(write(&mut pair), (Dscp::EF, 64));
    pair.hosts[CLIENT].set_hop_limit(now, client, 3).expect("open");
    assert_eq!(write(&mut pair), (Dscp::EF, 3));
    assert!(matches!(pair.hosts[CLIENT].set_hop_limit(now, client, 0), Err(Error::BadProfile(_))));
    assert_eq!(write(&mut pair), (Dscp::EF, 3));
    // What is retransmitted has the new ones, and the RST of an abort.
    pair.hosts[CLIENT].set_dscp(now, client, LOWER).expect("open");
    pair.write(CLIENT, 10);
    assert_eq!(marks(&pair.sent(CLIENT)), (LOWER, 3));
    pair.hosts[CLIENT].set_dscp(now, client, Dscp::DEFAULT).expect("open");
    pair.advance(Duration::from_secs(1));
    assert_eq!(marks(&pair.sent(CLIENT)), (Dscp::DEFAULT, 3));
    pair.hosts[CLIENT].set_dscp(now, client, Dscp::EF).expect("open");
    pair.hosts[CLIENT].abort(pair.now, client).expect("open");
    assert_eq!(marks(&pair.sent(CLIENT)), (Dscp::EF, 3));
}

fn from_client(flags: TcpFlags) -> Vec<u8> {
    let (ip, tcp) = packet::headers(endpoint(CLIENT), endpoint(SERVER), flags);
    let ip = IpHeader { dscp: LOWER, hop_limit: 9, ..ip };
    packet::segment(&ip, &tcp, &TcpOptions::default(), b"")
}

#[test]
fn a_listener_answers_with_its_own_where_there_is_no_connection() {
    let mut host = Host::new(HostConfig::new(address(SERVER), [1; 16]));
    // No one listens: a RST with the defaults.
    hand_in(&mut host, START, &from_client(TcpFlags::SYN));
    assert_eq!(marks(&drain(&mut host, START)), (Dscp::DEFAULT, 64));
    let features = Features { cookies: true, ..Features::TCP };
    let profile = marked(Dscp::EF, 200, Profile { features, ..Profile::modern() });
    let listener = host.listen(endpoint(SERVER), 1, Arc::new(profile.clone())).expect("a free port");
    // RFC 9293, 3.10.7.2: an ACK is reset in LISTEN.
    hand_in(&mut host, START, &from_client(TcpFlags::ACK));
    assert_eq!(marks(&drain(&mut host, START)), (Dscp::EF, 200));
    // They may be changed, for what comes after that.
    host.set_listener_profile(listener, Arc::new(marked(LOWER, 1, profile))).expect("a listener");
    hand_in(&mut host, START, &from_client(TcpFlags::ACK));
    assert_eq!(marks(&drain(&mut host, START)), (LOWER, 1));
    // A SYN-ACK, and then one with a cookie.
    for port in [5000, 5001] {
        let (ip, tcp) = packet::headers((address(CLIENT), port).into(), endpoint(SERVER), TcpFlags::SYN);
        hand_in(&mut host, START, &packet::segment(&ip, &tcp, &TcpOptions::default(), b""));
        assert_eq!(marks(&drain(&mut host, START)), (LOWER, 1));
    }
    assert_eq!(host.counters().cookies_sent, 1);
}

#[test]
fn a_connection_that_is_being_opened_resets_with_its_own() {
    let mut host = Host::new(HostConfig::new(address(CLIENT), [1; 16]));
    let profile = Arc::new(marked(Dscp::EF, 5, Profile::standard()));
    host.connect(START, endpoint(CLIENT), endpoint(SERVER), profile).expect("a free port");
    assert_eq!(marks(&drain(&mut host, START)), (Dscp::EF, 5));
    // RFC 9293, 3.10.7.3: an ACK of what was not sent is answered with a RST.
    let (ip, tcp) = packet::headers(endpoint(SERVER), endpoint(CLIENT), TcpFlags::SYN | TcpFlags::ACK);
    hand_in(&mut host, START, &packet::segment(&ip, &tcp, &TcpOptions::default(), b""));
    let sent = drain(&mut host, START);
    assert!(Segment::parse(&sent[0]).expect("a segment").tcp.flags.contains(TcpFlags::RST));
    assert_eq!(marks(&sent), (Dscp::EF, 5));
}

#[test]
fn an_intercepted_connection_tells_the_dscp_of_its_syn() {
    let mut host = Host::new(HostConfig::new("192.0.2.77".parse().expect("an address"), [1; 16]));
    host.intercept(4, Arc::new(marked(Dscp::EF, 5, Profile::standard()))).expect("a profile that works");
    hand_in(&mut host, START, &from_client(TcpFlags::SYN));
    let ends = host.incoming().expect("a connection");
    assert_eq!(host.incoming_dscp(&ends), Some(LOWER));
    host.refuse(&ends, Refusal::Reset);
    assert_eq!(marks(&drain(&mut host, START)), (Dscp::EF, 5));
    assert_eq!(host.incoming_dscp(&ends), None);
}

#[test]
fn a_profile_without_hops_is_refused() {
    let mut host = Host::new(HostConfig::new(address(SERVER), [1; 16]));
    let profile = Arc::new(marked(Dscp::EF, 0, Profile::standard()));
    assert!(matches!(host.listen(endpoint(SERVER), 1, profile), Err(Error::BadProfile(_))));
}
