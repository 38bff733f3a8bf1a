//! Another configuration while streams go on.

use std::net::SocketAddr;

use headway_test_fixture::process::free_addresses;
use headway_trunk::{Config, LogLevel, TrunkError};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use super::pair::{LONG, Pair, key_file, server, through, wait_until};

/// What is written at one end arrives at the other, in both directions.
async fn check_open(client: &mut TcpStream, served: &mut TcpStream) {
    let (mut from, mut to) = (client, served);
    for _ in 0..2 {
        from.write_all(b"still there").await.expect("open");
        let mut got = [0; 11];
        timeout(LONG, to.read_exact(&mut got)).await.expect("in time").expect("open");
        assert_eq!(&got, b"still there");
        std::mem::swap(&mut from, &mut to);
    }
}

/// A connection to `entry` arrives at `listener`.
async fn check_leads(entry: SocketAddr, listener: &TcpListener) {
    let mut client = TcpStream::connect(entry).await.expect("the entry");
    let (mut served, _) = timeout(LONG, listener.accept()).await.expect("in time").expect("a connection");
    check_open(&mut client, &mut served).await;
}

fn changed(config: &Config, change: impl FnOnce(&mut Config)) -> Config {
    let mut config = config.clone();
    change(&mut config);
    config
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_go_on_over_a_reload() {
    let ((first, at_first), (second, at_second)) = (server().await, server().await);
    let [forward_at, new_at] = free_addresses();
    let forward =
        |listen: SocketAddr, to: SocketAddr| format!("[[forward]]\nlisten = '{listen}'\nto = '{to}'\n");
    let pair = Pair::start(&forward(forward_at, at_first)).await;
    let near = pair.near.as_ref().expect("running");
    let mut client = through(pair.socks, at_first).await.expect("a connection");
    let (mut served, _) = first.accept().await.expect("a connection");
    check_open(&mut client, &mut served).await;
    let mut forwarded = TcpStream::connect(forward_at).await.expect("the forward");
    let (mut forwarded_to, _) = first.accept().await.expect("a connection");

    // SOCKS goes, the forward leads elsewhere, another is there.
    let other = changed(&pair.near_config, |config| {
        config.socks.clear();
        let mut added = config.forwards[0].clone();
        added.listen = new_at;
        config.forwards[0].to = at_second.to_string();
        config.forwards.push(added);
        config.peers[0].link_rate = Some("1mbit".into());
    });
    let reloaded = near.reload(&other).expect("a reload");
    assert_eq!(reloaded.added, [format!("forward {new_at}")]);
    assert_eq!(reloaded.removed, ["socks 127.0.0.1:0"]);
    assert_eq!(reloaded.changed, [format!("forward {forward_at}"), "peer far".into()]);
    assert_eq!(near.entries(), [forward_at, new_at]);
    check_open(&mut client, &mut served).await;
    check_open(&mut forwarded, &mut forwarded_to).await;
    check_leads(forward_at, &second).await;
    check_leads(new_at, &first).await;
    wait_until("the SOCKS server is gone", || std::net::TcpStream::connect(pair.socks).is_err()).await;
    assert_eq!(near.reload(&other).expect("a reload").to_string(), "nothing has changed");
    let louder = changed(&other, |config| config.gateway.log_level = LogLevel::Debug);
    assert_eq!(near.reload(&louder).expect("a reload").to_string(), "changed gateway.log-level");
    assert_eq!(near.reload(&louder).expect("a reload").to_string(), "nothing has changed");

    // The far gateway lets nothing through from now on, except what is open.
    let far = pair.far.as_ref().expect("running");
    let none = changed(&pair.far_config, |config| config.peers[0].destinations.clear());
    assert_eq!(far.reload(&none).expect("a reload").changed, ["peer near"]);
    // The reset may arrive before the connection is seen.
    let refused = async { TcpStream::connect(forward_at).await?.read_u8().await };
    assert!(timeout(LONG, refused).await.expect("in time").is_err());
    check_open(&mut client, &mut served).await;
    assert_eq!(near.status().peers[0].refused_streams, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_changed_is_named_and_nothing_changes() {
    let pair = Pair::start("").await;
    let near = pair.near.as_ref().expect("running");
    let (listener, address) = server().await;
    let [free] = free_addresses();
    let in_use = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let entry = |config: &mut Config, listen: SocketAddr| {
        let mut added = config.socks[0].clone();
        added.listen = listen;
        config.socks.push(added);
    };
    let fixed = changed(&pair.near_config, |config| {
        entry(config, free);
        config.gateway.mtu = 1400;
        let folder = config.gateway.key_file.parent().expect("a folder");
        let other = headway_trunk_proto::SecretKey::from_bytes([9; 32]);
        config.gateway.key_file = key_file(folder, "other.key", &other);
        config.peers[0].name = "other".into();
        config.socks.iter_mut().for_each(|socks| socks.peer = None);
        config.peers[0].keep_alive = Some("9s".into());
    });
    match near.reload(&fixed) {
        Err(TrunkError::NeedsRestart { keys }) => assert_eq!(
            keys,
            ["gateway.key-file", "gateway.mtu", "peer other: name", "peer other: keep-alive"]
        ),
        other => panic!("{other:?}"),
    }
    let unbound = changed(&pair.near_config, |config| {
        config.socks.clear();
        config.socks.push(pair.near_config.socks[0].clone());
        config.socks[0].listen = free;
        entry(config, in_use.local_addr().expect("an address"));
    });
    let error = near.reload(&unbound).expect_err("an address in use").to_string();
    assert!(error.contains(&in_use.local_addr().expect("an address").to_string()), "{error}");
    let wrong = changed(&pair.near_config, |config| config.peers[0].destinations.push("nowhere".into()));
    assert!(matches!(near.reload(&wrong), Err(TrunkError::Value { .. })));
    assert_eq!(near.entries(), [pair.socks]);
    assert!(TcpStream::connect(free).await.is_err(), "no entry was added");
    let mut client = through(pair.socks, address).await.expect("a connection");
    let (mut served, _) = listener.accept().await.expect("a connection");
    check_open(&mut client, &mut served).await;
}
