//! What a carrier over UDP says of addresses that cannot work, and of a peer that is not there.

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use headway_net::{Carrier as _, Clock, Stack, StackConfig, UdpCarrier, UdpConfig};
use headway_tcp::{Profile, Transmit};
use headway_test_fixture::process::free_addresses;
use tokio::time::timeout;

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn ip(text: &str) -> Option<IpAddr> {
    text.parse().ok()
}

#[test]
fn addresses_that_cannot_work_are_refused() {
    let any = address("127.0.0.1:0");
    let to = |peer| UdpConfig::new(any, address(peer));
    for (refused, why) in [
        (to("[::1]:9"), "two addresses of one family"),
        (to("127.0.0.1:0"), "an address and a port"),
        (to("0.0.0.0:9"), "an address and a port"),
        (UdpConfig { peer: None, ..UdpConfig::new(address("0.0.0.0:0"), any) }, "local address 0.0.0.0:0"),
        (
            UdpConfig { inner_peer: ip("fd00::1"), ..to("127.0.0.1:9") },
            "inner addresses 127.0.0.1 and fd00::1",
        ),
        (UdpConfig { inner_local: ip("fd00::1"), ..to("127.0.0.1:9") }, "two addresses of one family"),
        (
            UdpConfig { inner_peer: ip("10.0.0.1"), peer: None, ..to("127.0.0.1:9") },
            "inner address 10.0.0.1 of any",
        ),
    ] {
        let error = UdpCarrier::open(&refused).err().expect(why).to_string();
        assert!(error.contains(why), "{error}: {why}");
    }
    let inside = UdpConfig { inner_local: ip("fd00::2"), inner_peer: ip("fd00::1"), ..to("127.0.0.1:9") };
    let carrier = UdpCarrier::open(&inside).unwrap();
    assert_eq!(Some(carrier.inner_address()), ip("fd00::2"));
    // Of UDP over IPv4, 28 bytes; that of IPv6 inside is left out, 40 bytes.
    assert_eq!(carrier.mtu(), 1500 - 28 + 40);
    assert_eq!(carrier.name(), format!("UDP {}", carrier.local()));
    assert!(
        carrier.properties().compacts_headers
            && !carrier.properties().tags_payloads
            && carrier.properties().only_peer.is_none()
    );
    let v6 = UdpCarrier::open(&UdpConfig { peer: None, ..UdpConfig::new(address("[::1]:0"), any) }).unwrap();
    assert_eq!(v6.mtu(), 1500 - 48 + 40);
}

#[tokio::test]
async fn a_peer_that_does_not_listen_is_named() {
    let [ours, theirs] = free_addresses();
    let carrier = UdpCarrier::open(&UdpConfig::new(ours, theirs)).unwrap();
    let addresses = vec![carrier.inner_address()];
    let mut profile = Profile::modern();
    profile.user_timeout = Some(headway_units::Duration::from_millis(300));
    profile.rto.initial = headway_units::Duration::from_millis(50);
    let config = StackConfig { addresses, profile: Some(profile), ..StackConfig::default() };
    let stack = Stack::start(carrier, config).unwrap();
    let connecting = timeout(Duration::from_secs(20), stack.connect(SocketAddr::new(theirs.ip(), 80)));
    let error = connecting.await.expect("in time").err().unwrap();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    let said = format!("nothing listens at UDP {theirs} (ICMP port unreachable)");
    assert!(error.to_string().contains(&said), "{error}");
    assert_eq!(stack.trouble(), Some(said));
}

/// A packet that cannot be one of ours is not sent.
#[test]
fn other_destinations_are_unreachable() {
    let [ours, theirs] = free_addresses();
    let socket = std::net::UdpSocket::bind(theirs).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut carrier = UdpCarrier::open(&UdpConfig::new(ours, theirs)).unwrap();
    let segment = |to: &str, payload: &[u8]| {
        let (ip, tcp) = headway_test_fixture::packet::headers(
            (ours.ip(), 1).into(),
            (to.parse::<IpAddr>().unwrap(), 2).into(),
            headway_wire::TcpFlags::ACK,
        );
        headway_test_fixture::packet::segment(&ip, &tcp, &headway_wire::TcpOptions::default(), payload)
    };
    for packet in [segment("127.0.0.9", b"other"), vec![0; 40], segment("127.0.0.1", b"right")] {
        carrier.slot().unwrap()[..packet.len()].copy_from_slice(&packet);
        carrier.queue(Transmit { len: packet.len(), compact: false });
    }
    assert!(carrier.flush().unwrap());
    let mut received = [0; 100];
    let len = socket.recv(&mut received).unwrap();
    assert_eq!(&received[20..len], b"right");
    assert_eq!(carrier.fill(&Clock::new()).unwrap(), 0);
}
