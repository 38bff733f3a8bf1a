//! The client's address, told to the destination.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

use super::pair::{LONG, Pair, server, through, wait_until};

fn ip_and_port(address: SocketAddr) -> ([u8; 4], [u8; 2]) {
    let SocketAddr::V4(v4) = address else { panic!("an IPv4 address") };
    (v4.ip().octets(), v4.port().to_be_bytes())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_destination_is_told_the_clients_address_where_it_asks_for_it() {
    let pair = Pair::start("").await;
    let far = pair.far.as_ref().expect("running");
    let (listener, address) = server().await;
    for is_told in [false, true] {
        let mut config = pair.far_config.clone();
        config.peers[0].proxy_protocol =
            if is_told { vec!["127.0.0.0/30".into()] } else { vec!["127.0.0.2/32".into()] };
        far.reload(&config).expect("a reload");
        let mut client = through(pair.socks, address).await.expect("a connection");
        let (mut served, _) = listener.accept().await.expect("a connection");
        let ours = client.local_addr().expect("an address");
        client.write_all(b"hello").await.expect("open");
        client.shutdown().await.expect("open");
        let mut got = Vec::new();
        timeout(LONG, served.read_to_end(&mut got)).await.expect("in time").expect("everything");
        // proxy-protocol.txt, 2.2: signature, version and command, family, length, addresses, ports.
        let mut expected = Vec::new();
        if is_told {
            expected.extend(b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c");
            let ((client_ip, client_port), (ip, port)) = (ip_and_port(ours), ip_and_port(address));
            expected.extend([&client_ip[..], &ip, &client_port, &port].concat());
        }
        expected.extend(b"hello");
        assert_eq!(got, expected);
        // The far gateway knows for whom a stream is.
        let mut client = through(pair.socks, address).await.expect("a connection");
        let (_served, _) = listener.accept().await.expect("a connection");
        client.write_all(b"x").await.expect("open");
        let ours = client.local_addr().expect("an address");
        let known = || far.status().peers[0].streams.iter().any(|stream| stream.client == Some(ours));
        wait_until("the client's address", known).await;
    }
}
