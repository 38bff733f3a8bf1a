//! Two gateways, with the kernel's TCP at both ends and damage between them. Needs no privilege.

mod dscp;
mod half_open;
mod keep_alive;
mod limit;
mod memory;
mod metrics;
mod modem;
mod mtu;
mod no_session;
mod pair;
mod peers;
mod proxy;
mod reload;
mod saved_rates;

use std::io;
use std::net::UdpSocket;
use std::sync::atomic::Ordering;
use std::time::Duration;

use headway_test_fixture::pattern::Pattern;
use headway_test_fixture::silent::Silent;
use headway_trunk::{Config, Gateway, Status};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

use pair::{LONG, Pair, request, server, through, wait_until};

/// Sends `len` bytes of a pattern, ends, and compares what comes back with another.
async fn exchange(mut stream: TcpStream, (ours, theirs): (u32, u32), len: usize) {
    let sent = Pattern(ours).bytes(0, len);
    let (mut reader, mut writer) = stream.split();
    let mut received = Vec::new();
    let both = async {
        tokio::join!(
            async {
                writer.write_all(&sent).await?;
                writer.shutdown().await
            },
            reader.read_to_end(&mut received),
        )
    };
    let (written, read) = timeout(LONG, both).await.expect("in time");
    written.expect("written");
    read.expect("read");
    Pattern(theirs).check_all(len, &received);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_byte_crosses_a_link_that_damages_packets() {
    let pair = Pair::start("").await;
    pair.road.damaged.store(50, Ordering::Relaxed);
    pair.road.dropped.store(10, Ordering::Relaxed);
    let (listener, address) = server().await;
    const LEN: usize = 3_000_000;
    let served = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.expect("a connection");
        exchange(stream, (2, 1), LEN).await;
    });
    let stream = through(pair.socks, address).await.expect("a connection");
    exchange(stream, (1, 2), LEN).await;
    served.await.expect("the server's side");
    for gateway in [&pair.near, &pair.far] {
        let gateway = gateway.as_ref().expect("running");
        // What the tunnel counts is seen from time to time.
        let is_counted = |status: Status| status.corrupted > 10 && status.unreadable > 0;
        wait_until("damage did arrive", || is_counted(gateway.status())).await;
        wait_until("the stream ends", || gateway.status().peers[0].open_streams == 0).await;
        let peer = &gateway.status().peers[0];
        assert_eq!(peer.passes_unchecked, Some(true));
        assert_eq!((peer.opened_streams, peer.refused_streams, peer.open_streams), (1, 0, 0));
        assert_eq!((peer.bytes_to_peer, peer.bytes_from_peer), (LEN as u64, LEN as u64));
    }
}

