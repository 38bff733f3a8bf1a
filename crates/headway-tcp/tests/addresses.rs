//! RFC 9293, 3.9.2.3: whom a host does not speak to.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use headway_tcp::{Error, Host, HostConfig, Profile};
use headway_units::Instant;
use headway_wire::{
    ChecksumTrust, Ecn, IpHeader, Received, SeqNumber, TcpFlags, TcpHeader, TcpOptions, emit,
};

const NOBODY: [[&str; 2]; 2] =
    [["192.0.2.1", "255.255.255.255 224.0.0.1 239.1.2.3 0.0.0.0"], ["2001:db8::1", "ff02::1 ff0e::7 ::"]];

#[test]
fn what_is_no_host_is_not_answered_nor_called() {
    let profile = Arc::new(Profile::standard());
    for [ours, others] in NOBODY {
        let ours: IpAddr = ours.parse().unwrap();
        let mut host = Host::new(HostConfig::new(ours, [7; 16]));
        host.listen(SocketAddr::new(ours, 80), 4, profile.clone()).unwrap();
        for other in others.split(' ') {
            let other: IpAddr = other.parse().unwrap();
            for (port, flags) in [(80, TcpFlags::SYN), (80, TcpFlags::ACK), (81, TcpFlags::SYN)] {
                let ip =
                    IpHeader { src: other, dst: ours, ecn: Ecn::NotEct, hop_limit: 64, identification: 0 };
                let tcp = TcpHeader {
                    src_port: 5000,
                    dst_port: port,
                    seq: SeqNumber(1),
                    ack: SeqNumber(2),
                    flags,
                    window: 1000,
                    urgent: 0,
                };
                let mut packet = [0; 60];
                let len = emit(&mut packet, &ip, &tcp, &TcpOptions::default(), (b"", b"")).unwrap();
                let received = Received::parse(&packet[..len], ChecksumTrust::Tcp);
                host.receive(Instant::ZERO, &received);
                assert_eq!(host.poll_transmit(Instant::ZERO, &mut [0; 1500]), None, "{other} {flags:?}");
            }
            let refused = host.connect(Instant::ZERO, (ours, 0).into(), (other, 80).into(), profile.clone());
            assert_eq!(refused, Err(Error::NoHost(other)));
        }
        assert_eq!(host.connections(), 0);
    }
}
