//! The ECN field is carried in both directions, and so is the DSCP.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use headway_net::{Carrier as _, Clock, UdpCarrier, UdpConfig};
use headway_tcp::{Profile, Transmit};
use headway_test_fixture::packet;
use headway_test_fixture::pattern::Pattern;
use headway_wire::{Dscp, Ecn, IpHeader, Received, TcpFlags, TcpOptions};
use socket2::SockRef;

use super::pair::{Pair, receive, send};

#[test]
fn every_codepoint_arrives_as_it_was_sent() {
    for local in [IpAddr::from([127, 0, 0, 1]), Ipv6Addr::LOCALHOST.into()] {
        let any = SocketAddr::new(local, 0);
        let mut to = UdpCarrier::open(&UdpConfig { peer: None, ..UdpConfig::new(any, any) }).unwrap();
        let mut from = UdpCarrier::open(&UdpConfig::new(any, to.local())).unwrap();
        let sent = [Ecn::Ect0, Ecn::NotEct, Ecn::Ce, Ecn::Ect1, Ecn::NotEct];
        for (port, ecn) in sent.into_iter().enumerate() {
            let (ip, tcp) = packet::headers((local, port as u16).into(), (local, 80).into(), TcpFlags::ACK);
            let dscp = Dscp::new(port as u8 * 10).unwrap();
            let ip = IpHeader { dscp, ecn, ..ip };
            let segment = packet::segment(&ip, &tcp, &TcpOptions::default(), b"data");
            from.slot().unwrap()[..segment.len()].copy_from_slice(&segment);
            from.queue(Transmit { len: segment.len(), compact: false });
        }
        assert!(from.flush().unwrap());
        let clock = Clock::new();
        let mut got = Vec::new();
        while got.len() < sent.len() {
            to.fill(&clock).unwrap();
            let mut arrivals = Vec::new();
            to.received(&mut arrivals);
            for arrival in arrivals {
                let Received::Intact(segment) = arrival.received else { panic!("{arrival:?}") };
                assert_eq!(usize::from(segment.tcp.src_port), got.len());
                assert_eq!(usize::from(segment.ip.dscp.value()), got.len() * 10, "{local}");
                got.push(segment.ip.ecn);
            }
        }
        assert_eq!(got, sent, "{local}");
    }
}

/// A link that marks every 20th datagram CE.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ce_marks_reduce_the_window() {
    const EVERY: u64 = 20;
    let marked = Arc::new(AtomicU64::new(0));
    let (pair, relay) = Pair::across(Profile::modern(), |_| {
        let (mut count, marked) = (0_u64, marked.clone());
        move |datagram, output| {
            // Pure ACKs are Not-ECT (RFC 3168, 6.1.4).
            let is_capable = datagram.len() > 500;
            count += u64::from(is_capable);
            let mark = is_capable && count % EVERY == 0;
            marked.fetch_add(mark.into(), Ordering::Relaxed);
            let ecn = if mark { Ecn::Ce } else { Ecn::NotEct };
            SockRef::from(output).set_tos_v4(ecn.bits().into()).unwrap();
            true
        }
    });
    let (mut client, mut server) = pair.connect().await;
    let (pattern, len) = (Pattern(11), 2_000_000);
    let bytes = pattern.bytes(0, len);
    let (sent, got) = tokio::join!(send(&mut client, &bytes), receive(&mut server, pattern));
    sent.unwrap();
    assert_eq!(got.unwrap(), len);
    let (sender, receiver) = (client.statistics().unwrap(), server.statistics().unwrap());
    drop(relay);
    let marked = marked.load(Ordering::Relaxed);
    assert!(marked > 10 && receiver.congestion_marks > marked / 2, "{marked} marked, {receiver:?}");
    assert!(sender.congestion_echoes > 0, "{sender:?}");
}
