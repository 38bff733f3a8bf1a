//! What the thread between carrier and host does.

use std::io;
use std::sync::Arc;

use headway_net::{CaptureFile, LogFile, QlogFile, Stack, StackConfig, TcpStream};
use headway_tcp::{Path, Profile};
use headway_test_fixture::packet;
use headway_test_fixture::pattern::Pattern;
use headway_test_fixture::process::wait_until;
use headway_trace::{QlogClock, QlogHeader, VantagePoint};
use headway_units::Duration;
use headway_wire::TcpFlags;
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

use super::carrier::{LONG, OURS, Peer, THEIR_PORT, THEIRS, Wire, start};

/// A timer that does not expire during a test.
fn patient() -> Profile {
    let mut profile = Profile::modern();
    profile.rto.initial = Duration::from_secs(60);
    profile.rto.min = Duration::from_secs(60);
    profile
}

/// A stack with a connection of a peer.
async fn connected(profile: Profile) -> (Stack, TcpStream, Peer) {
    let (wire, mut peer) = Peer::new();
    let stack = start(wire, OURS, profile);
    let listener = stack.listen(Peer::address(), 4).expect("a free port");
    peer.open();
    let (stream, from) = timeout(LONG, listener.accept()).await.expect("in time").expect("a connection");
    assert_eq!(from, (THEIRS, THEIR_PORT).into());
    (stack, stream, peer)
}

