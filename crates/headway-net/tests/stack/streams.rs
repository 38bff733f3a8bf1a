//! What programs do with streams and stacks.

use std::future::Future as _;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use headway_net::{Stack, StackConfig, TcpListener, TcpStream};
use headway_tcp::{HackMode, KeepAlive, Profile};
use headway_test_fixture::process::wait_until;
use headway_wire::{Dscp, TcpFlags};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

use super::carrier::{LONG, OURS, Peer, THEIRS, Wire, start};

/// Two stacks and a connection of theirs; the client's end first.
struct Ends {
    stacks: [Stack; 2],
    listener: TcpListener,
    client: TcpStream,
    server: TcpStream,
}

impl Ends {
    async fn new() -> Self {
        let [near, far] = Wire::pair();
        let stacks = [start(near, OURS, Profile::modern()), start(far, THEIRS, Profile::modern())];
        let listener = stacks[1].listen((THEIRS, 7).into(), 4).expect("a free port");
        let both = async { tokio::join!(stacks[0].connect((THEIRS, 7).into()), listener.accept()) };
        let (client, server) = timeout(LONG, both).await.expect("in time");
        let (client, server) = (client.expect("a connection"), server.expect("a connection").0);
        Self { stacks, listener, client, server }
    }
}

fn is_over<T>(result: io::Result<T>) {
    assert_eq!(result.err().expect("it is over").kind(), io::ErrorKind::NotConnected);
}

#[tokio::test]
async fn both_ends_have_each_others_address() {
    let Ends { client, server, listener, stacks } = Ends::new().await;
    assert_eq!(client.local_addr().expect("open"), server.peer_addr().expect("open"));
    assert_eq!(client.peer_addr().expect("open"), (THEIRS, 7).into());
    assert_eq!(server.local_addr().expect("open"), (THEIRS, 7).into());
    assert_eq!(client.local_addr().expect("open").ip(), OURS);
    assert_eq!(listener.local_addr(), (THEIRS, 7).into());
    assert_eq!(stacks.each_ref().map(|stack| stack.addresses().to_vec()), [[OURS], [THEIRS]]);
    assert!(client.negotiated().expect("open").timestamps);
}

#[tokio::test]
async fn a_stream_is_open_until_its_peer_ends_it_or_it_fails() {
    let Ends { client, mut server, .. } = Ends::new().await;
    assert!(client.is_open() && server.is_open());
    server.shutdown().await.expect("open");
    wait_until("the FIN", || !client.is_open());
    assert!(server.is_open(), "the other half is");
    // A FIN is no failure.
    let mut failed = pin!(client.failed());
    let mut context = Context::from_waker(Waker::noop());
    assert!(failed.as_mut().poll(&mut context).is_pending());
    server.reset();
    let error = timeout(LONG, failed).await.expect("in time");
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    assert!(!server.is_open());
}

#[tokio::test]
async fn options_reach_the_connection() {
    let (wire, mut peer) = Peer::new();
    let stack = start(wire, OURS, Profile { hack: HackMode::Off, ..Profile::modern() });
    let listener = stack.listen(Peer::address(), 4).expect("a free port");
    peer.open();
    let (mut stream, _) = timeout(LONG, listener.accept()).await.expect("in time").expect("a connection");
    stream.set_dscp(Dscp::EF).expect("open");
    stream.set_hop_limit(7).expect("open");
    stream.write_all(b"data").await.expect("room");
    let packet = peer.next_packet();
    assert_eq!((packet[1] >> 2, packet[8]), (Dscp::EF.traffic_class(headway_wire::Ecn::NotEct) >> 2, 7));
    assert_eq!(stream.set_hop_limit(0).expect_err("no hop").kind(), io::ErrorKind::InvalidInput);
    // With Nagle's algorithm a short segment waits for the acknowledgement of what was sent before.
    stream.set_nodelay(true).expect("open");
    stream.write_all(b"at once").await.expect("room");
    assert_eq!(peer.receive_until(|got| !got.payload.is_empty()).payload, b"at once");
    stream.set_nodelay(false).expect("open");
    stream.write_all(b"after").await.expect("room");
    wait_until("the data", || stream.statistics().expect("open").unsent == 5);
    peer.theirs += 11;
    peer.send(TcpFlags::ACK, b"");
    assert_eq!(peer.receive_until(|got| !got.payload.is_empty()).payload, b"after");
    // What is wrong is said.
    let zero = headway_units::Duration::ZERO;
    let no_time = KeepAlive { idle: zero, interval: zero, probes: 1 };
    assert!(stream.set_keep_alive(Some(no_time)).is_err());
    assert!(stream.set_keep_alive(None).is_ok());
}

