//! Peers that come and go while a gateway runs, that are found by a name, or that do not answer.

use std::net::SocketAddr;
use std::sync::atomic::Ordering;

use headway_test_fixture::process::free_addresses;
use headway_trunk::{Config, Gateway};
use headway_trunk_proto::SecretKey;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::exchange;
use super::pair::{LONG, Pair, key_file, server, through, wait_until};

/// A second near gateway of the pair's far one, and the configuration of that with both.
fn second(pair: &Pair, endpoint: &str) -> (Config, Config) {
    let path = &pair.far_config.gateway.key_file;
    let folder = path.parent().expect("a folder");
    let key = SecretKey::from_bytes([3; 32]);
    key_file(folder, "second.key", &key);
    let mut both = pair.far_config.clone();
    let mut peer = both.peers[0].clone();
    (peer.name, peer.public_key) = ("second".into(), key.public().to_string());
    both.peers.push(peer);
    let text = format!(
        "gateway = {{ key-file = 'second.key' }}\n[[peer]]\nname = 'far'\npublic-key = '{}'\n\
         endpoint = '{endpoint}'\n[[socks]]\nlisten = '127.0.0.1:0'\n",
        SecretKey::from_bytes([2; 32]).public(),
    );
    (Config::parse(&text, path).expect("a configuration"), both)
}

fn is_connected(gateway: &Gateway, peer: &str) -> bool {
    gateway.status().peers.iter().any(|status| status.name == peer && status.connected)
}

async fn pass(stream: &mut TcpStream, to: &mut TcpStream) {
    stream.write_u8(7).await.expect("open");
    assert_eq!(timeout(LONG, to.read_u8()).await.expect("in time").expect("a byte"), 7);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_comes_and_goes_and_the_streams_of_others_go_on() {
    let pair = Pair::start("").await;
    let far = pair.far.as_ref().expect("running");
    let (listener, address) = server().await;
    let mut first = through(pair.socks, address).await.expect("a connection");
    let (mut first_served, _) = listener.accept().await.expect("a connection");
    pass(&mut first, &mut first_served).await;

    let (config, both) = second(&pair, &pair.far_config.gateway.listen.to_string());
    let near = Gateway::start(&config).expect("a gateway");
    assert_eq!(far.reload(&both).expect("a reload").to_string(), "added peer second");
    wait_until("a session", || is_connected(&near, "far") && is_connected(far, "second")).await;
    let served = tokio::spawn(async move {
        exchange(listener.accept().await.expect("a connection").0, (2, 1), 300_000).await;
        listener
    });
    exchange(through(near.entries()[0], address).await.expect("a connection"), (1, 2), 300_000).await;
    let listener = served.await.expect("the server's side");
    let mut open = through(near.entries()[0], address).await.expect("a connection");
    let (mut open_served, _) = listener.accept().await.expect("a connection");
    pass(&mut open, &mut open_served).await;

    // It is removed: what it has open is reset, and it does not come back.
    let refused = far.status().bad_handshakes;
    assert_eq!(far.reload(&pair.far_config).expect("a reload").to_string(), "removed peer second");
    for stream in [&mut open, &mut open_served] {
        assert!(timeout(LONG, stream.read_u8()).await.expect("in time").is_err());
    }
    wait_until("its handshakes are refused", || far.status().bad_handshakes > refused).await;
    assert!(far.status().peers.iter().all(|peer| peer.name != "second"));
    assert!(!far.status().peers.is_empty());
    pass(&mut first, &mut first_served).await;
    pass(&mut first_served, &mut first).await;

    // And once more, with the same key.
    assert_eq!(far.reload(&both).expect("a reload").to_string(), "added peer second");
    wait_until("a session again", || is_connected(far, "second")).await;
    let again = async {
        let (stream, accepted) = tokio::join!(through(near.entries()[0], address), listener.accept());
        pass(&mut stream.expect("a connection"), &mut accepted.expect("a connection").0).await;
    };
    timeout(LONG, again).await.expect("in time");
    // All may go, and some come back.
    let mut none = pair.far_config.clone();
    none.peers.clear();
    assert_eq!(far.reload(&none).expect("a reload").to_string(), "removed peer near, peer second");
    assert!(timeout(LONG, first.read_u8()).await.expect("in time").is_err());
    far.reload(&pair.far_config).expect("a reload");
    wait_until("the first one is back", || is_connected(far, "near")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_without_peers_takes_the_first_one() {
    let mut pair = Pair::start("").await;
    let mut none = pair.far_config.clone();
    none.peers.clear();
    pair.far.take().expect("running").close().await.expect("an orderly end");
    let far = super::restart(&none).await;
    far.reload(&pair.far_config).expect("a reload");
    wait_until("a session", || is_connected(&far, "near")).await;
    let (listener, address) = server().await;
    let (stream, accepted) = tokio::join!(through(pair.socks, address), listener.accept());
    pass(&mut stream.expect("a connection"), &mut accepted.expect("a connection").0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_is_found_by_its_name() {
    let pair = Pair::start("").await;
    let port = pair.far_config.gateway.listen.port();
    let (config, both) = second(&pair, &format!("localhost:{port}"));
    let far = pair.far.as_ref().expect("running");
    far.reload(&both).expect("a reload");
    let near = Gateway::start(&config).expect("a gateway");
    wait_until("a session", || is_connected(&near, "far")).await;
    assert_eq!(near.status().peers[0].endpoint, Some(SocketAddr::from(([127, 0, 0, 1], port))));
}

/// Who asks after that is known, and who has waited since before.
#[tokio::test(flavor = "multi_thread")]
async fn what_goes_to_a_peer_that_does_not_answer_is_refused() {
    let [forward] = free_addresses();
    let pair = Pair::start(&format!("[[forward]]\nlisten = '{forward}'\nto = '192.0.2.1:9'\n")).await;
    let near = pair.near.as_ref().expect("running");
    let (listener, address) = server().await;
    let mut open = through(pair.socks, address).await.expect("a connection");
    let (mut served, _) = listener.accept().await.expect("a connection");
    pair.road.dropped.store(1000, Ordering::Relaxed);
    let waiting = tokio::spawn(through(pair.socks, address));
    wait_until("it is known", || near.status().peers[0].is_away).await;
    // RFC 1928, 6: the host is unreachable.
    assert_eq!(timeout(LONG, waiting).await.expect("in time").expect("a task").map(drop), Err(4));
    assert_eq!(through(pair.socks, address).await.map(drop), Err(4));
    // The reset may arrive before the connection is seen.
    let forwarded = async { TcpStream::connect(forward).await?.read_u8().await };
    assert!(timeout(LONG, forwarded).await.expect("in time").is_err());
    // What is open survives.
    pair.road.dropped.store(0, Ordering::Relaxed);
    wait_until("it is heard of", || !near.status().peers[0].is_away).await;
    pass(&mut open, &mut served).await;
    let (stream, accepted) = tokio::join!(through(pair.socks, address), listener.accept());
    pass(&mut stream.expect("a connection"), &mut accepted.expect("a connection").0).await;
}
