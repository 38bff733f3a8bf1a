//! The ECN field is carried in both directions.

use std::net::{IpAddr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use headway_net::{Carrier as _, Clock, UdpCarrier, UdpConfig};
use headway_tcp::Profile;
use headway_wire::{Ecn, IpHeader, Received, SeqNumber, TcpFlags, TcpHeader, TcpOptions, emit};
use socket2::SockRef;

use crate::pair::{Pair, content, digest, free_ports, receive, send};

fn segment(slot: &mut [u8], ends: [IpAddr; 2], ecn: Ecn, port: u16) -> usize {
    let ip = IpHeader { src: ends[0], dst: ends[1], ecn, hop_limit: 64, identification: 0 };
    let tcp = TcpHeader {
        src_port: port,
        dst_port: 80,
        seq: SeqNumber(1),
        ack: SeqNumber(2),
        flags: TcpFlags::ACK,
        window: 3,
        urgent: 0,
    };
    emit(slot, &ip, &tcp, &TcpOptions::default(), (b"data", b"")).unwrap()
}

#[test]
fn every_codepoint_arrives_as_it_was_sent() {
    for local in [IpAddr::from([127, 0, 0, 1]), Ipv6Addr::LOCALHOST.into()] {
        let any = SocketAddr::new(local, 0);
        let mut to = UdpCarrier::open(&UdpConfig { peer: None, ..UdpConfig::new(any, any) }).unwrap();
        let mut from = UdpCarrier::open(&UdpConfig::new(any, to.local())).unwrap();
        let sent = [Ecn::Ect0, Ecn::NotEct, Ecn::Ce, Ecn::Ect1, Ecn::NotEct];
        for (port, ecn) in sent.into_iter().enumerate() {
            let slot = from.slot().unwrap();
            let len = segment(slot, [local, local], ecn, port as u16);
            from.queue(len);
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
    let [a, b, near_a, near_b] = free_ports();
    let sockets = [near_a, near_b].map(|inlet| UdpSocket::bind(inlet).unwrap());
    let (stop, marked) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let ways: Vec<_> = [0, 1]
        .map(|way| {
            let [input, output] = [way, 1 - way].map(|end| sockets[end].try_clone().unwrap());
            input.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
            let (to, stop, marked) = ([b, a][way], stop.clone(), marked.clone());
            thread::spawn(move || {
                let (mut buffer, mut count) = ([0; 2048], 0_u64);
                while !stop.load(Ordering::Relaxed) {
                    let Ok(len) = input.recv(&mut buffer) else { continue };
                    // Pure ACKs are Not-ECT (RFC 3168, 6.1.4).
                    count += u64::from(len > 500);
                    let mark = len > 500 && count % EVERY == 0;
                    let ecn = if mark { Ecn::Ce } else { Ecn::NotEct };
                    marked.fetch_add(mark.into(), Ordering::Relaxed);
                    SockRef::from(&output).set_tos_v4(ecn.bits().into()).unwrap();
                    // A full buffer drops it.
                    let _ = output.send_to(&buffer[..len], to);
                }
            })
        })
        .into();
    let inner = ["10.77.2.1", "10.77.2.2"].map(|address| Some(address.parse().unwrap()));
    let config = |local, peer, mine: usize| UdpConfig {
        inner_local: inner[mine],
        inner_peer: inner[1 - mine],
        ..UdpConfig::new(local, peer)
    };
    let pair = Pair::between(Profile::modern(), config(a, near_a, 0), config(b, near_b, 1));
    let (mut client, mut server) = pair.connect().await;
    let bytes = content(11, 2_000_000);
    let (sent, got) = tokio::join!(send(&mut client, &bytes), receive(&mut server));
    sent.unwrap();
    assert_eq!(got.unwrap(), (bytes.len(), digest(&bytes)));
    let (sender, receiver) = (client.statistics().unwrap(), server.statistics().unwrap());
    stop.store(true, Ordering::Relaxed);
    for way in ways {
        way.join().unwrap();
    }
    let marked = marked.load(Ordering::Relaxed);
    assert!(marked > 10 && receiver.congestion_marks > marked / 2, "{marked} marked, {receiver:?}");
    assert!(sender.congestion_echoes > 0, "{sender:?}");
}
