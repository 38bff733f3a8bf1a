//! RFC 9293, 3.9.2.3: whom a host does not speak to.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use headway_tcp::{Error, Host, HostConfig, Profile};
use headway_test_fixture::packet;
use headway_test_fixture::two_hosts::hand_in;
use headway_units::Instant;
use headway_wire::{SeqNumber, TcpFlags, TcpHeader, TcpOptions};

const NO_HOSTS_OWN: [[&str; 2]; 2] =
    [["192.0.2.1", "255.255.255.255 224.0.0.1 239.1.2.3 0.0.0.0"], ["2001:db8::1", "ff02::1 ff0e::7 ::"]];

#[test]
fn what_is_no_host_is_not_answered_nor_called() {
    let profile = Arc::new(Profile::standard());
    for [ours, others] in NO_HOSTS_OWN {
        let ours: IpAddr = ours.parse().unwrap();
        let mut host = Host::new(HostConfig::new(ours, [7; 16]));
        host.listen(SocketAddr::new(ours, 80), 4, profile.clone()).unwrap();
        for other in others.split(' ') {
            let other: IpAddr = other.parse().unwrap();
            for (port, flags) in [(80, TcpFlags::SYN), (80, TcpFlags::ACK), (81, TcpFlags::SYN)] {
                let (ip, tcp) = packet::headers((other, 5000).into(), (ours, port).into(), flags);
                let tcp = TcpHeader { seq: SeqNumber(1), ack: SeqNumber(2), window: 1000, ..tcp };
                let packet = packet::segment(&ip, &tcp, &TcpOptions::default(), b"");
                hand_in(&mut host, Instant::ZERO, &packet);
                assert_eq!(host.poll_transmit(Instant::ZERO, &mut [0; 1500]), None, "{other} {flags:?}");
            }
            let refused = host.connect(Instant::ZERO, (ours, 0).into(), (other, 80).into(), profile.clone());
            assert_eq!(refused, Err(Error::NoHost(other)));
        }
        assert_eq!(host.connections(), 0);
    }
}
