//! How many streams may be open.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::pair::{LONG, Pair, request, server, through, wait_until};
use super::restart;

/// The near gateway keeps two connections open ahead of need, which are no streams: both gateways may open as many as the limit
/// says.
#[tokio::test(flavor = "multi_thread")]
async fn connections_that_are_opened_ahead_are_no_streams() {
    let mut pair = Pair::start("").await;
    let (mut near, mut far) = (pair.near_config.clone(), pair.far_config.clone());
    near.peers[0].destinations = far.peers[0].destinations.clone();
    far.socks = near.socks.clone();
    far.gateway.max_streams = 2;
    for (slot, config) in [(&mut pair.near, &near), (&mut pair.far, &far)] {
        slot.take().expect("running").close().await.expect("an orderly end");
        *slot = Some(restart(config).await);
    }
    pair.connected().await;
    let entry = |gateway: &Option<headway_trunk::Gateway>| gateway.as_ref().expect("running").entries()[0];
    let (near_entry, far_entry) = (entry(&pair.near), entry(&pair.far));
    // They are open: the SYN of each has arrived, and its ACK.
    let far = pair.far.as_ref().expect("running");
    wait_until("two connections", || far.status().peers[0].arrived.intact >= 4).await;
    let (listener, address) = server().await;
    let mut open = Vec::new();
    for entry in [far_entry, near_entry] {
        let mut client = through(entry, address).await.expect("a connection");
        let (mut served, _) = listener.accept().await.expect("a connection");
        client.write_all(b"x").await.expect("open");
        served.read_u8().await.expect("a byte");
        open.push((client, served));
    }
    // RFC 1928, 6: a general failure.
    assert_eq!(through(near_entry, address).await.map(drop), Err(1));
    let status = far.status();
    assert_eq!((status.peers[0].open_streams, status.peers[0].refused_streams), (2, 1));
    // The far gateway's own hosts wait until another stream has ended.
    let [a, b] = address.port().to_be_bytes();
    let words = [5, 1, 0, 1, 127, 0, 0, 1, a, b];
    let waiting = tokio::spawn(async move { request(far_entry, &words).await });
    // Nothing is seen of one that waits.
    sleep(Duration::from_millis(300)).await;
    assert!(!waiting.is_finished());
    drop(open.pop());
    let opened = timeout(LONG, waiting).await.expect("in time").expect("a task");
    assert!(opened.is_ok());
}

/// An entry at which no one connects keeps no other one from it.
#[tokio::test(flavor = "multi_thread")]
async fn entries_share_the_limit_as_far_as_they_are_used() {
    let (listener, address) = server().await;
    let mut pair = Pair::start(&format!("[[forward]]\nlisten = '127.0.0.1:0'\nto = '{address}'\n")).await;
    pair.near_config.gateway.max_streams = 1;
    pair.near.take().expect("running").close().await.expect("an orderly end");
    pair.near = Some(restart(&pair.near_config).await);
    pair.connected().await;
    let near = pair.near.as_ref().expect("running");
    let [forward, socks] = near.entries()[..] else { panic!("two entries") };
    for by_forward in [true, true, false, false, true] {
        let opening = async {
            if by_forward {
                TcpStream::connect(forward).await.expect("the forward")
            } else {
                through(socks, address).await.expect("a connection")
            }
        };
        let mut client = timeout(LONG, opening).await.expect("in time");
        let (mut served, _) = timeout(LONG, listener.accept()).await.expect("in time").expect("a connection");
        client.write_all(b"x").await.expect("open");
        assert_eq!(served.read_u8().await.expect("a byte"), b'x');
    }
}