/// By packet trains in both directions.
#[tokio::test(flavor = "multi_thread")]
async fn what_the_link_carries_is_measured_before_a_program_uses_it() {
    let pair = Pair::start("").await;
    for gateway in [&pair.near, &pair.far] {
        let gateway = gateway.as_ref().expect("running");
        let rate =
            || gateway.status().peers[0].path.as_ref().and_then(|path| path.delivery_rate_bits_per_second);
        wait_until("a rate is known", || rate().is_some()).await;
        assert_eq!(gateway.status().peers[0].opened_streams, 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_end_of_a_stream_ends_by_itself_and_a_reset_passes_through() {
    let (listener, address) = server().await;
    let pair =
        Pair::start(&format!("[[forward]]\nlisten = '127.0.0.1:0'\nto = 'localhost:{}'\n", address.port()))
            .await;
    let forward = pair.near.as_ref().expect("running").entries()[0];
    // The client ends, and is answered after that.
    let mut client = TcpStream::connect(forward).await.expect("the forward");
    let (mut served, _) = listener.accept().await.expect("a connection");
    client.write_all(b"question").await.expect("open");
    client.shutdown().await.expect("open");
    let mut question = String::new();
    served.read_to_string(&mut question).await.expect("the question");
    assert_eq!(question, "question");
    served.write_all(b"answer").await.expect("open");
    drop(served);
    let mut answer = String::new();
    client.read_to_string(&mut answer).await.expect("the answer");
    assert_eq!(answer, "answer");

    for by_client in [true, false] {
        let mut client = TcpStream::connect(forward).await.expect("the forward");
        let (mut served, _) = listener.accept().await.expect("a connection");
        client.write_all(b"x").await.expect("open");
        served.read_u8().await.expect("a byte");
        let (gone, mut left) = if by_client { (client, served) } else { (served, client) };
        socket2::SockRef::from(&gone).set_linger(Some(Duration::ZERO)).expect("an option");
        drop(gone);
        let error = timeout(LONG, left.read_u8()).await.expect("in time").expect_err("an error");
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset, "by the client: {by_client}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_arrive_as_what_they_are() {
    let pair = Pair::start("").await;
    let (listener, address) = server().await;
    drop(listener);
    // RFC 1928, 6: refused; not allowed; unknown name; unknown command.
    assert_eq!(through(pair.socks, address).await.map(drop), Err(5));
    assert_eq!(through(pair.socks, "127.0.0.2:9".parse().expect("an address")).await.map(drop), Err(2));
    let name = b"no-such-host.invalid";
    let mut unknown = vec![5, 1, 0, 3, name.len() as u8];
    unknown.extend(name);
    unknown.extend([0, 80]);
    assert_eq!(request(pair.socks, &unknown).await.map(drop), Err(4));
    assert_eq!(request(pair.socks, &[5, 2, 0, 1, 127, 0, 0, 1, 0, 80]).await.map(drop), Err(7));
    let status = pair.near.as_ref().expect("running").status();
    assert_eq!((status.peers[0].opened_streams, status.peers[0].refused_streams), (0, 3));
}

/// A client that is told early that it is connected says what it has to say at once, and is reset where it is refused.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_of_a_fast_open_is_connected_at_once() {
    let pair = Pair::start("[[socks]]\nlisten = '127.0.0.1:0'\nfast-open = true\n").await;
    let entries = pair.near.as_ref().expect("running").entries();
    let fast = *entries.iter().find(|&&entry| entry != pair.socks).expect("two entries");
    let silent = Silent::new();
    let mut client = through(fast, silent.address()).await.expect("told so");
    client.write_all(b"question").await.expect("open");
    drop(client);

    let (listener, address) = server().await;
    let mut client = through(fast, address).await.expect("told so");
    client.write_all(b"question").await.expect("open");
    let (mut served, _) = listener.accept().await.expect("a connection");
    served.read_exact(&mut [0; 8]).await.expect("the question");
    served.write_all(b"answer").await.expect("open");
    client.read_exact(&mut [0; 6]).await.expect("the answer");

    drop(listener);
    let mut refused = through(fast, address).await.expect("told so");
    let asks = async {
        refused.write_all(b"question").await?;
        refused.read_u8().await
    };
    let error = timeout(LONG, asks).await.expect("in time").expect_err("an error");
    // The reset may come before the question is written.
    assert!(matches!(error.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe), "{error}");
    let peer = &pair.near.as_ref().expect("running").status().peers[0];
    assert_eq!(
        (peer.opened_streams, peer.refused_streams),
        (1, 1),
        "the answer outlives what it leaves unread"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_streams_at_once() {
    let pair = Pair::start("").await;
    pair.road.damaged.store(20, Ordering::Relaxed);
    let (listener, address) = server().await;
    let served = tokio::spawn(async move {
        for _ in 0..100 {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            tokio::spawn(async move {
                let number = stream.read_u32().await.expect("a number");
                exchange(stream, (number + 1000, number), 50_000).await;
            });
        }
    });
    let mut clients = tokio::task::JoinSet::new();
    for number in 0..100 {
        let socks = pair.socks;
        clients.spawn(async move {
            let mut stream = through(socks, address).await.expect("a connection");
            stream.write_u32(number).await.expect("open");
            exchange(stream, (number, number + 1000), 50_000).await;
        });
    }
    while let Some(client) = clients.join_next().await {
        client.expect("a client");
    }
    served.await.expect("the server");
}

/// Either gateway ends, by a call or without a word, and starts again: streams are reset within seconds at the other
/// end, and new ones open.
#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_restarts_resets_its_streams_and_serves_new_ones() {
    // At once, since each waits for its timers.
    let cases = [(false, true), (false, false), (true, true), (true, false)];
    let mut cases: tokio::task::JoinSet<()> =
        cases.into_iter().map(|(stops_near, says_so)| restart_one(stops_near, says_so)).collect();
    while let Some(case) = cases.join_next().await {
        case.expect("a case");
    }
}

async fn restart_one(stops_near: bool, says_so: bool) {
    let mut pair = Pair::start("").await;
    let (listener, address) = server().await;
    let mut client = through(pair.socks, address).await.expect("a connection");
    let (mut served, _) = listener.accept().await.expect("a connection");
    client.write_all(b"x").await.expect("open");
    served.read_u8().await.expect("a byte");
    let (slot, config) =
        if stops_near { (&mut pair.near, &pair.near_config) } else { (&mut pair.far, &pair.far_config) };
    let gateway = slot.take().expect("running");
    if says_so {
        gateway.close().await.expect("an orderly end");
    } else {
        // As if its machine had lost power.
        pair.road.dropped.store(1000, Ordering::Relaxed);
        let tunnel = gateway.status().listen.expect("a UDP address");
        drop(gateway);
        wait_until("its socket is free", || UdpSocket::bind(tunnel).is_ok()).await;
        pair.road.dropped.store(0, Ordering::Relaxed);
    }
    *slot = Some(restart(config).await);
    pair.socks = pair.near.as_ref().expect("running").entries()[0];
    let mut other = if stops_near { served } else { client };
    let began = Instant::now();
    // It sends now and then, as a program does that waits for something.
    let ended = timeout(LONG, async {
        while other.write_all(b"y").await.is_ok() {
            sleep(Duration::from_millis(50)).await;
        }
    });
    ended.await.unwrap_or_else(|_| panic!("not reset: near {stops_near}, says so {says_so}"));
    pair.connected().await;
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    let (mut client, served) =
        tokio::join!(async { through(pair.socks, address).await.expect("a connection") }, listener.accept());
    let mut served = served.expect("a connection").0;
    client.write_all(b"z").await.expect("open");
    assert_eq!(served.read_u8().await.expect("a byte"), b'z');
}

/// More hosts than there are spare connections ask while the far gateway is away: they get theirs when it is back.
#[tokio::test(flavor = "multi_thread")]
async fn streams_that_are_being_opened_survive_a_restart_of_the_far_gateway() {
    let mut pair = Pair::start("").await;
    let (listener, address) = server().await;
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            tokio::spawn(async move { stream.write_all(b"x").await });
        }
    });
    pair.road.dropped.store(1000, Ordering::Relaxed);
    drop(pair.far.take());
    let mut clients = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let socks = pair.socks;
        clients.spawn(async move { through(socks, address).await.expect("a connection").read_u8().await });
    }
    let near = pair.near.as_ref().expect("running");
    wait_until("all wait", || near.status().peers[0].half_open_streams == 8).await;
    pair.far = Some(restart(&pair.far_config).await);
    pair.road.dropped.store(0, Ordering::Relaxed);
    while let Some(client) = clients.join_next().await {
        assert_eq!(client.expect("a client").expect("a byte"), b'x');
    }
}

