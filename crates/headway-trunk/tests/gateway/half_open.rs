//! Streams that wait for a destination that does not answer: they end with their host, and leave places to others.

use std::net::SocketAddr;
use std::time::Duration;

use headway_test_fixture::process::free_addresses;
use headway_test_fixture::silent::Silent;
use headway_trunk::{Config, Gateway, PeerStatus};
use headway_trunk_proto::SecretKey;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use super::pair::{LONG, Pair, key_file, server, through, wait_until};

/// Far less than a destination may take to answer, and far more than a busy machine needs.
const SOON: Duration = Duration::from_secs(30);

fn status(gateway: &Option<Gateway>, peer: usize) -> PeerStatus {
    gateway.as_ref().expect("running").status().peers.remove(peer)
}

/// A SOCKS client that has asked for `to` and waits for its reply.
async fn asking(socks: SocketAddr, to: SocketAddr) -> TcpStream {
    let SocketAddr::V4(v4) = to else { panic!("an IPv4 address") };
    let mut stream = TcpStream::connect(socks).await.expect("the SOCKS server");
    stream.write_all(&[5, 1, 0]).await.expect("open");
    stream.read_exact(&mut [0; 2]).await.expect("a method");
    let request = [&[5, 1, 0, 1][..], &v4.ip().octets(), &to.port().to_be_bytes()].concat();
    stream.write_all(&request).await.expect("open");
    stream
}

/// Opens a stream and uses it.
async fn exchange(socks: SocketAddr, listener: &TcpListener) -> (TcpStream, TcpStream) {
    let address = listener.local_addr().expect("an address");
    let mut client = timeout(SOON, through(socks, address)).await.expect("soon").expect("a connection");
    let (mut served, _) = listener.accept().await.expect("a connection");
    client.write_all(b"x").await.expect("open");
    assert_eq!(served.read_u8().await.expect("a byte"), b'x');
    (client, served)
}

/// Two gateways, the far one with that many streams at most, and the addresses of a forward to `to` and of a SOCKS server.
async fn limited(most: usize, to: SocketAddr) -> (Pair, SocketAddr, SocketAddr) {
    let forward = format!("[[forward]]\nlisten = '127.0.0.1:0'\nto = '{to}'\n");
    let pair = Pair::start_limited(&forward, most).await;
    let [forward, socks] = pair.near.as_ref().expect("running").entries()[..] else { panic!("two entries") };
    (pair, forward, socks)
}