#[tokio::test]
async fn a_limit_of_unacknowledged_time_ends_a_connection() {
    let (wire, mut peer) = Peer::new();
    let stack = start(wire, OURS, Profile::modern());
    let listener = stack.listen(Peer::address(), 4).expect("a free port");
    peer.open();
    let (mut stream, _) = timeout(LONG, listener.accept()).await.expect("in time").expect("a connection");
    stream.set_user_timeout(Some(headway_units::Duration::from_millis(50))).expect("open");
    stream.write_all(b"data").await.expect("room");
    let error = timeout(LONG, stream.read_u8()).await.expect("in time").expect_err("it is not acknowledged");
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
}

/// What arrives beyond a hole.
#[tokio::test]
async fn what_arrives_out_of_order_can_be_read() {
    let (wire, mut peer) = Peer::new();
    let stack = start(wire, OURS, Profile::modern());
    let listener = stack.listen(Peer::address(), 4).expect("a free port");
    peer.open();
    let (mut stream, _) = timeout(LONG, listener.accept()).await.expect("in time").expect("a connection");
    stream.set_unordered(true).expect("open");
    let late = peer.segment(TcpFlags::ACK, peer.next + 3, b"beyond");
    peer.send_packet(&late);
    let read = stream.read_unordered(|runs| {
        let runs: Vec<_> = runs.map(|(distance, (a, b))| (distance, [a, b].concat())).collect();
        Ok((0, (!runs.is_empty()).then_some(runs)))
    });
    let runs = timeout(LONG, read).await.expect("in time").expect("open").expect("no end");
    assert_eq!(runs, [(3, b"beyond".to_vec())]);
    peer.send(TcpFlags::ACK, b"ped");
    let read = stream.read_unordered(|runs| {
        let all: Vec<u8> = runs.flat_map(|(_, (a, b))| [a, b].concat()).collect();
        Ok(if all.len() == 9 { (all.len(), Some(all)) } else { (0, None) })
    });
    let all = timeout(LONG, read).await.expect("in time").expect("open").expect("no end");
    assert_eq!(all, b"pedbeyond");
    // All was read. An error of the program's is passed on, and the end is told.
    let wrong = stream.read_unordered(|runs| -> io::Result<(usize, Option<()>)> {
        assert_eq!(runs.count(), 0);
        Err(io::ErrorKind::InvalidData.into())
    });
    assert_eq!(wrong.await.expect_err("an error").kind(), io::ErrorKind::InvalidData);
    peer.next += 6;
    peer.send(TcpFlags::ACK | TcpFlags::FIN, b"");
    let end = stream.read_unordered(|_| Ok((0, None::<()>)));
    assert_eq!(timeout(LONG, end).await.expect("in time").expect("open"), None);
    stream.reset();
    let end = stream.read_unordered(|_| Ok((0, None::<()>)));
    assert!(timeout(LONG, end).await.expect("in time").is_err(), "it is over");
}

/// A window that was closed opens when enough was read, and the peer is told.
#[tokio::test]
async fn reading_opens_the_window() {
    const WINDOW: u32 = 20_000;
    for is_unordered in [false, true] {
        let (wire, mut peer) = Peer::new();
        let profile =
            Profile { receive_buffer: WINDOW as usize, window_scaling: false, ..Profile::standard() };
        let stack = start(wire, OURS, profile);
        let listener = stack.listen(Peer::address(), 4).expect("a free port");
        peer.open();
        let (mut stream, _) = timeout(LONG, listener.accept()).await.expect("in time").expect("a connection");
        let mut sent = 0;
        while sent < WINDOW {
            let len = (WINDOW - sent).min(500);
            peer.send(TcpFlags::ACK, &vec![7; len as usize]);
            sent += len;
        }
        peer.receive_until(|got| got.tcp.window == 0);
        let len = if is_unordered {
            let all = stream.read_unordered(|runs| {
                let len = runs.map(|(_, (a, b))| a.len() + b.len()).sum();
                Ok((len, Some(len)))
            });
            all.await.expect("open").expect("no end")
        } else {
            stream.read_exact(&mut [0; WINDOW as usize]).await.expect("open")
        };
        assert_eq!(len, WINDOW as usize);
        peer.receive_until(|got| u32::from(got.tcp.window) > WINDOW / 2);
    }
}