/// The destination takes its time, and the far gateway is restarted before it has answered.
#[tokio::test(flavor = "multi_thread")]
async fn streams_that_wait_for_their_destination_survive_a_restart_of_the_far_gateway() {
    let mut pair = Pair::start("").await;
    let silent = Silent::new();
    let address = silent.address();
    // More than there are connections that were opened ahead.
    let mut clients = tokio::task::JoinSet::new();
    for _ in 0..6 {
        let socks = pair.socks;
        clients.spawn(async move { through(socks, address).await });
    }
    let far = pair.far.as_ref().expect("running");
    wait_until("all wait", || far.status().peers[0].half_open_streams == 6).await;
    pair.far.take().expect("running").close().await.expect("an orderly end");
    pair.far = Some(restart(&pair.far_config).await);
    pair.connected().await;
    std::thread::spawn(move || {
        let mut open = Vec::new();
        while let Ok(accepted) = silent.accept() {
            open.push(accepted);
        }
    });
    while let Some(client) = clients.join_next().await {
        client.expect("a client").expect("a connection");
    }
}

/// Starts a gateway again. The socket of its tunnel is given back by a thread.
async fn restart(config: &Config) -> Gateway {
    let restarted = timeout(LONG, async {
        loop {
            match Gateway::start(config) {
                Ok(gateway) => return gateway,
                Err(_) => sleep(Duration::from_millis(50)).await,
            }
        }
    });
    restarted.await.expect("a start")
}