/// A carrier that finds a peer at another place sends its answers there if the host accepts what came from there.
#[tokio::test(flavor = "multi_thread")]
async fn what_the_host_does_not_accept_moves_no_peer() {
    let (_stack, mut stream, mut peer) = connected(Profile::modern()).await;
    peer.send(TcpFlags::ACK | TcpFlags::PSH, b"before");
    stream.read_exact(&mut [0; 6]).await.expect("data");
    assert_eq!(peer.news.lock().accepted, [0; 0], "it was not asked for");
    peer.news.lock().is_asking = true;
    let forged = peer.segment(TcpFlags::ACK, peer.next + 5000, b"forged");
    peer.send_packet(&forged);
    // It is answered as what is out of order.
    peer.receive_until(|got| got.tcp.ack == peer.next);
    assert_eq!(peer.news.lock().accepted, [0; 0]);
    peer.send(TcpFlags::ACK | TcpFlags::PSH, b"next");
    stream.read_exact(&mut [0; 4]).await.expect("data");
    peer.receive_until(|got| got.tcp.ack == peer.next);
    assert_eq!(peer.news.lock().accepted, [0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_of_a_process_that_is_gone_are_aborted() {
    let (stack, mut stream, mut peer) = connected(Profile::modern()).await;
    peer.news.lock().restarted.push("10.0.0.3".parse().expect("an address"));
    peer.send(TcpFlags::ACK | TcpFlags::PSH, b"data");
    stream.read_exact(&mut [0; 4]).await.expect("another one was restarted");
    peer.news.lock().restarted.push(THEIRS);
    // Something arrives of the new process.
    peer.send_packet(&packet::segment(
        &packet::ip(THEIRS, OURS),
        &packet::tcp(4, 4, TcpFlags::SYN),
        &headway_wire::TcpOptions::default(),
        b"",
    ));
    let error = timeout(LONG, stream.read_u8()).await.expect("in time").expect_err("an error");
    assert_eq!(error.kind(), io::ErrorKind::ConnectionAborted);
    drop(stack);
}

/// The timer of the SYN has a minute left.
#[tokio::test(flavor = "multi_thread")]
async fn what_waits_for_a_timer_is_sent_when_the_peer_returns() {
    let (wire, mut peer) = Peer::new();
    let stack = start(wire, OURS, patient());
    let connecting = tokio::spawn(async move { stack.connect((THEIRS, THEIR_PORT).into()).await.map(drop) });
    let syn = peer.receive();
    assert!(syn.tcp.flags.contains(TcpFlags::SYN));
    peer.news.lock().returned.push(THEIRS);
    // Whatever arrives.
    peer.send(TcpFlags::ACK, b"");
    let again = peer.receive_until(|got| got.tcp.flags.contains(TcpFlags::SYN));
    assert_eq!(again.tcp.seq, syn.tcp.seq);
    connecting.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn segments_fit_the_paths_that_the_carrier_has_found() {
    let (stack, mut stream, mut peer) = connected(Profile::modern()).await;
    let mtu = || stack.path(OURS, THEIRS).and_then(|path: Path| path.mtu);
    assert_eq!(mtu(), None);
    peer.news.lock().path_mtus = vec![(OURS, THEIRS, 400)];
    peer.send(TcpFlags::ACK | TcpFlags::PSH, b"data");
    stream.read_exact(&mut [0; 4]).await.expect("data");
    stream.write_all(&[7; 300]).await.expect("room");
    peer.receive_until(|got| !got.payload.is_empty());
    assert_eq!(mtu(), Some(400));
    stream.write_all(&[7; 3000]).await.expect("room");
    let mut left = 3000;
    while left > 0 {
        let got = peer.receive();
        assert!(got.len <= 400, "{got:?}");
        left -= got.payload.len();
        peer.theirs = got.tcp.seq + got.payload.len() as u32;
        peer.send(TcpFlags::ACK, b"");
    }
}

/// The carrier has read them with one that was handed up.
#[tokio::test(flavor = "multi_thread")]
async fn packets_that_the_carrier_holds_wait_for_no_other() {
    let (_stack, mut stream, mut peer) = connected(Profile::modern()).await;
    peer.news.lock().one_by_one = true;
    let message: Vec<u8> = [b"one", b"two", b"six"]
        .into_iter()
        .flat_map(|payload| {
            let packet = peer.segment(TcpFlags::ACK | TcpFlags::PSH, peer.next, payload);
            peer.next += payload.len() as u32;
            packet
        })
        .collect();
    peer.send_packet(&message);
    let mut got = [0; 9];
    timeout(LONG, stream.read_exact(&mut got)).await.expect("in time").expect("data");
    assert_eq!(&got, b"onetwosix");
}

/// The socket has room for a few packets: the stack waits until it can send, and loses nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_carrier_that_is_full_loses_nothing() {
    const LEN: usize = 3_000_000;
    let (stack, mut stream, mut peer) = connected(Profile::modern()).await;
    let writing = tokio::spawn(async move {
        stream.write_all(&Pattern(3).bytes(0, LEN)).await.expect("a connection");
        stream.shutdown().await.expect("a connection");
        stream
    });
    let all = tokio::task::spawn_blocking(move || {
        wait_until("a full socket", || peer.news.lock().refusals > 0);
        let mut all = Vec::new();
        let mut is_over = false;
        while !is_over {
            let got = peer.receive();
            if got.tcp.seq == peer.theirs {
                is_over = got.tcp.flags.contains(TcpFlags::FIN);
                peer.theirs += got.payload.len() as u32 + u32::from(is_over);
                all.extend(got.payload);
            }
            peer.send(TcpFlags::ACK, b"");
        }
        (all, peer)
    });
    let (all, peer) = timeout(LONG * 3, all).await.expect("in time").expect("no panic");
    Pattern(3).check_all(LEN, &all);
    drop((writing.await, peer, stack));
}

/// A carrier takes eight packets at a time. The others follow at once, and wait for nothing that may not come.
#[tokio::test(flavor = "multi_thread")]
async fn more_than_a_carrier_takes_at_once_is_sent_in_turns() {
    const LEN: usize = 5_000;
    let (wire, mut peer) = Peer::with_room_for(100_000);
    let profile = Profile { mtu: 400, initial_window: 100, nagle: false, ..patient() };
    let stack = start(wire, OURS, profile);
    let listener = stack.listen(Peer::address(), 4).expect("a free port");
    peer.open();
    let (mut stream, _) = timeout(LONG, listener.accept()).await.expect("in time").expect("a connection");
    stream.write_all(&Pattern(3).bytes(0, LEN)).await.expect("room");
    let mut all = Vec::new();
    while all.len() < LEN {
        all.extend(peer.receive().payload);
    }
    Pattern(3).check_all(LEN, &all);
}

/// Packets wait until a program listens: before that connections would be refused.
#[tokio::test(flavor = "multi_thread")]
async fn packets_wait_for_the_first_listener() {
    let (wire, mut peer) = Peer::new();
    peer.send(TcpFlags::SYN, b"");
    let stack = start(wire, OURS, Profile::modern());
    let listener = stack.listen(Peer::address(), 4).expect("a free port");
    assert_eq!(peer.receive().tcp.flags, TcpFlags::SYN | TcpFlags::ACK);
    drop((listener, stack));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stack_that_has_not_begun_can_be_closed() {
    let (wire, peer) = Peer::new();
    let stack = start(wire, OURS, Profile::modern());
    timeout(LONG, stack.close(LONG)).await.expect("in time").expect("no error");
    assert!(peer.news.lock().is_closed);
}

/// What ends the connections is sent as soon as the carrier has room again.
#[tokio::test(flavor = "multi_thread")]
async fn a_stack_that_is_closed_while_its_carrier_is_full_resets_its_connections() {
    let (stack, mut stream, peer) = connected(Profile::modern()).await;
    stream.write_all(&[7; 20_000]).await.expect("room");
    wait_until("a full socket", || peer.news.lock().refusals > 0);
    let closing = tokio::spawn(async move { stack.close(std::time::Duration::ZERO).await });
    let error = timeout(LONG, stream.read_u8()).await.expect("in time").expect_err("it is over");
    assert_eq!(error.kind(), io::ErrorKind::ConnectionAborted);
    peer.receive_until(|got| got.tcp.flags.contains(TcpFlags::RST));
    timeout(LONG, closing).await.expect("in time").expect("no panic").expect("no error");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_system_says_is_kept_until_something_arrives() {
    let (stack, mut stream, mut peer) = connected(Profile::modern()).await;
    assert_eq!(stack.trouble(), None);
    peer.news.lock().trouble = Some("no one is there".into());
    stream.write_all(b"data").await.expect("room");
    peer.receive_until(|got| !got.payload.is_empty());
    // At the latest with the timer of what was sent.
    wait_until("what the system says", || stack.trouble().is_some());
    assert_eq!(stack.trouble().as_deref(), Some("no one is there"));
    peer.send(TcpFlags::ACK | TcpFlags::PSH, b"data");
    stream.read_exact(&mut [0; 4]).await.expect("data");
    assert_eq!(stack.trouble(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_times_out_says_what_the_system_said() {
    let (wire, peer) = Peer::new();
    let mut profile = Profile::modern();
    profile.user_timeout = Some(Duration::from_millis(300));
    profile.rto.initial = Duration::from_millis(100);
    let stack = start(wire, OURS, profile);
    peer.news.lock().trouble = Some("no one is there".into());
    let error = timeout(LONG, stack.connect((THEIRS, THEIR_PORT).into())).await.expect("in time");
    let error = error.err().expect("no one is there");
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    assert!(error.to_string().ends_with(": no one is there"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_carrier_that_fails_ends_all_that_waits() {
    let (wire, mut peer) = Peer::new();
    let stack = start(wire, OURS, patient());
    let listener = stack.listen(Peer::address(), 4).expect("a free port");
    peer.open();
    let (mut stream, _) = timeout(LONG, listener.accept()).await.expect("in time").expect("a connection");
    let interceptor = stack.intercept(4).expect("a stack");
    let connecting = stack.clone();
    let connecting =
        tokio::spawn(async move { connecting.connect((THEIRS, THEIR_PORT).into()).await.map(drop) });
    let fail = async {
        tokio::task::yield_now().await;
        peer.news.lock().failure = Some(19);
        peer.send(TcpFlags::ACK, b"");
    };
    let all =
        async { tokio::join!(stream.read_u8(), listener.accept(), interceptor.next(), connecting, fail) };
    let (read, accepted, incoming, connected, ()) = timeout(LONG, all).await.expect("in time");
    for error in [
        read.err(),
        accepted.err(),
        incoming.err(),
        connected.expect("no panic").err(),
        stream.write_u8(1).await.err(),
        stack.connect((THEIRS, THEIR_PORT).into()).await.err(),
        stack.listen((OURS, 81).into(), 4).err(),
        stack.intercept(4).err(),
        stack.open_domain(None).err(),
    ] {
        let error = error.expect("the carrier failed");
        assert!(error.to_string().starts_with("a wire: No such device"), "{error}");
    }
    assert!(peer.news.lock().is_closed);
    drop((stream, listener, interceptor));
    let error = timeout(LONG, stack.close(LONG)).await.expect("in time").expect_err("the carrier failed");
    assert_eq!(error.raw_os_error(), Some(19));
}

/// What a capture has written.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        io::Write::write(&mut *self.0.lock(), bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Written {
    fn has(&self, bytes: &[u8]) -> bool {
        self.0.lock().windows(bytes.len()).any(|found| found == bytes)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_capture_has_the_packets_of_tcp_in_both_directions() {
    let file = Written::default();
    let capture = CaptureFile::new(Box::new(file.clone()), &["wire"]).expect("a capture");
    let (wire, mut peer) = Peer::new();
    let addresses = vec![OURS];
    let config = StackConfig { addresses, capture: Some(capture), ..StackConfig::default() };
    let stack = Stack::start(wire, config).expect("a thread");
    let listener = stack.listen(Peer::address(), 4).expect("a free port");
    let mut other = peer.segment(TcpFlags::ACK, peer.next, b"another protocol");
    other[9] = 17;
    // Its sum is that of the changed header.
    other[10..12].fill(0);
    let mut sum = headway_wire::checksum::Sum::default();
    sum.add_bytes(&other[..20]);
    other[10..12].copy_from_slice(&sum.complement().to_be_bytes());
    peer.send_packet(&other);
    let mut unreadable = peer.segment(TcpFlags::ACK, peer.next, b"unreadable");
    unreadable[24] ^= 1;
    peer.send_packet(&unreadable);
    let syn = peer.segment(TcpFlags::SYN, peer.next, b"");
    peer.send(TcpFlags::SYN, b"");
    let answer = peer.next_packet();
    drop(listener);
    timeout(LONG, stack.close(std::time::Duration::ZERO)).await.expect("in time").expect("a complete file");
    assert!(file.has(&syn) && file.has(&answer) && file.has(&unreadable));
    assert!(!file.has(b"another protocol"));
    assert!(file.has(b"corrupted: the header cannot be read"));
    assert!(!file.has(b"corrupted: the header can be read"));
}

/// A file on a disk that has room for this number of bytes.
struct Full(usize);

impl io::Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_capture_or_log_that_fails_is_reported_at_the_end() {
    let capture = CaptureFile::new(Box::new(Full(1500)), &["wire"]).expect("a capture");
    let log = LogFile::new(Box::new(Full(100)));
    let (title, vantage_point) = ("wire".into(), VantagePoint::Server);
    let header = QlogHeader { title, vantage_point, clock: QlogClock::Virtual };
    let qlog = QlogFile::new(Box::new(Full(100)), &header);
    for config in [
        StackConfig { capture: Some(capture), ..StackConfig::default() },
        StackConfig { log: Some(log), ..StackConfig::default() },
        StackConfig { qlog: Some(qlog), ..StackConfig::default() },
    ] {
        let (wire, mut peer) = Peer::new();
        let stack = Stack::start(wire, StackConfig { addresses: vec![OURS], ..config }).expect("a thread");
        let listener = stack.listen(Peer::address(), 4).expect("a free port");
        peer.open();
        let (mut stream, _) = timeout(LONG, listener.accept()).await.expect("in time").expect("a connection");
        peer.send(TcpFlags::ACK | TcpFlags::PSH, &[7; 1000]);
        stream.read_exact(&mut [0; 1000]).await.expect("the stack goes on");
        drop((stream, listener));
        let end = timeout(LONG, stack.close(std::time::Duration::ZERO)).await.expect("in time");
        let error = end.expect_err("it is not complete");
        assert_eq!(error.to_string(), "the trace could not be written");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_stacks_share_a_wire() {
    let [near, far] = Wire::pair();
    let (near, far) = (start(near, OURS, Profile::modern()), start(far, THEIRS, Profile::modern()));
    let listener = far.listen((THEIRS, 7).into(), 4).expect("a free port");
    let (client, server) = tokio::join!(near.connect((THEIRS, 7).into()), listener.accept());
    let (mut client, mut server) = (client.expect("a connection"), server.expect("a connection").0);
    client.write_all(b"data").await.expect("room");
    let mut data = [0; 4];
    server.read_exact(&mut data).await.expect("data");
    assert_eq!(&data, b"data");
}
