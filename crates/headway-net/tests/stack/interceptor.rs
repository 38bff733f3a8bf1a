//! Connections to any address, which a program admits or refuses.

use std::io;
use std::net::SocketAddr;

use headway_net::{Interceptor, Stack};
use headway_tcp::{Profile, Refusal};
use headway_units::Duration;
use headway_wire::icmp::{ICMP, Unreachable};
use headway_wire::ip::Datagram;
use headway_wire::{Dscp, TcpFlags};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

use super::carrier::{LONG, Peer, THEIR_PORT, THEIRS, start};

fn intercepting() -> (Stack, Interceptor, Peer) {
    let (wire, peer) = Peer::new();
    let stack = start(wire, "10.0.0.9".parse().expect("an address"), Profile::modern());
    let interceptor = stack.intercept(4).expect("a stack");
    (stack, interceptor, peer)
}

#[tokio::test]
async fn a_connection_is_answered_when_it_is_admitted() {
    let (stack, interceptor, mut peer) = intercepting();
    let mut syn = peer.segment(TcpFlags::SYN, peer.next, b"");
    // With DSCP EF, and a sum that fits it.
    syn[1] = 0xb8;
    let sum = u16::from_be_bytes([syn[10], syn[11]]).checked_sub(0xb8).expect("no carry");
    syn[10..12].copy_from_slice(&sum.to_be_bytes());
    peer.send_packet(&syn);
    peer.next += 1;
    let incoming = timeout(LONG, interceptor.next()).await.expect("in time").expect("a connection");
    assert_eq!(incoming.destination(), Peer::address());
    assert_eq!(incoming.source(), SocketAddr::new(THEIRS, THEIR_PORT));
    assert_eq!(incoming.dscp(), Dscp::EF);
    let patience = incoming.patience().expect("it waits");
    assert!(patience > Duration::ZERO && patience <= Duration::from_secs(4), "{patience:?}");
    let mut stream = incoming.admit(Dscp::new(8).expect("a codepoint")).expect("it waits");
    let answer = peer.next_packet();
    assert_eq!(answer[1] >> 2, 8, "its DSCP");
    peer.theirs = headway_wire::Segment::parse(&answer).expect("a segment").tcp.seq + 1;
    peer.send(TcpFlags::ACK | TcpFlags::PSH, b"data");
    let mut data = [0; 4];
    stream.read_exact(&mut data).await.expect("data");
    assert_eq!(&data, b"data");
    stream.write_all(b"back").await.expect("room");
    assert_eq!(peer.receive_until(|got| !got.payload.is_empty()).payload, b"back");
    drop(stack);
}

#[tokio::test]
async fn a_peer_is_told_why_it_is_refused() {
    let (_stack, interceptor, mut peer) = intercepting();
    peer.send(TcpFlags::SYN, b"");
    let incoming = timeout(LONG, interceptor.next()).await.expect("in time").expect("a connection");
    incoming.refuse(Refusal::Reset);
    assert_eq!(peer.receive().tcp.flags, TcpFlags::RST | TcpFlags::ACK);
    peer.send(TcpFlags::SYN, b"");
    let incoming = timeout(LONG, interceptor.next()).await.expect("in time").expect("a connection");
    incoming.refuse(Refusal::Unreachable(Unreachable::Host));
    let answer = peer.next_packet();
    let datagram = Datagram::parse(&answer).expect("a packet");
    assert_eq!((datagram.protocol, &datagram.body[..2]), (ICMP, &[3, 1][..]));
}

/// The peer tries again, as if its SYN had been lost.
#[tokio::test]
async fn one_that_is_dropped_without_a_decision_may_try_again() {
    let (_stack, interceptor, peer) = intercepting();
    let syn = peer.segment(TcpFlags::SYN, peer.next, b"");
    for _ in 0..3 {
        peer.send_packet(&syn);
        let incoming = timeout(LONG, interceptor.next()).await.expect("in time").expect("a connection");
        assert_eq!(incoming.source(), SocketAddr::new(THEIRS, THEIR_PORT));
        drop(incoming);
    }
    peer.send_packet(&syn);
    let incoming = timeout(LONG, interceptor.next()).await.expect("in time").expect("a connection");
    incoming.refuse(Refusal::Reset);
    assert_eq!(peer.receive().tcp.flags, TcpFlags::RST | TcpFlags::ACK, "nothing was said before");
}

#[tokio::test]
async fn a_peer_that_has_given_up_is_not_admitted() {
    let (_stack, interceptor, mut peer) = intercepting();
    peer.send(TcpFlags::SYN, b"");
    let incoming = timeout(LONG, interceptor.next()).await.expect("in time").expect("a connection");
    peer.send(TcpFlags::RST, b"");
    // What comes after it has been asked for.
    peer.next += 100;
    peer.send(TcpFlags::SYN, b"");
    let next = timeout(LONG, interceptor.next()).await.expect("in time").expect("a connection");
    next.refuse(Refusal::Reset);
    assert_eq!(peer.receive().tcp.flags, TcpFlags::RST | TcpFlags::ACK);
    assert_eq!((incoming.patience(), incoming.dscp()), (None, Dscp::DEFAULT));
    let error = incoming.admit(Dscp::DEFAULT).err().expect("it has given up");
    assert_eq!(error.kind(), io::ErrorKind::NotConnected);
}

#[tokio::test]
async fn the_end_of_the_stack_is_the_end_of_waiting() {
    let (stack, interceptor, mut peer) = intercepting();
    peer.send(TcpFlags::SYN, b"");
    let incoming = timeout(LONG, interceptor.next()).await.expect("in time").expect("a connection");
    let end = async { stack.close(std::time::Duration::ZERO).await.expect("no error") };
    let (next, ()) = timeout(LONG, async { tokio::join!(interceptor.next(), end) }).await.expect("in time");
    assert_eq!(next.err().expect("an error").kind(), io::ErrorKind::NotConnected);
    assert_eq!(incoming.admit(Dscp::DEFAULT).err().expect("an error").kind(), io::ErrorKind::NotConnected);
}
