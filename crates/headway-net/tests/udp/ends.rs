//! Ends of connections.

use std::io::ErrorKind;
use std::time::Duration;

use headway_net::{Carrier as _, Stack, StackConfig, UdpCarrier, UdpConfig};
use headway_tcp::Profile;
use headway_test_fixture::pattern::Pattern;
use headway_test_fixture::process::free_addresses;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::pair::{Pair, receive, send};

#[tokio::test]
async fn half_close() {
    let pair = Pair::new(Profile::modern());
    let (mut client, mut server) = pair.connect().await;
    client.write_all(b"question").await.unwrap();
    client.shutdown().await.unwrap();
    let mut question = String::new();
    server.read_to_string(&mut question).await.unwrap();
    assert_eq!(question, "question");
    // The client has sent its FIN; it still reads.
    let (pattern, len) = (Pattern(3), 3_000_000);
    let answer = pattern.bytes(0, len);
    let (sent, got) = tokio::join!(send(&mut server, &answer), receive(&mut client, pattern));
    sent.unwrap();
    assert_eq!(got.unwrap(), len);
    let error = client.write_all(b"more").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BrokenPipe);
}

#[tokio::test]
async fn a_reset_reaches_the_peer() {
    let pair = Pair::new(Profile::modern());
    let (client, mut server) = pair.connect().await;
    client.reset();
    let error = server.read_u8().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    let error = server.write_all(b"x").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn unread_data_resets() {
    let pair = Pair::new(Profile::modern());
    let (mut client, server) = pair.connect().await;
    client.write_all(b"unread").await.unwrap();
    // Wait for it to arrive, without reading it.
    while server.statistics().unwrap().bytes_received < 6 {
        tokio::task::yield_now().await;
    }
    drop(server);
    let error = client.read_u8().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn without_a_listener() {
    let pair = Pair::new(Profile::modern());
    let mut elsewhere = pair.address;
    elsewhere.set_port(81);
    let error = pair.client.connect(elsewhere).await.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
}

#[tokio::test]
async fn closing_waits_for_written_data() {
    let pair = Pair::new(Profile::modern());
    let (mut client, server) = pair.connect().await;
    let (pattern, len) = (Pattern(4), 5_000_000);
    let bytes = pattern.bytes(0, len);
    let reading = tokio::spawn(receive(server, pattern));
    client.write_all(&bytes).await.unwrap();
    drop(client);
    pair.client.close(Duration::from_secs(60)).await.unwrap();
    assert_eq!(reading.await.unwrap().unwrap(), len);
}

#[tokio::test]
async fn the_end_of_a_stack_is_reported() {
    let pair = Pair::new(Profile::modern());
    let (mut client, mut server) = pair.connect().await;
    pair.client.close(Duration::ZERO).await.unwrap();
    assert_eq!(client.read_u8().await.unwrap_err().kind(), ErrorKind::ConnectionAborted);
    assert_eq!(server.read_u8().await.unwrap_err().kind(), ErrorKind::ConnectionReset);
    drop(pair.server);
    let error = pair.listener.accept();
    // The listener keeps its stack alive: it waits without an error.
    assert!(tokio::time::timeout(Duration::from_millis(20), error).await.is_err());
}

#[tokio::test]
async fn a_peer_that_does_not_read_stops_the_writer() {
    let profile = Profile { send_buffer: 100_000, receive_buffer: 100_000, ..Profile::standard() };
    let pair = Pair::new(profile);
    let (mut client, server) = pair.connect().await;
    let (pattern, len) = (Pattern(5), 1_000_000);
    let bytes = pattern.bytes(0, len);
    // Both buffers fill, and further writes wait.
    let mut taken = 0;
    while let Ok(n) = tokio::time::timeout(Duration::from_millis(300), client.write(&bytes[taken..])).await {
        taken += n.unwrap();
        assert!(taken <= 200_000, "{taken} bytes were accepted");
    }
    let (sent, got) = tokio::join!(send(client, &bytes[taken..]), receive(server, pattern));
    sent.unwrap();
    assert_eq!(got.unwrap(), len);
}

#[tokio::test]
async fn addresses_in_use_are_named() {
    let pair = Pair::new(Profile::modern());
    let error = pair.server.listen(pair.address, 1).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::AddrInUse);
    assert!(error.to_string().contains(&pair.address.to_string()), "{error}");
    let [a, b] = free_addresses();
    let first = UdpCarrier::open(&UdpConfig::new(a, b)).unwrap();
    let error = UdpCarrier::open(&UdpConfig::new(a, b)).err().unwrap().to_string();
    assert!(error.contains(&a.to_string()) && error.contains("in use"), "{error}");
    let config = StackConfig { addresses: vec![], ..StackConfig::default() };
    assert!(Stack::start(first, config).is_err(), "a stack without an address");
}

#[test]
fn the_mtu_inside_leaves_room_for_the_headers_outside() {
    let any: std::net::SocketAddr = "127.0.0.1:0".parse().unwrap();
    for mtu in [1500, 9000] {
        let config = UdpConfig { mtu, peer: None, ..UdpConfig::new(any, any) };
        let mut carrier = UdpCarrier::open(&config).unwrap();
        // Of UDP over IPv4, 28 bytes; that of IP inside is left out, 20 bytes.
        assert_eq!(carrier.mtu(), mtu - 8);
        assert!(carrier.slot().unwrap().len() >= usize::from(mtu - 8), "room for the longest packet");
    }
}

#[tokio::test]
async fn what_has_arrived_is_given_in_runs() {
    let pair = Pair::new(Profile::modern());
    let (mut client, mut server) = pair.connect().await;
    client.write_all(b"in order").await.unwrap();
    let read = server.read_unordered(|runs| {
        let mut bytes = Vec::new();
        for (distance, (first, second)) in runs {
            assert_eq!(distance, bytes.len(), "nothing is missing");
            bytes.extend([first, second].concat());
        }
        // It is called again when there is more.
        let is_all = bytes.len() == 8;
        Ok(if is_all { (8, Some(bytes)) } else { (0, None) })
    });
    let read = tokio::time::timeout(Duration::from_secs(60), read).await.expect("in time");
    assert_eq!(read.unwrap().as_deref(), Some(&b"in order"[..]));
}