#[tokio::test(flavor = "multi_thread")]
async fn abandoned_connections_keep_no_place() {
    let silent = Silent::new();
    let (listener, _) = server().await;
    let (pair, forward, socks) = limited(8, silent.address()).await;
    for by_forward in [true, false] {
        let mut clients = Vec::new();
        for _ in 0..8 {
            clients.push(if by_forward {
                TcpStream::connect(forward).await.expect("the forward")
            } else {
                asking(socks, silent.address()).await
            });
        }
        wait_until("the far gateway connects", || status(&pair.far, 0).half_open_streams == 8).await;
        drop(clients);
        drop(exchange(socks, &listener).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_far_gateway_gives_up_with_the_host() {
    let silent = Silent::new();
    let (pair, forward, socks) = limited(8, silent.address()).await;
    let counts = |end: &Option<Gateway>| (status(end, 0).half_open_streams, status(end, 0).abandoned_streams);
    for (by_forward, before) in [(true, 0), (false, 3)] {
        let mut clients = Vec::new();
        for _ in 0..3 {
            clients.push(if by_forward {
                let client = TcpStream::connect(forward).await.expect("the forward");
                // It ends with a RST.
                socket2::SockRef::from(&client).set_linger(Some(Duration::ZERO)).expect("an option");
                client
            } else {
                asking(socks, silent.address()).await
            });
        }
        wait_until("both wait", || [&pair.near, &pair.far].map(counts) == [(3, before); 2]).await;
        drop(clients);
        wait_until("both have given up", || [&pair.near, &pair.far].map(counts) == [(0, before + 3); 2])
            .await;
    }
    assert_eq!((status(&pair.near, 0).refused_streams, status(&pair.far, 0).refused_streams), (0, 0));
}

/// A FIN is no sign that a host has gone: it may wait for what the destination says.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_sends_no_more_still_waits_for_its_answer() {
    let silent = Silent::new();
    let (pair, forward, _) = limited(8, silent.address()).await;
    let mut client = TcpStream::connect(forward).await.expect("the forward");
    client.write_all(b"question").await.expect("open");
    client.shutdown().await.expect("open");
    wait_until("it is half-open", || status(&pair.far, 0).half_open_streams == 1).await;
    // The kernel's TCP tries again until the destination answers.
    std::thread::spawn(move || {
        while let Ok(mut accepted) = silent.accept() {
            std::thread::spawn(move || {
                let mut question = String::new();
                let read = std::io::Read::read_to_string(&mut accepted, &mut question);
                if read.is_ok() && question == "question" {
                    let _ = std::io::Write::write_all(&mut accepted, b"answer");
                }
            });
        }
    });
    let mut answer = String::new();
    timeout(LONG, client.read_to_string(&mut answer)).await.expect("in time").expect("an answer");
    assert_eq!(answer, "answer");
}

/// Who holds all places with connections that no one answers gets an answer itself, and others their streams.
#[tokio::test(flavor = "multi_thread")]
async fn the_oldest_that_wait_give_way() {
    let silent = Silent::new();
    let (listener, _) = server().await;
    let (pair, _, socks) = limited(8, silent.address()).await;
    let mut clients = Vec::new();
    for asked in 1..=12_usize {
        clients.push(asking(socks, silent.address()).await);
        let far = || status(&pair.far, 0);
        let is_counted = || far().half_open_streams + far().displaced_streams as usize == asked;
        wait_until("it has reached the far gateway", is_counted).await;
        assert!(far().half_open_streams <= 8);
    }
    for client in &mut clients[..4] {
        let mut reply = [0; 10];
        timeout(SOON, client.read_exact(&mut reply)).await.expect("soon").expect("a reply");
        // RFC 1928, 6: TTL expired, which is said of what does not answer.
        assert_eq!(reply[..2], [5, 6]);
    }
    drop(exchange(socks, &listener).await);
}

/// A far gateway with two peers.
struct Three {
    far: Option<Gateway>,
    near: [Gateway; 2],
    socks: [SocketAddr; 2],
    _folder: tempfile::TempDir,
}

impl Three {
    async fn start(most: usize) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let at: [SocketAddr; 3] = free_addresses();
        let keys = [1, 2, 3].map(|byte| SecretKey::from_bytes([byte; 32]));
        for (key, name) in keys.iter().zip(["0.key", "1.key", "far.key"]) {
            key_file(folder.path(), name, key);
        }
        let path = folder.path().join("gateway.toml");
        let start = |text: &str| {
            let config = Config::parse(text, &path).expect("a configuration");
            Gateway::start(&config).expect("a gateway")
        };
        let peer = |n: usize| {
            let key = keys[n].public();
            format!("[[peer]]\nname = 'near{n}'\npublic-key = '{key}'\ndestinations = ['127.0.0.1/32']\n")
        };
        let far = start(&format!(
            "gateway = {{ key-file = 'far.key', listen = '{}', max-streams = {most} }}\n{}{}",
            at[2],
            peer(0),
            peer(1)
        ));
        let near = [0, 1].map(|n| {
            start(&format!(
                "gateway = {{ key-file = '{n}.key', listen = '{}' }}\n[[peer]]\nname = 'far'\npublic-key = '{}'\n\
                 endpoint = '{}'\n[[socks]]\nlisten = '127.0.0.1:0'\n",
                at[n],
                keys[2].public(),
                at[2]
            ))
        });
        let socks = [0, 1].map(|n: usize| near[n].entries()[0]);
        let is_connected = |gateway: &Gateway| gateway.status().peers.iter().all(|peer| peer.connected);
        wait_until("sessions", || near.iter().chain([&far]).all(is_connected)).await;
        Self { far: Some(far), near, socks, _folder: folder }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_that_scans_takes_nothing_from_another() {
    let silent = Silent::new();
    let (listener, address) = server().await;
    let three = Three::start(8).await;
    let [scanning, other] = three.socks;
    // One that waits, before the scan and during it.
    let _waiting = asking(other, silent.address()).await;
    wait_until("it waits", || status(&three.far, 1).half_open_streams == 1).await;
    let mut scan = Vec::new();
    for asked in 1..=40 {
        scan.push(asking(scanning, silent.address()).await);
        if asked % 8 == 0 {
            drop(exchange(other, &listener).await);
        }
    }
    let scanned = || status(&three.far, 0).half_open_streams as u64 + status(&three.far, 0).displaced_streams;
    wait_until("all has reached the far gateway", || scanned() == 40).await;
    let of_other = status(&three.far, 1);
    assert_eq!((of_other.half_open_streams, of_other.displaced_streams, of_other.refused_streams), (1, 0, 0));
    assert_eq!(of_other.opened_streams, 5);

    // Nor can it have all that may be open.
    let mut open = Vec::new();
    let refused = loop {
        match timeout(SOON, through(scanning, address)).await.expect("soon") {
            Ok(stream) => open.push(stream),
            Err(reply) => break reply,
        }
    };
    // RFC 1928, 6: a general failure. A quarter of the places is kept for either.
    assert_eq!((refused, open.len()), (1, 6));
    let (second, _) = server().await;
    let _both = (exchange(other, &second).await, exchange(other, &second).await);
    assert_eq!(three.near[1].status().peers[0].refused_streams, 0);
}