#[tokio::test]
async fn nothing_is_read_into_no_room_and_nothing_written_from_nothing() {
    let Ends { mut client, mut server, .. } = Ends::new().await;
    assert_eq!(client.read(&mut []).await.expect("open"), 0);
    assert_eq!(client.write(b"").await.expect("open"), 0);
    client.flush().await.expect("open");
    client.write_all(b"data").await.expect("open");
    let mut data = [0; 3];
    server.read_exact(&mut data).await.expect("open");
    assert_eq!((&data, server.read_u8().await.expect("open")), (b"dat", b'a'));
    client.shutdown().await.expect("open");
    assert_eq!(client.write(b"x").await.expect_err("it was ended").kind(), io::ErrorKind::BrokenPipe);
    server.reset();
    let error = timeout(LONG, client.read_u8()).await.expect("in time").expect_err("a reset");
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    assert_eq!(client.shutdown().await.expect_err("a reset").kind(), io::ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn a_profile_must_fit_the_stack() {
    let Ends { stacks, listener, .. } = Ends::new().await;
    let [near, _] = &stacks;
    assert_eq!(near.profile().mtu, 1500);
    let with = |mtu| Arc::new(Profile { mtu, ..Profile::modern() });
    for (mtu, is_right) in [(1501, false), (1500, true), (1400, true)] {
        let both = async {
            tokio::join!(near.connect_with((THEIRS, 7).into(), with(mtu)), async {
                if is_right {
                    listener.accept().await.expect("a connection");
                }
            })
        };
        let (connected, ()) = timeout(LONG, both).await.expect("in time");
        assert_eq!(connected.is_ok(), is_right, "{mtu}");
        if let Err(error) = connected {
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        }
    }
    let other = near.connect("[fd00::1]:7".parse().expect("an address")).await;
    assert_eq!(other.err().expect("no such address").kind(), io::ErrorKind::AddrNotAvailable);
    assert!(
        near.connect_with((THEIRS, 7).into(), Arc::new(Profile { mtu: 1, ..Profile::modern() }))
            .await
            .is_err()
    );
}

#[tokio::test]
async fn a_stack_has_at_most_as_many_connections_as_were_configured() {
    let (wire, mut peer) = Peer::new();
    let config = StackConfig { addresses: vec![OURS], max_connections: 1, ..StackConfig::default() };
    let stack = Stack::start(wire, config).expect("a thread");
    let listener = stack.listen(Peer::address(), 4).expect("a free port");
    peer.open();
    let accepted = timeout(LONG, listener.accept()).await.expect("in time").expect("a connection");
    let another = timeout(LONG, stack.connect((THEIRS, 7).into())).await.expect("at once");
    assert_eq!(
        another.err().expect("one too many").to_string(),
        "the host has as many connections as it may"
    );
    drop(accepted);
}

#[tokio::test]
async fn a_stack_counts_its_connections_and_their_memory() {
    let Ends { stacks: [near, _far], client, server, listener } = Ends::new().await;
    assert_eq!(near.connections(), 1);
    assert!(near.memory() > 0 && near.memory() < 1 << 20);
    assert!(near.path(OURS, THEIRS).is_some() && near.path(THEIRS, OURS).is_none());
    let before = near.now();
    assert!(near.now() >= before);
    client.reset();
    drop(client);
    wait_until("the end", || near.connections() == 0);
    assert_eq!(near.memory(), 0);
    drop((server, listener));
}

#[tokio::test]
async fn connections_share_a_domain() {
    let Ends { stacks: [near, far], .. } = Ends::new().await;
    let (here, there) = (near.open_domain(None).expect("a stack"), far.open_domain(None).expect("a stack"));
    let listener = far.listen_in(there, (THEIRS, 8).into(), 4).expect("a free port");
    let mut ends = Vec::new();
    for count in 1..=3 {
        let both = async { tokio::join!(near.connect_in(here, OURS, (THEIRS, 8).into()), listener.accept()) };
        let (client, server) = timeout(LONG, both).await.expect("in time");
        ends.push((client.expect("a connection"), server.expect("a connection").0));
        assert_eq!(near.domain_status(here).expect("a domain").members, count);
        assert_eq!(far.domain_status(there).expect("a domain").members, count);
    }
}

/// Each of the tasks that wait for connections is woken.
#[tokio::test]
async fn several_tasks_wait_for_connections() {
    #[derive(Default)]
    struct Count(AtomicU32);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    let Ends { stacks: [near, _far], listener, .. } = Ends::new().await;
    let counts = [0; 2].map(|_| Arc::new(Count::default()));
    for count in &counts {
        let waker = count.clone().into();
        for _ in 0..2 {
            assert!(listener.poll_accept(&mut Context::from_waker(&waker)).is_pending());
        }
    }
    let _client = timeout(LONG, near.connect((THEIRS, 7).into())).await.expect("in time").expect("open");
    wait_until("the wakers", || counts.iter().all(|count| count.0.load(Ordering::Relaxed) > 0));
    assert_eq!(counts.map(|count| count.0.load(Ordering::Relaxed)), [1, 1], "once each");
    let accepted = timeout(LONG, listener.accept()).await.expect("in time");
    assert!(accepted.is_ok());
}

#[tokio::test]
async fn a_listener_that_is_dropped_frees_its_port() {
    let Ends { stacks: [near, far], listener, .. } = Ends::new().await;
    assert_eq!(far.listen((THEIRS, 7).into(), 4).err().expect("in use").kind(), io::ErrorKind::AddrInUse);
    drop(listener);
    let refused = timeout(LONG, near.connect((THEIRS, 7).into())).await.expect("in time");
    assert_eq!(refused.err().expect("no one listens").kind(), io::ErrorKind::ConnectionRefused);
    assert_eq!(far.counters().resets, 1);
    assert!(far.listen((THEIRS, 7).into(), 4).is_ok());
    let other = far.listen((OURS, 7).into(), 4).err().expect("not ours");
    assert_eq!(other.kind(), io::ErrorKind::AddrNotAvailable);
}

#[tokio::test]
async fn a_closed_stack_waits_for_its_streams() {
    let Ends { stacks: [near, far], client, mut server, listener } = Ends::new().await;
    let closing = near.clone();
    let mut closing = pin!(closing.close(Duration::from_secs(3600)));
    let mut context = Context::from_waker(Waker::noop());
    assert!(closing.as_mut().poll(&mut context).is_pending(), "a stream is open");
    // From now on nothing else begins.
    is_over(near.listen((OURS, 9).into(), 4));
    is_over(near.intercept(4));
    is_over(near.open_domain(None));
    is_over(timeout(LONG, near.connect((THEIRS, 7).into())).await.expect("in time"));
    drop(client);
    assert_eq!(timeout(LONG, server.read(&mut [0; 9])).await.expect("in time").expect("open"), 0);
    assert!(closing.as_mut().poll(&mut context).is_pending(), "the peer has not ended it");
    drop(server);
    timeout(LONG, closing).await.expect("in time").expect("no error");
    // The other one is ended at once.
    far.abort();
    is_over(timeout(LONG, listener.accept()).await.expect("in time").map(drop));
    timeout(LONG, far.close(Duration::from_secs(3600))).await.expect("in time").expect("no error");
}

#[tokio::test]
async fn the_time_that_a_closed_stack_waits_is_limited() {
    let Ends { stacks: [near, _far], mut client, mut server, .. } = Ends::new().await;
    let closing = near.close(Duration::from_millis(50));
    timeout(LONG, closing).await.expect("in time").expect("no error");
    let error = timeout(LONG, client.read_u8()).await.expect("in time").expect_err("aborted");
    assert_eq!(error.kind(), io::ErrorKind::ConnectionAborted);
    let error = timeout(LONG, server.read_u8()).await.expect("in time").expect_err("reset");
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn the_last_handle_ends_the_stack() {
    let Ends { stacks: [near, _far], client, mut server, .. } = Ends::new().await;
    drop(near);
    assert!(client.is_open(), "a stream is a handle");
    drop(client);
    assert!(timeout(LONG, server.read_u8()).await.expect("in time").is_err());
}

/// More than are kept of those that were dropped: what is over is forgotten.
#[tokio::test]
async fn dropped_streams_are_forgotten_when_they_are_over() {
    let Ends { stacks: [near, _far], listener, .. } = Ends::new().await;
    for _ in 0..200 {
        let both = async { tokio::join!(near.connect((THEIRS, 7).into()), listener.accept()) };
        let (client, server) = timeout(LONG, both).await.expect("in time");
        client.expect("a connection").reset();
        drop(server.expect("a connection"));
    }
    timeout(LONG, near.close(Duration::from_secs(3600))).await.expect("in time").expect("no error");
}
